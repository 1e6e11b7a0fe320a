"""Finds the override snapshots that concern a placement in the caches of the hub; `follow` is
called by everyone who looks them up, before the cluster starts.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from fleetqueue.api.fleet import labels
from fleetqueue.api.fleet.override import PlacementScope
from fleetqueue.fleet import kinds
from fleetqueue.fleet.decide import overrides, snapshots
from fleetqueue.fleet.decide.overrides import Candidates
from fleetqueue.kube.cluster import Cluster
from fleetqueue.kube.resources import Object, Resource, key_of

PLACEMENT = "placement of override"
"""The index: namespace and name of the placement that an override is for."""
EVERY = ("", "")
"""Under which those stand that are for all placements."""


@dataclass(frozen=True, slots=True)
class Latest:
    """The newest snapshot of each override that could concern a placement."""

    cluster: tuple[Object, ...]
    namespaced: tuple[Object, ...]


def follow(cluster: Cluster) -> None:
    for kind in (kinds.CLUSTER_OVERRIDE_SNAPSHOT, kinds.OVERRIDE_SNAPSHOT):
        cluster.informer(kind, indexes={PLACEMENT: _placements})


def latest(cluster: Cluster, placement_namespace: str, placement_name: str) -> Latest:
    where = (placement_namespace, placement_name)
    return Latest(
        _newest(cluster, kinds.CLUSTER_OVERRIDE_SNAPSHOT, where),
        _newest(cluster, kinds.OVERRIDE_SNAPSHOT, where),
    )


def candidates(
    cluster: Cluster, placement_namespace: str, placement_name: str, selected: Iterable[Object]
) -> Candidates:
    """Those that concern a placement which delivers these manifests, for any member."""
    found = latest(cluster, placement_namespace, placement_name)
    return overrides.candidates(
        placement_namespace, placement_name, selected, found.cluster, found.namespaced
    )


def _newest(cluster: Cluster, kind: Resource, where: tuple[str, str]) -> tuple[Object, ...]:
    """By their index: while an override changes, for a moment none is marked as the latest."""
    best: dict[tuple[str, str], Object] = {}
    for value in (EVERY, where):
        for snapshot in cluster.cached_by(kind, PLACEMENT, value):
            parent = (key_of(snapshot).namespace, snapshots.label(snapshot, labels.PARENT_OVERRIDE))
            known = best.get(parent)
            if known is None or _index(snapshot) > _index(known):
                best[parent] = snapshot
    return tuple(best.values())


def _index(snapshot: Object) -> int:
    text = snapshots.label(snapshot, labels.OVERRIDE_INDEX)
    return int(text) if text.isdecimal() else -1


def _placements(snapshot: Any) -> Iterable[tuple[str, str]]:
    named = overrides.placement_reference(snapshot["spec"].get("overrideSpec") or {})
    if named is None:
        return [EVERY]
    scope, name = named
    return [("" if scope == PlacementScope.CLUSTER else key_of(snapshot).namespace, name)]
