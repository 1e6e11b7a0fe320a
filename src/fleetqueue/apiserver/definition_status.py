"""The status of a CustomResourceDefinition: which names it got, whether it is served or going."""

from collections.abc import Collection, Iterable
from typing import Any, NamedTuple

from fleetqueue.apiserver.core import private
from fleetqueue.apiserver.registry import Resource

Object = dict[str, Any]

NAMES = (
    ("plural", "PluralConflict"),
    ("singular", "SingularConflict"),
    ("shortNames", "ShortNamesConflict"),
    ("kind", "KindConflict"),
    ("listKind", "ListKindConflict"),
)


class Verdict(NamedTuple):
    """The names that were accepted, and what stands against the others."""

    accepted: Object
    reason: str = ""
    message: str = ""

    @property
    def is_clash(self) -> bool:
        return bool(self.reason)


def judge_names(crd: Object, others: Iterable[Resource]) -> Verdict:
    """Each name is accepted if nobody else in the group has it; of several conflicts the last is
    told.
    """
    names = crd["spec"]["names"]
    resources, kinds = _taken(crd, others)
    accepted = dict((crd.get("status") or {}).get("acceptedNames") or {})
    reason = message = ""
    for field, conflict in NAMES:
        taken = kinds if "ind" in field else resources
        clashes = [name for name in _listed(names.get(field)) if name in taken]
        if clashes:
            reason = conflict
            message = ", ".join(f'"{name}" is already in use' for name in clashes)
            message = f"[{message}]" if len(clashes) > 1 else message
        elif names.get(field):
            accepted[field] = private(names[field])
        else:
            accepted.pop(field, None)
    accepted.pop("categories", None)
    if names.get("categories"):
        accepted["categories"] = private(names["categories"])
    accepted = {"plural": "", "kind": "", **accepted}
    return Verdict(accepted, reason, message)


def described(crd: Object, verdict: Verdict, now: str) -> Object:
    """The CRD with the status that its names and versions deserve."""
    wanted = private(crd)
    status = wanted["status"] = wanted.get("status") or {}
    if "deletionTimestamp" in crd["metadata"]:
        _set_condition(status, *TERMINATING, now)
        return wanted
    status["acceptedNames"] = verdict.accepted
    if verdict.is_clash:
        names = ("NamesAccepted", "False", verdict.reason, verdict.message)
    else:
        names = ("NamesAccepted", "True", "NoConflicts", "no conflicts found")
    _set_condition(status, *names, now)
    if not verdict.is_clash:
        _set_condition(status, *ESTABLISHED, now)
    elif not any(c["type"] == "Established" for c in status["conditions"]):
        _set_condition(status, *NOT_ACCEPTED, now)
    storage = next(v["name"] for v in crd["spec"]["versions"] if v.get("storage"))
    stored = status.get("storedVersions") or []
    status["storedVersions"] = stored if storage in stored else [*stored, storage]
    return wanted


ESTABLISHED = (
    *("Established", "True", "InitialNamesAccepted", "the initial names have been accepted"),
)
NOT_ACCEPTED = ("Established", "False", "NotAccepted", "not all names are accepted")
TERMINATING = (
    *("Terminating", "True", "InstanceDeletionInProgress"),
    "CustomResource deletion is in progress",
)


def _taken(crd: Object, others: Iterable[Resource]) -> tuple[Collection[str], Collection[str]]:
    """Names of resources and of kinds that others in the group have."""
    resources: set[str] = set()
    kinds: set[str] = set()
    for other in others:
        if other.group == crd["spec"]["group"] and other.uid != crd["metadata"]["uid"]:
            resources |= {other.plural, other.singular, *other.short_names}
            kinds |= {other.kind, other.list_kind}
    return resources, kinds


def _listed(value: Any) -> list[str]:
    return value if isinstance(value, list) else [value] if value else []


def _set_condition(
    status: Object, kind: str, value: str, reason: str, message: str, now: str
) -> None:
    conditions = status.get("conditions") or []
    status["conditions"] = conditions
    fresh = {"type": kind, "status": value, "lastTransitionTime": now}
    fresh |= {"reason": reason, "message": message}
    for condition in conditions:
        if condition["type"] == kind:
            if condition["status"] == value:
                fresh["lastTransitionTime"] = condition["lastTransitionTime"]
            condition.update(fresh)
            return
    conditions.append(fresh)
