"""Counts what the applier did, by what came of it."""

from collections.abc import Sequence
from typing import Any

from fleetqueue.api.fleet.conditions import PlacementAspect
from fleetqueue.fleet.decide import conditions
from fleetqueue.fleet.decide.delivery.outcomes import Outcome
from fleetqueue.fleet.decide.delivery.plans import ApplyPlan
from fleetqueue.metrics.registry import Metrics

Json = dict[str, Any]

SKIPPED, UNKNOWN, FOUND, NOT_FOUND = "Skipped", "Unknown", "Found", "NotFound"


def count(
    metrics: Metrics, told: Sequence[Json], outcomes: Sequence[Outcome], plan: ApplyPlan
) -> None:
    """`told`: the conditions of the Work."""
    applied, available, reported = (_reason(told, type) for type in _TYPES)
    shown = _shown(applied, available, reported, plan)
    metrics.count("fleet_work_processing_requests_total", *shown)
    for outcome in outcomes:
        labels = (*_labels(outcome, plan), *_details(outcome, plan))
        metrics.count("fleet_manifest_processing_requests_total", *labels)


def is_done(told: Sequence[Json]) -> bool:
    """Whether a Work is applied, or its differences are reported."""
    types = (PlacementAspect.APPLIED, PlacementAspect.DIFF_REPORTED)
    return any(conditions.status_of(told, type) == conditions.TRUE for type in types)


_TYPES = (PlacementAspect.APPLIED, PlacementAspect.AVAILABLE, PlacementAspect.DIFF_REPORTED)


def _reason(told: Sequence[Json], type: str) -> str:
    found = conditions.find(told, type)
    return "" if found is None else str(found["reason"])


def _shown(applied: str, available: str, reported: str, plan: ApplyPlan) -> tuple[str, ...]:
    """What does not belong to the strategy was skipped, what was not come to is unknown."""
    if plan.is_report:
        return SKIPPED, SKIPPED, reported or UNKNOWN
    return applied or UNKNOWN, available or UNKNOWN, SKIPPED


def _labels(outcome: Outcome, plan: ApplyPlan) -> tuple[str, ...]:
    available = outcome.availability.reason if outcome.availability else ""
    return _shown(outcome.result, available, outcome.result, plan)


def _details(outcome: Outcome, plan: ApplyPlan) -> tuple[str, str]:
    drifts = FOUND if outcome.drifts else NOT_FOUND
    diffs = FOUND if outcome.diffs else NOT_FOUND
    return (SKIPPED if plan.is_report else drifts), diffs
