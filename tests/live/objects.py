"""Jobs of every kind, all of whose ranks run one command."""

import shlex
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

Object = dict[str, Any]
Command = Sequence[str]

_HERE = Path(__file__).parent
REDUCE = (sys.executable, str(_HERE / "allreduce.py"))
MPIRUN = (sys.executable, str(_HERE / "mpirun.py"))
WAIT = (sys.executable, "-c", "import signal; print('here', flush=True); signal.pause()")
"""Says that it is there, and stays."""


def template(name: str, command: Command, env: Object | None = None, **spec: Any) -> Object:
    container: Object = {"name": name, "image": "python:3", "command": list(command)}
    container["env"] = [{"name": key, "value": value} for key, value in (env or {}).items()]
    return {"spec": {"containers": [container], **spec}}


def thing(kind: str, api_version: str, name: str, **spec: Any) -> Object:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name}, "spec": spec}


def job(command: Command, name: str = "j", **spec: Any) -> Object:
    pod = template("c", command, restartPolicy="Never")
    return thing("Job", "batch/v1", name, **{"template": pod, **spec})


TRAINING = {
    "PyTorchJob": ("pytorch", "pytorchReplicaSpecs", {"Master": 1, "Worker": 2}),
    "TFJob": ("tensorflow", "tfReplicaSpecs", {"Chief": 1, "Worker": 2}),
    "JAXJob": ("jax", "jaxReplicaSpecs", {"Worker": 3}),
    "XGBoostJob": ("xgboost", "xgbReplicaSpecs", {"Master": 1, "Worker": 2}),
    "PaddleJob": ("paddle", "paddleReplicaSpecs", {"Worker": 3}),
}
"""The container, the field, and how many pods of each type."""


def training_job(
    kind: str, command: Command, env: Object | None = None, policy: str = "", **spec: Any
) -> Object:
    container, field, counts = TRAINING[kind]
    more = {"restartPolicy": policy} if policy else {}
    replicas = {
        role: {"replicas": count, "template": template(container, command, env), **more}
        for role, count in counts.items()
    }
    return thing(kind, "kubeflow.org/v1", "t", **{field: replicas}, **spec)


def train_job(
    command: Command, nodes: int = 2, runtime: str = "torch-distributed", **spec: Any
) -> Object:
    trainer = {"numNodes": nodes, "image": "python:3", "command": list(command), **spec}
    return thing(
        "TrainJob", "trainer.kubeflow.org/v1alpha1", "t",
        runtimeRef={"name": runtime}, trainer=trainer,
    )  # fmt: skip


TRAINER = {"metadata": {"labels": {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}}}
"""By this a job of a runtime is known as the one that trains."""


def training_runtime(policy: Object, *jobs: Object, **spec: Any) -> Object:
    """One of the namespace's own, named `own`."""
    template = {"spec": {"replicatedJobs": list(jobs), **spec}}
    return thing(
        "TrainingRuntime", "trainer.kubeflow.org/v1alpha1", "own",
        mlPolicy={"numNodes": 1, **policy}, template=template,
    )  # fmt: skip


def own_train_job(command: Command, nodes: int = 2, **spec: Any) -> Object:
    made = train_job(command, nodes, **spec)
    made["spec"]["runtimeRef"] = {"name": "own", "kind": "TrainingRuntime"}
    return made


def mpi_job(
    launcher: Command, worker: Object | None = None, env: Object | None = None, **spec: Any
) -> Object:
    """Two workers that serve ssh, unless they are told otherwise."""
    served: Object = {"name": "c", "image": "python:3", **(worker or {})}
    replicas = {
        "Launcher": {"replicas": 1, "template": template("c", launcher, env)},
        "Worker": {"replicas": 2, "template": {"spec": {"containers": [served]}}},
    }
    return thing("MPIJob", "kubeflow.org/v2beta1", "m", **{"mpiReplicaSpecs": replicas, **spec})


def job_set(command: Command, env: Object | None = None, **spec: Any) -> Object:
    """Three pods, which know of each other as `s-workers-0-<n>.s`."""
    known = {"WORLD": "3", "ROOT": "s-workers-0-0.s", **(env or {})}
    pod = template("c", command, known, restartPolicy="Never")
    inner = {"parallelism": 3, "completions": 3, "backoffLimit": 0, "template": pod}
    workers = {"name": "workers", "template": {"spec": inner}}
    made = {"replicatedJobs": [workers], **spec}
    return thing("JobSet", "jobset.x-k8s.io/v1alpha2", "s", **made)


def ray_job(command: Command, **spec: Any) -> Object:
    def group(name: str) -> Object:
        container = {"name": name, "image": "rayproject/ray:2.46.0"}
        return {"rayStartParams": {}, "template": {"spec": {"containers": [container]}}}

    workers = {"groupName": "w", "replicas": 1, "minReplicas": 1, "maxReplicas": 1}
    cluster = {
        "headGroupSpec": group("ray-head"),
        "workerGroupSpecs": [{**workers, **group("ray-worker")}],
    }
    entrypoint = shlex.join(command)
    made = {"entrypoint": entrypoint, "shutdownAfterJobFinishes": True, "rayClusterSpec": cluster}
    return thing("RayJob", "ray.io/v1", "r", **{**made, **spec})


def leader_worker_set(command: Command, size: int = 3) -> Object:
    return thing(
        "LeaderWorkerSet", "leaderworkerset.x-k8s.io/v1", "l",
        replicas=1,
        leaderWorkerTemplate={"size": size, "workerTemplate": template("c", command)},
    )  # fmt: skip


def app_wrapper(*components: Object) -> Object:
    wrapped = [{"template": each} for each in components]
    return thing("AppWrapper", "workload.codeflare.dev/v1beta2", "a", components=wrapped)


def deployment(command: Command, replicas: int = 2, **container: Any) -> Object:
    labels = {"app": "web"}
    pod = template("c", command)
    pod["spec"]["containers"][0].update(container)
    pod["metadata"] = {"labels": labels}
    return thing(
        "Deployment", "apps/v1", "web",
        replicas=replicas, selector={"matchLabels": labels}, template=pod,
    )  # fmt: skip


MADE: dict[str, tuple[Callable[[Command], Object], int]] = {
    "Job": (lambda command: job(command, parallelism=2, completions=2), 2),
    **{
        kind: (lambda command, kind=kind: training_job(kind, command), 3)  # type: ignore[misc]
        for kind in TRAINING
    },
    "TrainJob": (train_job, 2),
    "MPIJob": (mpi_job, 3),
    "JobSet": (job_set, 3),
    "RayJob": (ray_job, 3),
    "LeaderWorkerSet": (leader_worker_set, 3),
    "AppWrapper": (lambda command: app_wrapper(training_job("PyTorchJob", command)), 3),
    "Deployment": (deployment, 2),
}
"""By kind: an object of it that runs a command, and how many pods it has then."""
