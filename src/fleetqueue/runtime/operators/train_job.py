"""TrainJobs: one run of a training runtime, as a JobSet that is applied while it is suspended.

The runtime is kept as it was when the job was first seen, so that its changes touch no old job.
"""

from datetime import timedelta

from fleetqueue.api.meta import Key
from fleetqueue.api.times import parse_time
from fleetqueue.kube.errors import KubeError
from fleetqueue.kube.frame import Follow, Operator
from fleetqueue.kube.plan import Apply, Create, Delete, Look, Note, Plan, Status, Step
from fleetqueue.kube.resources import Object, Resource
from fleetqueue.kube.sources import Source
from fleetqueue.runtime.kinds import (
    CLUSTER_TRAINING_RUNTIME,
    CONFIG_MAP,
    JOB_SET,
    SECRET,
    TRAIN_JOB,
    TRAINING_RUNTIME,
)
from fleetqueue.runtime.operators import ssh_keys
from fleetqueue.runtime.operators import train_job_children as children
from fleetqueue.runtime.operators.strangers import is_stranger
from fleetqueue.runtime.operators.train_job_blueprint import Blueprint
from fleetqueue.runtime.operators.train_job_status import Draft
from fleetqueue.runtime.operators.train_job_webhook import WEBHOOKS

__all__ = ["OPERATOR", "WEBHOOKS", "decide"]

CONTROLLER_NAME = "trainer.kubeflow.org/trainjob-controller"
MANAGER = "trainer"
RUNTIMES = {"ClusterTrainingRuntime": CLUSTER_TRAINING_RUNTIME, "TrainingRuntime": TRAINING_RUNTIME}
NOT_FOUND = {
    "ClusterTrainingRuntime": "not found ClusterTrainingRuntime specified in TrainJob",
    "TrainingRuntime": "TrainingRuntime specified in TrainJob is not found",
}
_EVENT_TEXT_MAX = 950


def decide(look: Look) -> Plan:
    draft = Draft(look.parent, look.now)
    steps: list[Step] = []
    kind = runtime_kind(look.parent)
    if kind is None:
        draft.refuse_runtime()
    elif not draft.is_finished:
        steps = _objects(look, kind)
    draft.tell_suspension()
    draft.mirror(_job_set(look))
    plan = Plan()
    left = _seconds_left(look, draft)
    if left is not None and left < 0:
        draft.exceed_deadline()
        job_set = _job_set(look)
        steps = [] if job_set is None else [Delete(job_set)]
    elif left is not None:
        plan.look_again(max(left, 1))
    # First the status: what follows may be refused, and then nothing else is done.
    plan.add(Status(draft.status), *steps)
    return plan


def refused(look: Look, step: Step, error: KubeError) -> Plan:
    return Plan([_failure(str(error))])


def runtime_kind(train_job: Object) -> Resource | None:
    """The kind that the job's runtime is of; None where there is no such kind of runtime."""
    reference = train_job["spec"]["runtimeRef"]
    kind = RUNTIMES.get(reference.get("kind") or "")
    return kind if kind is not None and reference.get("apiGroup") == kind.group else None


def _objects(look: Look, kind: Resource) -> list[Step]:
    """What is missing, and the JobSet where it is new or suspended; one that runs is left alone."""
    train_job, steps = look.parent, list[Step]()
    reference = train_job["spec"]["runtimeRef"]
    snapshot = look.find(CONFIG_MAP, f"{look.name}{children.SNAPSHOT_SUFFIX}")
    if snapshot is None:
        runtime = look.find(kind, reference["name"])
        if runtime is None:
            missing = f'{kind.kind}.{kind.group} "{reference["name"]}" not found'
            return [_failure(f"{NOT_FOUND[kind.kind]}: {missing}")]
        steps.append(Apply(children.make_snapshot(train_job, runtime), MANAGER))
    else:
        try:
            runtime = children.read_snapshot(train_job, snapshot)
        except children.BadSnapshot as error:
            return [_failure(f"getting runtime snapshot: {error}")]
    made = children.make_blueprint(train_job, runtime)
    if made.policy.get("mpi") is not None:
        steps += _mpi_objects(look, made)
    job_set = look.find(JOB_SET, look.name)
    if job_set is not None and is_stranger(look, job_set):
        steps.append(_owned_by_another(job_set))
    elif job_set is None or _is_suspended(job_set) or _is_suspended(train_job):
        children.limit_devices(made)
        steps.append(Apply(children.make_job_set(made), MANAGER))
    return steps


def _mpi_objects(look: Look, made: Blueprint) -> list[Step]:
    steps: list[Step] = []
    secret, hosts = children.make_secret(made), children.make_hostfile(made)
    key = look.find(SECRET, secret["metadata"]["name"])
    if key is None:
        steps.append(Create(secret))
    elif is_stranger(look, key):
        steps.append(_owned_by_another(key))
    old = look.find(CONFIG_MAP, hosts["metadata"]["name"])
    if old is not None and is_stranger(look, old):
        steps.append(_owned_by_another(old))
    elif old is None or old.get("data") != hosts["data"]:
        steps.append(Apply(hosts, MANAGER))
    return steps


def _is_suspended(obj: Object) -> bool:
    return bool(obj["spec"].get("suspend"))


def _job_set(look: Look) -> Object | None:
    """The job's own; a namesake says nothing about it."""
    found = look.find(JOB_SET, look.name)
    return None if found is None or is_stranger(look, found) else found


def _seconds_left(look: Look, draft: Draft) -> float | None:
    """Until the deadline; None where none runs. It starts anew when the job is resumed."""
    seconds = look.parent["spec"].get("activeDeadlineSeconds")
    if not seconds or draft.is_finished or look.parent["spec"].get("suspend"):
        return None
    since = draft.resumed_at or look.parent["metadata"]["creationTimestamp"]
    deadline = parse_time(since) + timedelta(seconds=seconds)
    return (deadline - look.now).total_seconds()


def _owned_by_another(obj: Object) -> Note:
    """By an earlier job of that name, so that it goes soon, or by somebody else, or nobody."""
    kind, name = obj["kind"].lower(), obj["metadata"]["name"]
    return _failure(f'{kind} "{name}" exists but is owned by another object')


def _failure(text: str) -> Note:
    cut = text if len(text) <= _EVENT_TEXT_MAX else f"{text[:_EVENT_TEXT_MAX]} ..."
    message = f"TrainJob resources reconciliation failed: {cut}"
    return Note("TrainJobResourcesCreationFailed", message, "Warning")


def _users(source: Source, runtime: Object) -> list[Key]:
    """The jobs that name a runtime."""
    namespace = str(runtime["metadata"].get("namespace") or "")
    return [
        Key(str(job["metadata"]["namespace"]), str(job["metadata"]["name"]))
        for job in source.all(TRAIN_JOB, namespace)
        if job["spec"]["runtimeRef"]["name"] == runtime["metadata"]["name"]
        and job["spec"]["runtimeRef"].get("kind") == runtime["kind"]
    ]


def _is_new(old: Object | None, new: Object | None) -> bool:
    return old is None


OPERATOR = Operator(
    "trainer-trainjob-controller",
    TRAIN_JOB,
    decide,
    owns=(JOB_SET, CONFIG_MAP, SECRET),
    follows=(
        Follow(CLUSTER_TRAINING_RUNTIME, _users, when=_is_new),
        Follow(TRAINING_RUNTIME, _users, when=_is_new),
    ),
    manager=MANAGER,
    managed_by=("spec", "managedBy"),
    own_name=CONTROLLER_NAME,
    refused=refused,
    complete=ssh_keys.complete,
)
