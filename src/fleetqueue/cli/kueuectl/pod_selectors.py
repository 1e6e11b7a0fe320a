"""How the pods of a job are found: by labels that its operator gives them."""

from collections.abc import Callable
from typing import Any

from fleetqueue.api.selectors import labels_from_object
from fleetqueue.cli.kueuectl.failures import Failure
from fleetqueue.kube.resources import Resource

Object = dict[str, Any]


def selector_of(kind: Resource, job: Object) -> str:
    made = _SELECTORS.get((kind.group, kind.kind))
    if made is None:
        raise Failure(f"unsupported kind: {kind.kind}")
    return made(job)


def _by_name(label: str) -> Callable[[Object], str]:
    return lambda job: f"{label}={job['metadata']['name']}"


def _by_selector(job: Object) -> str:
    return str(labels_from_object(job["spec"].get("selector") or {}))


def _of_ray_job(job: Object) -> str:
    """Its cluster, once it has one; a selector that nothing has, before."""
    cluster = (job.get("status") or {}).get("rayClusterName") or ""
    if cluster:
        return f"ray.io/cluster={cluster}"
    return f"ray.io/originated-from-cr-name={job['metadata']['name']}"


def _of_ray_service(job: Object) -> str:
    return f"ray.io/originated-from-cr-name={job['metadata']['name']}"


def _of_pod(pod: Object) -> str:
    """The whole group, where it belongs to one."""
    labels = pod["metadata"].get("labels") or {}
    group = labels.get("kueue.x-k8s.io/pod-group-name")
    if group:
        return f"kueue.x-k8s.io/pod-group-name={group}"
    raise Failure("unsupported kind: Pod", "only pods of a group have others beside them")


_TRAINING = _by_name("training.kubeflow.org/job-name")
_SELECTORS: dict[tuple[str, str], Callable[[Object], str]] = {
    ("", "Pod"): _of_pod,
    ("apps", "Deployment"): _by_selector,
    ("apps", "StatefulSet"): _by_selector,
    ("batch", "Job"): _by_name("batch.kubernetes.io/job-name"),
    ("jobset.x-k8s.io", "JobSet"): _by_name("jobset.sigs.k8s.io/jobset-name"),
    ("kubeflow.org", "JAXJob"): _TRAINING,
    ("kubeflow.org", "MPIJob"): _TRAINING,
    ("kubeflow.org", "PaddleJob"): _TRAINING,
    ("kubeflow.org", "PyTorchJob"): _TRAINING,
    ("kubeflow.org", "TFJob"): _TRAINING,
    ("kubeflow.org", "XGBoostJob"): _TRAINING,
    ("leaderworkerset.x-k8s.io", "LeaderWorkerSet"): _by_name("leaderworkerset.sigs.k8s.io/name"),
    ("ray.io", "RayCluster"): _by_name("ray.io/cluster"),
    ("ray.io", "RayJob"): _of_ray_job,
    ("ray.io", "RayService"): _of_ray_service,
    ("trainer.kubeflow.org", "TrainJob"): _by_name("jobset.sigs.k8s.io/jobset-name"),
    ("workload.codeflare.dev", "AppWrapper"): _by_name("workload.codeflare.dev/appwrapper"),
}
