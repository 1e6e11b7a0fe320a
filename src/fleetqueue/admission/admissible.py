"""What a Workload says of itself: where it belongs, whether it may wait there, and whether others
may have more room than they had. Pure.
"""

from typing import Any

from fleetqueue.api.kueue import admission_status as status
from fleetqueue.api.kueue import labels, workloads
from fleetqueue.api.meta import Key
from fleetqueue.queueing.workload import Workload

Json = dict[str, Any]


def is_admissible(obj: Json, *, honors_gates: bool = True) -> bool:
    """Whether the workload may wait in a queue."""
    if status.is_finished(obj) or not status.is_active(obj) or status.has_quota(obj):
        return False
    if workloads.is_parent(obj) or obj["metadata"].get("deletionTimestamp"):
        return False
    if honors_gates and gated_by(obj):
        return False
    reserved = status.find_condition(obj, status.QUOTA_RESERVED)
    is_on_hold = reserved is not None and reserved["reason"] == "OnHold"
    return not is_on_hold and not status.is_true(obj, status.WAITING_FOR_REPLACEMENT_PODS)


def holds_quota(obj: Json) -> bool:
    """Whether its reservation counts; that of one that was deactivated does not, though its pods
    run until its job has been stopped.
    """
    return status.has_quota(obj) and status.is_active(obj) and not status.is_finished(obj)


def gated_by(obj: Json) -> str:
    """The gates that keep the workload from being admitted."""
    return str((obj["metadata"].get("annotations") or {}).get(labels.ADMISSION_GATED_BY) or "")


def makes_room(workload: Workload, before: Workload) -> bool:
    """Whether others may have its quota now that could not before."""
    is_less_urgent = workload.effective_priority < before.effective_priority
    return is_less_urgent or _needs_less(workload, before)


def _needs_less(now: Workload, before: Workload) -> bool:
    held = before.usage()
    needed = now.usage()
    return any(needed.get(at, 0) < amount for at, amount in held.items())


def key_of(obj: Json) -> Key:
    return Key(obj["metadata"].get("namespace") or "", obj["metadata"]["name"])


def local_queue_of(obj: Json) -> Key:
    name = (obj.get("spec") or {}).get("queueName") or ""
    return Key(obj["metadata"].get("namespace") or "", name)


def pod_specs_of(obj: Json) -> list[Json]:
    sets = (obj.get("spec") or {}).get("podSets") or ()
    return [(each.get("template") or {}).get("spec") or {} for each in sets]
