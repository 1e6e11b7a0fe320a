"""Why a container has said nothing: it never ran."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fleetqueue.cli.reaching import There

Object = Mapping[str, Any]
NEVER_RAN = ("StartError", "ContainerCannotRun")
"""Reasons of containers that ended without a process."""
USUAL_WAITS = ("", "ContainerCreating", "PodInitializing")
"""They do not say what is waited for."""
_STATUSES = ("initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses")


async def why_unstarted(there: "There", container: str) -> str:
    """As its pod says now; "" where it has run."""
    from fleetqueue.errors import FleetqueueError
    from fleetqueue.kube.resources import PODS

    pod = there.pod
    if there.worker:
        try:
            pod = await there.client.get(PODS, there.name, there.namespace)
        except FleetqueueError:
            return ""
    if has_run(pod, container):
        return ""
    return told_by_status(pod, container) or await _warning(there) or told_by_phase(pod, container)


def has_run(pod: Object, container: str) -> bool:
    found = _status(pod, container)
    states = [found.get("state") or {}, found.get("lastState") or {}]
    ends = [each["terminated"] for each in states if each.get("terminated")]
    is_over = any(each.get("reason") not in NEVER_RAN for each in ends)
    phase = (pod.get("status") or {}).get("phase")
    return bool(states[0].get("running")) or is_over or (phase == "Succeeded" and not found)


def told_by_status(pod: Object, container: str) -> str:
    """ "" where neither the container nor the scheduler has anything to say."""
    state = _status(pod, container).get("state") or {}
    found = state.get("terminated") or state.get("waiting") or {}
    if found.get("reason", "") not in USUAL_WAITS:
        return _sentence(found)
    conditions = (pod.get("status") or {}).get("conditions") or ()
    scheduled = next((each for each in conditions if each["type"] == "PodScheduled"), None)
    return _sentence(scheduled) if scheduled and scheduled["status"] == "False" else ""


def told_by_phase(pod: Object, container: str) -> str:
    status = pod.get("status") or {}
    if status.get("reason"):
        return _sentence(status)
    waiting = (_status(pod, container).get("state") or {}).get("waiting") or {}
    return str(waiting.get("reason") or status.get("phase") or "Pending")


async def _warning(there: "There") -> str:
    """The newest event of that type; "" where nobody may read them."""
    from fleetqueue.errors import FleetqueueError
    from fleetqueue.kube.resources import EVENTS, uid_of

    about = f"involvedObject.uid={uid_of(dict(there.pod))},type=Warning"
    try:
        listed = await there.client.list(EVENTS, there.namespace, field_selector=about)
    except FleetqueueError:
        return ""
    newest = max(listed.items, key=_happened_at, default=None)
    return "" if newest is None else _sentence(newest)


def _happened_at(event: Object) -> str:
    made = event["metadata"].get("creationTimestamp")
    return str(event.get("lastTimestamp") or event.get("eventTime") or made or "")


def _status(pod: Object, container: str) -> Object:
    status = pod.get("status") or {}
    known = [each for field in _STATUSES for each in status.get(field) or ()]
    return next((each for each in known if each["name"] == container), {})


def _sentence(told: Object) -> str:
    reason, message = str(told.get("reason") or ""), str(told.get("message") or "")
    return ": ".join(filter(None, (reason, message)))
