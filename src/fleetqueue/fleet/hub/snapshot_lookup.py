"""Finds the snapshots and bindings of a placement in the caches, by an index that all controllers
of a hub share; `follow` is called by everyone who looks something up, before the cluster starts.
"""

from collections.abc import Iterable
from typing import Any

from fleetqueue.fleet.decide import snapshots
from fleetqueue.fleet.kinds import Scope
from fleetqueue.kube.cluster import Cluster
from fleetqueue.kube.resources import Object, Resource, key_of

PLACEMENT = "placement"
"""The index: namespace and name of the placement that an object belongs to."""


def follow(cluster: Cluster, scope: Scope) -> None:
    """Keeps the snapshots and bindings of that scope in the cache, found by placement."""
    for kind in (scope.policy_snapshot, scope.resource_snapshot, scope.binding):
        follow_kind(cluster, kind)


def follow_kind(cluster: Cluster, kind: Resource) -> None:
    cluster.informer(kind, indexes={PLACEMENT: placements_of})


def of_placement(cluster: Cluster, kind: Resource, namespace: str, placement: str) -> list[Object]:
    """Everything of a kind that belongs to a placement."""
    return cluster.cached_by(kind, PLACEMENT, (namespace, placement))


def latest_policy(cluster: Cluster, scope: Scope, namespace: str, placement: str) -> Object | None:
    found = of_placement(cluster, scope.policy_snapshot, namespace, placement)
    return snapshots.latest_of(found)


def latest_master(cluster: Cluster, scope: Scope, namespace: str, placement: str) -> Object | None:
    """The master resource snapshot that is marked as the latest."""
    found = of_placement(cluster, scope.resource_snapshot, namespace, placement)
    return snapshots.latest_of(found)


def master(
    cluster: Cluster, scope: Scope, namespace: str, placement: str, index: int
) -> Object | None:
    found = of_placement(cluster, scope.resource_snapshot, namespace, placement)
    return snapshots.master_of(found, index)


def shards(
    cluster: Cluster, scope: Scope, namespace: str, placement: str, index: int
) -> list[Object]:
    """All resource snapshots of an index, the master first; empty where there is none."""
    found = of_placement(cluster, scope.resource_snapshot, namespace, placement)
    return snapshots.shards_of(found, index)


def manifests(
    cluster: Cluster, scope: Scope, namespace: str, placement: str, index: int
) -> list[Object]:
    """The selected objects of an index, over all its shards."""
    return snapshots.manifests_of(shards(cluster, scope, namespace, placement, index))


def bindings(cluster: Cluster, scope: Scope, namespace: str, placement: str) -> list[Object]:
    return of_placement(cluster, scope.binding, namespace, placement)


def placements_of(obj: Any) -> Iterable[tuple[str, str]]:
    """The values of the index."""
    name = snapshots.placement_of(obj)
    return [(key_of(obj).namespace, name)] if name else []
