"""ClusterResourceBinding and ResourceBinding: one placement on one cluster."""

from enum import StrEnum

from fleetqueue.api.fleet.group import condition_column, placement_kind
from fleetqueue.api.fleet.placement_status import (
    DiffedPlacements,
    DriftedPlacements,
    FailedPlacements,
    NamespacedName,
)
from fleetqueue.api.fleet.snapshot import ClusterDecision
from fleetqueue.api.fleet.strategy import ApplyStrategy
from fleetqueue.api.kinds import AGE, Resource
from fleetqueue.api.meta import Conditions
from fleetqueue.api.model import Model


class BindingState(StrEnum):
    """How far a binding is; the schema leaves the field free."""

    SCHEDULED = "Scheduled"
    BOUND = "Bound"
    UNSCHEDULED = "Unscheduled"


class ResourceBindingSpec(Model):
    """Which cluster, and what it shall get."""

    state: str
    target_cluster: str
    cluster_decision: ClusterDecision
    resource_snapshot_name: str
    scheduling_policy_snapshot_name: str
    resource_override_snapshots: list[NamespacedName] = []
    cluster_resource_override_snapshots: list[str] = []
    apply_strategy: ApplyStrategy | None = None


class ResourceBindingStatus(Model):
    """How the delivery to the cluster stands."""

    conditions: Conditions = []
    failed_placements: FailedPlacements = []
    drifted_placements: DriftedPlacements = []
    diffed_placements: DiffedPlacements = []


COLUMNS = (
    condition_column("WorkSynchronized", "WorkSynchronized"),
    condition_column("ResourcesApplied", "Applied"),
    condition_column("ResourceAvailable", "Available", priority=1),
    AGE,
)


class ClusterResourceBinding(
    Resource,
    kind=placement_kind(
        "clusterresourcebindings",
        scope="Cluster",
        short_names=("crb",),
        status=True,
        columns=COLUMNS,
    ),
):
    """A ClusterResourcePlacement on one cluster."""

    spec: ResourceBindingSpec
    status: ResourceBindingStatus | None = None


class ResourceBinding(
    Resource,
    kind=placement_kind("resourcebindings", short_names=("rb",), status=True, columns=COLUMNS),
):
    """A ResourcePlacement on one cluster."""

    spec: ResourceBindingSpec
    status: ResourceBindingStatus | None = None
