"""Pods that ended before their group did, and the condition that says others have to come."""

from collections.abc import Iterable, Sequence
from datetime import datetime

from fleetqueue.api.kueue import admission_status as status_of
from fleetqueue.jobs.pods import states
from fleetqueue.kube.plan import Apply
from fleetqueue.kube.resources import Object

TYPE = status_of.WAITING_FOR_REPLACEMENT_PODS


def replaced_of(inactive: Sequence[Object], number: int) -> list[Object]:
    """So many of them have a successor: those that ended first."""
    return sorted(inactive, key=_ended)[: max(number, 0)]


def told(workload: Object, missing: int, now: datetime) -> Apply | None:
    """The condition as it should be; None where it says so already, or there is nothing to say."""
    present = status_of.find_condition(workload, TYPE)
    if present is None and not missing:
        return None
    value, reason, message = _condition(workload, missing)
    if present is not None and (present["status"] == "True", present["reason"]) == (value, reason):
        return None
    made = status_of.with_condition(workload, TYPE, value, reason, message, now)
    body = status_of.condition_patch(made, TYPE)
    return Apply(body, status_of.condition_manager(TYPE), "status")


def _condition(workload: Object, missing: int) -> tuple[bool, str, str]:
    if not missing:
        return False, "PodsReady", "No pods need replacement"
    evicted = status_of.find_condition(workload, status_of.EVICTED)
    if evicted is not None and evicted["status"] == "True":
        return True, str(evicted["reason"]), str(evicted["message"])
    return True, "PodsFailed", "Some Failed pods need replacement"


def _ended(pod: Object) -> tuple[str, str, str]:
    """When it stopped, as far as it says; otherwise when its deletion began."""
    metadata = pod["metadata"]
    ends = [*_terminations(pod), *_transitions(pod)]
    at = max(ends, default="") if states.is_terminated(pod) else ""
    return (
        at or str(metadata.get("deletionTimestamp") or ""),
        str(metadata.get("creationTimestamp") or ""),
        str(metadata["name"]),
    )


def _terminations(pod: Object) -> Iterable[str]:
    for each in (pod.get("status") or {}).get("containerStatuses") or ():
        ended = (each.get("state") or {}).get("terminated") or {}
        if ended.get("finishedAt"):
            yield str(ended["finishedAt"])


def _transitions(pod: Object) -> Iterable[str]:
    for each in (pod.get("status") or {}).get("conditions") or ():
        if each["type"] == "Ready" and each.get("lastTransitionTime"):
            yield str(each["lastTransitionTime"])
