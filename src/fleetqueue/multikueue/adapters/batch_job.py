"""Job (batch/v1): its status may tell of a start only when it is not suspended itself."""

from typing import Any

from fleetqueue.api.kueue.workloads import pod_set_counts
from fleetqueue.base import paths
from fleetqueue.jobs import batch_job_rules as rules
from fleetqueue.jobs import identity
from fleetqueue.jobs.kinds import batch_job
from fleetqueue.jobs.kinds.batch_job import JOB, TEMPLATE
from fleetqueue.jobs.pod_sets import infos_of
from fleetqueue.kube.resources import Object
from fleetqueue.multikueue.adapter import Adapter, Copied, Copying
from fleetqueue.multikueue.adapters.managed import managed, sight_of, told, unmanaged
from fleetqueue.multikueue.adapters.mirrors import prebuilt_patch
from fleetqueue.multikueue.settings import DispatchSettings

SUSPENDED = {
    "type": "Suspended",
    "status": "True",
    "reason": "MultiKueueAdapter",
    "message": "Set by MultiKueue adapter",
}
STOPPED = {
    "type": "Suspended",
    "status": "True",
    "reason": "JobSuspended",
    "message": "Job suspended",
}
POD_SET = "main"


def mirror(job: Object, workload: Object, settings: DispatchSettings) -> Object:
    """Without what the API server gave the local one to know its pods by."""
    made = unmanaged(JOB, job, workload, settings)
    made = batch_job.restored(sight_of(job, settings), made, infos_of(workload))
    if identity.is_elastic(job, settings.jobs):
        made = {**made, "spec": _sized(made["spec"], workload)}
    if job["spec"].get("manualSelector"):
        return made
    for label in JOB.keeps_labels:
        made = paths.without(made, (*paths.parse(TEMPLATE), "metadata", "labels", label))
    return dict(paths.without(made, "spec.selector"))


def copy_status(copying: Copying) -> Copied:
    """A job that is suspended and has a start time could never be let go."""
    job, mirror = copying.job, copying.mirror
    is_let_go = _is_suspended(job) and not _is_suspended(mirror) and not copying.is_final
    if not mirror.get("status") and not is_let_go:
        return Copied()
    has_ended = copying.is_final or JOB.verdict(sight_of(mirror, copying.settings)) is not None
    if not _is_suspended(job):
        return told(job, _with_start(job, mirror.get("status") or {}))
    if _is_suspended(mirror) or has_ended:
        return told(job, mirror.get("status") or {})
    return Copied(_suspended_status(copying), is_postponed=True)


def forward(copying: Copying) -> Object | None:
    """The size of an elastic job, once the Workload that has this size is admitted there."""
    job, mirror, workload = copying.job, copying.mirror, copying.workload
    if not identity.is_elastic(job, copying.settings.jobs):
        return None
    if pod_set_counts(workload).get(POD_SET) != rules.pod_count(job["spec"]):
        return None
    sizes = {name: job["spec"].get(name) for name in _sizes(job)}
    spec = {name: value for name, value in sizes.items() if mirror["spec"].get(name) != value}
    metadata = prebuilt_patch(mirror, str(workload["metadata"]["name"]))
    parts = {"metadata": metadata, "spec": spec}
    return {name: part for name, part in parts.items() if part} or None


def reset(job: Object) -> Object | None:
    """What its mirror would tell of a job that stops, if that could be asked."""
    status: Object = job.get("status") or {}
    made = dict(status)
    if status.get("active"):
        made |= {"active": 0, "ready": 0, "terminating": 0}
    if _is_suspended(job) and _suspended(status) == "False":
        made["conditions"] = _with_condition(status, STOPPED)
    return made if made != status else None


def _is_suspended(job: Object) -> bool:
    return bool(job["spec"].get("suspend"))


def _with_start(job: Object, status: Object) -> Object:
    """Nobody can take away or move the start of a job that runs."""
    started = (job.get("status") or {}).get("startTime")
    return {**status, "startTime": started} if started else status


def _suspended_status(copying: Copying) -> Object | None:
    status: Object = copying.job.get("status") or {}
    if _suspended(status) == "True":
        return None
    since = copying.mirror["metadata"].get("creationTimestamp")
    new = {**SUSPENDED, "lastProbeTime": since, "lastTransitionTime": since}
    return {**status, "conditions": _with_condition(status, new)}


def _suspended(status: Object) -> str:
    """What the condition says of it; "" without one."""
    conditions = status.get("conditions") or ()
    found = [each["status"] for each in conditions if each["type"] == SUSPENDED["type"]]
    return str(found[0]) if found else ""


def _with_condition(status: Object, new: Object) -> list[Object]:
    kept = [each for each in status.get("conditions") or () if each["type"] != new["type"]]
    return [*kept, new]


def _sizes(job: Object) -> tuple[str, ...]:
    """Of an indexed job both, which only change together."""
    is_indexed = job["spec"].get("completionMode") == "Indexed"
    return ("parallelism", "completions") if is_indexed else ("parallelism",)


def _sized(spec: Object, workload: Object) -> Object:
    """A mirror starts with the size of its Workload, whatever the job has become since."""
    count = pod_set_counts(workload).get(POD_SET)
    if count is None or rules.pod_count(spec) == count:
        return spec
    made: dict[str, Any] = {**spec, "parallelism": count}
    if spec.get("completionMode") == "Indexed":
        made["completions"] = count
    return made


def adapter() -> Adapter:
    return managed(
        JOB,
        mirror=mirror,
        copy=copy_status,
        forward=forward,
        reset=reset,
        is_held=_is_suspended,
        propagation="Background",
    )
