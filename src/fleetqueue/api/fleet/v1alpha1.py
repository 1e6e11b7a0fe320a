"""What is left of KubeFleet's v1alpha1: overrides, evictions, update runs and their approvals."""

from typing import Annotated

from fleetqueue.api.fleet import eviction, override, update_run, update_strategy
from fleetqueue.api.fleet.group import also_in, immutable
from fleetqueue.api.fleet.snapshot import Hash
from fleetqueue.api.kinds import Resource
from fleetqueue.api.markers import Rule, Schema, schema
from fleetqueue.api.meta import LabelSelector
from fleetqueue.api.model import Model


class ClusterResourcePlacementEviction(
    eviction.ClusterResourcePlacementEviction,
    kind=also_in("v1alpha1", eviction.ClusterResourcePlacementEviction, columns=()),
):
    """Takes a ClusterResourcePlacement off one cluster, once."""


class ClusterResourcePlacementDisruptionBudget(
    eviction.ClusterResourcePlacementDisruptionBudget,
    kind=also_in("v1alpha1", eviction.ClusterResourcePlacementDisruptionBudget),
):
    """Holds back evictions of the ClusterResourcePlacement of the same name."""


class ClusterApprovalRequest(
    update_run.ClusterApprovalRequest,
    kind=also_in("v1alpha1", update_run.ClusterApprovalRequest),
):
    """Asks people to let a ClusterStagedUpdateRun go on."""


@schema(override.NOT_FOR_A_NAMESPACE)
class ClusterResourceOverride(Resource, kind=also_in("v1alpha1", override.ClusterResourceOverride)):
    """As in v1beta1, but its placement may change."""

    spec: override.ClusterResourceOverrideSpec


class ResourceOverride(Resource, kind=also_in("v1alpha1", override.ResourceOverride)):
    """As in v1beta1, but its placement may change."""

    spec: override.ResourceOverrideSpec


class ClusterResourceOverrideSnapshotSpec(Model):
    """What the override said, and its hash."""

    override_spec: override.ClusterResourceOverrideSpec
    override_hash: Hash


class ResourceOverrideSnapshotSpec(Model):
    """What the override said, and its hash."""

    override_spec: override.ResourceOverrideSpec
    override_hash: Hash


class ClusterResourceOverrideSnapshot(
    Resource, kind=also_in("v1alpha1", override.ClusterResourceOverrideSnapshot)
):
    """What a ClusterResourceOverride says or said."""

    spec: ClusterResourceOverrideSnapshotSpec


class ResourceOverrideSnapshot(
    Resource, kind=also_in("v1alpha1", override.ResourceOverrideSnapshot)
):
    """What a ResourceOverride says or said."""

    spec: ResourceOverrideSnapshotSpec


class StageTask(Model):
    """Something to wait for after a stage; a bare 0 is a time as well."""

    type: update_strategy.StageTaskType
    wait_time: Annotated[
        str, Schema(pattern=r"^(?:0|(?:(?:0|[1-9][0-9]*)(\.[0-9]+)?(?:s|m|h))+)$")
    ] = ""


class StageConfig(Model):
    """Clusters that change one after the other, and what is waited for afterwards."""

    name: update_strategy.StageName
    label_selector: LabelSelector | None = None
    sorting_label_key: str | None = None
    after_stage_tasks: Annotated[list[StageTask], Schema(max_items=2)] = []


class UpdateStrategySpec(Model):
    """The stages, in order."""

    stages: Annotated[list[StageConfig], Schema(max_items=31)]


class ClusterStagedUpdateStrategy(
    Resource, kind=also_in("v1alpha1", update_strategy.ClusterStagedUpdateStrategy)
):
    """How update runs of ClusterResourcePlacements go about it."""

    spec: UpdateStrategySpec


@schema(immutable("The spec field is immutable"))
class UpdateRunSpec(Model):
    """Which objects of which placement reach the clusters, by which strategy."""

    placement_name: Annotated[str, Schema(max_length=255)]
    resource_snapshot_index: str
    staged_rollout_strategy_name: str


class UpdateRunStatus(update_run.UpdateRunReport):
    """How a run stands, stage by stage."""

    staged_update_strategy_snapshot: UpdateStrategySpec | None = None
    stages_status: list[update_run.PlainStageUpdatingStatus] = []
    deletion_stage_status: update_run.PlainStageUpdatingStatus | None = None


@schema(Rule("self.metadata.name.size() <= 127", "metadata.name max length is 127"))
class ClusterStagedUpdateRun(
    Resource,
    kind=also_in(
        "v1alpha1",
        update_run.ClusterStagedUpdateRun,
        columns=tuple(each for each in update_run.COLUMNS if each != update_run.PROGRESSING),
    ),
):
    """Rolls the objects of a ClusterResourcePlacement out in stages."""

    spec: UpdateRunSpec
    status: UpdateRunStatus | None = None
