"""What is to be done for a workload of which one variant per flavor is admitted in its place: the
variants come and go with the flavors of its queue, one of them lends it its admission, and what
becomes of the one happens to the other.

The first step that has something to write ends the pass; what it wrote starts the next one.
"""

from collections.abc import Callable
from datetime import timedelta

from fleetqueue.admission import variant_form
from fleetqueue.admission.family import Family, Json
from fleetqueue.admission.variant_activity import wanted
from fleetqueue.admission.variant_form import GATE
from fleetqueue.api.kueue import admission_status as status
from fleetqueue.api.kueue import labels, workloads
from fleetqueue.api.times import format_time, parse_time
from fleetqueue.kube.plan import Create, Delete, Note, Patch, Plan

UNGATED_FOR = timedelta(minutes=5)
"""So long may one variant preempt others before the next one may, too."""
OURS = ("VariantEvicted", "ConcurrentAdmission")
"""Why parents are evicted that did nothing to deserve it."""


def decide(family: Family) -> Plan:
    if not family.is_parent or family.parent["metadata"].get("deletionTimestamp"):
        return family.plan
    for step in STEPS:
        if step(family):
            break
    return family.plan


# The steps: each says whether the pass ends with it.


def mark_parent(family: Family) -> bool:
    if workloads.is_parent(family.parent):
        return False
    family.plan.add(_label(family.parent, "true"))
    return True


def finish(family: Family) -> bool:
    """A finished workload is left alone once its variants are finished."""
    told = status.find_condition(family.parent, status.FINISHED)
    if told is None or told["status"] != "True":
        return False
    for each in family.variants:
        done = status.finish(each, told["reason"], told["message"], family.now)
        family.write(each, done)
    return True


def follow_flavors(family: Family) -> bool:
    """One variant for each flavor of the queue, the most wanted first."""
    if family.queue is None:
        return False
    parent, flavors = family.parent, family.flavors
    for each in family.variants:
        if (flavor := variant_form.flavor_of(each)) not in flavors:
            text = f'deleted; flavor "{flavor}" no longer in ClusterQueue'
            told = f"Variant Workload {_quoted(each)} {text}"
            family.plan.add(Delete(each), Note("DeletedVariant", told))
    known = {variant_form.flavor_of(each) for each in family.variants}
    for flavor in (each for each in flavors if each not in known):
        name = variant_form.variant_name(parent, flavor, family.name_length_max)
        is_active, _ = wanted(family, flavor)
        made = variant_form.new_variant(parent, flavor, is_active=is_active, name=name)
        told = f"Variant Workload {_quoted(made)} created"
        family.plan.add(Create(made), Note("CreatedVariant", told))
    return bool(family.plan.steps)


def leave(family: Family) -> bool:
    """Its queue no longer asks for variants: it waits by itself again."""
    if family.queue is None or family.queue.concurrent is not None:
        return False
    if not family.variants and not status.has_quota(family.parent):
        family.plan.add(_label(family.parent, None))
        return True
    return False


def follow_spec(family: Family) -> bool:
    for each in family.variants:
        if patch := variant_form.difference(family.parent, each):
            family.plan.add(Patch(each, patch))
    return bool(family.plan.steps)


def follow_variant(family: Family) -> bool:
    """The parent holds what its variant holds, and stops when that has to."""
    parent, backing = family.parent, family.backing
    if not status.has_quota(parent) or status.is_evicted(parent):
        return False
    if backing is None:
        return family.evict(parent, "ConcurrentAdmission", "No variant is running")
    if status.is_evicted(backing):
        return family.evict(parent, "VariantEvicted", "Admitted variant was evicted")
    admission = backing["status"]["admission"]
    return family.write(parent, status.changed(parent, admission=admission))


def follow_eviction(family: Family) -> bool:
    """Where the parent itself has to stop, so has its variant; none may come back before it."""
    parent = family.parent
    evicted = status.find_condition(parent, status.EVICTED)
    if not status.is_active(parent) or evicted is None or evicted["status"] != "True":
        return False
    waits = family.back_off
    for each in family.variants:
        made = status.changed(each, requeueState=waits) if waits else each
        if evicted["reason"] not in OURS and _outlived(family, each, evicted):
            family.evict(each, evicted["reason"], evicted["message"], made)
        elif status.is_active(each) and not status.has_quota(each):
            family.write(each, made)
    return bool(family.plan.steps)


def copy_readiness(family: Family) -> bool:
    ready = status.find_condition(family.parent, status.PODS_READY)
    if ready is None:
        return False
    for each in family.variants:
        known = status.find_condition(each, status.PODS_READY)
        is_told = status.is_admitted(each) or status.is_true(each, status.PODS_READY)
        if is_told and (known is None or _told(known) != _told(ready)):
            value = ready["status"] == "True"
            said = (value, ready["reason"], ready["message"], family.now)
            family.write(each, status.with_condition(each, status.PODS_READY, *said))
    return bool(family.plan.steps)


def copy_reclaimable(family: Family) -> bool:
    """Pods that need nothing more free the quota that the variant holds for them."""
    pods = (family.parent.get("status") or {}).get("reclaimablePods")
    backing = family.backing
    if not pods or backing is None or backing["status"].get("reclaimablePods") == pods:
        return False
    family.reclaim(backing, pods)
    return True


def release(family: Family) -> bool:
    """An evicted variant gives its quota back when no job runs with it any more."""
    for each in family.variants:
        runs = status.has_quota(family.parent) and each is family.backing
        if status.has_quota(each) and status.is_evicted(each) and not runs:
            family.write(each, status.release_evicted(each, family.now, wording=family.wording))
    return bool(family.plan.steps)


def take_admission(family: Family) -> bool:
    parent = family.parent
    if status.has_quota(parent) or not status.is_active(parent) or family.back_off:
        return False
    chosen = next((each for each in family.variants if family.runs(each)), None)
    if chosen is None:
        return False
    message = f"The variant {chosen['metadata']['name']} is admitted"
    made = status.reserve(parent, chosen["status"]["admission"], family.now)
    for type in (status.QUOTA_RESERVED, status.ADMITTED):
        made = status.with_condition(made, type, True, type, message, family.now)
    return family.write(parent, made)


def activate(family: Family) -> bool:
    for each in family.variants:
        is_active, why = wanted(family, variant_form.flavor_of(each), each)
        if is_active != status.is_active(each):
            word = "activated" if is_active else "deactivated"
            told = f"Variant Workload {word} due to {why}"
            family.plan.add(
                Patch(each, {"spec": {"active": is_active}}),
                Note(f"{word.capitalize()}Variant", told, about=each),
            )
    return bool(family.plan.steps)


def ungate(family: Family) -> bool:
    """One variant after the other may preempt, the most wanted first."""
    blocked = [each for each in family.variants if _is_blocked(each)]
    if not blocked:
        return False
    opened = [at for each in family.variants if (at := _opened_at(each))]
    if opened and family.now < (until := parse_time(max(opened)) + UNGATED_FOR):
        family.look_again_at(until)
        return False
    first = blocked[0]
    gates = [
        _open(gate, format_time(family.now)) if gate["name"] == GATE else gate
        for gate in first["status"]["preemptionGates"]
    ]
    told = f"Variant Workload {_quoted(first)} may preempt others"
    family.write(first, status.changed(first, preemptionGates=gates))
    family.plan.add(Note("PreemptionUngatedVariant", told, about=first))
    return True


STEPS: tuple[Callable[[Family], bool], ...] = (
    mark_parent,
    finish,
    follow_flavors,
    leave,
    follow_spec,
    follow_variant,
    follow_eviction,
    copy_readiness,
    copy_reclaimable,
    release,
    take_admission,
    activate,
    ungate,
)


# What they ask


def _outlived(family: Family, variant: Json, evicted: Json) -> bool:
    """Whether the variant holds what it got before the parent had to stop."""
    if not family.runs(variant):
        return False
    reserved = status.find_condition(variant, status.QUOTA_RESERVED)
    assert reserved is not None
    is_older = reserved["lastTransitionTime"] < evicted["lastTransitionTime"]
    return status.has_quota(family.parent) or is_older


def _is_blocked(variant: Json) -> bool:
    is_waiting = status.is_active(variant) and not status.has_quota(variant)
    is_told = status.is_true(variant, status.BLOCKED_ON_PREEMPTION_GATES)
    gates = (variant.get("status") or {}).get("preemptionGates") or ()
    is_closed = any(each["name"] == GATE and each["position"] == "Closed" for each in gates)
    return is_waiting and is_told and is_closed


def _opened_at(variant: Json) -> str:
    for each in (variant.get("status") or {}).get("preemptionGates") or ():
        if each["name"] == GATE and each["position"] == "Open":
            return str(each.get("lastTransitionTime") or "")
    return ""


def _open(gate: Json, at: str) -> Json:
    return {**gate, "position": "Open", "lastTransitionTime": at}


def _told(condition: Json) -> tuple[str, str]:
    return condition["status"], condition["reason"]


def _label(parent: Json, value: str | None) -> Patch:
    return Patch(parent, {"metadata": {"labels": {labels.CONCURRENT_ADMISSION_PARENT: value}}})


def _quoted(variant: Json) -> str:
    metadata = variant["metadata"]
    return f'"{metadata["namespace"]}/{metadata["name"]}"'
