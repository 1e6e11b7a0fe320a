"""Which variants of a workload may be admitted next to, or instead of, the one that is."""

from fleetqueue.admission import variant_form
from fleetqueue.admission.family import Family, Json
from fleetqueue.api.kueue import admission_status as status

REJECTED = f"{status.DEACTIVATED}DueTo"


def wanted(family: Family, flavor: str, variant: Json | None = None) -> tuple[bool, str]:
    """Whether the variant of a flavor is to be active, and why."""
    if not status.is_active(family.parent):
        return False, "the parent Workload being inactive"
    if variant is not None and _is_rejected(family, variant):
        return False, "the rejection by its admission checks"
    admitted = family.admitted
    if admitted is None:
        if why := _why_held_back(family.parent):
            return False, why
        if family.back_off and variant is not None:
            return status.is_active(variant), ""
        return True, "no variant being admitted"
    if variant is admitted:
        return True, "its admission"
    return _beside(family, flavor, admitted)


def _beside(family: Family, flavor: str, admitted: Json) -> tuple[bool, str]:
    """For another one than the admitted."""
    name, policy = admitted["metadata"]["name"], family.policy
    is_better = family.place(flavor) < family.place(variant_form.flavor_of(admitted))
    if policy is None or policy.mode == "RetainFirstAdmission" or not is_better:
        return False, f"the admission of the variant {name}"
    last = policy.last_acceptable
    if last and family.place(flavor) > family.place(last):
        return False, f"its flavor coming after the last acceptable flavor {last}"
    return True, f"its flavor being preferred to that of the variant {name}"


def _is_rejected(family: Family, variant: Json) -> bool:
    """Kueue itself deactivated it, and the parent was not deactivated and activated since."""
    if status.is_active(variant):
        return False
    if status.is_true(variant, status.DEACTIVATION_TARGET):
        return True
    evicted = status.find_condition(variant, status.EVICTED)
    if evicted is None or evicted["status"] != "True":
        return False
    if not str(evicted["reason"]).startswith(REJECTED):
        return False
    told = status.find_condition(family.parent, status.EVICTED)
    if told is None or not str(told["reason"]).startswith(status.DEACTIVATED):
        return True
    return bool(told["lastTransitionTime"] < evicted["lastTransitionTime"])


def _why_held_back(parent: Json) -> str:
    """What keeps the parent from being admitted, whatever is free."""
    reserved = status.find_condition(parent, status.QUOTA_RESERVED)
    if reserved is not None and reserved["reason"] == "OnHold":
        return "the parent Workload being on hold"
    if status.is_true(parent, status.WAITING_FOR_REPLACEMENT_PODS):
        return "the parent Workload waiting for replacement pods"
    return ""
