"""KubeFleet's kinds in v1: those that look as in v1beta1, and those that have less."""

from enum import StrEnum
from typing import Annotated

from fleetqueue.api.fleet import (
    binding,
    cluster,
    override,
    placement,
    placement_status,
    snapshot,
    update_run,
    update_strategy,
    work,
)
from fleetqueue.api.fleet.group import SHORT_NAME, also_in
from fleetqueue.api.fleet.placement import (
    ANCHOR_HAS_NAME,
    ANCHOR_IS_ALONE,
    ONE_ANCHOR,
    POLICY_STAYS,
    REPORTING_STAYS,
    REPORTS_TO_ONE_NAMESPACE,
)
from fleetqueue.api.fleet.policy import CheckedPlacementPolicy
from fleetqueue.api.fleet.strategy import StableRolloutStrategy
from fleetqueue.api.kinds import Resource
from fleetqueue.api.markers import Schema, schema
from fleetqueue.api.meta import Condition, Conditions
from fleetqueue.api.model import Model
from fleetqueue.api.scalars import Time


class ClusterSchedulingPolicySnapshot(
    snapshot.ClusterSchedulingPolicySnapshot,
    kind=also_in("v1", snapshot.ClusterSchedulingPolicySnapshot),
):
    """A policy that a ClusterResourcePlacement has or had, and the clusters it led to."""


class ClusterResourceSnapshot(
    snapshot.ClusterResourceSnapshot, kind=also_in("v1", snapshot.ClusterResourceSnapshot)
):
    """Objects that a ClusterResourcePlacement selects or selected, or one part of them."""


@schema(override.NOT_FOR_A_NAMESPACE)
class ClusterResourceOverride(
    override.ClusterResourceOverride, kind=also_in("v1", override.ClusterResourceOverride)
):
    """Changes cluster-scoped objects on their way to some clusters."""


class ClusterResourceOverrideSnapshot(
    override.ClusterResourceOverrideSnapshot,
    kind=also_in("v1", override.ClusterResourceOverrideSnapshot),
):
    """What a ClusterResourceOverride says or said."""


class ResourceOverride(override.ResourceOverride, kind=also_in("v1", override.ResourceOverride)):
    """Changes objects of its namespace on their way to some clusters."""


class ResourceOverrideSnapshot(
    override.ResourceOverrideSnapshot, kind=also_in("v1", override.ResourceOverrideSnapshot)
):
    """What a ResourceOverride says or said."""


@schema(SHORT_NAME)
class ClusterStagedUpdateRun(
    update_run.ClusterStagedUpdateRun, kind=also_in("v1", update_run.ClusterStagedUpdateRun)
):
    """Rolls the objects of a ClusterResourcePlacement out in stages."""


@schema(SHORT_NAME)
class StagedUpdateRun(update_run.StagedUpdateRun, kind=also_in("v1", update_run.StagedUpdateRun)):
    """Rolls the objects of a ResourcePlacement out in stages."""


class ClusterApprovalRequest(
    update_run.ClusterApprovalRequest, kind=also_in("v1", update_run.ClusterApprovalRequest)
):
    """Asks people to let a ClusterStagedUpdateRun go on."""


class ApprovalRequest(update_run.ApprovalRequest, kind=also_in("v1", update_run.ApprovalRequest)):
    """Asks people to let a StagedUpdateRun go on."""


class ClusterStagedUpdateStrategy(
    update_strategy.ClusterStagedUpdateStrategy,
    kind=also_in("v1", update_strategy.ClusterStagedUpdateStrategy),
):
    """How update runs of ClusterResourcePlacements go about it."""


class StagedUpdateStrategy(
    update_strategy.StagedUpdateStrategy,
    kind=also_in("v1", update_strategy.StagedUpdateStrategy),
):
    """How update runs of ResourcePlacements go about it."""


class AppliedWork(work.AppliedWork, kind=also_in("v1", work.AppliedWork)):
    """Stands for a Work on the member, and owns what the Work put there."""


@schema(SHORT_NAME)
class MemberCluster(Resource, kind=also_in("v1", cluster.MemberCluster)):
    """A cluster of the fleet, as the hub sees it."""

    spec: cluster.StableMemberClusterSpec
    status: cluster.StableMemberClusterStatus | None = None


class InternalMemberCluster(Resource, kind=also_in("v1", cluster.InternalMemberCluster)):
    """The side of a MemberCluster that its own agent reads and writes."""

    spec: cluster.InternalMemberClusterSpec
    status: cluster.StableInternalMemberClusterStatus | None = None


class WorkStatus(Model):
    """What became of the manifests."""

    conditions: list[Condition]
    manifest_conditions: list[work.StableManifestCondition] = []


class Work(Resource, kind=also_in("v1", work.Work)):
    """Objects to apply on one member; it stands in the member's namespace on the hub."""

    spec: work.StableWorkSpec | None = None
    status: WorkStatus | None = None


class EnvelopeType(StrEnum):
    """The kinds that wrap objects."""

    CLUSTER_RESOURCE_ENVELOPE = "ClusterResourceEnvelope"
    RESOURCE_ENVELOPE = "ResourceEnvelope"


class EnvelopeIdentifier(Model):
    """The envelope that an object came in."""

    name: str
    namespace: str = ""
    type: EnvelopeType | None = None


class ResourceIdentifier(placement_status.ObjectIdentity):
    """An object that the placement selected."""

    envelope: EnvelopeIdentifier | None = None


class FailedResourcePlacement(placement_status.Failure):
    """An object that is not applied or not available, and why."""

    envelope: EnvelopeIdentifier | None = None


class DriftedResourcePlacement(placement_status.Drift):
    """An object that somebody changed on the member."""

    envelope: EnvelopeIdentifier | None = None


class DiffedResourcePlacement(placement_status.Difference):
    """An object that differs from the one on the hub."""

    envelope: EnvelopeIdentifier | None = None


FailedPlacements = Annotated[list[FailedResourcePlacement], Schema(max_items=100)]
DriftedPlacements = Annotated[list[DriftedResourcePlacement], Schema(max_items=100)]
DiffedPlacements = Annotated[list[DiffedResourcePlacement], Schema(max_items=100)]


class ResourceBindingStatus(Model):
    """How the delivery to the cluster stands."""

    conditions: Conditions = []
    failed_placements: FailedPlacements = []
    drifted_placements: DriftedPlacements = []
    diffed_placements: DiffedPlacements = []


class ClusterResourceBinding(Resource, kind=also_in("v1", binding.ClusterResourceBinding)):
    """A ClusterResourcePlacement on one cluster."""

    spec: binding.ResourceBindingSpec
    status: ResourceBindingStatus | None = None


class PerClusterPlacementStatus(placement_status.ClusterReport):
    """How the placement stands on one cluster."""

    failed_placements: FailedPlacements = []
    drifted_placements: DriftedPlacements = []
    diffed_placements: DiffedPlacements = []


class PlacementStatus(Model):
    """What was selected, and how it stands on every cluster."""

    selected_resources: list[ResourceIdentifier] = []
    observed_resource_index: str = ""
    placement_statuses: list[PerClusterPlacementStatus] = []
    conditions: Conditions = []


class PlacementSpec(Model):
    """What to place, where, and how."""

    resource_selectors: placement.ResourceSelectors
    policy: CheckedPlacementPolicy | None = None
    strategy: StableRolloutStrategy | None = None
    revision_history_limit: placement.RevisionHistoryLimit = 10
    status_reporting_scope: placement.ReportingScope = (
        placement.StatusReportingScope.CLUSTER_SCOPE_ONLY
    )


class ClusterResourcePlacement(Resource, kind=also_in("v1", placement.ClusterResourcePlacement)):
    """Places cluster-scoped objects, and namespaces with what is in them, on members."""

    spec: Annotated[
        PlacementSpec,
        POLICY_STAYS,
        REPORTS_TO_ONE_NAMESPACE,
        REPORTING_STAYS,
        ONE_ANCHOR,
        ANCHOR_HAS_NAME,
        ANCHOR_IS_ALONE,
    ]
    status: PlacementStatus | None = None


class ResourcePlacement(Resource, kind=also_in("v1", placement.ResourcePlacement)):
    """Places objects of its own namespace on members."""

    spec: Annotated[PlacementSpec, POLICY_STAYS, ONE_ANCHOR, ANCHOR_HAS_NAME, ANCHOR_IS_ALONE]
    status: PlacementStatus | None = None


class ClusterResourcePlacementStatus(
    Resource, kind=also_in("v1", placement.ClusterResourcePlacementStatus)
):
    """The status of a ClusterResourcePlacement, for those who see only the selected namespace."""

    source_status: PlacementStatus
    last_updated_time: Time
