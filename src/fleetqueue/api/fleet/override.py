"""Overrides: how selected objects are changed for some clusters, and the snapshots of that."""

from enum import StrEnum
from typing import Annotated, Any

from fleetqueue.api.fleet.group import placement_kind
from fleetqueue.api.fleet.placement import ResourceSelectorTerm
from fleetqueue.api.fleet.policy import ClusterSelector
from fleetqueue.api.fleet.snapshot import Hash
from fleetqueue.api.kinds import Resource
from fleetqueue.api.markers import Rule, Schema, schema
from fleetqueue.api.model import Model


class OverrideType(StrEnum):
    """Whether a rule changes an object, or keeps it away."""

    JSON_PATCH = "JSONPatch"
    DELETE = "Delete"


class PatchOperation(StrEnum):
    """What is done at the path."""

    ADD = "add"
    REMOVE = "remove"
    REPLACE = "replace"


class PlacementScope(StrEnum):
    """Whether the placement is a ClusterResourcePlacement or a ResourcePlacement."""

    CLUSTER = "Cluster"
    NAMESPACED = "Namespaced"


class PlacementReference(Model):
    """The placement that the override is for."""

    name: str
    scope: Annotated[PlacementScope, Schema(default=PlacementScope.CLUSTER)] = (
        PlacementScope.CLUSTER
    )


class JSONPatchOverride(Model):
    """One step of a JSON patch; text in the value may name the cluster and its labels."""

    op: PatchOperation
    path: str
    value: Annotated[Any, Schema(preserve_unknown=True)] = None


class OverrideRule(Model):
    """What happens on the clusters that the selector picks; on none without a selector."""

    cluster_selector: ClusterSelector | None = None
    override_type: Annotated[OverrideType, Schema(default=OverrideType.JSON_PATCH)] = (
        OverrideType.JSON_PATCH
    )
    json_patch_overrides: Annotated[list[JSONPatchOverride], Schema(min_items=1, max_items=20)] = []


class OverridePolicy(Model):
    """The rules, in order."""

    override_rules: Annotated[list[OverrideRule], Schema(min_items=1, max_items=20)]


class ClusterResourceOverrideSpec(Model):
    """Which cluster-scoped objects change, and how."""

    placement: PlacementReference | None = None
    cluster_resource_selectors: Annotated[
        list[ResourceSelectorTerm], Schema(min_items=1, max_items=20)
    ]
    policy: OverridePolicy


class ResourceSelector(Model):
    """One object of the override's namespace."""

    group: str
    version: str
    kind: str
    name: str


class ResourceOverrideSpec(Model):
    """Which objects of the namespace change, and how."""

    placement: PlacementReference | None = None
    resource_selectors: Annotated[list[ResourceSelector], Schema(min_items=1, max_items=20)]
    policy: OverridePolicy


PLACEMENT_STAYS = Rule(
    "has(self.placement) == has(oldSelf.placement)"
    " && (!has(self.placement) || self.placement == oldSelf.placement)",
    "The placement field is immutable",
)
NOT_FOR_A_NAMESPACE = Rule(
    "!has(self.spec.placement) || self.spec.placement.scope != 'Namespaced'",
    "clusterResourceOverride placement reference cannot be Namespaced scope",
)


@schema(NOT_FOR_A_NAMESPACE)
class ClusterResourceOverride(
    Resource, kind=placement_kind("clusterresourceoverrides", scope="Cluster")
):
    """Changes cluster-scoped objects on their way to some clusters."""

    spec: Annotated[ClusterResourceOverrideSpec, PLACEMENT_STAYS]


class ResourceOverride(Resource, kind=placement_kind("resourceoverrides")):
    """Changes objects of its namespace on their way to some clusters."""

    spec: Annotated[ResourceOverrideSpec, PLACEMENT_STAYS]


class ClusterResourceOverrideSnapshotSpec(Model):
    """What the override said, and its hash."""

    override_spec: Annotated[ClusterResourceOverrideSpec, PLACEMENT_STAYS]
    override_hash: Hash


class ResourceOverrideSnapshotSpec(Model):
    """What the override said, and its hash."""

    override_spec: Annotated[ResourceOverrideSpec, PLACEMENT_STAYS]
    override_hash: Hash


class ClusterResourceOverrideSnapshot(
    Resource, kind=placement_kind("clusterresourceoverridesnapshots", scope="Cluster")
):
    """What a ClusterResourceOverride says or said."""

    spec: ClusterResourceOverrideSnapshotSpec


class ResourceOverrideSnapshot(Resource, kind=placement_kind("resourceoverridesnapshots")):
    """What a ResourceOverride says or said."""

    spec: ResourceOverrideSnapshotSpec
