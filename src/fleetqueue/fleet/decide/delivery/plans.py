"""How a Work wants its objects applied, with every default said."""

from dataclasses import dataclass
from typing import Any

from fleetqueue.api.fleet import labels
from fleetqueue.api.fleet.defaults import fill_apply_strategy
from fleetqueue.api.fleet.strategy import (
    ApplyStrategyType,
    ComparisonOption,
    DeletePropagationPolicy,
    ReportBackType,
    WhenToApply,
    WhenToTakeOver,
)
from fleetqueue.fleet.decide.delivery.forms import annotation

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class ApplyPlan:
    """Read from the spec of a Work."""

    type: str
    comparison: str
    when_to_apply: str
    when_to_take_over: str
    allows_co_ownership: bool
    forces: bool
    reports_back: bool

    @property
    def is_report(self) -> bool:
        return self.type == ApplyStrategyType.REPORT_DIFF

    @property
    def is_client_side(self) -> bool:
        return self.type == ApplyStrategyType.CLIENT_SIDE_APPLY

    @property
    def compares_all(self) -> bool:
        return self.comparison == ComparisonOption.FULL

    @property
    def spares_drifted(self) -> bool:
        return self.when_to_apply == WhenToApply.IF_NOT_DRIFTED

    @property
    def takes_over(self) -> bool:
        return self.when_to_take_over != WhenToTakeOver.NEVER

    @property
    def takes_over_equal_only(self) -> bool:
        return self.when_to_take_over == WhenToTakeOver.IF_NO_DIFF


def plan_of(work: Json) -> ApplyPlan:
    spec = work.get("spec") or {}
    strategy: Json = dict(spec.get("applyStrategy") or {})
    fill_apply_strategy(strategy)
    report = spec.get("reportBackStrategy") or {}
    return ApplyPlan(
        type=strategy["type"],
        comparison=strategy["comparisonOption"],
        when_to_apply=strategy["whenToApply"],
        when_to_take_over=strategy["whenToTakeOver"],
        allows_co_ownership=bool(strategy.get("allowCoOwnership")),
        forces=bool((strategy.get("serverSideApplyConfig") or {}).get("force")),
        reports_back=report.get("type") == ReportBackType.MIRROR,
    )


def manifests_of(work: Json) -> list[Json]:
    return list(((work.get("spec") or {}).get("workload") or {}).get("manifests") or ())


def is_abandoned(work: Json) -> bool:
    """Whether the objects stay when the Work goes."""
    told = annotation(work, labels.DELETE_PROPAGATION_POLICY)
    return told == DeletePropagationPolicy.ABANDON


def is_job_aware(work: Json, is_default: bool) -> bool:
    """As the placement says it, or else as the member was told at its start."""
    told = annotation(work, labels.KUEUE_AWARE)
    return told == "true" if told in ("true", "false") else is_default
