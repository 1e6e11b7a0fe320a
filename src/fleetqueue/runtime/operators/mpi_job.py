"""MPIJobs: workers that wait for commands, and a launcher that gives them.

The job ends as the Job of its launcher does; its workers run until they are cleaned away.
"""

from collections.abc import Iterable

from fleetqueue.api.field_errors import aggregate
from fleetqueue.api.meta import Key
from fleetqueue.kube.errors import KubeError
from fleetqueue.kube.finalizers import is_deleting
from fleetqueue.kube.frame import Operator, by_name
from fleetqueue.kube.plan import Create, Delete, Look, Note, Patch, Plan, Status, Step
from fleetqueue.kube.resources import Object
from fleetqueue.runtime import conditions
from fleetqueue.runtime.kinds import CONFIG_MAP, JOB, MPI_JOB, POD, SECRET, SERVICE
from fleetqueue.runtime.operators import mpi_job_children as children
from fleetqueue.runtime.operators import ssh_keys
from fleetqueue.runtime.operators.mpi_job_spec import CONTROLLER_NAME, MpiJob, check
from fleetqueue.runtime.operators.mpi_job_status import Draft, cut
from fleetqueue.runtime.operators.strangers import is_stranger
from fleetqueue.runtime.pod_facts import is_ready, phase

__all__ = ["OPERATOR", "decide"]

_KINDS = {each.kind: each for each in (SERVICE, CONFIG_MAP, SECRET, POD, JOB)}
_STRANGER_SECONDS = 30
"""Until a child's name that somebody else has taken is looked at again."""


def decide(look: Look) -> Plan:
    job = MpiJob(look.parent)
    errors = check(job)
    if errors:
        text = cut(f"Found validation errors: {aggregate(errors)}")
        return Plan([Note("ValidationError", text, "Warning")])
    draft = Draft(job, look.now)
    draft.begin()
    if draft.is_over:
        return _clean_up(look, job, draft)
    draft.start()
    plan = Plan()
    launcher = look.find(JOB, job.launcher_name)
    stranger = _stranger(look, job)
    if stranger is not None:
        return _complain(stranger, draft)
    workers = _workers(look, job)
    is_done = launcher is not None and _is_finished(launcher)
    if not is_done:
        plan.add(*_make_all(look, job, launcher, workers))
    if launcher is not None:
        plan.add(*_align(job, launcher))
    if job.is_suspended:
        plan.add(*_deletions(look.owned(POD)))
        # Those that have not stopped yet still take what a queue gave them.
        workers = [pod for pod in workers if phase(pod) == "Running"]
    counted = [] if is_done else workers
    _judge(look, job, draft, launcher, counted, plan)
    plan.add(Status(draft.status), *draft.notes)
    return plan


def refused(look: Look, step: Step, error: KubeError) -> Plan:
    kind = step.obj["kind"] if isinstance(step, Create) else ""
    role = {"Pod": "worker", "Job": "launcher"}.get(kind)
    if role is None:
        return Plan()
    return Plan([Note("MPIJobFailed", f"{role} pod created failed: {error}", "Warning")])


def _judge(
    look: Look,
    job: MpiJob,
    draft: Draft,
    launcher: Object | None,
    workers: list[Object],
    plan: Plan,
) -> None:
    pods: list[Object] = []
    if launcher is not None:
        pods = list(look.owned_by(launcher, POD))
    draft.tell_suspension()
    is_made_now = any(isinstance(step, Create) and step.obj["kind"] == "Job" for step in plan.steps)
    if launcher is not None or is_made_now:
        draft.judge_launcher(launcher, pods)
    draft.judge_workers(workers)
    draft.judge_running(pods, workers)


def _clean_up(look: Look, job: MpiJob, draft: Draft) -> Plan:
    """The job is over: its workers go, or those that still run, or none."""
    if job.clean_policy == "None":
        return Plan([Status(draft.status)])
    pods = look.owned(POD)
    if job.clean_policy == "Running":
        pods = [pod for pod in pods if phase(pod) in ("Running", "Pending", "")]
    draft.forget_workers()
    return Plan([*_deletions(pods), Status(draft.status)])


def _make_all(
    look: Look, job: MpiJob, launcher: Object | None, workers: list[Object]
) -> Iterable[Step]:
    """Whatever is missing, in the order in which pods need it."""
    yield from _keep_service(look, job)
    yield from _keep_config(look, job, workers)
    secret = children.make_secret(job)
    if look.find(SECRET, secret["metadata"]["name"]) is None:
        yield Create(secret)
    if not job.is_suspended:
        yield from _keep_workers(look, job, workers)
    ready = sum(map(is_ready, workers))
    all_ready = job.is_suspended or ready == len(job.worker_names)
    if launcher is None and (all_ready or not job.waits_for_workers):
        if job.launcher is not None and job.launcher.pod.get("restartPolicy"):
            text = "Restart policy in pod template overridden by restart policy in replica spec"
            yield Note("SetPodTemplateRestartPolicy", text, "Warning")
        yield Create(children.make_launcher(job))


def _keep_service(look: Look, job: MpiJob) -> Iterable[Step]:
    wanted = children.make_service(job)
    old = look.find(SERVICE, job.name)
    if old is None:
        yield Create(wanted)
        return
    parts = {
        "selector": wanted["spec"]["selector"],
        "publishNotReadyAddresses": bool(wanted["spec"].get("publishNotReadyAddresses")),
    }
    found = {
        "selector": old["spec"].get("selector"),
        "publishNotReadyAddresses": bool(old["spec"].get("publishNotReadyAddresses")),
    }
    if parts != found:
        yield Patch(old, {"spec": parts})


def _keep_config(look: Look, job: MpiJob, workers: list[Object]) -> Iterable[Step]:
    wanted = children.make_config(job, workers)
    old = look.find(CONFIG_MAP, wanted["metadata"]["name"])
    if old is None:
        yield Create(wanted)
    elif old.get("data") != wanted["data"]:
        gone = {key: None for key in old.get("data") or {} if key not in wanted["data"]}
        yield Patch(old, {"data": {**gone, **wanted["data"]}})


def _keep_workers(look: Look, job: MpiJob, workers: list[Object]) -> Iterable[Step]:
    """Those that vanished are made again, those that ended are not; surplus ones go."""
    have, wanted = {pod["metadata"]["name"] for pod in workers}, job.worker_names
    surplus = [pod for pod in look.owned(POD) if pod["metadata"]["name"] not in wanted]
    yield from _deletions(surplus)
    for index, name in enumerate(wanted):
        if name not in have:
            yield Create(children.make_worker(job, index))


def _align(job: MpiJob, launcher: Object) -> Iterable[Step]:
    """The launcher's Job is suspended and resumed with the MPIJob."""
    is_suspended = bool(launcher["spec"].get("suspend"))
    if job.is_suspended and not is_suspended and not _is_finished(launcher):
        yield Patch(launcher, {"spec": {"suspend": True}})
    elif is_suspended and not job.is_suspended:
        if (launcher.get("status") or {}).get("startTime"):
            # The template of a Job that has a start time is fixed, so that time goes first.
            yield Patch(launcher, {"status": {"startTime": None}}, subresource="status")
        template = children.resumed_template(job, launcher)
        yield Patch(launcher, {"spec": {"suspend": False, "template": template}})


def _workers(look: Look, job: MpiJob) -> list[Object]:
    found = (look.find(POD, name) for name in job.worker_names)
    return [pod for pod in found if pod is not None]


def _stranger(look: Look, job: MpiJob) -> Object | None:
    """An object that has the name of a child but is nobody's, or somebody else's."""
    names = {
        "Service": [job.name],
        "ConfigMap": [f"{job.name}-config"],
        "Secret": [f"{job.name}-ssh"],
        "Pod": job.worker_names,
        "Job": [job.launcher_name],
    }
    for kind, wanted in names.items():
        for name in wanted:
            found = look.find(_KINDS[kind], name)
            if found is not None and is_stranger(look, found):
                return found
    return None


def _complain(stranger: Object, draft: Draft) -> Plan:
    kind, name = stranger["kind"], stranger["metadata"]["name"]
    text = f'Resource "{name}" of Kind "{kind}" already exists and is not managed by MPIJob'
    note = Note("ErrResourceExists", text, "Warning")
    return Plan([Status(draft.status), *draft.notes, note], after=_STRANGER_SECONDS)


def _deletions(pods: Iterable[Object]) -> list[Step]:
    return [Delete(pod) for pod in pods if not is_deleting(pod)]


def _is_finished(launcher: Object) -> bool:
    found = (launcher.get("status") or {}).get("conditions")
    ends = (conditions.find(found, type) for type in ("Complete", "Failed"))
    return any(end is not None and end.get("status") == "True" for end in ends)


def _launcher_pod_wakes(pod: Object) -> list[Key]:
    """Pods of the launcher belong to its Job, yet the MPIJob tells how they do."""
    labels = pod["metadata"].get("labels") or {}
    if labels.get(children.ROLE_KEY) != "launcher" or not labels.get(children.JOB_KEY):
        return []
    return [Key(str(pod["metadata"].get("namespace") or ""), str(labels[children.JOB_KEY]))]


OPERATOR = Operator(
    "mpi-job-controller",
    MPI_JOB,
    decide,
    owns=(POD, JOB, SERVICE, CONFIG_MAP, SECRET),
    reads=(by_name(POD, _launcher_pod_wakes),),
    managed_by=("spec", "runPolicy", "managedBy"),
    own_name=CONTROLLER_NAME,
    refused=refused,
    complete=ssh_keys.complete,
)
