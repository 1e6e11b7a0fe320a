"""One cluster as controllers see it: a cache to read from, which takes in our writes at once."""

import asyncio
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from random import Random
from typing import Any, TypeAlias, TypeVar, Unpack, overload

import msgspec

from fleetqueue.api import kinds
from fleetqueue.api.meta import Key
from fleetqueue.api.model import write
from fleetqueue.base.clock import Clock
from fleetqueue.errors import Bug
from fleetqueue.kube import watch, writes
from fleetqueue.kube.calls import DeleteOptions, PatchType, Selection, WriteOptions
from fleetqueue.kube.client import Client
from fleetqueue.kube.events import EventRecorder
from fleetqueue.kube.informer import Informer, deleted_uid
from fleetqueue.kube.remembered import Remembered
from fleetqueue.kube.resources import (
    Kind,
    Object,
    Resource,
    key_of,
    resource_of,
    uid_of,
    version_of,
)

T = TypeVar("T", bound=kinds.Resource)
APPLIED_MAX = 100_000
_Identity: TypeAlias = tuple[Kind, str, tuple[tuple[str, Any], ...]]
"""Of an informer: kind, namespace and selection."""
IndexFunctions = Mapping[str, Callable[[Any], Iterable[Hashable]]]


class Cluster:
    """A client, the informers on it, and the recorder of events."""

    def __init__(
        self,
        client: Client,
        *,
        clock: Clock,
        random: Random,
        name: str = "",
        component: str = "fleetqueue",
        deadlines: watch.Deadlines | None = None,
        strip: Callable[[Any], Any] | None = None,
    ) -> None:
        """`strip`: takes from plain objects, in place, what caches need not hold.
        Only for clients whose answers are read from bytes: what others hold, too, is not changed.
        """
        self.client = client
        self.clock = clock
        self.random = random
        self.name = name
        self.events = EventRecorder(client, component, clock=clock, random=random)
        self._deadlines = deadlines
        self._strip = strip
        self._informers: dict[_Identity, Informer[Any]] = {}
        self._named: dict[tuple[str, str], list[Informer[Any]]] = {}
        """The same by apiVersion and kind: every write asks who follows its object."""
        self._running: dict[_Identity, asyncio.Task[None]] = {}
        self._held: set[Resource] = set()
        """Kinds that the server does not have: nothing is asked of them, none of them is there."""
        self._is_started = False
        self.merged: dict[Resource, Callable[[Any, Any, str], Any]] = {}
        """Kinds whose status is patched, not applied: what the patch is for an object that is
        known, the body of the apply, and its field manager."""
        self._applied: Remembered[tuple[str, Any]] = Remembered(APPLIED_MAX)
        """By object and manager: the uid, and the status that was applied last."""

    # The cache

    def informer(
        self,
        kind: Kind,
        namespace: str = "",
        *,
        selection: Selection | None = None,
        indexes: IndexFunctions | None = None,
    ) -> Informer[Any]:
        """The one informer of that kind, namespace and selection; it runs when the cluster does."""
        identity = (kind, namespace, tuple(sorted((selection or {}).items())))
        found = self._informers.get(identity)
        if found is None:
            found = Informer(
                self.client,
                kind,
                namespace,
                random=self.random,
                selection=selection,
                deadlines=self._deadlines,
                transform=self._strip if isinstance(kind, Resource) else without_managed_fields,
            )
            self._informers[identity] = found
            self._named.setdefault(_names(kind), []).append(found)
            if self._is_started:
                self._run(identity, found)
        for name, function in (indexes or {}).items():
            found.store.add_index(name, function)
        return found

    def start(self) -> None:
        """Starts the informers that exist, and every later one as it is asked for."""
        self._is_started = True
        self.events.start()
        for identity, informer in self._informers.items():
            if identity not in self._running:
                self._run(identity, informer)

    async def wait_synced(self) -> None:
        for informer in list(self._awaited()):
            await informer.wait_synced()

    async def stop(self) -> None:
        """Sends the events that wait, then stops to follow; the client stays open."""
        self._is_started = False
        await self.events.stop()
        running = list(self._running.values())
        self._running.clear()
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)

    @property
    def has_synced(self) -> bool:
        return all(informer.has_synced for informer in self._awaited())

    def hold(self, kind: Resource) -> None:
        """The server has no such kind: it counts as empty, and nobody waits for it."""
        self._held.add(kind)
        for identity, informer in self._informers.items():
            if resource_of(informer.kind) == kind:
                task = self._running.pop(identity, None)
                if task is not None:
                    task.cancel()
                informer.reset()

    def let_go(self, kind: Resource) -> None:
        """The server has that kind after all."""
        self._held.discard(kind)
        for identity, informer in self._informers.items():
            is_idle = self._is_started and identity not in self._running
            if is_idle and resource_of(informer.kind) == kind:
                self._run(identity, informer)

    def is_held(self, kind: Resource) -> bool:
        return kind in self._held

    def kinds(self) -> list[Resource]:
        """All that something is followed of, each once."""
        return list(dict.fromkeys(resource_of(each.kind) for each in self._informers.values()))

    def is_current(self, revisions: Callable[[Resource], Mapping[Key, int]]) -> bool:
        """Whether the caches hold just what the server does; `revisions` tells what that is.

        Caches of a selection are not looked at, since the server's side of them is not known.
        """
        return all(
            informer.has_all(revisions(resource_of(informer.kind)))
            for informer in self._informers.values()
        )

    def problems(self) -> list[str]:
        """What keeps the cache from following the server."""
        return [
            f"{resource_of(informer.kind)}: {informer.problem}"
            for informer in self._awaited()
            if informer.problem is not None
        ]

    def followed(self) -> Iterator[Resource]:
        """The kinds of which all objects are followed as plain ones."""
        for kind, namespace, selection in self._informers:
            if isinstance(kind, Resource) and not namespace and not selection:
                yield kind

    def follows(self, kind: Kind) -> bool:
        """Whether all objects of that kind can be read from here."""
        found = self._informers.get((kind, "", ()))
        return found is not None and found.has_synced

    @overload
    def cached(self, kind: type[T], name: str, namespace: str = "") -> T | None: ...
    @overload
    def cached(self, kind: Resource, name: str, namespace: str = "") -> Object | None: ...
    def cached(self, kind: Kind, name: str, namespace: str = "") -> Any:
        return self._reading(kind, namespace).store.get(Key(namespace, name))

    @overload
    def cached_all(self, kind: type[T], namespace: str = "") -> list[T]: ...
    @overload
    def cached_all(self, kind: Resource, namespace: str = "") -> list[Object]: ...
    def cached_all(self, kind: Kind, namespace: str = "") -> Any:
        return self._reading(kind, namespace).store.all(namespace)

    @overload
    def cached_by(self, kind: type[T], index: str, value: Hashable) -> list[T]: ...
    @overload
    def cached_by(self, kind: Resource, index: str, value: Hashable) -> list[Object]: ...
    def cached_by(self, kind: Kind, index: str, value: Hashable) -> Any:
        return self._reading(kind, "").store.by_index(index, value)

    # Writes; each answer goes into the cache

    async def create(self, obj: Any, **options: Unpack[WriteOptions]) -> Any:
        made = await self.client.create(obj, **options)
        return self._accepted(made, options)

    async def patch(
        self,
        kind: Kind,
        name: str,
        patch: Any,
        namespace: str = "",
        *,
        type: PatchType = PatchType.MERGE,
        subresource: str = "",
        **options: Unpack[WriteOptions],
    ) -> Any:
        """A merge patch of what the cache holds already is not sent."""
        known = self._known(kind, Key(namespace, name))
        if type is PatchType.MERGE and known is not None and _changes_nothing(known, patch):
            return known
        done = await self.client.patch(
            kind, name, patch, namespace, type=type, subresource=subresource, **options
        )
        return self._accepted(done, options)

    async def apply(
        self,
        obj: Any,
        *,
        force: bool = False,
        subresource: str = "",
        **options: Unpack[WriteOptions],
    ) -> Any:
        if self.merged and subresource == "status":
            kind = resource_of(await self._kind(obj))
            if kind in self.merged:
                return await self._merge_status(kind, obj, options.get("field_manager") or "")
        done = await self.client.apply(obj, force=force, subresource=subresource, **options)
        return self._accepted(done, options)

    async def _merge_status(self, kind: Resource, body: Any, manager: str) -> Any:
        key = key_of(body)
        known = self._known(kind, key)
        if known is None:
            known = await self.client.get(kind, key.name, key.namespace)
        patch = self.merged[kind](known, body, manager)
        return await self.patch(kind, key.name, patch, key.namespace, subresource="status")

    async def apply_status(
        self,
        obj: Any,
        status: Any,
        *,
        field_manager: str = "",
        force: bool = True,
        if_unchanged: bool = False,
    ) -> Any:
        """Server-side apply of a status; not sent where the object says the same already.

        `if_unchanged` makes it fail with Conflict where the object changed since it was read.
        """
        kind = await self._kind(obj)
        key, wanted = key_of(obj), write(status)
        manager = field_manager or self.client.field_manager
        newest = self._known(kind, key) or obj
        if self._says_already(newest, wanted, self._applied.get((kind, key, manager))):
            return newest
        body = _status_body(resource_of(kind), obj, wanted, if_unchanged)
        done = await self.client.apply(
            body,
            force=force,
            subresource="status",
            resource=resource_of(kind),
            field_manager=manager,
        )
        self._applied.put((kind, key, manager), (uid_of(obj), wanted))
        typed = done if isinstance(kind, Resource) else msgspec.convert(done, kind)
        self.accept(typed)
        return typed

    async def delete(
        self, kind: Kind, name: str, namespace: str = "", **options: Unpack[DeleteOptions]
    ) -> Object:
        answer = await self.client.delete(kind, name, namespace, **options)
        resource, uid = resource_of(kind), deleted_uid(answer)
        if options.get("dry_run"):
            return answer
        if uid:
            for informer in self._informers_of(resource):
                informer.accept_deleted(Key(namespace, name), uid)
        elif answer.get("kind") != "Status":
            self.accept(answer, resource)
        return answer

    def accept(self, obj: Any, resource: Resource | None = None) -> None:
        """Takes the answer to a write into every cache that follows its kind."""
        if resource is None and not isinstance(obj, dict):
            resource = resource_of(type(obj))
        for informer in self._informers_of(resource, obj):
            if isinstance(informer.kind, Resource):
                if isinstance(obj, dict):
                    informer.accept(obj)
            elif isinstance(obj, informer.kind):
                informer.accept(obj)
            elif isinstance(obj, dict):
                informer.accept(msgspec.convert(obj, informer.kind))

    def _accepted(self, obj: Any, options: WriteOptions) -> Any:
        if not options.get("dry_run"):
            self.accept(obj)
        return obj

    def _informers_of(self, resource: Resource | None, obj: Any = None) -> list[Informer[Any]]:
        if resource is not None:
            found = self._named.get(_names(resource), ())
            return [each for each in found if resource_of(each.kind) == resource]
        return self._named.get((obj.get("apiVersion"), obj.get("kind")), [])

    def _reading(self, kind: Kind, namespace: str) -> Informer[Any]:
        for at in ("", namespace):
            found = self._informers.get((kind, at, ()))
            if found is not None:
                return found
        raise Bug(f"nothing follows {resource_of(kind)}: the controller needs a Watch of it")

    def _known(self, kind: Kind, key: Key) -> Any:
        for at in ("", key.namespace):
            found = self._informers.get((kind, at, ()))
            if found is not None:
                return found.store.get(key)
        return None

    async def _kind(self, obj: Any) -> Kind:
        if isinstance(obj, dict):
            return await self.client.discovery.resource_of(obj)
        return type(obj)

    def _says_already(self, obj: Any, wanted: Any, applied: tuple[str, Any] | None) -> bool:
        """Equal, or still as we applied it last while others own more of the status."""
        present = _plain_status(obj)
        if present == wanted:
            return True
        return applied == (uid_of(obj), wanted) and writes.holds(present, wanted)

    def _awaited(self) -> Iterator[Informer[Any]]:
        every = list(self._informers.values())
        return (each for each in every if resource_of(each.kind) not in self._held)

    def _run(self, identity: _Identity, informer: Informer[Any]) -> None:
        if resource_of(informer.kind) in self._held:
            return
        name = f"informer {resource_of(informer.kind)} {self.name}".strip()
        self._running[identity] = asyncio.create_task(informer.run(), name=name)


def without_managed_fields(obj: T) -> T:
    """Nobody here reads them, and they are often the larger half of an object."""
    metadata = msgspec.structs.replace(obj.metadata, managed_fields=[])
    return msgspec.structs.replace(obj, metadata=metadata)


def _status_body(resource: Resource, obj: Any, status: Any, if_unchanged: bool) -> Object:
    key = key_of(obj)
    metadata = {
        "name": key.name,
        "namespace": key.namespace,
        "uid": uid_of(obj),
        "resourceVersion": version_of(obj) if if_unchanged else "",
    }
    return {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "metadata": {name: value for name, value in metadata.items() if value},
        "status": status,
    }


def _plain_status(obj: Any) -> Any:
    status = obj.get("status") if isinstance(obj, dict) else obj.status
    return {} if status is None else write(status)


def _changes_nothing(known: Any, patch: Any) -> bool:
    if isinstance(known, dict):
        return writes.merge_changes_nothing(known, patch)
    return not writes.removes_something(patch) and writes.merge_changes_nothing(write(known), patch)


def _names(kind: Kind) -> tuple[str, str]:
    resource = resource_of(kind)
    return resource.api_version, resource.kind
