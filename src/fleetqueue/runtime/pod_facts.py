"""What a pod says of itself: phase, readiness, availability, restarts."""

from datetime import datetime, timedelta

from fleetqueue.api import times
from fleetqueue.kube.finalizers import is_deleting
from fleetqueue.kube.resources import Object
from fleetqueue.runtime import conditions

TERMINAL = ("Succeeded", "Failed")


def phase(pod: Object) -> str:
    return str((pod.get("status") or {}).get("phase") or "")


def node_name(pod: Object) -> str:
    """The node it is bound to; "" where it is not yet."""
    return str(pod["spec"].get("nodeName") or "")


def is_terminal(pod: Object) -> bool:
    return phase(pod) in TERMINAL


def is_active(pod: Object) -> bool:
    """Neither ended nor on its way out."""
    return not is_terminal(pod) and not is_deleting(pod)


def is_terminating(pod: Object) -> bool:
    """On its way out, and not ended yet."""
    return is_deleting(pod) and not is_terminal(pod)


def condition(pod: Object, type: str) -> Object | None:
    return conditions.find((pod.get("status") or {}).get("conditions"), type)


def is_ready(pod: Object) -> bool:
    found = condition(pod, "Ready")
    return found is not None and found.get("status") == "True"


def ready_at(pod: Object) -> datetime | None:
    """Since when it is ready; None where it is not, or does not say."""
    found = condition(pod, "Ready")
    if found is None or found.get("status") != "True" or not found.get("lastTransitionTime"):
        return None
    return times.parse_time(found["lastTransitionTime"])


def is_available(pod: Object, ready_seconds_min: int, now: datetime) -> bool:
    """Ready for long enough."""
    if not ready_seconds_min or not is_ready(pod):
        return is_ready(pod)
    since = ready_at(pod)
    return since is not None and since + timedelta(seconds=ready_seconds_min) <= now


def available_in(pod: Object, ready_seconds_min: int, now: datetime) -> float | None:
    """The seconds until a ready pod counts as available; None where waiting changes nothing."""
    since = ready_at(pod) if ready_seconds_min else None
    if since is None:
        return None
    left = (since + timedelta(seconds=ready_seconds_min) - now).total_seconds()
    return left if left > 0 else None


def created_at(obj: Object) -> datetime:
    return times.parse_time(obj["metadata"]["creationTimestamp"])


def restarts(pod: Object) -> tuple[int, int]:
    """The most restarts of a regular container, and of a sidecar."""
    status = pod.get("status") or {}
    sidecars = {
        each["name"]
        for each in pod["spec"].get("initContainers") or ()
        if each.get("restartPolicy") == "Always"
    }
    regular = [each.get("restartCount") or 0 for each in status.get("containerStatuses") or ()]
    beside = [
        each.get("restartCount") or 0
        for each in status.get("initContainerStatuses") or ()
        if each.get("name") in sidecars
    ]
    return max(regular, default=0), max(beside, default=0)
