"""Why a container has said nothing: it never ran."""

from typing import TYPE_CHECKING

from fleetqueue.cli.pod_reading import (
    BEGINNING,
    Object,
    happened_at,
    phase_of,
    sentence,
    status_of,
    unscheduled,
    waiting_of,
)

if TYPE_CHECKING:
    from fleetqueue.cli.reaching import There

NEVER_RAN = ("StartError", "ContainerCannotRun")
"""Reasons of containers that ended without a process."""
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
    is_all_over = phase_of(pod) == "Succeeded" and not found
    return bool(states[0].get("running")) or is_over or is_all_over


def told_by_status(pod: Object, container: str) -> str:
    """ "" where neither the container nor the scheduler has anything to say."""
    state = _status(pod, container).get("state") or {}
    found = state.get("terminated") or state.get("waiting") or {}
    if found.get("reason", "") not in BEGINNING:
        return _sentence(found)
    return _sentence(unscheduled(pod) or {})


def told_by_phase(pod: Object, container: str) -> str:
    if status_of(pod).get("reason"):
        return _sentence(status_of(pod))
    reason = waiting_of(_status(pod, container)).get("reason")
    return str(reason or phase_of(pod) or "Pending")


async def _warning(there: "There") -> str:
    """The newest event of that type; "" where nobody may read them."""
    from fleetqueue.errors import FleetqueueError
    from fleetqueue.kube.resources import EVENTS, uid_of

    about = f"involvedObject.uid={uid_of(there.pod)},type=Warning"
    try:
        listed = await there.client.list(EVENTS, there.namespace, field_selector=about)
    except FleetqueueError:
        return ""
    newest = max(listed.items, key=happened_at, default=None)
    return "" if newest is None else _sentence(newest)


def _status(pod: Object, container: str) -> Object:
    known = [each for field in _STATUSES for each in status_of(pod).get(field) or ()]
    return next((each for each in known if each["name"] == container), {})


def _sentence(told: Object) -> str:
    return sentence(told.get("reason"), told.get("message"))
