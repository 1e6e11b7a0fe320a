"""Evictions: valid or not, carried out or not, and in which words."""

from typing import Any

import pytest
from tests.support.choosing import NOW, binding, condition

from fleetqueue.fleet.decide import evictions
from fleetqueue.fleet.decide.evictions import Case, Verdict

pytestmark = [pytest.mark.rule("EVICT-1"), pytest.mark.rule("EVICT-2")]
Json = dict[str, Any]
EVICTION = {"metadata": {"name": "e", "generation": 1},
            "spec": {"placementName": "p", "clusterName": "a"}}  # fmt: skip
READY = condition("Available")
BUDGET = "ClusterResourcePlacementDisruptionBudget"
WAS = "kubernetes-fleet.io/previous-binding-state"


def placement(kind: str = "PickAll", number: int | None = None, **metadata: Any) -> Json:
    policy: Json = {"placementType": kind}
    if number is not None:
        policy["numberOfClusters"] = number
    return {"metadata": {"name": "p", **metadata}, "spec": {"policy": policy}}


def judge(parent: Json | None, *found: Json, **budget: Any) -> Verdict:
    spec = {"spec": budget} if budget else None
    return evictions.judge(Case(EVICTION, parent, found, spec, NOW))


def told(verdict: Verdict) -> dict[str, tuple[str, str, str]]:
    return {
        each["type"]: (each["status"], each["reason"], each["message"])
        for each in verdict.status["conditions"]
    }


A, B = binding("a", "Bound", READY), binding("b", "Bound", READY)
LATE = "Failed to find scheduler decision for placement in cluster targeted by eviction"
TWICE = "Found more than one scheduler decision for placement in cluster targeted by eviction"
# fmt: off
INVALID = {
    "no placement": (None, (), "Failed to find ClusterResourcePlacement targeted by eviction"),
    "one that goes": (placement(deletionTimestamp="now"), (A,),
        "Found deleting ClusterResourcePlacement targeted by eviction"),
    "of named clusters": (placement("PickFixed"), (A,),
        "Found ClusterResourcePlacement with PickFixed placement type targeted by eviction"),
    "two bindings": (placement(), (A, A), TWICE),
    "another cluster": (placement(), (B,), LATE),
}
# fmt: on


@pytest.mark.parametrize(("parent", "found", "text"), INVALID.values(), ids=INVALID.keys())
def test_evictions_that_are_not_valid(
    parent: Json | None, found: tuple[Json, ...], text: str
) -> None:
    verdict = judge(parent, *found)
    reason = "ClusterResourcePlacementEvictionInvalid"
    assert told(verdict) == {"Valid": ("False", reason, text)}
    assert verdict.evicted is None
    assert evictions.is_finished(EVICTION | {"status": verdict.status})
    assert evictions.completion(EVICTION | {"status": verdict.status}) == ("true", "false")


def judged(verdict: Verdict) -> tuple[bool, str]:
    said = told(verdict)
    assert said["Valid"] == ("True", "ClusterResourcePlacementEvictionValid", "Eviction is valid")
    status, reason, text = said["Executed"]
    word = "Executed" if status == "True" else "NotExecuted"
    assert reason == f"ClusterResourcePlacementEviction{word}"
    return status == "True", text


REMOVAL = (
    "Eviction is allowed, resources propagated by placement is currently being removed from"
    " cluster targeted by eviction"
)
EARLY = "Eviction is blocked, placement has not propagated resources to target cluster yet"
BROKEN = "Eviction is allowed, placement has failed"
FREE = f"Eviction is allowed, no {BUDGET} specified"
MISTAKE = (
    f"Eviction is blocked by misconfigured {BUDGET}, either MaxUnavailable is specified or"
    " MinAvailable is specified as a percentage for PickAll ClusterResourcePlacement"
)


def by_budget(word: str, available: int, total: int) -> str:
    numbers = f"availablePlacements: {available}, totalPlacements: {total}"
    return f"Eviction is {word} by specified {BUDGET}, {numbers}"


THREE = (A, B, binding("c", "Bound", READY))
# fmt: off
EXECUTED: dict[str, tuple[Json, tuple[Json, ...], Json, bool, str]] = {
    "on its way out": (placement(), (binding("a", is_deleting=True),), {}, True, REMOVAL),
    "only scheduled": (placement(), (binding("a", "Scheduled"),), {}, False, EARLY),
    "given up before it was bound":
        (placement(), (binding("a", "Unscheduled", annotations={WAS: "Scheduled"}),), {},
         False, EARLY),
    "given up after": (placement(), (binding("a", "Unscheduled", annotations={WAS: "Bound"}),), {},
        True, FREE),
    "failed": (placement(), (binding("a", "Bound", condition("Applied", "False", "X")),),
        {"minAvailable": 5}, True, BROKEN),
    "diffs are reported": (placement(), (binding("a", "Bound", condition("DiffReported")),),
        {"minAvailable": 5}, True, BROKEN),
    "no budget": (placement(), THREE, {}, True, FREE),
    "pick all may not name a maximum": (placement(), THREE, {"maxUnavailable": 1}, False, MISTAKE),
    "pick all may not name a share": (placement(), THREE, {"minAvailable": "50%"}, False, MISTAKE),
    "pick all, enough are left": (placement(), THREE, {"minAvailable": 2}, True,
        by_budget("allowed", 3, 3)),
    "pick all, all are needed": (placement(), THREE, {"minAvailable": 3}, False,
        by_budget("blocked", 3, 3)),
    "pick n, none may go": (placement("PickN", 3), THREE, {"maxUnavailable": 0}, False,
        by_budget("blocked", 3, 3)),
    "pick n, one may go": (placement("PickN", 3), THREE, {"maxUnavailable": 1}, True,
        by_budget("allowed", 3, 3)),
    "pick n, one is gone": (placement("PickN", 3), (A, B, binding("c")), {"maxUnavailable": 1},
        False, by_budget("blocked", 2, 3)),
    "pick n, a share is rounded up": (placement("PickN", 3), THREE, {"maxUnavailable": "10%"}, True,
        by_budget("allowed", 3, 3)),
    "pick n, all are needed": (placement("PickN", 3), THREE, {"minAvailable": 3}, False,
        by_budget("blocked", 3, 3)),
    "pick n, a share that is needed is rounded up":
        (placement("PickN", 3), THREE, {"minAvailable": "70%"}, False, by_budget("blocked", 3, 3)),
    "pick n, two thirds will do": (placement("PickN", 3), THREE, {"minAvailable": "60%"}, True,
        by_budget("allowed", 3, 3)),
}
# fmt: on


@pytest.mark.parametrize(
    ("parent", "found", "budget", "is_executed", "text"), EXECUTED.values(), ids=EXECUTED.keys()
)
def test_whether_an_eviction_is_carried_out(
    parent: Json, found: tuple[Json, ...], budget: Json, is_executed: bool, text: str
) -> None:
    verdict = judge(parent, *found, **budget)
    assert judged(verdict) == (is_executed, text)
    is_deleted = is_executed and text != REMOVAL
    assert verdict.evicted == (found[0] if is_deleted else None)
    assert evictions.completion(EVICTION | {"status": verdict.status}) == ("true", "true")


def test_a_budget_that_says_nothing_lets_nobody_go() -> None:
    assert evictions.disruptions_allowed({}, {"placementType": "PickAll"}, 3, 3) == 0


def test_an_eviction_that_nobody_judged_is_not_complete() -> None:
    assert not evictions.is_finished(EVICTION)
    assert evictions.completion(EVICTION) == ("false", "unknown")
