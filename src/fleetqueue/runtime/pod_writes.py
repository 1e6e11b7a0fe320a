"""Writes to one very pod: a namesake is never touched, and a pod that is gone is no error."""

from fleetqueue.kube.calls import DeleteOptions, PatchType
from fleetqueue.kube.cluster import Cluster
from fleetqueue.kube.errors import Conflict, NotFound
from fleetqueue.kube.resources import Object, key_of, uid_of
from fleetqueue.runtime.kinds import POD


async def patch_status(cluster: Cluster, pod: Object, status: Object, manager: str = "") -> bool:
    """A strategic patch, which merges conditions by their type; False where the pod is gone."""
    key = key_of(pod)
    patch = {"metadata": {"uid": uid_of(pod)}, "status": status}
    try:
        await cluster.patch(
            POD,
            key.name,
            patch,
            key.namespace,
            type=PatchType.STRATEGIC,
            subresource="status",
            field_manager=manager,
        )
    except (NotFound, Conflict) as error:
        return _gone_or_raise(cluster, pod, error)
    return True


async def delete_pod(cluster: Cluster, pod: Object, grace_seconds: int | None = None) -> bool:
    """False where the pod was gone already."""
    key = key_of(pod)
    options: DeleteOptions = {"uid": uid_of(pod)}
    if grace_seconds is not None:
        options["grace_period_seconds"] = grace_seconds
    try:
        await cluster.delete(POD, key.name, key.namespace, **options)
    except (NotFound, Conflict) as error:
        return _gone_or_raise(cluster, pod, error)
    return True


def _gone_or_raise(cluster: Cluster, pod: Object, error: NotFound | Conflict) -> bool:
    """A conflict means that another has the name now, or that somebody else wrote first; the cache
    tells which.
    """
    key = key_of(pod)
    cached = cluster.cached(POD, key.name, key.namespace)
    if isinstance(error, Conflict) and cached is not None and uid_of(cached) == uid_of(pod):
        raise error
    return False
