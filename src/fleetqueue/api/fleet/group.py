"""The API groups of KubeFleet, and how their kinds are declared in several versions."""

from dataclasses import replace
from typing import Any

from fleetqueue.api.kinds import Column, Kind, Resource, kind_of
from fleetqueue.api.markers import Rule

CLUSTER_GROUP = "cluster.kubernetes-fleet.io"
PLACEMENT_GROUP = "placement.kubernetes-fleet.io"

GENERATION = Column("Gen", ".metadata.generation")
SHORT_NAME = Rule("self.metadata.name.size() <= 63", "metadata.name max length is 63")


def cluster_kind(plural: str, **more: Any) -> Kind:
    """A kind about clusters, in the stored version."""
    return _stored(CLUSTER_GROUP, plural, ("fleet", "fleet-cluster"), more)


def placement_kind(plural: str, **more: Any) -> Kind:
    """A kind about placing objects on clusters, in the stored version."""
    return _stored(PLACEMENT_GROUP, plural, ("fleet", "fleet-placement"), more)


def also_in(version: str, cls: type[Resource], **changes: Any) -> Kind:
    """The same kind in another version: served, but not stored."""
    return replace(kind_of(cls), version=version, storage=False, **changes)


def condition_column(
    name: str, type_name: str, *, field: str = "status", priority: int = 0
) -> Column:
    """A column that shows one condition."""
    path = f'.status.conditions[?(@.type=="{type_name}")].{field}'
    return Column(name, path, priority=priority)


def immutable(message: str) -> Rule:
    return Rule("self == oldSelf", message)


def _stored(group: str, plural: str, categories: tuple[str, ...], more: dict[str, Any]) -> Kind:
    return Kind(group, "v1beta1", plural, categories=categories, storage=True, **more)
