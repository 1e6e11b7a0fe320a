"""AppWrapper (workload.codeflare.dev/v1beta2): what was admitted lies beside its components."""

from fleetqueue.base import paths
from fleetqueue.jobs.kind import holds
from fleetqueue.jobs.kinds.app_wrapper import JOB
from fleetqueue.kube.resources import Object
from fleetqueue.multikueue.adapter import Adapter
from fleetqueue.multikueue.adapters.managed import managed, unmanaged
from fleetqueue.multikueue.settings import DispatchSettings

QUOTA_RESERVED = "QuotaReserved"
"""The condition of a wrapper that has, or may have, something deployed."""


def mirror(job: Object, workload: Object, settings: DispatchSettings) -> Object:
    made = unmanaged(JOB, job, workload, settings)
    return dict(paths.without(made, "spec.components[*].podSetInfos"))


def reset(job: Object) -> Object | None:
    if not holds(job, QUOTA_RESERVED):
        return None
    status = job["status"]
    kept = [each for each in status["conditions"] if each["type"] != QUOTA_RESERVED]
    return {**status, "phase": "Suspended", "conditions": kept}


def adapter() -> Adapter:
    return managed(JOB, mirror=mirror, reset=reset)
