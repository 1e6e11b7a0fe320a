"""Asks a worker for the owners of a pod, one after the other, until one of them is a mirror."""

from collections.abc import Awaitable, Callable

from fleetqueue.api.meta import Key
from fleetqueue.kube.client import Client
from fleetqueue.kube.errors import Refused
from fleetqueue.kube.resources import PODS, Object, Resource, key_of, uid_of
from fleetqueue.multikueue.reach import pods_of
from fleetqueue.multikueue.reach.pods_of import Reference

OWNERS_MAX = 8
"""So many lie between a pod and its job at most; more are a ring."""

Mirror = tuple[Resource, Object]
IsMirror = Callable[[Reference, str], Mirror | None]
"""Given an owner and its namespace: the mirror of ours that it is."""
Read = Callable[[Resource, Key], Awaitable[Object]]


class Ancestry:
    """Of the pods of one worker; what was asked once is known."""

    def __init__(self, read: Read, is_mirror: IsMirror) -> None:
        self._read = read
        self._is_mirror = is_mirror
        self._known: dict[str, Object | None] = {}
        self._kinds = {(each.group, each.kind): each for each in pods_of.INTERMEDIATE}

    async def mirror_of(self, pod: Object) -> Mirror | None:
        """The mirror that a pod belongs to; None: it is no pod of ours, or nobody can tell."""
        namespace, owner = key_of(pod).namespace, pods_of.owner_of(pod)
        wrapper = pods_of.wrapper_of(pod)
        if wrapper is not None and (found := self._is_mirror(wrapper, namespace)) is not None:
            return found
        if owner is None:
            return self._is_mirror(pods_of.itself(pod), namespace)
        for _ in range(OWNERS_MAX):
            found = self._is_mirror(owner, namespace)
            if found is not None:
                return found
            above = await self._look(owner, namespace)
            owner = None if above is None else pods_of.owner_of(above)
            if owner is None:
                return None
        return None

    async def _look(self, owner: Reference, namespace: str) -> Object | None:
        if owner.uid in self._known:
            return self._known[owner.uid]
        kind, found = self._kinds.get((owner.group, owner.kind)), None
        if kind is not None:
            try:
                read = await self._read(kind, Key(namespace, owner.name))
            except Refused:
                read = {}
            # Another object may have the name by now.
            found = read if owner.uid and uid_of(read) == owner.uid else None
        self._known[owner.uid] = found
        return found


def on(client: Client, is_mirror: IsMirror) -> Ancestry:
    """Of the pods of the worker that a client speaks to."""

    async def read(kind: Resource, key: Key) -> Object:
        return await client.get(kind, key.name, key.namespace)

    return Ancestry(read, is_mirror)


async def pods_of_mirror(
    client: Client, ancestry: Ancestry, kind: Resource, mirror: Object
) -> list[Object]:
    """All of them, by name."""
    if pods_of.is_itself(kind):
        return [mirror]
    found: dict[str, Object] = {}
    for selector in pods_of.selectors_of(kind, mirror):
        listed = await client.list(PODS, key_of(mirror).namespace, label_selector=selector)
        found |= {uid_of(pod): pod for pod in listed.items}
    kept = [pod for pod in found.values() if await _belongs(ancestry, pod, mirror)]
    return sorted(kept, key=lambda pod: key_of(pod).name)


async def _belongs(ancestry: Ancestry, pod: Object, mirror: Object) -> bool:
    found = await ancestry.mirror_of(pod)
    return found is not None and uid_of(found[1]) == uid_of(mirror)
