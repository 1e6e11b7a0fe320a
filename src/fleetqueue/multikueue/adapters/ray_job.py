"""RayJob (ray.io/v1): sent once, whatever its size becomes."""

from fleetqueue.jobs.kinds.ray_job import JOB
from fleetqueue.kube.resources import Object
from fleetqueue.multikueue.adapter import Adapter
from fleetqueue.multikueue.adapters.managed import managed

_OF_A_RUN = ("jobStatus", "jobDeploymentStatus", "rayClusterStatus")


def reset(job: Object) -> Object | None:
    status: Object = job.get("status") or {}
    if status.get("jobDeploymentStatus") in (None, "", "Suspended"):
        return None
    kept = {name: value for name, value in status.items() if name not in _OF_A_RUN}
    return {**kept, "jobDeploymentStatus": "Suspended"}


def adapter() -> Adapter:
    return managed(JOB, reset=reset)
