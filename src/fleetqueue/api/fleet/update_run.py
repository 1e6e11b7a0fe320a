"""Staged update runs, and the approvals that they wait for."""

from enum import StrEnum
from typing import Annotated

from fleetqueue.api.fleet.group import SHORT_NAME, condition_column, immutable, placement_kind
from fleetqueue.api.fleet.placement_status import NamespacedName
from fleetqueue.api.fleet.strategy import ApplyStrategy
from fleetqueue.api.fleet.update_strategy import StageTaskType, UpdateStrategySpec
from fleetqueue.api.kinds import AGE, Column, Resource
from fleetqueue.api.markers import Rule, Schema, schema
from fleetqueue.api.meta import Conditions
from fleetqueue.api.model import Model
from fleetqueue.api.scalars import Time


class UpdateRunState(StrEnum):
    """What people want of a run."""

    INITIALIZE = "Initialize"
    RUN = "Run"
    STOP = "Stop"


def _no_way(before: str, after: str) -> Rule:
    return Rule(
        f"!has(oldSelf.state) || oldSelf.state != '{before}' || self.state != '{after}'",
        f"invalid state transition: cannot transition from {before} to {after}",
    )


@schema(_no_way("Initialize", "Stop"), _no_way("Run", "Initialize"), _no_way("Stop", "Initialize"))
class UpdateRunSpec(Model):
    """Which objects of which placement reach the clusters, by which strategy."""

    placement_name: Annotated[str, Schema(max_length=255), immutable("placementName is immutable")]
    resource_snapshot_index: Annotated[str, immutable("resourceSnapshotIndex is immutable")] = ""
    staged_rollout_strategy_name: Annotated[
        str, immutable("stagedRolloutStrategyName is immutable")
    ]
    state: Annotated[UpdateRunState, Schema(default=UpdateRunState.INITIALIZE)] = (
        UpdateRunState.INITIALIZE
    )


class StageTaskStatus(Model):
    """How something that a stage waits for stands."""

    type: StageTaskType
    approval_request_name: str = ""
    conditions: Conditions = []


class ClusterUpdatingStatus(Model):
    """How the change of one cluster stands."""

    cluster_name: str
    resource_override_snapshots: list[NamespacedName] = []
    cluster_resource_override_snapshots: list[str] = []
    conditions: Conditions = []


class PlainStageUpdatingStatus(Model):
    """How a stage stands, where nothing can be waited for before it."""

    stage_name: str
    clusters: list[ClusterUpdatingStatus]
    after_stage_task_status: Annotated[list[StageTaskStatus], Schema(max_items=2)] = []
    start_time: Time | None = None
    end_time: Time | None = None
    conditions: Conditions = []


class StageUpdatingStatus(PlainStageUpdatingStatus):
    """How a stage stands."""

    before_stage_task_status: Annotated[list[StageTaskStatus], Schema(max_items=1)] = []


class UpdateRunReport(Model):
    """What a run found when it began, and its conditions."""

    policy_snapshot_index_used: str = ""
    policy_observed_cluster_count: int = 0
    applied_strategy: ApplyStrategy | None = None
    conditions: Conditions = []


class UpdateRunStatus(UpdateRunReport):
    """How a run stands, stage by stage."""

    resource_snapshot_index_used: str = ""
    staged_update_strategy_snapshot: UpdateStrategySpec | None = None
    stages_status: list[StageUpdatingStatus] = []
    deletion_stage_status: StageUpdatingStatus | None = None


PROGRESSING = condition_column("Progressing", "Progressing")

COLUMNS = (
    Column("Placement", ".spec.placementName"),
    Column("Resource-Snapshot-Index", ".spec.resourceSnapshotIndex"),
    Column("Policy-Snapshot-Index", ".status.policySnapshotIndexUsed"),
    condition_column("Initialized", "Initialized"),
    PROGRESSING,
    condition_column("Succeeded", "Succeeded"),
    AGE,
    Column("Strategy", ".spec.stagedRolloutStrategyName", priority=1),
)


@schema(SHORT_NAME)
class ClusterStagedUpdateRun(
    Resource,
    kind=placement_kind(
        "clusterstagedupdateruns",
        scope="Cluster",
        short_names=("csur",),
        status=True,
        columns=COLUMNS,
    ),
):
    """Rolls the objects of a ClusterResourcePlacement out in stages."""

    spec: UpdateRunSpec
    status: UpdateRunStatus | None = None


@schema(SHORT_NAME)
class StagedUpdateRun(
    Resource,
    kind=placement_kind("stagedupdateruns", short_names=("sur",), status=True, columns=COLUMNS),
):
    """Rolls the objects of a ResourcePlacement out in stages."""

    spec: UpdateRunSpec
    status: UpdateRunStatus | None = None


@schema(immutable("The spec field is immutable"))
class ApprovalRequestSpec(Model):
    """The run and the stage that wait."""

    parent_stage_rollout: str
    target_stage: str


class ApprovalRequestStatus(Model):
    """Whether the request is approved."""

    conditions: Conditions = []


APPROVAL_COLUMNS = (
    Column("Update-Run", ".spec.parentStageRollout"),
    Column("Stage", ".spec.targetStage"),
    condition_column("Approved", "Approved"),
    AGE,
)


class ClusterApprovalRequest(
    Resource,
    kind=placement_kind(
        "clusterapprovalrequests",
        scope="Cluster",
        short_names=("careq",),
        status=True,
        columns=APPROVAL_COLUMNS,
    ),
):
    """Asks people to let a ClusterStagedUpdateRun go on."""

    spec: ApprovalRequestSpec
    status: ApprovalRequestStatus | None = None


class ApprovalRequest(
    Resource,
    kind=placement_kind(
        "approvalrequests", short_names=("areq",), status=True, columns=APPROVAL_COLUMNS
    ),
):
    """Asks people to let a StagedUpdateRun go on."""

    spec: ApprovalRequestSpec
    status: ApprovalRequestStatus | None = None
