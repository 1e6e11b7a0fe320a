"""Collects what its owners left behind, and carries out foreground and orphaning deletions."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec

from fleetqueue.apiserver.core import Core
from fleetqueue.apiserver.deletes import FOREGROUND, ORPHAN, Options
from fleetqueue.apiserver.internal import Internal
from fleetqueue.apiserver.keepers import Again
from fleetqueue.apiserver.keepers.working import WorkingKeeper
from fleetqueue.apiserver.registry import Resource
from fleetqueue.apiserver.storage import Change, Stored

Object = dict[str, Any]


class Place(NamedTuple):
    """Where an object is stored."""

    table: str
    key: str


class GarbageCollector(WorkingKeeper):
    """Knows which objects name which owners, by uid; only objects with owners cost it anything."""

    work_name = "garbage collection"

    def __init__(self, core: Core, internal: Internal) -> None:
        super().__init__(core, internal)
        self._dependents: dict[str, dict[Place, None]] = {}
        self._owners: dict[Place, tuple[str, ...]] = {}
        self._absent: set[str] = set()
        """Owners that were seen to go while somebody named them, whether or not their kind is still
        served."""

    def start(self) -> None:
        for table, _ in self._core.store.counts():
            for stored in self._core.store.table(table).live.values():
                place = Place(table, stored.key)
                self._index(place, stored)
                if _needs_attention(stored):
                    self._work.add(_join(place))

    def follow(self, changes: Sequence[Change]) -> None:
        for change in changes:
            place = Place(change.resource, change.stored.key)
            if change.after is None:
                self._left(place, change)
            else:
                self._index(place, change.after)
                self._wake_unblocked(place, change)
                if _needs_attention(change.after):
                    self._work.add(_join(place))

    # The index

    def _index(self, place: Place, stored: Stored) -> None:
        named = _owner_uids(self._core, stored)
        before = self._owners.get(place, ())
        if named == before:
            return
        for uid in before:
            self._forget(uid, place)
        for uid in named:
            self._dependents.setdefault(uid, {})[place] = None
        if named:
            self._owners[place] = named
            self._work.add(_join(place))
        else:
            self._owners.pop(place, None)

    def _left(self, place: Place, change: Change) -> None:
        """An object is gone: its dependents, and owners that wait for it, need a look."""
        metadata = _read_identity(change.stored.data).metadata
        if metadata.uid in self._dependents:
            self._absent.add(metadata.uid)
        for dependent in self._dependents.get(metadata.uid, ()):
            self._work.add(_join(dependent))
        for owner in self._owners.pop(place, ()):
            self._forget(owner, place)
        for reference in metadata.owners or ():
            self._wake_owner(reference, place)

    def _forget(self, owner: str, place: Place) -> None:
        dependents = self._dependents.get(owner)
        if dependents is not None:
            dependents.pop(place, None)
            if not dependents:
                del self._dependents[owner]
                self._absent.discard(owner)

    def _wake_unblocked(self, place: Place, change: Change) -> None:
        """An owner may have waited for a dependent that names it no more, or blocks it no more."""
        before = _references(self._core, change.before)
        if not before:
            return
        after = _references(self._core, change.after)
        for reference in before:
            if reference.get("blockOwnerDeletion") and reference not in after:
                self._wake_owner(reference, place)

    def _wake_owner(self, reference: Object, dependent: Place) -> None:
        place = self._place(reference, dependent.key)
        if place is not None:
            self._work.add(_join(place))

    def _place(self, reference: Object, key: str) -> Place | None:
        """Where the owner of an object would be: in its namespace, or cluster-wide."""
        group, _, _ = str(reference.get("apiVersion", "")).rpartition("/")
        resource = self._core.registry.by_kind(group, str(reference.get("kind", "")))
        if resource is None:
            return None
        namespace = key.rpartition("/")[0]
        return Place(resource.table, resource.key(namespace, str(reference.get("name", ""))))

    # The work

    async def _attend(self, joined: str) -> None:
        place = _split(joined)
        stored = self._core.store.get(*place)
        resource = self._core.registry.by_table(place.table)
        if stored is None or resource is None:
            return
        obj = self._core.store.decoded(stored)
        finalizers = obj["metadata"].get("finalizers") or ()
        if "deletionTimestamp" in obj["metadata"]:
            if ORPHAN in finalizers:
                await self._orphan(resource, place, obj)
            elif FOREGROUND in finalizers:
                await self._delete_dependents(resource, place, obj)
        if obj["metadata"].get("ownerReferences"):
            await self._judge(resource, place, obj)

    async def _judge(self, resource: Resource, place: Place, obj: Object) -> None:
        """Delete an object whose owners are all gone; forget the owners that are, otherwise."""
        solid, dangling, waiting = [], [], []
        for reference in obj["metadata"]["ownerReferences"]:
            owner = self._owner(reference, place)
            if owner is None:
                dangling.append(reference["uid"])
            elif _waits_for_dependents(owner):
                waiting.append(reference)
            else:
                solid.append(reference)
        if solid:
            if dangling or waiting:
                gone = {*dangling, *(reference["uid"] for reference in waiting)}
                await self._drop_owners(resource, place, gone)
            return
        if "deletionTimestamp" in obj["metadata"]:
            return
        policy = _policy(obj)
        if waiting and self._dependents.get(obj["metadata"]["uid"]):
            policy = "Foreground"
            if self._is_in_circle(obj):
                await self._unblock_owners(resource, place)
                raise Again
        await self._delete(resource, place, obj, policy)

    def _is_in_circle(self, obj: Object) -> bool:
        """It would wait for a dependent that itself waits, perhaps for this very object."""
        if not any(r.get("blockOwnerDeletion") for r in obj["metadata"]["ownerReferences"]):
            return False
        dependents = self._dependents.get(obj["metadata"]["uid"], ())
        found = [self._core.get(*dependent) for dependent in dependents]
        return any(one is not None and _waits_for_dependents(one) for one in found)

    async def _unblock_owners(self, resource: Resource, place: Place) -> None:
        def unblock(obj: Object) -> None:
            for reference in obj["metadata"].get("ownerReferences") or ():
                if reference.get("blockOwnerDeletion"):
                    reference["blockOwnerDeletion"] = False

        namespace, _, name = place.key.rpartition("/")
        await self._internal.edit(resource, namespace, name, unblock)

    def _owner(self, reference: Object, place: Place) -> Object | None:
        if reference.get("uid") in self._absent:
            return None
        group, _, _ = str(reference.get("apiVersion", "")).rpartition("/")
        known = self._core.registry.by_kind(group, str(reference.get("kind", "")))
        if known is None:
            # A kind that is not served now may come back: its objects are not called gone.
            return {"metadata": {"uid": reference.get("uid")}}
        if known.namespaced and "/" not in place.key:
            # A cluster-scoped object cannot be owned from inside a namespace; leave it alone.
            return {"metadata": {"uid": reference.get("uid")}}
        found = self._place(reference, place.key)
        assert found is not None
        owner = self._core.get(*found)
        if owner is None or owner["metadata"]["uid"] != reference.get("uid"):
            return None
        return owner

    async def _delete(self, resource: Resource, place: Place, obj: Object, policy: str) -> None:
        metadata = obj["metadata"]
        options = Options(
            policy=policy, uid=metadata["uid"], resource_version=metadata["resourceVersion"]
        )
        namespace, _, name = place.key.rpartition("/")
        if await self._internal.delete(resource, namespace, name, options) is None:
            # It is gone, or it was written to since it was judged.
            raise Again

    async def _drop_owners(self, resource: Resource, place: Place, gone: set[str]) -> None:
        def drop(obj: Object) -> None:
            references = obj["metadata"].get("ownerReferences") or []
            kept = [reference for reference in references if reference["uid"] not in gone]
            if kept:
                obj["metadata"]["ownerReferences"] = kept
            else:
                obj["metadata"].pop("ownerReferences", None)

        namespace, _, name = place.key.rpartition("/")
        await self._internal.edit(resource, namespace, name, drop)

    async def _orphan(self, resource: Resource, place: Place, obj: Object) -> None:
        uid = obj["metadata"]["uid"]
        for dependent in sorted(self._dependents.get(uid, ())):
            known = self._core.registry.by_table(dependent.table)
            if known is not None:
                await self._drop_owners(known, dependent, {uid})
        await self._drop_finalizer(resource, place, ORPHAN)

    async def _delete_dependents(self, resource: Resource, place: Place, obj: Object) -> None:
        """The owner stays until the dependents that block it are gone."""
        uid = obj["metadata"]["uid"]
        blocked = False
        for dependent in sorted(self._dependents.get(uid, ())):
            child = self._core.get(*dependent)
            if child is None:
                continue
            if _blocks(child, uid):
                blocked = True
            if "deletionTimestamp" not in child["metadata"]:
                self._work.add(_join(dependent))
        if not blocked:
            await self._drop_finalizer(resource, place, FOREGROUND)

    async def _drop_finalizer(self, resource: Resource, place: Place, finalizer: str) -> None:
        def drop(obj: Object) -> None:
            kept = [f for f in obj["metadata"].get("finalizers") or () if f != finalizer]
            obj["metadata"]["finalizers"] = kept

        namespace, _, name = place.key.rpartition("/")
        await self._internal.edit(resource, namespace, name, drop)


class _Metadata(msgspec.Struct):
    uid: str
    owners: list[Object] | None = msgspec.field(name="ownerReferences", default=None)


class _Identity(msgspec.Struct):
    """What the collector has to know of an object that is gone; no more of it is decoded."""

    metadata: _Metadata


_read_identity = msgspec.json.Decoder(_Identity).decode


def _owner_uids(core: Core, stored: Stored) -> tuple[str, ...]:
    references = _references(core, stored)
    return tuple([reference.get("uid", "") for reference in references]) if references else ()


def _references(core: Core, stored: Stored | None) -> Sequence[Object]:
    # Most objects have no owner; looking for the word is far cheaper than decoding.
    if stored is None or b'"ownerReferences"' not in stored.data:
        return ()
    return core.store.decoded(stored)["metadata"].get("ownerReferences") or ()


def _needs_attention(stored: Stored) -> bool:
    return b'"deletionTimestamp"' in stored.data and (
        b'"%b"' % ORPHAN.encode() in stored.data or b'"%b"' % FOREGROUND.encode() in stored.data
    )


def _waits_for_dependents(owner: Object) -> bool:
    metadata = owner["metadata"]
    return "deletionTimestamp" in metadata and FOREGROUND in (metadata.get("finalizers") or ())


def _blocks(child: Object, uid: str) -> bool:
    references = child["metadata"].get("ownerReferences") or ()
    return any(r["uid"] == uid and r.get("blockOwnerDeletion") for r in references)


def _policy(obj: Object) -> str:
    """A dependent goes the way its own finalizers ask for."""
    finalizers = obj["metadata"].get("finalizers") or ()
    if ORPHAN in finalizers:
        return "Orphan"
    return "Foreground" if FOREGROUND in finalizers else "Background"


def _join(place: Place) -> str:
    return f"{place.table}|{place.key}"


def _split(joined: str) -> Place:
    table, _, key = joined.partition("|")
    return Place(table, key)
