"""Kinds with a field that says who runs a job: their adapters follow from their declarations."""

import math
from functools import partial
from typing import Any

from fleetqueue.base import paths
from fleetqueue.jobs import starting
from fleetqueue.jobs.kind import JobKind, Sight
from fleetqueue.jobs.pod_sets import infos_of
from fleetqueue.kube.resources import Object
from fleetqueue.kube.sources import Listed
from fleetqueue.multikueue.adapter import Adapter, Copied, Copying, prebuilt_key
from fleetqueue.multikueue.adapters.mirrors import bare
from fleetqueue.multikueue.adapters.owners import jobs_of
from fleetqueue.multikueue.settings import DispatchSettings

TIMES_TO_LIVE = ("spec.ttlSecondsAfterFinished", "spec.runPolicy.ttlSecondsAfterFinished")
RAY = "ray.io"
"""Whose jobs stay, and whose field means the clusters that they ran on."""
LINGERS_SECONDS = 60
"""Longer than a worker may be away."""
_NOWHERE = Listed(())


def managed(kind: JobKind, **changes: Any) -> Adapter:
    """`changes`: what a kind does in its own way."""
    common: dict[str, Any] = {
        "resource": kind.resource,
        "framework": kind.framework,
        "managed_by": kind.managed_by,
        "jobs": partial(jobs_of, kind.resource),
        "mirror": partial(mirror, kind),
        "copy": copy_status,
        "has_ended": partial(has_ended, kind),
        "reset": partial(without_activity, kind),
        "wakes": prebuilt_key,
    }
    return Adapter(**{**common, **changes})


def mirror(kind: JobKind, job: Object, workload: Object, settings: DispatchSettings) -> Object:
    """Suspended, run by the worker's own operator, with the templates that the Workload has: what
    was admitted here is put into those of the local job, and means nothing there.
    """
    made = unmanaged(kind, job, workload, settings)
    return starting.restored(kind, sight_of(job, settings), made, infos_of(workload))


def unmanaged(kind: JobKind, job: Object, workload: Object, settings: DispatchSettings) -> Object:
    """A mirror with the templates of the local job."""
    name = str(workload["metadata"]["name"])
    made = bare(job, kind.resource, settings, prebuilt=name)
    made = paths.without(made, kind.managed_by)
    if kind.resource.group != RAY:
        made = _lingering(made, settings)
    return dict(paths.with_value(made, kind.suspend, True))


def _lingering(mirror: Object, settings: DispatchSettings) -> Object:
    """One that deletes itself when it has ended stays until that is known here, or it is given up:
    a mirror that is just gone is taken for one that never ended, and the job runs again.
    """
    least = math.ceil(settings.worker_lost_seconds) + LINGERS_SECONDS
    for path in TIMES_TO_LIVE:
        span = paths.get(mirror, path)
        if span is not None and span < least:
            mirror = paths.with_value(mirror, path, least)
    return mirror


def copy_status(copying: Copying) -> Copied:
    """All that the mirror says, whenever it says something else."""
    return told(copying.job, copying.mirror.get("status") or {})


def told(job: Object, status: Object) -> Copied:
    """A mirror that nobody has looked at yet says nothing, and takes nothing back."""
    is_new = bool(status) and status != (job.get("status") or {})
    return Copied(status) if is_new else Copied()


def has_ended(kind: JobKind, mirror: Object, settings: DispatchSettings) -> bool:
    return kind.verdict(sight_of(mirror, settings)) is not None


def without_activity(kind: JobKind, job: Object) -> Object | None:
    """Nothing at the path that tells of activity is anything but zero."""
    assert isinstance(kind.active, str), f"{kind.framework} tells of activity in its own way"
    if not any(paths.find(job, kind.active)):
        return None
    made: Object = paths.with_value(job, kind.active, 0)["status"]
    return made


def sight_of(job: Object, settings: DispatchSettings) -> Sight:
    """The job alone, for what can be told from it."""
    return Sight(job, _NOWHERE, settings.jobs)
