"""Takes away what a Work put on the member: all of it when the Work goes, single objects that it
no longer has, or nothing where the objects are to stay.
"""

from collections.abc import Iterable
from datetime import timedelta
from typing import Any

from fleetqueue.api.fleet import labels
from fleetqueue.api.times import parse_time
from fleetqueue.fleet import kinds
from fleetqueue.fleet.decide.delivery import (
    expectations,
    manifests,
    ownership,
    plans,
    work_status,
)
from fleetqueue.fleet.decide.delivery.manifests import Identity
from fleetqueue.fleet.member.member_objects import Changed, MemberObjects, WriteFailed
from fleetqueue.fleet.settings import MemberSettings
from fleetqueue.kube import finalizers
from fleetqueue.kube.cluster import Cluster
from fleetqueue.kube.controller import DONE, Result
from fleetqueue.kube.errors import NotFound, UnknownKind
from fleetqueue.kube.resources import Object, key_of, uid_of

Json = dict[str, Any]

RECHECK = timedelta(seconds=5)
FINALIZER = labels.WORK_FINALIZER


class Clearing:
    """One for each member."""

    def __init__(
        self, hub: Cluster, member: Cluster, objects: MemberObjects, settings: MemberSettings
    ) -> None:
        self._hub = hub
        self._member = member
        self._objects = objects
        self._wait = timedelta(seconds=settings.deletion_wait_seconds)

    async def clear(self, work: Object) -> Result:
        """The Work goes when its AppliedWork, and with it the objects, are gone."""
        if FINALIZER not in finalizers.finalizers_of(work):
            return DONE
        applied_work = await self._applied_work(work)
        if applied_work is None:
            await self.release(work)
            return DONE
        if not finalizers.is_deleting(applied_work):
            await self._delete(applied_work, is_abandoned=plans.is_abandoned(work))
            return Result(RECHECK)
        since = parse_time(applied_work["metadata"]["deletionTimestamp"])
        if self._member.clock.now() - since >= self._wait:
            await self._unblock(work, applied_work)
        return Result(RECHECK)

    async def release(self, work: Object) -> None:
        """Nothing on the member is touched."""
        patch = finalizers.removed(work, FINALIZER)
        if patch is None:
            return
        key = key_of(work)
        try:
            await self._hub.patch(kinds.WORK, key.name, patch, key.namespace)
        except NotFound:
            return

    async def remove(self, left: Iterable[Identity], owner: Json) -> None:
        """Objects that their Work no longer has. Raises where one cannot be removed: what the Work
        says of it must stay until it is.
        """
        for identity in left:
            try:
                resource = await self._objects.resource(_api_version(identity), identity.kind)
            except UnknownKind:
                continue
            await self._objects.let_go(resource, identity, owner)

    async def _applied_work(self, work: Object) -> Object | None:
        """Asked of the server: one that was made just before a crash counts as well."""
        try:
            return await self._member.client.get(kinds.APPLIED_WORK, key_of(work).name)
        except NotFound:
            return None

    async def _delete(self, applied_work: Object, *, is_abandoned: bool) -> None:
        try:
            await self._member.delete(
                kinds.APPLIED_WORK,
                key_of(applied_work).name,
                propagation="Orphan" if is_abandoned else "Foreground",
                uid=uid_of(applied_work),
            )
        except NotFound:
            return

    async def _unblock(self, work: Object, applied_work: Object) -> None:
        """Objects that do not go must not hold up everything else for ever."""
        owner = ownership.reference(applied_work)
        told = [manifests.identity_of(each["identifier"]) for each in work_status.entries(work)]
        noted = expectations.noted(applied_work) or ()
        for identity in dict.fromkeys([*told, *work_status.listed(applied_work), *noted]):
            if not identity.resource or not identity.name:
                continue
            try:
                resource = await self._objects.resource(_api_version(identity), identity.kind)
                await self._objects.unblock(resource, identity, owner)
            except (UnknownKind, WriteFailed, Changed):
                continue


def _api_version(identity: Identity) -> str:
    return f"{identity.group}/{identity.version}" if identity.group else identity.version
