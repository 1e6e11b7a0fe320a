"""One job of every kind that a queue knows, and what its operator would say of it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.support import app_wrappers, job_sets, mpi_jobs, ray, train_jobs, training

from fleetqueue.jobs import registry
from fleetqueue.jobs.kind import JobKind
from fleetqueue.kube.resources import Object
from fleetqueue.testing import job as batch_job

TRUE = "True"


def told(*types: str) -> Object:
    """A status with these conditions."""
    when = "2026-01-01T00:00:00Z"
    return {
        "conditions": [
            {
                "type": type,
                "status": TRUE,
                "reason": type,
                "message": f"it is {type}",
                "lastTransitionTime": when,
                "lastUpdateTime": when,
                "lastProbeTime": when,
            }
            for type in types
        ]
    }


@dataclass(frozen=True)
class Example:
    """A job and the statuses of its life."""

    framework: str
    make: Callable[[], Object]
    pod_sets: dict[str, int]
    running: Object
    stopped: Object
    done: Object | None
    message: str = ""
    templates: tuple[str, ...] = ()

    @property
    def kind(self) -> JobKind:
        found = registry.all_kinds()
        return next(kind for kind in found if kind.framework == self.framework)

    def job(self, labels: dict[str, str] | None = None, **metadata: Any) -> Object:
        made = self.make()
        kept = {"name": made["metadata"]["name"], "namespace": "default", **metadata}
        made["metadata"] = {**kept, "labels": labels} if labels else kept
        made.pop("status", None)
        return made


def _training(family: Any, roles: dict[str, int], specs: str) -> Example:
    templates = tuple(f"spec.{specs}.{role}.template" for role in roles)
    return Example(
        f"kubeflow.org/{family.name.lower()}",
        lambda: training.job(family, dict(roles)),
        {role.lower(): count for role, count in roles.items()},
        {**told("Running"), "replicaStatuses": {"Worker": {"active": 1}}},
        {**told("Suspended"), "replicaStatuses": {"Worker": {"active": 0}}},
        told("Succeeded"),
        "it is Succeeded",
        templates,
    )


def _statuses(**counts: int) -> list[Object]:
    whole = {"ready": 0, "succeeded": 0, "failed": 0, "active": 0, "suspended": 0, **counts}
    return [{"name": "driver", **whole}]


RAY_SPEC = "spec.rayClusterSpec"

EXAMPLES = [
    Example(
        "batch/job",
        lambda: batch_job("sample", parallelism=2),
        {"main": 2},
        {"active": 2, "ready": 2},
        {"active": 0, "ready": 0},
        None,
        templates=("spec.template",),
    ),
    Example(
        "jobset.x-k8s.io/jobset",
        lambda: job_sets.job_set(job_sets.replicated("Driver".lower(), 2, pods=3)),
        {"driver": 6},
        {"replicatedJobsStatus": _statuses(active=2, ready=2)},
        {"replicatedJobsStatus": _statuses(suspended=2)},
        told("Completed"),
        "it is Completed",
        ("spec.replicatedJobs[0].template.spec.template",),
    ),
    _training(training.PYTORCH, {"Master": 1, "Worker": 3}, "pytorchReplicaSpecs"),
    _training(training.TF, {"Chief": 1, "PS": 2, "Worker": 3}, "tfReplicaSpecs"),
    _training(training.XGBOOST, {"Master": 1, "Worker": 2}, "xgbReplicaSpecs"),
    _training(training.PADDLE, {"Master": 1, "Worker": 2}, "paddleReplicaSpecs"),
    _training(training.JAX, {"Worker": 2}, "jaxReplicaSpecs"),
    Example(
        "kubeflow.org/mpijob",
        lambda: mpi_jobs.job(3),
        {"launcher": 1, "worker": 3},
        {**told("Running"), "replicaStatuses": {"Worker": {"active": 3}}},
        {**told("Suspended"), "replicaStatuses": {"Worker": {"active": 0}}},
        told("Succeeded"),
        "it is Succeeded",
        ("spec.mpiReplicaSpecs.Launcher.template", "spec.mpiReplicaSpecs.Worker.template"),
    ),
    Example(
        "trainer.kubeflow.org/trainjob",
        lambda: train_jobs.job(trainer={"numNodes": 2}),
        {"node": 2},
        {"jobsStatus": [{**_statuses(active=1, ready=1)[0], "name": "node"}]},
        {"jobsStatus": [{**_statuses(suspended=1)[0], "name": "node"}]},
        told("Complete"),
        "it is Complete",
    ),
    Example(
        "ray.io/raycluster",
        lambda: ray.ray_cluster_of(ray.worker_group("Small", 2)),
        {"head": 1, "small": 2},
        {"state": "ready"},
        {"state": "suspended"},
        None,
        templates=("spec.headGroupSpec.template", "spec.workerGroupSpecs[0].template"),
    ),
    Example(
        "ray.io/rayjob",
        lambda: {
            "apiVersion": "ray.io/v1",
            "kind": "RayJob",
            "metadata": {"name": "r"},
            "spec": {
                "entrypoint": "python x.py",
                "shutdownAfterJobFinishes": True,
                "rayClusterSpec": ray.cluster_spec(ray.worker_group("small", 2)),
            },
        },
        {"head": 1, "small": 2, "submitter": 1},
        {"jobDeploymentStatus": "Running", "rayClusterStatus": {"state": "ready"}},
        {"jobDeploymentStatus": "Suspended"},
        {"jobDeploymentStatus": "Complete", "jobStatus": "SUCCEEDED", "message": "all done"},
        "all done",
        (
            f"{RAY_SPEC}.headGroupSpec.template",
            f"{RAY_SPEC}.workerGroupSpecs[0].template",
            "spec.submitterPodTemplate",
        ),
    ),
    Example(
        "ray.io/rayservice",
        lambda: {
            "apiVersion": "ray.io/v1",
            "kind": "RayService",
            "metadata": {"name": "s"},
            "spec": {"rayClusterConfig": ray.cluster_spec(ray.worker_group("small", 2))},
        },
        {"head": 1, "small": 2},
        told("Ready"),
        {"conditions": []},
        None,
        templates=(
            "spec.rayClusterConfig.headGroupSpec.template",
            "spec.rayClusterConfig.workerGroupSpecs[0].template",
        ),
    ),
    Example(
        "workload.codeflare.dev/appwrapper",
        lambda: app_wrappers.wrapper(app_wrappers.job("a", 2), app_wrappers.pod("b")),
        {"wrap-0": 2, "wrap-1": 1},
        told("QuotaReserved", "PodsReady", "ResourcesDeployed"),
        {"conditions": []},
        {"phase": "Succeeded"},
        "AppWrapper finished successfully",
    ),
]
