"""StatefulSet (apps/v1): sent as it is; the local one goes on to show its own pods, which wait."""

from functools import partial

from fleetqueue.jobs.kinds.stateful_set import JOB
from fleetqueue.kube.resources import Object
from fleetqueue.multikueue.adapter import Adapter, Copied, prebuilt_key
from fleetqueue.multikueue.adapters.mirrors import bare
from fleetqueue.multikueue.adapters.owners import jobs_of
from fleetqueue.multikueue.settings import DispatchSettings


def mirror(job: Object, workload: Object, settings: DispatchSettings) -> Object:
    name = str(workload["metadata"]["name"])
    return bare(job, JOB.resource, settings, prebuilt=name, notes_uid=True)


def adapter() -> Adapter:
    return Adapter(
        resource=JOB.resource,
        framework=JOB.framework,
        jobs=partial(jobs_of, JOB.resource),
        mirror=mirror,
        copy=lambda copying: Copied(),
        wakes=prebuilt_key,
    )
