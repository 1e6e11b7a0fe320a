"""Jobs that end by themselves, made by chance; their simulated pods run some seconds."""

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

from tests.support import app_wrappers, job_sets, mpi_jobs, simulated, train_jobs, training
from tests.support.dispatching import LOCAL_QUEUE

from fleetqueue.jobs.kind import JobKind
from fleetqueue.kube.frame import Operator
from fleetqueue.kube.resources import Object
from fleetqueue.kube.webhook_rules import Webhook
from fleetqueue.runtime.operators import (
    app_wrapper,
    jax_job,
    job_set,
    job_set_webhook,
    mpi_job,
    paddle_job,
    pytorch_job,
    tf_job,
    train_job,
    xgboost_job,
)
from fleetqueue.testing import named

K = "kueue.x-k8s.io"
RUN_SECONDS = (2, 5, 20, 60, 150)
FAILS = {"fleetqueue.io/sim-exit-code": "1"}
RUNTIME = "torch-distributed"


@dataclass(frozen=True, slots=True)
class Wish:
    """One job that somebody wants, and how it has to end."""

    name: str
    objects: tuple[Object, ...]
    """The job; of a group of pods all of them."""
    fails: bool
    pods_to_end: int
    """So many of its pods have to succeed before it may be called a success; of a job that serves,
    so many run."""
    serves: bool = False
    """Whether it never ends."""

    @property
    def kind(self) -> str:
        return str(self.objects[0]["kind"])


@dataclass(frozen=True, slots=True)
class Family:
    """Kinds that come together, and what runs them."""

    frameworks: tuple[str, ...]
    crds: tuple[str, ...]
    operators: tuple[Operator, ...]
    webhooks: tuple[Webhook, ...]
    makers: tuple[Callable[[str, Random], Wish], ...]
    queued: tuple[JobKind, ...] = ()
    """Kinds that somebody else's controller queues."""
    external: tuple[str, ...] = ()
    """The names of those in the configuration."""
    furniture: tuple[Object, ...] = ()
    """What its jobs need to be there, on every cluster."""


def foreign(wish: Wish) -> Object:
    """A namesake that somebody else made, without any queue; it never ends."""
    if wish.serves:
        [made] = wish.objects
        return {**made, "metadata": {"name": wish.name, "namespace": "default"}}
    if wish.kind == "Pod":
        made = pod_of(wish.name, Random(0), run_seconds="never")
        made["metadata"]["labels"] = {}
        return made
    return job_of(wish.name, Random(0), run_seconds="never", queue="")


def local(name: str, cpu: str, run_seconds: str) -> Object:
    """A job that a user of a worker makes there, more urgent than what managers send."""
    made = job_of(name, Random(0), run_seconds=run_seconds, cpu=cpu)
    made["metadata"]["labels"][f"{K}/priority-class"] = "high"
    return made


# Kinds


def batch_job(name: str, random: Random) -> Wish:
    fails, pods = random.random() < 0.15, random.choice((1, 1, 2, 3))
    sizes: Object = {"parallelism": pods, "completions": pods, "backoffLimit": 0}
    if random.random() < 0.3:
        sizes["completionMode"] = "Indexed"
    made = job_of(name, random, fails=fails, **sizes)
    return Wish(name, (made,), fails, pods)


def job_of(
    name: str,
    random: Random,
    *,
    run_seconds: str = "",
    cpu: str = "1",
    queue: str = LOCAL_QUEUE,
    fails: bool = False,
    **spec: Any,
) -> Object:
    pod = template(random, run_seconds=run_seconds, cpu=cpu, fails=fails, restartPolicy="Never")
    body = {"parallelism": 1, "completions": 1, "template": pod, **spec}
    return named("Job", "batch/v1", name, "default", labels=queued(queue), spec=body)


def pod(name: str, random: Random) -> Wish:
    fails = random.random() < 0.15
    return Wish(name, (pod_of(name, random, fails=fails),), fails, 1)


def pod_group(name: str, random: Random) -> Wish:
    total = random.choice((2, 3))
    group = {f"{K}/pod-group-name": name}
    notes = {f"{K}/pod-group-total-count": str(total)}
    made = [
        pod_of(f"{name}-{index}", random, labels=group, annotations=notes) for index in range(total)
    ]
    return Wish(name, tuple(made), False, total)


def pod_of(name: str, random: Random, *, fails: bool = False, **more: Any) -> Object:
    labels, annotations = more.get("labels") or {}, more.get("annotations") or {}
    made = template(
        random,
        fails=fails,
        run_seconds=more.get("run_seconds") or "",
        annotations=annotations,
        restartPolicy="Never",
    )
    metadata = {
        "name": name,
        "namespace": "default",
        "labels": {**queued(LOCAL_QUEUE), **labels},
        "annotations": made["metadata"]["annotations"],
    }
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": made["spec"]}


def set_of_jobs(name: str, random: Random) -> Wish:
    fails = random.random() < 0.15
    parts = [
        job_sets.replicated(
            role, 1, pods=1, pod=template(random, fails=fails, restartPolicy="Never"),
            job={"backoffLimit": 0},
        )
        for role in ("driver", "worker")[: random.choice((1, 2))]
    ]  # fmt: skip
    made = job_sets.job_set(*parts, name=name)
    return Wish(name, (for_queue(made),), fails, len(parts))


def training_job(name: str, random: Random) -> Wish:
    family = random.choice(training.FAMILIES)
    fails = random.random() < 0.15
    first = {training.TF: "Chief", training.JAX: "Worker"}.get(family, "Master")
    roles = {first: 1} if family is training.JAX else {first: 1, "Worker": 1}
    pod = template(random, name=family.container, fails=fails)
    replicas = {
        role: {"replicas": count, "restartPolicy": "Never", "template": pod}
        for role, count in roles.items()
    }
    made = training.job(family, replicas, name=name)
    return Wish(name, (for_queue(made),), fails, 1)


def mpi(name: str, random: Random) -> Wish:
    made = mpi_jobs.job(
        1,
        name=name,
        launcher={"replicas": 1, "template": template(random, restartPolicy="Never")},
        worker={"template": template(random, run_seconds="never")},
    )
    return Wish(name, (for_queue(made),), False, 1)


def trained(name: str, random: Random) -> Wish:
    resources = {"requests": {"cpu": "1"}}
    nodes = random.choice((1, 2))
    trainer = {"numNodes": nodes, "resourcesPerNode": resources}
    made = train_jobs.job(RUNTIME, name=name, trainer=trainer)
    return Wish(name, (for_queue(made),), False, nodes)


def wrapped(name: str, random: Random) -> Wish:
    inner = job_of(f"{name}-a", random, queue="", backoffLimit=0)
    inner["metadata"] = {"name": f"{name}-a"}
    made = app_wrappers.wrapper(inner)
    made["metadata"]["name"] = name
    return Wish(name, (for_queue(made),), False, 1)


def for_queue(made: Object) -> Object:
    metadata = {"name": made["metadata"]["name"], "namespace": "default"}
    return {**made, "metadata": {**metadata, "labels": queued(LOCAL_QUEUE)}}


def queued(queue: str) -> dict[str, str]:
    return {f"{K}/queue-name": queue} if queue else {}


def template(random: Random, *, run_seconds: str = "", fails: bool = False, **more: Any) -> Object:
    seconds = run_seconds or str(random.choice(RUN_SECONDS))
    notes = {**(FAILS if fails else {}), **more.pop("annotations", {})}
    more = {"cpu": "1", **more}
    return simulated.template(run_seconds=seconds, annotations=notes, **more)


def runtime() -> Object:
    """What TrainJobs are made of."""
    made = train_jobs.runtime(RUNTIME)
    for each in made["spec"]["template"]["spec"]["replicatedJobs"]:
        pod = each["template"]["spec"]["template"]
        pod["metadata"] = {"annotations": {"fleetqueue.io/sim-run-seconds": "15"}}
    return made


_TRAINING = (pytorch_job, tf_job, xgboost_job, paddle_job, jax_job)

PLAIN = Family(("batch/job",), (), (), (), (batch_job,))
PODS = Family(("pod",), (), (), (), (pod, pod_group))
SETS = Family(
    ("jobset.x-k8s.io/jobset",),
    ("jobsets",),
    (job_set.OPERATOR,),
    (job_set_webhook.WEBHOOK,),
    (set_of_jobs,),
)
TRAINER = Family(
    ("trainer.kubeflow.org/trainjob",),
    ("jobsets", "trainjobs", "clustertrainingruntimes", "trainingruntimes"),
    (job_set.OPERATOR, train_job.OPERATOR),
    (job_set_webhook.WEBHOOK, *train_job.WEBHOOKS),
    (trained,),
    furniture=(runtime(),),
)
TRAINING = Family(
    tuple(f"kubeflow.org/{each.FAMILY.name.lower()}" for each in _TRAINING),
    tuple(f"{each.FAMILY.name.lower()}s" for each in _TRAINING),
    tuple(each.OPERATOR for each in _TRAINING),
    tuple(each.WEBHOOK for each in _TRAINING),
    (training_job,),
)
MPI = Family(("kubeflow.org/mpijob",), ("mpijobs",), (mpi_job.OPERATOR,), (), (mpi,))
WRAPPERS = Family(
    ("workload.codeflare.dev/appwrapper",),
    ("appwrappers",),
    (app_wrapper.OPERATOR,),
    (app_wrapper.WEBHOOK,),
    (wrapped,),
)
