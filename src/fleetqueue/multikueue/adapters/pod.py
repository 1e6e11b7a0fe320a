"""Pod (v1), alone or in a group: the local one stays gated, and shows what its mirror does."""

from fleetqueue.api.kueue import labels
from fleetqueue.jobs.kinds.pod import JOB
from fleetqueue.jobs.pods import states
from fleetqueue.kube.finalizers import is_deleting
from fleetqueue.kube.resources import Object
from fleetqueue.kube.sources import Source
from fleetqueue.multikueue.adapter import Adapter, Copied, Copying, prebuilt_key
from fleetqueue.multikueue.adapters.managed import told
from fleetqueue.multikueue.adapters.mirrors import bare
from fleetqueue.multikueue.adapters.owners import jobs_of
from fleetqueue.multikueue.settings import DispatchSettings

SCHEDULED = "PodScheduled"
WAITS = {
    "type": SCHEDULED,
    "status": "False",
    "reason": "SchedulingGated",
    "message": "Scheduling is blocked due to non-empty scheduling gates",
}
_OF_A_NODE = (
    "containerStatuses",
    "initContainerStatuses",
    "ephemeralContainerStatuses",
    "hostIP",
    "hostIPs",
    "podIP",
    "podIPs",
    "startTime",
)


def jobs(workload: Object, source: Source, settings: DispatchSettings) -> list[Object]:
    """Of a group, those that have no successor; where all are on their way out, these: their
    mirrors may still end, and the group with them.
    """
    found = jobs_of(JOB.resource, workload, source, settings)
    if not states.says(workload, labels.IS_GROUP_WORKLOAD):
        return found
    return [pod for pod in found if states.counts(pod)] or found


def mirror(pod: Object, workload: Object, settings: DispatchSettings) -> Object:
    """With its gates, which the worker takes away."""
    return bare(pod, JOB.resource, settings, prebuilt=str(workload["metadata"]["name"]))


def copy_status(copying: Copying) -> Copied:
    if is_deleting(copying.job):
        return Copied()
    return told(copying.job, _merged(copying.job, copying.mirror.get("status") or {}))


def reset(pod: Object) -> Object | None:
    """A pod that waits for a node, as it did before; one without gates runs here."""
    if states.phase_of(pod) != "Running" or not states.is_gated(pod):
        return None
    status = pod["status"]
    kept = {name: value for name, value in status.items() if name not in _OF_A_NODE}
    found = _condition(status)
    since = None if found is None else found.get("lastTransitionTime")
    condition = {**WAITS, "lastProbeTime": None, "lastTransitionTime": since}
    return {**kept, "phase": "Pending", "conditions": [condition]}


def _merged(pod: Object, status: Object) -> Object:
    """That a pod waits for us is not told otherwise until its mirror has a node."""
    local, remote = _condition(pod.get("status") or {}), _condition(status)
    is_scheduled = remote is not None and remote["status"] == "True"
    if local is None or is_scheduled or not states.is_gated(pod):
        return status
    conditions = status.get("conditions") or []
    kept = [local if each is remote else each for each in conditions]
    return {**status, "conditions": kept if remote is not None else [*kept, local]}


def _condition(status: Object) -> Object | None:
    conditions = status.get("conditions") or ()
    return next((each for each in conditions if each["type"] == SCHEDULED), None)


def adapter() -> Adapter:
    return Adapter(
        resource=JOB.resource,
        framework=JOB.framework,
        jobs=jobs,
        mirror=mirror,
        copy=copy_status,
        has_ended=lambda mirror, settings: states.is_terminated(mirror),
        reset=reset,
        has_place=states.counts,
        wakes=prebuilt_key,
    )
