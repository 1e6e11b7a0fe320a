"""Stops pods: a pod cannot be suspended, so it is told why it ends, and deleted."""

from collections.abc import Iterable
from datetime import datetime

from fleetqueue.api.kueue import admission_status as status_of
from fleetqueue.api.times import format_time
from fleetqueue.jobs.pods import gates, states
from fleetqueue.kube.finalizers import is_deleting
from fleetqueue.kube.plan import Apply, Delete, Note, Step
from fleetqueue.kube.resources import Object

MANAGER = "kueue"
WORKLOAD_DELETED = "WorkloadDeleted"


def stop(pods: Iterable[Object], reason: str, message: str, now: datetime) -> list[Step]:
    """Those that wait or have ended are left; without their Workload they go too."""
    members = list(pods)
    is_end = reason == WORKLOAD_DELETED
    going = [
        pod for pod in members if not is_deleting(pod) and (is_end or not states.is_suspended(pod))
    ]
    steps = gates.released(members) if is_end else []
    steps += [_told(pod, reason, message, now) for pod in going]
    steps += [Delete(pod) for pod in going]
    told = status_of.event_message(message)
    return [*steps, *(Note("Stopped", told, about=pod) for pod in going)]


def _told(pod: Object, reason: str, message: str, now: datetime) -> Apply:
    condition = {
        "type": "TerminationTarget",
        "status": "True",
        "lastTransitionTime": format_time(now),
        "reason": reason,
        "message": message,
    }
    names = {name: pod["metadata"][name] for name in ("name", "namespace", "uid")}
    body = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": names,
        "status": {"conditions": [condition]},
    }
    return Apply(body, MANAGER, "status")
