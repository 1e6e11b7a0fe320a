"""The objects of a member as its applier reads and writes them; what it was refused comes back in
KubeFleet's words.
"""

from collections.abc import Awaitable
from typing import Any

from fleetqueue.api.fleet import labels
from fleetqueue.api.meta import Key
from fleetqueue.errors import ClusterError
from fleetqueue.fleet.decide.delivery import (
    forms,
    managed_fields,
    merge_keys,
    ownership,
    three_way,
)
from fleetqueue.fleet.decide.delivery.manifests import Identity
from fleetqueue.fleet.member.following import Following
from fleetqueue.kube.calls import PatchType
from fleetqueue.kube.client import Client
from fleetqueue.kube.errors import Conflict, Invalid, NotFound, Refused
from fleetqueue.kube.resources import Object, Resource, key_of, uid_of, version_of

MANAGER = labels.WORK_APPLIER_MANAGER
_OWN_MANAGERS = {MANAGER, "before-first-apply"}


class WriteFailed(ClusterError):
    """The member refused a write; the text is what a status says of it."""


class Changed(ClusterError):
    """Somebody else wrote in between: what was decided does not count any more."""


class Rejected(ClusterError):
    """The member finds the manifest invalid where it was only tried out."""


class MemberObjects:
    """All writes have the applier's field manager."""

    def __init__(self, client: Client, following: Following) -> None:
        self._client = client
        self._following = following

    async def resource(self, api_version: str, kind: str) -> Resource:
        return await self._client.discovery.resource(api_version, kind)

    async def find(self, resource: Resource, identity: Identity) -> Object | None:
        try:
            found = await self._client.get(resource, identity.name, identity.namespace)
        except NotFound:
            return None
        self._following.saw(resource, found)
        return found

    async def create(self, resource: Resource, obj: Object) -> Object:
        writing = self._client.create(obj, resource=resource, field_manager=MANAGER)
        return await self._written(resource, writing, "failed to create the manifest object")

    async def set_owners(self, resource: Resource, live: Object, owners: list[Any]) -> Object:
        """Only if nobody else changed it since it was read."""
        metadata = {"ownerReferences": owners or None, "resourceVersion": version_of(live)}
        key = key_of(live)
        writing = self._client.patch(
            resource, key.name, {"metadata": metadata}, key.namespace, field_manager=MANAGER
        )
        return await self._written(resource, writing, "failed to patch the manifest object")

    async def merge(
        self, resource: Resource, live: Object, wanted: Object, *, is_locked: bool
    ) -> Object:
        """Three ways: from what was applied last, to what is wanted now, over what is there."""
        before, wanted = _mergeable(_last_applied(live)), _mergeable(wanted)
        place = merge_keys.place_of(resource.group, resource.version, resource.kind)
        type = PatchType.MERGE if place is None else PatchType.STRATEGIC
        if place is None:
            patch = three_way.merge_patch(before, wanted, live)
        else:
            patch = three_way.strategic_patch(before, wanted, live, place)
        if not patch:
            return live
        if is_locked:
            patch["metadata"] = {**patch.get("metadata", {}), "resourceVersion": version_of(live)}
        key = key_of(live)
        writing = self._client.patch(
            resource, key.name, patch, key.namespace, type=type, field_manager=MANAGER
        )
        return await self._written(resource, writing, "failed to patch the manifest object")

    async def apply(
        self, resource: Resource, live: Object, wanted: Object, *, forces: bool, is_locked: bool
    ) -> Object:
        """On the server; where nobody else has a say in the object, there is nobody to ask."""
        live = await self._folded(resource, live)
        if is_locked:
            metadata = {**wanted["metadata"], "resourceVersion": version_of(live)}
            wanted = {**wanted, "metadata": metadata}
        force = forces or _managers(live) <= _OWN_MANAGERS
        writing = self._applied(resource, wanted, force=force)
        return await self._written(resource, writing, "failed to apply the manifest object")

    async def _folded(self, resource: Resource, live: Object) -> Object:
        """All that it wrote counts as applied, or else what the manifest drops would stay."""
        entries = live["metadata"].get("managedFields") or ()
        folded = managed_fields.folded(entries, MANAGER)
        if folded is None:
            return live
        metadata = {"managedFields": folded, "resourceVersion": version_of(live)}
        key = key_of(live)
        writing = self._client.patch(
            resource, key.name, {"metadata": metadata}, key.namespace, field_manager=MANAGER
        )
        return await self._written(resource, writing, "failed to apply the manifest object")

    async def _applied(self, resource: Resource, wanted: Object, *, force: bool) -> Object:
        """What it made in another way is somebody else's to the server; that is no conflict."""
        try:
            return await self._client.apply(
                wanted, force=force, resource=resource, field_manager=MANAGER
            )
        except Conflict as refusal:
            if force or not _is_with_itself(refusal):
                raise
        return await self._client.apply(
            wanted, force=True, resource=resource, field_manager=MANAGER
        )

    async def tried(self, resource: Resource, manifest: Object) -> Object:
        """What the object would be if the manifest were applied, by force."""
        try:
            return await self._client.apply(
                manifest, force=True, resource=resource, dry_run=True, field_manager=MANAGER
            )
        except Invalid as refusal:
            raise Rejected(str(refusal)) from refusal
        except Refused as refusal:
            raise WriteFailed(_answered(refusal)) from refusal

    async def let_go(self, resource: Resource, identity: Identity, owner: Object) -> None:
        """An object that nobody else owns is deleted, another one only loses this owner."""
        live = await self.find(resource, identity)
        if live is None or not ownership.is_owned_by(live, owner):
            return
        left = ownership.without(live, owner)
        if left:
            await self.set_owners(resource, live, left)
            return
        try:
            await self._client.delete(
                resource,
                identity.name,
                identity.namespace,
                propagation="Background",
                uid=uid_of(live),
                resource_version=version_of(live),
            )
        except NotFound:
            return

    async def unblock(self, resource: Resource, identity: Identity, owner: Object) -> None:
        """Its owner no longer waits for the object to go."""
        live = await self.find(resource, identity)
        owners = None if live is None else ownership.unblocked(live, owner)
        if live is not None and owners is not None:
            await self.set_owners(resource, live, owners)

    def last_of(self, resource: Resource, key: Key) -> Object | None:
        return self._following.last_of(resource, key)

    def expects(self, resource: Resource, key: Key) -> bool:
        return self._following.expects(resource, key)

    async def _written(self, resource: Resource, writing: Awaitable[Object], failed: str) -> Object:
        try:
            done = await writing
        except Conflict as refusal:
            if any(each.get("reason") == "FieldManagerConflict" for each in refusal.causes):
                raise WriteFailed(f"{failed}: {_answered(refusal)}") from refusal
            raise Changed(f"{failed}: {_answered(refusal)}") from refusal
        except Refused as refusal:
            if refusal.reason == "AlreadyExists":
                raise Changed(f"{failed}: {_answered(refusal)}") from refusal
            raise WriteFailed(f"{failed}: {_answered(refusal)}") from refusal
        self._following.saw(resource, done)
        return done


def _answered(refusal: Refused) -> str:
    return f"error returned by the API server: {refusal}"


def _is_with_itself(refusal: Conflict) -> bool:
    told = [str(each.get("message") or "") for each in refusal.causes]
    own = tuple(f'conflict with "{name}"' for name in _OWN_MANAGERS)
    return bool(told) and all(each.startswith(own) for each in told)


def _last_applied(live: Object) -> Object:
    return forms.decoded(forms.annotation(live, labels.LAST_APPLIED_CONFIGURATION))


def _mergeable(obj: Object) -> Object:
    """Owners are written for themselves, since not every kind merges lists."""
    metadata = obj.get("metadata") or {}
    kept = {name: value for name, value in metadata.items() if name != "ownerReferences"}
    return {**obj, "metadata": kept} if obj else {}


def _managers(live: Object) -> set[str]:
    entries = live["metadata"].get("managedFields") or ()
    return {str(each.get("manager") or "") for each in entries}
