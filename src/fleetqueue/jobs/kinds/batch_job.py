"""Job (batch/v1): some pods of one template, until enough of them have succeeded."""

from collections.abc import Sequence

from fleetqueue.api.kueue import labels
from fleetqueue.api.patches import create_merge_patch
from fleetqueue.base import paths
from fleetqueue.jobs import batch_job_rules as rules
from fleetqueue.jobs import starting
from fleetqueue.jobs.infos import PodSetInfo
from fleetqueue.jobs.kind import JobKind, Outcome, Role, Sight
from fleetqueue.kube.plan import Patch, Step
from fleetqueue.kube.resources import Object, Resource

TEMPLATE = "spec.template"


def roles(sight: Sight) -> list[Role]:
    template = sight.spec.get("template") or {}
    wanted = rules.min_parallelism(sight.job)
    return [Role("main", TEMPLATE, rules.pod_count(sight.spec), template, min_count=wanted)]


def is_suspended(job: Object) -> bool:
    """A job whose stop was begun but not ended is not suspended yet."""
    annotations = job["metadata"].get("annotations") or {}
    return bool(job["spec"].get("suspend")) and annotations.get(labels.STOPPING) != "true"


def is_ready(sight: Sight) -> bool:
    uncounted = (sight.status.get("uncountedTerminatedPods") or {}).get("succeeded") or ()
    done = (sight.status.get("succeeded") or 0) + (sight.status.get("ready") or 0) + len(uncounted)
    return bool(done >= rules.pod_count(sight.spec))


def reclaimable(sight: Sight) -> dict[str, int]:
    """With fewer completions to go than pods at a time, the difference."""
    parallelism = rules.or_one(sight.spec.get("parallelism"))
    completions = sight.spec.get("completions")
    total = parallelism if completions is None else int(completions)
    done = _done(sight, total)
    left = max(total - done, 0)
    if parallelism <= 1 or not done or left >= parallelism:
        return {}
    return {"main": parallelism - left}


def start(sight: Sight, infos: Sequence[PodSetInfo]) -> list[Step]:
    made = starting.started(JOB, sight, infos)
    if rules.min_parallelism(sight.job) is not None:
        made = _with_parallelism(made, infos[0].count)
    if not sight.status.get("startTime"):
        return starting.changes(sight.job, made)
    return [_forget_start(sight.job), Patch(sight.job, create_merge_patch(sight.job, made))]


def stop(sight: Sight, infos: Sequence[PodSetInfo] | None) -> list[Step]:
    """In three steps: its template may change only when it is suspended and was never started,
    and nobody else takes its start time away.
    """
    job = sight.job
    if is_suspended(job):
        return []
    halted = paths.with_value(job, "spec.suspend", True)
    halted = paths.with_value(halted, ("metadata", "annotations", labels.STOPPING), "true")
    back = restored(sight, halted, infos)
    back = paths.without(back, ("metadata", "annotations", labels.STOPPING))
    steps: list[Step] = []
    if not job["spec"].get("suspend"):
        steps.append(Patch(job, create_merge_patch(job, halted)))
    # Not sent where the answer to the first step shows that it was never started.
    return [*steps, _forget_start(job), Patch(job, create_merge_patch(halted, back))]


def restored(sight: Sight, job: Object, infos: Sequence[PodSetInfo] | None) -> Object:
    """The job with the template and, where it may be admitted in part, the size that it had."""
    back = starting.restored(JOB, sight, job, infos)
    if infos and rules.min_parallelism(job) is not None:
        return _with_parallelism(back, infos[0].count)
    return back


def _forget_start(job: Object) -> Patch:
    return Patch(job, {"status": {"startTime": None}}, "status")


def _with_parallelism(job: Object, count: int) -> Object:
    made = paths.with_value(job, "spec.parallelism", count)
    if rules.completions_follow(job):
        made = paths.with_value(made, "spec.completions", count)
    return dict(made)


def _done(sight: Sight, total: int) -> int:
    if sight.spec.get("completionMode") != "Indexed":
        return int(sight.status.get("succeeded") or 0)
    ended = (sight.status.get("completedIndexes"), sight.status.get("failedIndexes"))
    return len({index for text in ended for index in rules.indexes(text or "", total)})


JOB = JobKind(
    framework="batch/job",
    resource=Resource("batch", "v1", "jobs", "Job"),
    suspend="spec.suspend",
    managed_by="spec.managedBy",
    own_name="kubernetes.io/job-controller",
    roles=roles,
    pod_index_label="batch.kubernetes.io/job-completion-index",
    keeps_labels=("job-name", "controller-uid", "batch.kubernetes.io/controller-uid"),
    needs_labels=("batch.kubernetes.io/job-name",),
    active="status.active",
    ready=is_ready,
    finished=Outcome(succeeded="Complete", failed="Failed"),
    reclaimable=reclaimable,
    is_suspended=is_suspended,
    start=start,
    stop=stop,
    validate=rules.check,
    gates_pods=True,
    supports_slices=True,
)
