"""Staged update strategies: in which order, and with which pauses, clusters get a change."""

from enum import StrEnum
from typing import Annotated

from fleetqueue.api.fleet.group import placement_kind
from fleetqueue.api.kinds import Resource
from fleetqueue.api.markers import Rule, Schema
from fleetqueue.api.meta import LabelSelector
from fleetqueue.api.model import Model
from fleetqueue.api.scalars import IntOrString


class StageTaskType(StrEnum):
    """What a stage waits for."""

    TIMED_WAIT = "TimedWait"
    APPROVAL = "Approval"


class StageTask(Model):
    """Something to wait for before or after a stage."""

    type: StageTaskType
    wait_time: Annotated[str, Schema(pattern=r"^(?:(?:0|[1-9][0-9]*)(\.[0-9]+)?(?:s|m|h))+$")] = ""


APPROVAL_HAS_NO_TIME = Rule(
    "self.all(task, task.type != 'Approval' || !has(task.waitTime))",
    "AfterStageTaskType is Approval, waitTime is not allowed",
)
WAIT_HAS_TIME = Rule(
    "self.all(task, task.type != 'TimedWait' || has(task.waitTime))",
    "AfterStageTaskType is TimedWait, waitTime is required",
)
NO_WAIT_BEFORE = Rule(
    "self.all(task, task.type != 'TimedWait')", "BeforeStageTaskType cannot be TimedWait"
)

StageName = Annotated[str, Schema(max_length=63, pattern="^[a-z0-9]+$")]

MaxConcurrency = Annotated[
    IntOrString,
    Schema(default=1, pattern="^(100|[1-9][0-9]?)%$"),
    Rule("type(self) != int || self >= 1", "maxConcurrency must be at least 1"),
]


class StageConfig(Model):
    """Clusters that change together, and what is waited for."""

    name: StageName
    label_selector: LabelSelector | None = None
    sorting_label_key: str | None = None
    max_concurrency: MaxConcurrency = 1
    before_stage_tasks: Annotated[
        list[StageTask], Schema(max_items=1), APPROVAL_HAS_NO_TIME, NO_WAIT_BEFORE
    ] = []
    after_stage_tasks: Annotated[
        list[StageTask], Schema(max_items=2), APPROVAL_HAS_NO_TIME, WAIT_HAS_TIME
    ] = []


class UpdateStrategySpec(Model):
    """The stages, in order."""

    stages: Annotated[list[StageConfig], Schema(max_items=31)]


class ClusterStagedUpdateStrategy(
    Resource,
    kind=placement_kind(
        "clusterstagedupdatestrategies", scope="Cluster", short_names=("csus",), status=True
    ),
):
    """How update runs of ClusterResourcePlacements go about it."""

    spec: UpdateStrategySpec


class StagedUpdateStrategy(
    Resource, kind=placement_kind("stagedupdatestrategies", short_names=("sus",))
):
    """How update runs of ResourcePlacements go about it."""

    spec: UpdateStrategySpec
