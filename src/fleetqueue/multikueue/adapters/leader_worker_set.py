"""LeaderWorkerSet (leaderworkerset.x-k8s.io/v1): one mirror for all its Workloads, whose names are
computed from the uid that the local set has.
"""

from collections.abc import Iterable
from functools import partial

from fleetqueue.api.kueue import labels
from fleetqueue.api.meta import Key
from fleetqueue.jobs import identity
from fleetqueue.jobs.kinds.leader_worker_set import JOB, REPLICAS_MAX, replicas_of, workload_name
from fleetqueue.kube.resources import Object, key_of
from fleetqueue.multikueue.adapter import Adapter, Copied
from fleetqueue.multikueue.adapters.managed import sight_of
from fleetqueue.multikueue.adapters.mirrors import bare
from fleetqueue.multikueue.adapters.owners import jobs_of
from fleetqueue.multikueue.settings import DispatchSettings


def mirror(job: Object, workload: Object, settings: DispatchSettings) -> Object:
    return bare(job, JOB.resource, settings, notes_uid=True)


def wakes(mirror: Object, settings: DispatchSettings) -> Iterable[Key]:
    count = replicas_of(mirror)
    is_ours = labels.MULTIKUEUE_ORIGIN_UID in identity.annotations_of(mirror)
    if not is_ours or not 0 <= count <= REPLICAS_MAX:
        return ()
    sight, namespace = sight_of(mirror, settings), key_of(mirror).namespace
    return [Key(namespace, workload_name(sight, index)) for index in range(count)]


def adapter() -> Adapter:
    return Adapter(
        resource=JOB.resource,
        framework=JOB.framework,
        jobs=partial(jobs_of, JOB.resource),
        mirror=mirror,
        copy=lambda copying: Copied(),
        wakes=wakes,
        has_components=True,
    )
