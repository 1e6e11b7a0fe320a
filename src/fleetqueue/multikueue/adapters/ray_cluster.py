"""RayCluster (ray.io/v1): an elastic one is resized on its worker, group by group."""

from collections.abc import Mapping

from fleetqueue.api.kueue.workloads import pod_set_counts
from fleetqueue.jobs import identity, ray
from fleetqueue.jobs.kinds.ray_cluster import JOB
from fleetqueue.kube.resources import Object, version_of
from fleetqueue.multikueue.adapter import Adapter, Copying
from fleetqueue.multikueue.adapters import managed
from fleetqueue.multikueue.adapters.mirrors import prebuilt_patch
from fleetqueue.multikueue.settings import DispatchSettings

GROUPS = "workerGroupSpecs"
_SIZES = ("replicas", "numOfHosts")


def mirror(job: Object, workload: Object, settings: DispatchSettings) -> Object:
    """An elastic one starts with the sizes of its Workload, whatever the job has become since."""
    made = managed.mirror(JOB, job, workload, settings)
    if not identity.is_elastic(job, settings.jobs):
        return made
    counts = pod_set_counts(workload)
    groups = [_counted(each, counts) for each in _groups(made)]
    return {**made, "spec": {**made["spec"], GROUPS: groups}} if groups else made


def forward(copying: Copying) -> Object | None:
    """The sizes of an elastic cluster, once the Workload that has these sizes is admitted there.

    The list is replaced as a whole, so the patch holds only for the version that was read.
    """
    job, mirror, workload = copying.job, copying.mirror, copying.workload
    if not identity.is_elastic(job, copying.settings.jobs) or not _is_of(workload, job):
        return None
    metadata = prebuilt_patch(mirror, str(workload["metadata"]["name"]))
    wanted = {str(each["groupName"]): each for each in _groups(job)}
    groups = [_resized(each, wanted.get(each["groupName"])) for each in _groups(mirror)]
    if groups == _groups(mirror):
        return {"metadata": metadata} if metadata else None
    version = {"resourceVersion": version_of(mirror)}
    return {"metadata": {**metadata, **version}, "spec": {GROUPS: groups}}


def reset(job: Object) -> Object | None:
    status: Object = job.get("status") or {}
    return {**status, "state": "suspended"} if status.get("state") == "ready" else None


def _is_of(workload: Object, job: Object) -> bool:
    """Whether the Workload was made, or resized, for the job as it is now."""
    counts = pod_set_counts(workload)
    return all(counts.get(_pod_set(each)) == ray.group_size(each) for each in _groups(job))


def _resized(group: Object, wanted: Object | None) -> Object:
    """A group that the local cluster does not have stays as it is, as does one of equal size."""
    if wanted is None or _size(wanted) == _size(group):
        return group
    kept = {name: value for name, value in group.items() if name not in _SIZES}
    return {**kept, **{name: wanted[name] for name in _SIZES if wanted.get(name) is not None}}


def _size(group: Object) -> tuple[int, int]:
    """How many pods it has, and how many of these belong together."""
    return ray.group_size(group), int(group.get("numOfHosts") or 1)


def _counted(group: Object, counts: Mapping[str, int]) -> Object:
    count = counts.get(_pod_set(group))
    if count is None or count == ray.group_size(group):
        return group
    return {**group, "replicas": count // max(int(group.get("numOfHosts") or 1), 1)}


def _groups(job: Object) -> list[Object]:
    found: list[Object] = job["spec"].get(GROUPS) or []
    return found


def _pod_set(group: Object) -> str:
    return str(group["groupName"]).lower()


def adapter() -> Adapter:
    return managed.managed(JOB, mirror=mirror, forward=forward, reset=reset)
