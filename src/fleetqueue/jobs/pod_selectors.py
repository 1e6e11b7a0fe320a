"""How the pods of a job are found: by labels that its operator gives them, kind by kind."""

from collections.abc import Callable

from fleetqueue.api.selectors import labels_from_object
from fleetqueue.kube.resources import Object, Resource

WRAPPER_LABEL = "workload.codeflare.dev/appwrapper"
ORIGIN_LABEL = "ray.io/originated-from-cr-name"
RAY_CLUSTER_LABEL = "ray.io/cluster"
JOB_NAME_LABEL = "batch.kubernetes.io/job-name"


def selector_of(kind: Resource, job: Object) -> str | None:
    """None for kinds whose pods have no labels that are known; "" where the job has no selector."""
    made = _SELECTORS.get((kind.group, kind.kind))
    return None if made is None else made(job)


def selected(job: Object) -> str:
    """By what it selects itself."""
    found = job["spec"].get("selector")
    return str(labels_from_object(found)) if found else ""


def _by_name(label: str) -> Callable[[Object], str]:
    return lambda job: f"{label}={job['metadata']['name']}"


def _of_ray_job(job: Object) -> str:
    """Its cluster, once it has one; what its cluster will be known by, before."""
    cluster = (job.get("status") or {}).get("rayClusterName")
    return f"{RAY_CLUSTER_LABEL}={cluster}" if cluster else _ORIGIN(job)


_ORIGIN = _by_name(ORIGIN_LABEL)
_TRAINING = _by_name("training.kubeflow.org/job-name")
_JOB_SET = _by_name("jobset.sigs.k8s.io/jobset-name")
_SELECTORS: dict[tuple[str, str], Callable[[Object], str]] = {
    ("apps", "Deployment"): selected,
    ("apps", "StatefulSet"): selected,
    ("batch", "Job"): _by_name(JOB_NAME_LABEL),
    ("jobset.x-k8s.io", "JobSet"): _JOB_SET,
    ("kubeflow.org", "JAXJob"): _TRAINING,
    ("kubeflow.org", "MPIJob"): _TRAINING,
    ("kubeflow.org", "PaddleJob"): _TRAINING,
    ("kubeflow.org", "PyTorchJob"): _TRAINING,
    ("kubeflow.org", "TFJob"): _TRAINING,
    ("kubeflow.org", "XGBoostJob"): _TRAINING,
    ("leaderworkerset.x-k8s.io", "LeaderWorkerSet"): _by_name("leaderworkerset.sigs.k8s.io/name"),
    ("ray.io", "RayCluster"): _by_name(RAY_CLUSTER_LABEL),
    ("ray.io", "RayJob"): _of_ray_job,
    ("ray.io", "RayService"): _ORIGIN,
    ("trainer.kubeflow.org", "TrainJob"): _JOB_SET,
    ("workload.codeflare.dev", "AppWrapper"): _by_name(WRAPPER_LABEL),
}
