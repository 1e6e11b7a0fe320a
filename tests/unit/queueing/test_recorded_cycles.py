"""Cycles as they were recorded from Kueue: the same situations lead to the same texts."""

import pytest

from fleetqueue.queueing.plan import Admit, Preempt, Wait
from support.cycles import Scene, message, scene

pytestmark = [pytest.mark.rule("kueue 5.9"), pytest.mark.rule("kueue 5.7")]

COULD_NOT = "couldn't assign flavors to pod set main: "


def told(found: Scene, *heads: str) -> list[str]:
    """Reason and message of those who wait, and what the others get; all of it is carried out."""
    plan = found.plan(*heads)
    found.carry_out(plan)
    return [
        f"admitted {each.considered}".rstrip()
        if isinstance(each, Admit)
        else f"{getattr(each, 'wait', each).reason}: {message(each)}"
        for each in plan.decisions
    ]


def test_pending_then_admitted() -> None:
    found = scene("b2 cpu=4")
    assert told(found, "first@b2 cpu=3") == ["admitted"]
    assert told(found, "second@b2 cpu=3") == [
        f"WaitingForQuota: {COULD_NOT}insufficient unused quota for cpu in flavor default, "
        "2 more needed"
    ]
    assert told(found, "too-big@b2 cpu=5") == [
        f"ExceedsMaxQuota: {COULD_NOT}insufficient quota for cpu in flavor default, previously "
        "considered podsets requests (0) + current podset request (5) > maximum capacity (4)"
    ]
    assert told(found, "uncovered@b2 cpu=1 example.com/gpu=1") == [
        f"NoMatchingFlavor: {COULD_NOT}resource example.com/gpu unavailable in ClusterQueue"
    ]


def test_what_was_asked_for_is_told() -> None:
    (decision,) = scene("b2 cpu=4").plan("uncovered@b2 cpu=1 example.com/gpu=1").decisions
    assert isinstance(decision, Wait)
    assert decision.resource_requests == [
        {"name": "main", "resources": {"cpu": "1", "example.com/gpu": "1"}}
    ]


def test_preemption_in_a_queue() -> None:
    found = scene("b3 cpu=4 within=LowerPriority")
    told(found, "low@b3 cpu=4 priority=100")
    assert told(found, "high@b3 cpu=4 priority=1000") == [
        f"WaitingForPreemptedWorkloads: {COULD_NOT}insufficient unused quota for cpu in flavor "
        "default, 4 more needed. Pending the preemption of 1 workload(s)"
    ]
    assert told(found, "high@b3 cpu=4 priority=1000") == ["admitted"]
    assert told(found, "low@b3 cpu=4 priority=100") == [
        f"WaitingForQuota: {COULD_NOT}insufficient unused quota for cpu in flavor default, "
        "4 more needed"
    ]


def test_reclaiming_in_a_cohort() -> None:
    found = scene("cohort\n  team-a cpu=4\n  team-b cpu=4 reclaim=Any")
    assert told(found, "a1@team-a cpu=3") == ["admitted"]
    assert told(found, "a2@team-a cpu=3") == ["admitted main: default(Fit;borrow=1)"]
    plan = found.plan("b1@team-b cpu=4")
    assert isinstance(plan.decisions[0], Preempt)
    assert message(plan.decisions[0]) == (
        f"{COULD_NOT}insufficient unused quota for cpu in flavor default, 2 more needed. "
        "Pending the preemption of 1 workload(s)"
    )
    found.carry_out(plan)
    assert told(found, "b1@team-b cpu=4", "a2@team-a cpu=3") == [
        "admitted",
        "WaitingForQuota: Workload no longer fits after processing another workload",
    ]
    assert told(found, "a2@team-a cpu=3") == [
        f"WaitingForQuota: {COULD_NOT}insufficient unused quota for cpu in flavor default, "
        "2 more needed"
    ]


def test_partial_admission() -> None:
    (decision,) = scene("b7 cpu=4").plan("sample@b7 cpu=1 x10 min=2").decisions
    assert isinstance(decision, Admit)
    assert decision.admission == {
        "clusterQueue": "b7",
        "podSetAssignments": [
            {
                "name": "main",
                "flavors": {"cpu": "default"},
                "resourceUsage": {"cpu": "4"},
                "count": 4,
            }
        ],
    }
    assert decision.considered == ""
