"""Writes the snapshots of a placement: the policy it has, and what it selects."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from fleetqueue.api.fleet import labels, naming
from fleetqueue.fleet.decide import snapshots
from fleetqueue.fleet.decide.selection import Selected
from fleetqueue.fleet.hub import snapshot_lookup
from fleetqueue.fleet.kinds import Scope
from fleetqueue.fleet.settings import HubSettings
from fleetqueue.kube.cluster import Cluster
from fleetqueue.kube.errors import AlreadyExists, NotFound
from fleetqueue.kube.plan import child
from fleetqueue.kube.resources import Object, Resource, key_of, uid_of

HISTORY_DEFAULT = 10


@dataclass(frozen=True, slots=True)
class Taken:
    """The snapshot that stands for a placement now."""

    index: int
    master: str
    """Its name."""
    group: Sequence[Object]
    """The master and its shards."""
    wait_seconds: float = 0.0
    """More than zero: it is not what is selected now; ask again after so long."""


async def ensure_snapshot(
    cluster: Cluster, scope: Scope, placement: Object, selected: Selected, settings: HubSettings
) -> Taken:
    """The snapshot of this selection; made if it is new, unless changes are still collected."""
    writer = _Writer(cluster, scope, placement)
    found = writer.found(scope.resource_snapshot)
    newest = snapshots.newest_master(found)
    if newest is None:
        return await writer.take(selected, 0)
    index = snapshots.index_of(newest)
    if snapshots.annotation(newest, labels.RESOURCE_HASH) == selected.hash:
        return await writer.complete(selected, newest, found)
    seconds = await _delay(cluster, scope, newest, settings)
    if seconds > 0:
        group = snapshots.shards_of(found, index)
        return Taken(index, key_of(newest).name, group, wait_seconds=seconds)
    limit = _history_limit(placement)
    await writer.delete(snapshots.outdated(found, max(1, limit - 1), snapshots.index_of))
    taken = await writer.take(selected, index + 1, replaced=newest)
    if limit == 1:
        # Without it a hub that died here would begin to count anew.
        await writer.delete(snapshots.shards_of(found, index))
    return taken


async def ensure_policy(cluster: Cluster, scope: Scope, placement: Object) -> Object:
    """The snapshot of the policy that the placement has now."""
    writer = _Writer(cluster, scope, placement)
    found = writer.found(scope.policy_snapshot)
    newest = snapshots.newest_policy(found)
    hash = snapshots.policy_hash(placement["spec"].get("policy"))
    if newest is not None and newest["spec"].get("policyHash") == hash:
        return await writer.refresh_policy(newest)
    if newest is not None:
        await writer.mark(scope.policy_snapshot, newest, is_latest=False)
        kept = max(1, _history_limit(placement) - 1)
        await writer.delete(snapshots.outdated(found, kept, snapshots.policy_index_of))
    index = 0 if newest is None else snapshots.policy_index_of(newest) + 1
    made = await writer.make_policy(index, hash)
    if newest is not None and _history_limit(placement) == 1:
        await writer.delete([newest])
    return made


async def delete_snapshots(cluster: Cluster, scope: Scope, placement: Object) -> None:
    """All of them, when the placement goes."""
    writer = _Writer(cluster, scope, placement)
    for kind in (scope.policy_snapshot, scope.resource_snapshot):
        await writer.delete(writer.found(kind), kind)


class _Writer:
    """Reads and writes the snapshots of one placement."""

    def __init__(self, cluster: Cluster, scope: Scope, placement: Object) -> None:
        self._cluster = cluster
        self._scope = scope
        self._placement = placement
        self._key = key_of(placement)

    def found(self, kind: Resource) -> list[Object]:
        key = self._key
        return snapshot_lookup.of_placement(self._cluster, kind, key.namespace, key.name)

    async def take(self, selected: Selected, index: int, replaced: Object | None = None) -> Taken:
        """Shards first: where there is a master, all of its index is there."""
        shards = snapshots.packed(selected.manifests)
        made = [
            await self._make(self._shard(index, subindex, manifests))
            for subindex, manifests in enumerate(shards[1:])
        ]
        if replaced is not None:
            await self.mark(self._scope.resource_snapshot, replaced, is_latest=False)
        master = await self._make(self._master(index, selected, shards))
        return Taken(index, key_of(master).name, [master, *made])

    async def complete(self, selected: Selected, newest: Object, found: Sequence[Object]) -> Taken:
        """What was lost of a snapshot that holds the selection is made again."""
        index = snapshots.index_of(newest)
        newest = await self.mark(self._scope.resource_snapshot, newest, is_latest=True)
        group = snapshots.shards_of(found, index)
        if len(group) != snapshots.count_of(newest):
            present = {snapshots.subindex_of(each) for each in group}
            for subindex, manifests in enumerate(snapshots.packed(selected.manifests)[1:]):
                if subindex not in present:
                    group.append(await self._make(self._shard(index, subindex, manifests)))
            group = snapshots.shards_of(group, index)
        return Taken(index, key_of(newest).name, group)

    async def mark(self, kind: Resource, snapshot: Object, *, is_latest: bool) -> Object:
        value = "true" if is_latest else "false"
        if snapshots.label(snapshot, labels.IS_LATEST_SNAPSHOT) == value:
            return snapshot
        return await self._patch(kind, snapshot, {"labels": {labels.IS_LATEST_SNAPSHOT: value}})

    async def refresh_policy(self, snapshot: Object) -> Object:
        """What may change without a new snapshot: the number of clusters and the generation."""
        wanted = self._policy_annotations()
        present = snapshot["metadata"].get("annotations") or {}
        if {name: present.get(name) for name in wanted} == wanted:
            return await self.mark(self._scope.policy_snapshot, snapshot, is_latest=True)
        change = {"annotations": wanted, "labels": {labels.IS_LATEST_SNAPSHOT: "true"}}
        return await self._patch(self._scope.policy_snapshot, snapshot, change)

    async def make_policy(self, index: int, hash: str) -> Object:
        policy = self._placement["spec"].get("policy")
        metadata = {
            "name": naming.policy_snapshot(self._key.name, index),
            "labels": {
                labels.PARENT_PLACEMENT: self._key.name,
                labels.POLICY_INDEX: str(index),
                labels.IS_LATEST_SNAPSHOT: "true",
            },
            "annotations": self._policy_annotations(),
        }
        spec = {"policyHash": hash} if policy is None else {"policy": policy, "policyHash": hash}
        made = child(self._scope.policy_snapshot, self._placement, metadata, spec=spec)
        return await self._create(made)

    async def delete(self, gone: Sequence[Object], kind: Resource | None = None) -> None:
        for each in gone:
            resource = kind or self._kind_of(each)
            key = key_of(each)
            try:
                await self._cluster.delete(resource, key.name, key.namespace, uid=uid_of(each))
            except NotFound:
                continue

    def _policy_annotations(self) -> Object:
        metadata, policy = self._placement["metadata"], self._placement["spec"].get("policy")
        said = {labels.PLACEMENT_GENERATION: str(metadata.get("generation") or 0)}
        number = snapshots.number_of_clusters(policy)
        return {**said, labels.NUMBER_OF_CLUSTERS: number} if number else said

    def _master(self, index: int, selected: Selected, shards: Sequence[Sequence[Object]]) -> Object:
        metadata = {
            "name": naming.master_resource_snapshot(self._key.name, index),
            "labels": {**self._labels(index), labels.IS_LATEST_SNAPSHOT: "true"},
            "annotations": {
                labels.RESOURCE_HASH: selected.hash,
                labels.NUMBER_OF_RESOURCE_SNAPSHOTS: str(len(shards)),
                labels.NUMBER_OF_ENVELOPED_OBJECTS: str(selected.envelopes),
            },
        }
        return self._resource_snapshot(metadata, shards[0])

    def _shard(self, index: int, subindex: int, manifests: Sequence[Object]) -> Object:
        metadata = {
            "name": naming.resource_snapshot_shard(self._key.name, index, subindex),
            "labels": self._labels(index),
            "annotations": {labels.RESOURCE_SNAPSHOT_SUBINDEX: str(subindex)},
        }
        return self._resource_snapshot(metadata, manifests)

    def _labels(self, index: int) -> Object:
        return {labels.PARENT_PLACEMENT: self._key.name, labels.RESOURCE_INDEX: str(index)}

    def _resource_snapshot(self, metadata: Object, manifests: Sequence[Object]) -> Object:
        spec = {"selectedResources": list(manifests)}
        return child(self._scope.resource_snapshot, self._placement, metadata, spec=spec)

    async def _make(self, wanted: Object) -> Object:
        """A try whose answer was lost may have made it; one that was cut short, another."""
        kind, key = self._scope.resource_snapshot, key_of(wanted)
        try:
            return await self._create(wanted)
        except AlreadyExists:
            present = dict(await self._cluster.client.get(kind, key.name, key.namespace))
        if _is_same(present, wanted):
            self._cluster.accept(present)
            return present
        await self._cluster.delete(kind, key.name, key.namespace, uid=uid_of(present))
        return await self._create(wanted)

    async def _create(self, wanted: Object) -> Object:
        made: Object = await self._cluster.create(wanted, field_manager=labels.PLACEMENT_MANAGER)
        return made

    async def _patch(self, kind: Resource, snapshot: Object, metadata: Any) -> Object:
        key = key_of(snapshot)
        done: Object = await self._cluster.patch(
            kind, key.name, {"metadata": metadata}, key.namespace,
            field_manager=labels.PLACEMENT_MANAGER,
        )  # fmt: skip
        return done

    def _kind_of(self, snapshot: Object) -> Resource:
        is_policy = bool(snapshots.label(snapshot, labels.POLICY_INDEX))
        return self._scope.policy_snapshot if is_policy else self._scope.resource_snapshot


def _is_same(present: Object, wanted: Object) -> bool:
    parts = ("labels", "annotations", "ownerReferences")
    said = [present["metadata"].get(part) == wanted["metadata"].get(part) for part in parts]
    return all(said) and present["spec"] == wanted["spec"]


async def _delay(cluster: Cluster, scope: Scope, master: Object, settings: HubSettings) -> float:
    """How long changes are still collected; the first of them is noted on the snapshot."""
    interval, collection = settings.snapshot_interval_seconds, settings.collection_seconds
    if interval <= 0 and collection <= 0:
        return 0.0
    now: datetime = cluster.clock.now()
    if snapshots.first_seen(master) is None:
        key = key_of(master)
        master = await cluster.patch(
            scope.resource_snapshot, key.name, {"metadata": {"annotations": snapshots.seen(now)}},
            key.namespace, field_manager=labels.PLACEMENT_MANAGER,
        )  # fmt: skip
    return snapshots.seconds_to_wait(
        master, now, interval_seconds=interval, collection_seconds=collection
    )


def _history_limit(placement: Object) -> int:
    return int(placement["spec"].get("revisionHistoryLimit") or HISTORY_DEFAULT)
