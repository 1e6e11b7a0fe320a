"""Pods that are gone from their worker, as a manager remembers them that keeps their logs: one of
ours shows them to whoever asks as `kubectl logs` does. All others have none.
"""

from collections.abc import Sequence
from dataclasses import replace

from fleetqueue.kube import calls
from fleetqueue.kube.client import Client
from fleetqueue.kube.errors import NotFound, UnknownKind
from fleetqueue.kube.resources import PODS, Object, Resource, key_of, uid_of
from fleetqueue.multikueue.reach import pods_of
from fleetqueue.multikueue.reach.search import Dispatch, resource_of

ASKS = {"kubectl-command": "kubectl logs"}
_BETWEEN = {(each.group, each.kind) for each in pods_of.INTERMEDIATE}


async def pods_remembered(manager: Client, namespace: str, dispatch: Dispatch) -> list[Object]:
    """Of a job that was sent to a worker, by name."""
    found: dict[str, Object] = {}
    for owner in dispatch.mirrors:
        try:
            kind = await resource_of(manager, owner)
            job = await manager.get(kind, owner.name, namespace)
            pods = await _pods(manager, kind, job)
        except (NotFound, UnknownKind):
            continue
        found |= {uid_of(pod): pod for pod in pods if _ran(pod) and _is_of(pod, kind, job)}
    return sorted(found.values(), key=lambda pod: key_of(pod).name)


async def _pods(manager: Client, kind: Resource, job: Object) -> Sequence[Object]:
    key = key_of(job)
    if pods_of.is_itself(kind):
        return [await _ask(manager, PODS.path(key.namespace, key.name))]
    found: list[Object] = []
    for selector in pods_of.selectors_of(kind, job):
        listed = await _ask(manager, PODS.path(key.namespace), selector)
        found += listed.get("items") or ()
    return found


async def _ask(manager: Client, path: str, selector: str = "") -> Object:
    call = calls.read(path, [("labelSelector", selector)] if selector else [])
    answer = await manager.call(replace(call, headers={**call.headers, **ASKS}))
    found: Object = answer.payload.decoded()
    return found


def _ran(pod: Object) -> bool:
    """Those that wait here for their mirrors have no node."""
    return bool(pod["spec"].get("nodeName"))


def _is_of(pod: Object, kind: Resource, job: Object) -> bool:
    """Jobs of several kinds may have one name, and their pods one label."""
    owner = pods_of.owner_of(pod)
    if owner is None:
        return True
    if (owner.group, owner.kind) == (kind.group, kind.kind):
        return owner.uid == uid_of(job)
    return (owner.group, owner.kind) in _BETWEEN
