"""A watch kept as a local store with indexes; it takes in our own writes at once.

An event older than what the store holds is dropped, so that a watch which lags behind never undoes
our own write; nor does a list that was asked for before it. Otherwise a list is the truth, even
where it shows an older state: the server may have been restored.
"""

import asyncio
import logging
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from contextlib import aclosing
from random import Random
from typing import Any, Generic, TypeVar, assert_never

from fleetqueue.api.meta import Key
from fleetqueue.kube import resources, watch
from fleetqueue.kube.calls import Selection
from fleetqueue.kube.client import Client
from fleetqueue.kube.errors import KubeError
from fleetqueue.kube.remembered import Remembered
from fleetqueue.kube.resources import Kind, Object
from fleetqueue.kube.watch import Event, Watcher

T = TypeVar("T")
Changed = Callable[[T | None, T | None], None]
"""Told of a change: what was before, what is now; None where there was or is nothing."""
IndexFunction = Callable[[T], Iterable[Hashable]]
SLICE = 200
"""So many objects are taken in before others have their turn."""
log = logging.getLogger(__name__)


class Store(Generic[T]):
    """Objects by key, and their keys by index. Objects are shared: never change them.

    One thread changes it; others may read meanwhile, so what is walked through is copied first.
    """

    def __init__(self, indexes: Mapping[str, IndexFunction[T]] | None = None) -> None:
        self._objects: dict[Key, T] = {}
        self._spaces: dict[str, dict[Key, None]] = {}
        """Keys by namespace, in the order in which they came."""
        self._functions = dict(indexes or {})
        self._entries: dict[str, dict[Hashable, dict[Key, None]]] = {
            name: {} for name in self._functions
        }

    def get(self, key: Key) -> T | None:
        return self._objects.get(key)

    def all(self, namespace: str = "") -> list[T]:
        if not namespace:
            return list(self._objects.values())
        return self._held(self._spaces.get(namespace))

    def by_index(self, name: str, value: Hashable) -> list[T]:
        return self._held(self._entries[name].get(value))

    def _held(self, keys: Mapping[Key, None] | None) -> list[T]:
        found = map(self._objects.get, list(keys or ()))
        return [obj for obj in found if obj is not None]

    def all_keys(self) -> list[Key]:
        return list(self._objects)

    def __len__(self) -> int:
        return len(self._objects)

    def put(self, key: Key, obj: T) -> T | None:
        """Returns what was there before."""
        old = self._objects.get(key)
        if old is not None:
            self._leave_indexes(key, old)
        self._objects[key] = obj
        if old is None and key.namespace:
            self._spaces.setdefault(key.namespace, {})[key] = None
        for name, function in self._functions.items():
            for value in function(obj):
                self._entries[name].setdefault(value, {})[key] = None
        return old

    def remove(self, key: Key) -> T | None:
        old = self._objects.pop(key, None)
        if old is not None:
            self._leave_indexes(key, old)
            _discard(self._spaces, key.namespace, key)
        return old

    def add_index(self, name: str, function: IndexFunction[T]) -> None:
        self._functions[name] = function
        entries: dict[Hashable, dict[Key, None]] = {}
        for key, obj in self._objects.items():
            for value in function(obj):
                entries.setdefault(value, {})[key] = None
        self._entries[name] = entries

    def _leave_indexes(self, key: Key, old: T) -> None:
        for name, function in self._functions.items():
            entries = self._entries[name]
            for value in function(old):
                _discard(entries, value, key)


class Informer(Generic[T]):
    """Follows one kind and tells its listeners what changed, in order."""

    def __init__(
        self,
        client: Client,
        kind: Kind,
        namespace: str = "",
        *,
        random: Random,
        selection: Selection | None = None,
        indexes: Mapping[str, IndexFunction[T]] | None = None,
        deadlines: watch.Deadlines | None = None,
        transform: Callable[[T], T] | None = None,
        on_problem: watch.OnProblem | None = None,
    ) -> None:
        self.kind = kind
        self.namespace = namespace
        self.store: Store[T] = Store(indexes)
        self._watcher: Watcher[T] = Watcher(
            client,
            kind,
            namespace,
            random=random,
            selection=selection,
            deadlines=deadlines,
            transform=transform,
            on_problem=on_problem,
        )
        self._transform = transform
        self._listeners: list[Changed[T]] = []
        self._incoming: dict[Key, T] | None = None
        self._is_listing = False
        """A list is under way, from the moment it is asked for until it is taken in."""
        self._own: set[Key] = set()
        """Keys that we have written since the list that is under way was asked for."""
        self._gone: Remembered[bool] = Remembered()
        """Uids of objects that are removed: they never come back."""
        self._floors: Remembered[int] = Remembered()
        """By key, the last revision of what we have removed: nothing up to it counts any more."""
        self._is_partial = bool(selection)
        self._synced = asyncio.Event()
        self._awaited: dict[Key, asyncio.Event] = {}
        """Set and forgotten when the object changes."""

    async def run(self) -> None:
        """Follows until it is cancelled."""
        async with aclosing(self._watcher.batches()) as batches:
            async for batch in batches:
                for event in batch:
                    if isinstance(event, watch.InitDone):
                        for _ in self._replacing():
                            await asyncio.sleep(0)
                    else:
                        self.handle(event)

    @property
    def has_synced(self) -> bool:
        return self._synced.is_set()

    @property
    def problem(self) -> KubeError | None:
        """Why the server cannot be followed at present."""
        return self._watcher.problem

    def has_all(self, revisions: Mapping[Key, int]) -> bool:
        """Whether these objects, in these revisions, are what the store holds."""
        if self._is_partial:
            return True
        wanted = {
            key: revision
            for key, revision in revisions.items()
            if not self.namespace or key.namespace == self.namespace
        }
        held = {
            key: _revision(obj) for key in self.store.all_keys() if (obj := self.store.get(key))
        }
        return held == wanted

    async def wait_synced(self) -> None:
        await self._synced.wait()

    def listen(self, listener: Changed[T]) -> None:
        """A new listener is told of everything that is there already."""
        self._listeners.append(listener)
        for obj in self.store.all():
            self._tell_one(listener, None, obj)

    def reset(self) -> None:
        """Holds nothing any more, and begins anew when it runs again; not while it runs."""
        self._begin()
        for _ in self._replacing():
            pass
        self._synced.clear()
        self._watcher.reset()

    def get(self, name: str, namespace: str = "") -> T | None:
        return self.store.get(Key(namespace, name))

    async def wait_changed(self, key: Key, version: str, seconds: float) -> bool:
        """Whether the store has another version than this, or nothing, before time is up."""
        try:
            async with asyncio.timeout(seconds):
                while (held := self.store.get(key)) is not None and _version(held) == version:
                    await self._awaited.setdefault(key, asyncio.Event()).wait()
        except TimeoutError:
            return False
        return True

    def accept(self, obj: T, *, belongs: bool = False) -> None:
        """Takes in the answer to a write of ours, before the watch brings it.

        Where only a part of the kind is followed, an object that is new here may not belong to it:
        that is left to the watch, unless the caller knows that it `belongs`.
        """
        key = _key(obj)
        elsewhere = bool(self.namespace) and key.namespace != self.namespace
        is_doubtful = self._is_partial and not belongs and self.store.get(key) is None
        if not elsewhere and not is_doubtful:
            self._note_own(key)
            self._apply(self._transform(obj) if self._transform else obj)

    def accept_deleted(self, key: Key, uid: str) -> None:
        """Takes in that a delete of ours has removed this very object."""
        held = self.store.get(key)
        self._note_own(key)
        self._gone.put(uid, True)
        if held is not None and _uid(held) == uid:
            self._floors.put(key, _revision(held))
            self.store.remove(key)
            self._tell(held, None)

    def handle(self, event: Event[T]) -> None:
        match event:
            case watch.InitBegin():
                self._begin()
            case watch.InitItem(object=obj):
                assert self._incoming is not None
                self._incoming[_key(obj)] = obj
            case watch.InitDone():
                for _ in self._replacing():
                    pass
            case watch.Apply(object=obj):
                self._apply(obj)
            case watch.Delete(object=obj):
                self._delete(obj)
            case watch.Bookmark():
                pass
            case _:
                assert_never(event)

    def _apply(self, obj: T) -> None:
        key = _key(obj)
        held = self.store.get(key)
        is_past = self._is_past(key, obj) if held is None else not _is_newer(obj, held)
        if not is_past and not self._gone.get(_uid(obj)):
            self._put(key, obj)

    def _is_past(self, key: Key, obj: T) -> bool:
        floor = self._floors.get(key)
        return floor is not None and 0 < _revision(obj) <= floor

    def _put(self, key: Key, obj: T) -> None:
        old = self.store.put(key, obj)
        if old is not None and _uid(old) != _uid(obj):
            self._tell(old, None)
            old = None
        self._tell(old, obj)

    def _delete(self, obj: T) -> None:
        key = _key(obj)
        held = self.store.get(key)
        # The answer to an earlier write may come later, with the object as it was.
        if self._is_partial:
            self._floors.put(key, _revision(obj))
        else:
            self._gone.put(_uid(obj), True)
        if held is None:
            return
        if _uid(held) != _uid(obj) and _is_newer(held, obj):
            return
        self.store.remove(key)
        self._tell(held, None)

    def _note_own(self, key: Key) -> None:
        """For the list that is under way; no other asks for it."""
        if self._is_listing:
            self._own.add(key)

    def _begin(self) -> None:
        """The server answers from now on: all that was written until now will be in the answer."""
        self._incoming = {}
        self._is_listing = True
        self._own.clear()
        self._gone.clear()
        self._floors.clear()

    def _replacing(self) -> Iterator[None]:
        """The whole state arrived: what differs is told, what did not come is gone. Others have
        their turn in between; what they write meanwhile counts as our own.
        """
        incoming, self._incoming = self._incoming or {}, None
        for number, key in enumerate(self.store.all_keys(), 1):
            if number % SLICE == 0:
                yield
            held = self.store.get(key)
            if held is not None and key not in incoming and key not in self._own:
                self.store.remove(key)
                self._tell(held, None)
        for number, (key, obj) in enumerate(incoming.items(), 1):
            if number % SLICE == 0:
                yield
            held = self.store.get(key)
            if key in self._own:
                self._apply(obj)
            elif held is None or _version(obj) != _version(held):
                self._put(key, obj)
        self._is_listing = False
        self._own.clear()
        self._synced.set()

    def _tell(self, old: T | None, new: T | None) -> None:
        for listener in self._listeners:
            self._tell_one(listener, old, new)
        if self._awaited:
            changed = self._awaited.pop(_key(old if new is None else new), None)
            if changed is not None:
                changed.set()

    def _tell_one(self, listener: Changed[T], old: T | None, new: T | None) -> None:
        """One listener's bug must not cut the others off from what happens."""
        try:
            listener(old, new)
        except Exception:
            log.exception("a listener failed: kind=%s", resources.resource_of(self.kind))


def _discard(entries: dict[Any, dict[Key, None]], value: Hashable, key: Key) -> None:
    """Leaves nothing empty behind."""
    keys = entries.get(value)
    if keys is not None:
        keys.pop(key, None)
        if not keys:
            del entries[value]


def _key(obj: Any) -> Key:
    return resources.key_of(obj)


def _uid(obj: Any) -> str:
    return resources.uid_of(obj)


def _is_newer(new: Any, held: Any) -> bool:
    """By revision; where a server's revisions are no numbers, whatever comes last."""
    ours, theirs = _revision(new), _revision(held)
    if not ours or not theirs:
        return resources.version_of(new) != resources.version_of(held)
    return ours > theirs


def _version(obj: Any) -> str:
    return resources.version_of(obj)


def _revision(obj: Any) -> int:
    return resources.revision_of(obj)


def deleted_uid(answer: Object) -> str:
    """The uid of the object that a delete has removed; "" where it still exists for a while."""
    if answer.get("kind") == "Status":
        return str((answer.get("details") or {}).get("uid") or "")
    metadata = answer.get("metadata") or {}
    waits = metadata.get("finalizers") or metadata.get("deletionGracePeriodSeconds")
    if answer.get("kind") == "Namespace":
        # It has finalizers of its own besides those that every object may have.
        waits = waits or (answer.get("spec") or {}).get("finalizers")
    if metadata.get("deletionTimestamp") and waits:
        return ""
    return str(metadata.get("uid") or "")
