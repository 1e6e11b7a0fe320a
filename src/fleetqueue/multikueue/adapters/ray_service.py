"""RayService (ray.io/v1): what it serves may change while it runs, and is told to the mirror."""

from fleetqueue.jobs.kind import holds
from fleetqueue.jobs.kinds.ray_service import JOB
from fleetqueue.kube.resources import Object
from fleetqueue.multikueue.adapter import Adapter, Copying
from fleetqueue.multikueue.adapters.managed import managed

SERVED = "serveConfigV2"
READY = "Ready"


def forward(copying: Copying) -> Object | None:
    wanted, present = (each["spec"].get(SERVED) for each in (copying.job, copying.mirror))
    if not copying.settings.gates.spec_sync or (wanted or "") == (present or ""):
        return None
    return {"spec": {SERVED: wanted}}


def reset(job: Object) -> Object | None:
    if not holds(job, READY):
        return None
    status = job["status"]
    kept = [each for each in status["conditions"] if each["type"] != READY]
    return {**status, "conditions": kept}


def adapter() -> Adapter:
    return managed(JOB, forward=forward, reset=reset)
