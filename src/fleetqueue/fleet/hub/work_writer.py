"""Writes Works: new ones, changed ones, and away with those that nobody needs."""

import asyncio
from collections.abc import Iterable

from fleetqueue.api.fleet import naming
from fleetqueue.fleet import kinds
from fleetqueue.fleet.decide import works
from fleetqueue.kube.calls import PatchType
from fleetqueue.kube.cluster import Cluster
from fleetqueue.kube.errors import Conflict, NotFound
from fleetqueue.kube.remembered import Remembered
from fleetqueue.kube.resources import Object, key_of, uid_of

WRITTEN_MAX = 100_000


class WorkWriter:
    """Does not write again what the server keeps in a form of its own."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._written: Remembered[tuple[int, str]] = Remembered(WRITTEN_MAX)
        """By uid of a Work: its generation after our last write, and the hash of what we asked."""

    async def write(self, changes: works.Changes, *, abandons: bool) -> bool:
        """Whether anything was made or changed."""
        done = await asyncio.gather(
            *(self._create(each) for each in changes.create),
            *(self._update(old, new) for old, new in changes.update),
            return_exceptions=True,
        )
        for outcome in done:
            if isinstance(outcome, BaseException):
                raise outcome
        await self.delete(changes.delete, abandons=abandons)
        return any(done)

    async def delete(self, existing: Iterable[Object], *, abandons: bool) -> None:
        """Those that are on their way already are left alone. `abandons`: what they delivered may
        stay on the member where they say so; that is meant for the end of their placement only.
        """
        for work in existing:
            if work["metadata"].get("deletionTimestamp"):
                continue
            key = key_of(work)
            try:
                if not abandons and (patch := works.without_abandoning(work)) is not None:
                    await self._cluster.patch(kinds.WORK, key.name, patch, key.namespace)
                await self._cluster.delete(kinds.WORK, key.name, key.namespace, uid=uid_of(work))
            except (NotFound, Conflict):
                # Gone already, or another one has the name by now.
                continue

    async def _create(self, work: Object) -> bool:
        kind = {"apiVersion": kinds.WORK.api_version, "kind": kinds.WORK.kind}
        made = await self._cluster.create({**kind, **work})
        self._remember(made, work)
        return True

    async def _update(self, old: Object, new: Object) -> bool:
        if self._written.get(uid_of(old)) == (_generation(old), _asked(new)):
            return False
        key = key_of(old)
        patch = works.patch_of(old, new)
        done = await self._cluster.patch(
            kinds.WORK, key.name, patch, key.namespace, type=PatchType.JSON
        )
        self._remember(done, new)
        return True

    def _remember(self, written: Object, asked: Object) -> None:
        if written.get("spec") != asked["spec"]:
            self._written.put(uid_of(written), (_generation(written), _asked(asked)))


def _generation(work: Object) -> int:
    return int(work["metadata"].get("generation") or 0)


def _asked(work: Object) -> str:
    metadata = work["metadata"]
    return naming.content_hash([metadata.get("labels"), metadata.get("annotations"), work["spec"]])
