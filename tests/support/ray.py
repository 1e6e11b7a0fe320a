"""Objects of ray.io/v1 for tests, a cluster that runs their operators, and a Ray to ask."""

from collections.abc import Mapping
from typing import Any

from fleetqueue.api import times
from fleetqueue.api.crds import all_crds
from fleetqueue.kube.calls import PatchType
from fleetqueue.kube.frame import controller_of
from fleetqueue.kube.resources import Object
from fleetqueue.runtime.controllers import job
from fleetqueue.runtime.kinds import POD
from fleetqueue.runtime.operators import ray_cluster, ray_job, ray_service
from fleetqueue.runtime.operators.ray_job_draft import Settings
from fleetqueue.runtime.ray_dashboard import DashboardError, JobInfo
from fleetqueue.testing import Fleet, FleetCluster

GROUP = "ray.io"
IMAGE = "rayproject/ray:2.46.0"


def template(image: str = IMAGE, **container: Any) -> Object:
    return {"spec": {"containers": [{"name": "ray", "image": image, **container}]}}


def worker_group(name: str = "small", replicas: int = 1, **rest: Any) -> Object:
    return {
        "groupName": name,
        "replicas": replicas,
        "minReplicas": 0,
        "maxReplicas": 10,
        "numOfHosts": 1,
        "template": template(),
        **rest,
    }


def cluster_spec(*groups: Object, **rest: Any) -> Object:
    head = {"rayStartParams": {}, "template": template()}
    return {"headGroupSpec": head, "workerGroupSpecs": list(groups), **rest}


def _parent(kind: str, name: str, spec: Object) -> Object:
    metadata = {"name": name, "namespace": "default", "uid": f"uid-{name}", "resourceVersion": "1"}
    return {"apiVersion": "ray.io/v1", "kind": kind, "metadata": metadata, "spec": spec}


def ray_cluster_of(*groups: Object, name: str = "c", **spec: Any) -> Object:
    return _parent("RayCluster", name, cluster_spec(*groups, **spec))


def ray_job_of(*groups: Object, name: str = "j", **spec: Any) -> Object:
    whole = {"entrypoint": "python train.py", "submissionMode": "K8sJobMode", **spec}
    if "clusterSelector" not in spec:
        whole.setdefault("rayClusterSpec", cluster_spec(*groups))
    return _parent("RayJob", name, {k: v for k, v in whole.items() if v is not None})


def ray_service_of(*groups: Object, name: str = "s", **spec: Any) -> Object:
    config = spec.pop("rayClusterConfig", None) or cluster_spec(*groups)
    whole = {"rayClusterConfig": config, "serveConfigV2": SERVE_CONFIG, **spec}
    return _parent("RayService", name, whole)


SERVE_CONFIG = "applications:\n- name: fruit\n  import_path: fruit:app\n  route_prefix: /fruit\n"


class FakeRay:
    """A dashboard whose answers a test sets."""

    def __init__(self) -> None:
        self.jobs: dict[str, JobInfo] = {}
        self.served: dict[str, Any] = {}
        self.submitted: list[Mapping[str, Any]] = []
        self.stopped: list[str] = []
        self.is_down = False

    async def job(self, cluster: Object, id: str, /) -> JobInfo | None:
        self._check()
        return self.jobs.get(id)

    async def submit(self, cluster: Object, request: Mapping[str, Any], /) -> None:
        self._check()
        self.submitted.append(request)
        self.jobs[request["submission_id"]] = JobInfo("PENDING")

    async def stop(self, cluster: Object, id: str, /) -> None:
        self._check()
        self.stopped.append(id)

    async def applications(self, cluster: Object, /) -> Mapping[str, Any]:
        self._check()
        return dict(self.served.get(cluster["metadata"]["name"]) or {})

    async def deploy(self, cluster: Object, config: Mapping[str, Any], /) -> None:
        self._check()
        names = [each["name"] for each in config["applications"]]
        served = {name: {"status": "DEPLOYING"} for name in names}
        self.served[cluster["metadata"]["name"]] = served

    async def is_serving(self, cluster: Object, /) -> bool:
        return not self.is_down

    def _check(self) -> None:
        if self.is_down:
            raise DashboardError("connection refused")


async def start(fleet: Fleet, ray: FakeRay | None = None) -> FleetCluster:
    """With a Ray to ask, images have Ray; without one, pods stand in for it."""
    cluster = await fleet.add_cluster("one")
    for crd in all_crds(GROUP):
        await cluster.client.create(crd)
    await fleet.settle()

    def has_ray(image: str) -> bool:
        return ray is not None

    dashboard = ray or FakeRay()
    for operator in (
        job.job_operator(),
        ray_cluster.OPERATOR,
        ray_job.ray_job_operator(dashboard, Settings(has_ray)),
        ray_service.ray_service_operator(dashboard, ray_service.Settings(has_ray)),
    ):
        fleet.run(controller_of(operator), on=cluster)
    return cluster


async def create(fleet: Fleet, cluster: FleetCluster, obj: Object) -> Object:
    metadata = {k: v for k, v in obj["metadata"].items() if k not in ("uid", "resourceVersion")}
    made = await cluster.client.create({**obj, "metadata": metadata})
    await fleet.settle()
    return dict(made)


async def move(
    fleet: Fleet,
    cluster: FleetCluster,
    phase: str,
    prefix: str = "",
    states: Mapping[str, Object] | None = None,
) -> None:
    """Pods of that name that have not ended go into a phase, as a kubelet would tell it."""
    at = times.format_time(fleet.clock.now())
    for pod in (await cluster.client.list(POD, "default")).items:
        ended = (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed")
        if ended or not pod["metadata"]["name"].startswith(prefix):
            continue
        ready = str(phase == "Running" and not states)
        conditions = [{"type": "Ready", "status": ready, "lastTransitionTime": at}]
        status: Object = {"phase": phase, "conditions": conditions, "podIP": "10.0.0.9"}
        if states:
            status["containerStatuses"] = [
                _container(name, state) for name, state in states.items()
            ]
        name = pod["metadata"]["name"]
        patch = {"status": status}
        await cluster.client.patch(
            POD, name, patch, "default", type=PatchType.STRATEGIC, subresource="status"
        )
    await fleet.settle()


def _container(name: str, state: Object) -> Object:
    return {
        "name": name,
        "image": IMAGE,
        "imageID": "",
        "ready": "running" in state,
        "restartCount": 0,
        "state": state,
    }
