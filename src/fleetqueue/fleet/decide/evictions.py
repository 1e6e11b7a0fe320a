"""Whether a placement may be taken off a cluster, judged once: is the eviction valid, is there
something to take away, and does the disruption budget allow it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from fleetqueue.api.fleet import defaults
from fleetqueue.api.fleet.binding import BindingState
from fleetqueue.fleet.decide import bindings, conditions, shares

Json = dict[str, Any]
VALID, EXECUTED = "Valid", "Executed"
_PREFIX = "ClusterResourcePlacementEviction"
_BUDGET = "ClusterResourcePlacementDisruptionBudget"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the eviction says of itself afterwards, and the binding that is deleted first."""

    status: Json
    evicted: Json | None = None


@dataclass(frozen=True, slots=True)
class Case:
    """An eviction and all that is asked about it; None where something does not exist."""

    eviction: Json
    placement: Json | None
    found: Sequence[Json]
    """All bindings of the placement."""
    budget: Json | None
    now: datetime


def is_finished(eviction: Json) -> bool:
    """Found invalid, or carried out, or refused: nobody looks at it again."""
    known = (eviction.get("status") or {}).get("conditions")
    is_invalid = conditions.status_of(known, VALID) == conditions.FALSE
    return is_invalid or conditions.find(known, EXECUTED) is not None


def judge(case: Case) -> Verdict:
    if problem := _problem(case):
        return Verdict(_status(case, _valid(False, problem)))
    binding = _targets(case)[0]
    is_allowed, text = _permission(case, binding)
    is_deleted = is_allowed and not bindings.is_deleting(binding)
    status = _status(case, _valid(True, "Eviction is valid"), _executed(is_allowed, text))
    return Verdict(status, binding if is_deleted else None)


def completion(eviction: Json) -> tuple[str, str]:
    """Whether it is finished and whether it is valid, as a metric says it."""
    known = (eviction.get("status") or {}).get("conditions")
    valid = conditions.status_of(known, VALID).lower() or "unknown"
    return str(is_finished(eviction)).lower(), valid


def _problem(case: Case) -> str:
    """What makes the eviction invalid; "" where nothing does."""
    if case.placement is None:
        return "Failed to find ClusterResourcePlacement targeted by eviction"
    if case.placement["metadata"].get("deletionTimestamp"):
        return "Found deleting ClusterResourcePlacement targeted by eviction"
    if _policy(case.placement)["placementType"] == "PickFixed":
        kind = "ClusterResourcePlacement with PickFixed placement type"
        return f"Found {kind} targeted by eviction"
    where = "scheduler decision for placement in cluster targeted by eviction"
    count = len(_targets(case))
    if count > 1:
        return f"Found more than one {where}"
    return "" if count else f"Failed to find {where}"


def _permission(case: Case, binding: Json) -> tuple[bool, str]:
    if bindings.is_deleting(binding):
        removal = "resources propagated by placement is currently being removed"
        return True, f"Eviction is allowed, {removal} from cluster targeted by eviction"
    if not _is_delivered(binding):
        lack = "placement has not propagated resources to target cluster yet"
        return False, f"Eviction is blocked, {lack}"
    if bindings.has_failed(binding) or bindings.is_diff_reported(binding):
        return True, "Eviction is allowed, placement has failed"
    if case.budget is None:
        return True, f"Eviction is allowed, no {_BUDGET} specified"
    return _budgeted(case, case.budget.get("spec") or {})


def _budgeted(case: Case, budget: Json) -> tuple[bool, str]:
    assert case.placement is not None
    policy = _policy(case.placement)
    if policy["placementType"] == "PickAll" and _is_misconfigured(budget):
        kinds = "either MaxUnavailable is specified or MinAvailable is specified as a percentage"
        where = f"{kinds} for PickAll ClusterResourcePlacement"
        return False, f"Eviction is blocked by misconfigured {_BUDGET}, {where}"
    total = len(case.found)
    available = sum(bindings.is_available(each) for each in case.found)
    is_allowed = disruptions_allowed(budget, policy, available, total) > 0
    verb = "allowed" if is_allowed else "blocked"
    numbers = f"availablePlacements: {available}, totalPlacements: {total}"
    return is_allowed, f"Eviction is {verb} by specified {_BUDGET}, {numbers}"


def disruptions_allowed(budget: Json, policy: Json, available: int, total: int) -> int:
    """How many clusters the budget lets go now; a budget that says nothing lets none go."""
    is_counted = policy["placementType"] == "PickN"
    desired = int(policy.get("numberOfClusters") or 0) if is_counted else 0
    if (unavailable_max := budget.get("maxUnavailable")) is not None:
        return shares.rounded_up(unavailable_max, desired) - (total - available)
    if (available_min := budget.get("minAvailable")) is not None:
        return available - shares.rounded_up(available_min, desired)
    return 0


def _is_misconfigured(budget: Json) -> bool:
    if budget.get("maxUnavailable") is not None:
        return True
    available_min = budget.get("minAvailable")
    return available_min is not None and shares.is_percentage(available_min)


def _is_delivered(binding: Json) -> bool:
    """Whether anything is or was sent to the cluster."""
    state = bindings.state(binding)
    was = bindings.previous_state(binding) if state == BindingState.UNSCHEDULED else state
    return was == BindingState.BOUND


def _targets(case: Case) -> list[Json]:
    wanted = case.eviction["spec"]["clusterName"]
    return [each for each in case.found if bindings.target_cluster(each) == wanted]


def _policy(placement: Json) -> Json:
    policy: Json = defaults.defaulted(placement)["spec"]["policy"]
    return policy


def _valid(is_valid: bool, text: str) -> tuple[str, bool, str, str]:
    return VALID, is_valid, f"{_PREFIX}{'Valid' if is_valid else 'Invalid'}", text


def _executed(is_executed: bool, text: str) -> tuple[str, bool, str, str]:
    return EXECUTED, is_executed, f"{_PREFIX}{'Executed' if is_executed else 'NotExecuted'}", text


def _status(case: Case, *told: tuple[str, bool, str, str]) -> Json:
    metadata = case.eviction["metadata"]
    before = case.eviction.get("status") or {}
    found = before.get("conditions") or []
    for type, holds, reason, text in told:
        status = conditions.TRUE if holds else conditions.FALSE
        generation = int(metadata.get("generation") or 0)
        new = conditions.make(type, status, reason, text, generation=generation, now=case.now)
        found = conditions.put(found, new)
    return {**before, "conditions": found}
