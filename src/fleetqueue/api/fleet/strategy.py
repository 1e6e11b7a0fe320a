"""How a placement reaches its clusters: rollout, apply, delete and report-back strategies."""

from enum import StrEnum
from typing import Annotated

from fleetqueue.api.markers import Rule, Schema
from fleetqueue.api.model import Model
from fleetqueue.api.scalars import IntOrString


class RolloutStrategyType(StrEnum):
    """Who rolls changes out: the placement itself, or update runs."""

    ROLLING_UPDATE = "RollingUpdate"
    EXTERNAL = "External"


class ApplyStrategyType(StrEnum):
    """How objects are written on members, or that they are only compared."""

    CLIENT_SIDE_APPLY = "ClientSideApply"
    SERVER_SIDE_APPLY = "ServerSideApply"
    REPORT_DIFF = "ReportDiff"


class ComparisonOption(StrEnum):
    """Whether only the fields that the hub sets are compared, or all."""

    PARTIAL = "PartialComparison"
    FULL = "FullComparison"


class WhenToApply(StrEnum):
    """Whether changes that somebody made on the member are overwritten."""

    ALWAYS = "Always"
    IF_NOT_DRIFTED = "IfNotDrifted"


class WhenToTakeOver(StrEnum):
    """Whether objects that exist on the member already are taken over."""

    ALWAYS = "Always"
    IF_NO_DIFF = "IfNoDiff"
    NEVER = "Never"


class DeletePropagationPolicy(StrEnum):
    """What becomes of placed objects when the placement goes."""

    ABANDON = "Abandon"
    DELETE = "Delete"


class ReportBackType(StrEnum):
    """Whether the status of placed objects comes back to the hub."""

    DISABLED = "Disabled"
    MIRROR = "Mirror"


class ReportBackDestination(StrEnum):
    """Where the status that comes back is written."""

    ORIGINAL_RESOURCE = "OriginalResource"
    WORK_API = "WorkAPI"


Share = Annotated[IntOrString, Schema(default="25%", pattern="^((100|[0-9]{1,2})%|[0-9]+)$")]
"""A number of clusters, or a percentage of them."""


class RollingUpdateConfig(Model):
    """How many clusters change at a time, and how long a cluster counts as changing."""

    max_unavailable: Share = "25%"
    max_surge: Share = "25%"
    unavailable_period_seconds: Annotated[int, Schema(default=60, minimum=0)] = 60


class ServerSideApplyConfig(Model):
    """Whether conflicts are won."""

    force: bool = False


class ApplyStrategy(Model):
    """How objects are written on members."""

    type: Annotated[ApplyStrategyType, Schema(default=ApplyStrategyType.CLIENT_SIDE_APPLY)] = (
        ApplyStrategyType.CLIENT_SIDE_APPLY
    )
    comparison_option: Annotated[ComparisonOption, Schema(default=ComparisonOption.PARTIAL)] = (
        ComparisonOption.PARTIAL
    )
    when_to_apply: Annotated[WhenToApply, Schema(default=WhenToApply.ALWAYS)] = WhenToApply.ALWAYS
    when_to_take_over: Annotated[WhenToTakeOver, Schema(default=WhenToTakeOver.ALWAYS)] = (
        WhenToTakeOver.ALWAYS
    )
    allow_co_ownership: bool = False
    server_side_apply_config: ServerSideApplyConfig | None = None


class DeleteStrategy(Model):
    """What becomes of placed objects when the placement goes."""

    propagation_policy: Annotated[
        DeletePropagationPolicy, Schema(default=DeletePropagationPolicy.DELETE)
    ] = DeletePropagationPolicy.DELETE


class ReportBackStrategy(Model):
    """Whether and where the status of placed objects comes back."""

    type: Annotated[ReportBackType, Schema(default=ReportBackType.DISABLED)]
    destination: ReportBackDestination | None = None


MIRROR_HAS_DESTINATION = Rule(
    "self.type != 'Mirror' || self.destination.size() != 0",
    "when reportBackStrategy.type is 'Mirror', a destination must be specified",
)
EXTERNAL_STAYS = Rule(
    "oldSelf != 'External' || self == 'External'",
    "cannot change rollout strategy type from 'External' to other types",
)


class StableRolloutStrategy(Model):
    """How changes reach the clusters, as v1 has it."""

    type: Annotated[
        RolloutStrategyType, Schema(default=RolloutStrategyType.ROLLING_UPDATE), EXTERNAL_STAYS
    ] = RolloutStrategyType.ROLLING_UPDATE
    rolling_update: RollingUpdateConfig | None = None
    apply_strategy: ApplyStrategy | None = None


class RolloutStrategy(StableRolloutStrategy):
    """How changes reach the clusters."""

    delete_strategy: DeleteStrategy | None = None
    report_back_strategy: Annotated[ReportBackStrategy, MIRROR_HAS_DESTINATION] | None = None
