"""Finalizers: added before the first side effect, removed after the last."""

from typing import Any, TypeVar

from fleetqueue.api import kinds
from fleetqueue.kube.calls import PatchType
from fleetqueue.kube.client import Client
from fleetqueue.kube.errors import NotFound
from fleetqueue.kube.resources import Object, Resource, key_of, uid_of, version_of

T = TypeVar("T", bound=kinds.Resource)


def finalizers_of(obj: kinds.Resource | Object) -> list[str]:
    if isinstance(obj, dict):
        return list((obj.get("metadata") or {}).get("finalizers") or ())
    return list(obj.metadata.finalizers)


def is_deleting(obj: kinds.Resource | Object) -> bool:
    if isinstance(obj, dict):
        return bool((obj.get("metadata") or {}).get("deletionTimestamp"))
    return obj.metadata.deletion_timestamp is not None


def added(obj: kinds.Resource | Object, finalizer: str) -> Object | None:
    """The merge patch that adds it; None where it is there, or where it is too late."""
    present = finalizers_of(obj)
    if finalizer in present or is_deleting(obj):
        return None
    return _patch(obj, [*present, finalizer])


def joining(obj: kinds.Resource | Object, finalizer: str) -> tuple[Any, PatchType] | None:
    """As `added`, and where others are there already, a patch that holds as long as these do: what
    else is written of the object meanwhile is no conflict.
    """
    merge, present = added(obj, finalizer), finalizers_of(obj)
    if merge is None:
        return None
    if not present:
        return merge, PatchType.MERGE
    where = "/metadata/finalizers"
    steps = [
        {"op": "test", "path": "/metadata/uid", "value": uid_of(obj)},
        {"op": "test", "path": where, "value": present},
        {"op": "add", "path": f"{where}/-", "value": finalizer},
    ]
    return steps, PatchType.JSON


def removed(obj: kinds.Resource | Object, finalizer: str) -> Object | None:
    """The merge patch that removes it; None where it is not there."""
    present = finalizers_of(obj)
    if finalizer not in present:
        return None
    return _patch(obj, [each for each in present if each != finalizer])


async def add(client: Client, obj: Any, finalizer: str, resource: Resource | None = None) -> Any:
    """The object as it is afterwards. Raises Conflict where it changed since it was read."""
    patch = added(obj, finalizer)
    return obj if patch is None else await _send(client, obj, patch, resource)


async def remove(client: Client, obj: Any, finalizer: str, resource: Resource | None = None) -> Any:
    """As `add`; an object that is already gone is as good as one without the finalizer."""
    patch = removed(obj, finalizer)
    if patch is None:
        return obj
    try:
        return await _send(client, obj, patch, resource)
    except NotFound:
        return obj


def _patch(obj: kinds.Resource | Object, finalizers: list[str]) -> Object:
    """A list is replaced as a whole, so the patch holds only for the version that was read."""
    metadata: Object = {"finalizers": finalizers or None, "resourceVersion": version_of(obj)}
    if uid := uid_of(obj):
        metadata["uid"] = uid
    return {"metadata": metadata}


async def _send(client: Client, obj: Any, patch: Object, resource: Resource | None) -> Any:
    key = key_of(obj)
    if isinstance(obj, dict):
        kind = resource or await client.discovery.resource_of(obj)
        return await client.patch(kind, key.name, patch, key.namespace, type=PatchType.MERGE)
    return await client.patch(type(obj), key.name, patch, key.namespace, type=PatchType.MERGE)
