"""One cycle: who is tried, in which order, and what those before leave to those after."""

from dataclasses import replace
from typing import Any

import pytest

from fleetqueue.api.meta import Key
from fleetqueue.queueing import nomination
from fleetqueue.queueing.assignment import Record
from fleetqueue.queueing.nomination import Head, Problem
from fleetqueue.queueing.plan import Admit, FailPlace, Preempt, Wait, explain
from fleetqueue.queueing.queues import Requeue
from fleetqueue.queueing.settings import FairSharing, Settings
from fleetqueue.queueing.turn import Turn
from support.cycles import NOW, message, scene, told, usage, waiting

pytestmark = [pytest.mark.rule("kueue 5.1"), pytest.mark.rule("kueue 5.7")]

LAB = """
    lab
      a  cpu=4
      b  cpu=4
      c  cpu=4
"""
DEEP = """
    lab
      left
        a  cpu=4
        b  cpu=4
      right
        deep
          d  cpu=2
          e  cpu=3
"""


# Who is tried


@pytest.mark.rule("kueue 5.2")
def test_what_is_counted_already_is_dropped() -> None:
    found = scene("team cpu=4", "w@team cpu=1")
    assert found.cycle("w@team cpu=1") == []


REFUSED = {
    "failed checks": (
        {"has_failed_checks": True},
        "team",
        "PendingEvaluation",
        "The workload has failed admission checks",
    ),
    "inactive": ({}, "held", "Suspended", "ClusterQueue held is inactive"),
    "missing": ({}, "none", "Misconfigured", "ClusterQueue none not found"),
    "in a circle": ({}, "loop", "Suspended", "ClusterQueue loop is inactive"),
}


@pytest.mark.rule("kueue 5.2")
@pytest.mark.parametrize(("about", "queue", "reason", "text"), REFUSED.values(), ids=REFUSED.keys())
def test_refusals(about: dict[str, bool], queue: str, reason: str, text: str) -> None:
    found = scene("team cpu=4\nheld cpu=4\ncircle/\n  turn/\n    loop cpu=4")
    found.state.inactive.add("held")
    found.state.put_cohort(replace(found.state.cohorts["circle"], parent="turn"))
    (decision,) = found.plan(waiting(f"w@{queue} cpu=1", **about)).decisions
    assert isinstance(decision, Wait)
    assert (decision.reason, decision.message) == (reason, text)
    assert decision.requeue is Requeue.GENERIC
    assert decision.resource_requests == [{"name": "main", "resources": {"cpu": "1"}}]


@pytest.mark.rule("kueue 5.2")
def test_failed_checks_come_before_an_inactive_queue() -> None:
    found = scene("team cpu=4")
    found.state.inactive.add("team")
    pending = waiting("w@team cpu=1", has_failed_checks=True)
    assert found.cycle(pending) == ["w: wait PendingEvaluation"]


@pytest.mark.rule("kueue 5.2", "kueue 5.5")
def test_flavors_left_to_try_do_not_bring_back_one_that_is_not_tried() -> None:
    found = scene("team cpu=4")
    found.state.inactive.add("team")
    left = Record({"main": {"cpu": 0}}, "", 0, 0)
    assert left.has_more
    decided = nomination.nominate(found.state, Head(waiting("w@team cpu=1"), None, left), 1)
    assert isinstance(decided, Wait)
    assert not decided.has_more_flavors


@pytest.mark.rule("kueue 5.2", "kueue 5.8")
def test_a_second_pass_in_an_inactive_queue_is_told_why_it_fails() -> None:
    found = scene("team cpu=4", "w@team cpu=1")
    found.state.inactive.add("team")
    held = found.state.holder(Key("default", "w"))
    assert held is not None
    (decision,) = found.plan(replace(held, needs_second_pass=True)).decisions
    assert isinstance(decision, FailPlace)
    assert (decision.message, decision.targets) == ("ClusterQueue team is inactive", ())
    assert explain(decision) == []


@pytest.mark.rule("kueue 5.7")
@pytest.mark.parametrize("at", [(nomination, "attempt"), (Turn, "_check")], ids=["try", "turn"])
def test_one_that_nobody_can_decide_about_harms_nobody_else(
    at: tuple[Any, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    place, name = at
    normal = getattr(place, name)

    def fails(one: Any, other: Any, **said: Any) -> Any:
        workload = getattr(other, "workload", other)
        if workload.key.name == "bad":
            found.state.give(greedy)  # What was begun is taken back.
            raise IndexError("nothing there")
        return normal(one, other, **said)

    monkeypatch.setattr(place, name, fails)
    found = scene(LAB)
    greedy = scene(LAB, "x@a cpu=12").state.holder(Key("default", "x"))
    assert greedy is not None
    record = Record({"main": {"cpu": 0}}, "", 0, 0)
    bad = Head(waiting("bad@a cpu=1"), record=record)
    plan = found.plan(bad, "v@b cpu=12", "w@c cpu=1")

    assert sorted(map(told, plan.decisions)) == [
        "bad: wait PendingEvaluation",
        "v: wait WaitingForQuota",
        "w: admit default",
    ]
    wait = plan.of(Key("default", "bad"))
    assert isinstance(wait, Wait)
    assert wait.message == "The workload could not be evaluated: IndexError: nothing there"
    assert (wait.requeue, wait.has_more_flavors) == (Requeue.GENERIC, False)
    assert [(str(key), repr(error)) for key, error in plan.failures] == [
        ("default/bad", "IndexError('nothing there')")
    ]
    assert not any(usage(found.state).values())


@pytest.mark.rule("kueue 5.2")
@pytest.mark.parametrize("reason", ["Misconfigured", ""])
def test_a_problem_found_outside_is_told_as_it_came(reason: str) -> None:
    problem = Problem(reason, "namespace does not match", Requeue.NAMESPACE_MISMATCH)
    head = Head(waiting("w@team cpu=1"), problem)
    (decision,) = scene("team cpu=4").plan(head).decisions
    assert isinstance(decision, Wait)
    assert (decision.reason, decision.message) == (reason, "namespace does not match")
    assert decision.requeue is Requeue.NAMESPACE_MISMATCH
    assert explain(decision) == []


# Who is first

ORDER = {
    "who does not borrow": (
        "big@a cpu=9 created=1 priority=9",
        "own@b cpu=4 created=2 priority=0",
        "big",
    ),
    "who borrows from nearer": (
        "far@a cpu=9 created=1 priority=9",
        "near@d cpu=5 created=2",
        "far",
    ),
    "a higher priority": (
        "low@a cpu=7 created=1 priority=0",
        "high@b cpu=7 created=2 priority=1",
        "low",
    ),
    "an earlier time": ("late@a cpu=7 created=2", "soon@b cpu=7 created=1", "late"),
    "at last the uid": ("x@a cpu=7 created=1 uid=2", "y@b cpu=7 created=1 uid=1", "x"),
}


@pytest.mark.rule("kueue 13.2")
@pytest.mark.parametrize(("one", "other", "left_out"), ORDER.values(), ids=ORDER.keys())
def test_order(one: str, other: str, left_out: str) -> None:
    for heads in ((one, other), (other, one)):
        plan = scene(DEEP if "@d" in other else LAB).plan(*heads)
        assert isinstance(plan.decisions[0], Admit)
        skipped = plan.decisions[1]
        assert isinstance(skipped, Wait)
        assert skipped.workload.key.name == left_out
        assert message(skipped) == "Workload no longer fits after processing another workload"
        assert (skipped.reason, skipped.requeue) == (
            "WaitingForQuota",
            Requeue.FAILED_AFTER_NOMINATION,
        )


def test_priority_counts_only_where_it_is_to() -> None:
    heads = ("low@a cpu=7 created=1 priority=0", "high@b cpu=7 created=2 priority=1")
    found = scene(LAB, settings=Settings(sorts_by_priority=False))
    assert found.cycle(*heads) == ["low: admit default", "high: wait WaitingForQuota"]


def test_preemptors_go_first_where_they_are_to() -> None:
    picture = "a cpu=4\nb cpu=4 within=LowerPriority"
    in_use = "x@b cpu=4 priority=-1"
    heads = ("fits@a cpu=4 created=1", "preempts@b cpu=4 created=2")
    assert scene(picture, in_use).cycle(*heads) == ["fits: admit default", "preempts: preempt x"]
    settings = Settings(prefers_preemptors=True)
    assert scene(picture, in_use, settings).cycle(*heads)[0] == "preempts: preempt x"


@pytest.mark.rule("kueue 7.5")
def test_shares_decide_where_queues_share_fairly() -> None:
    settings = Settings(fair_sharing=FairSharing())
    found = scene("lab\n  a cpu=0\n  b cpu=0\n  c cpu=9", "x@a cpu=6", settings)
    plan = found.cycle("rich@a cpu=2 created=1 priority=9", "poor@b cpu=2 created=2")
    assert plan == ["poor: admit default", "rich: wait WaitingForQuota"]


def test_several_queues_of_a_cohort_may_admit_in_one_cycle() -> None:
    assert scene(LAB).cycle("x@a cpu=5", "y@b cpu=5", "z@c cpu=2") == [
        "z: admit default",
        "x: admit default",
        "y: admit default",
    ]


# Reserving


RESERVING = """
    lab
      a      cpu=4  within=LowerPriority  RULES
      b      cpu=4
      c      cpu=4
      other  cpu=0
"""
RESERVE = {
    "all it needs, to borrow": (
        "reclaim=Never",
        "x@a cpu=2; y@b cpu=4; z@c cpu=4",
        "w@a cpu=4",
        "cpu=1",
        "wait WaitingForQuota",
    ),
    "all it needs, of its own": (
        "reclaim=LowerPriority",
        "y@b cpu=5; z@c cpu=5",
        "w@a cpu=4",
        "cpu=1",
        "wait WaitingForQuota",
    ),
    "nothing that it can reclaim": (
        "reclaim=Any",
        "x@a cpu=2; y@b cpu=4; z@c cpu=4",
        "w@a cpu=4",
        "cpu=1",
        "admit default",
    ),
    "no more than it may borrow": (
        "reclaim=LowerPriority while-borrowing=LowerPriority",
        "x@a cpu=4; y@b cpu=2; z@c cpu=2",
        "w@a cpu=4",
        "cpu=2",
        "admit default",
    ),
    "but that": (
        "reclaim=LowerPriority while-borrowing=LowerPriority",
        "x@a cpu=4; y@b cpu=2; z@c cpu=2",
        "w@a cpu=4",
        "cpu=3",
        "wait WaitingForQuota",
    ),
}


@pytest.mark.rule("kueue 13.2")
@pytest.mark.parametrize(
    ("rules", "in_use", "asks", "other", "gets"), RESERVE.values(), ids=RESERVE.keys()
)
def test_reserving(rules: str, in_use: str, asks: str, other: str, gets: str) -> None:
    limit = "borrow=2 " if "while-borrowing" in rules else ""
    picture = RESERVING.replace("cpu=4  within", f"cpu=4 {limit} within").replace("RULES", rules)
    found = scene(picture, in_use.replace(";", " priority=9;") + " priority=9")
    assert found.cycle(f"o@other {other} created=5", f"{asks} priority=1") == [
        "w: wait WaitingForQuota",
        f"o: {gets}",
    ]
    assert found.cycle(f"o@other {other} created=5") == ["o: admit default"]


def test_no_candidates_is_told() -> None:
    found = scene("team cpu=4", "x@team cpu=2")
    (decision,) = found.plan("w@team cpu=4").decisions
    assert isinstance(decision, Wait)
    assert (decision.reason, decision.requeue) == ("WaitingForQuota", Requeue.NO_CANDIDATES)


# Preempting


PREEMPT = """
    lab
      a  cpu=2  reclaim=Any
      b  cpu=2  reclaim=Any
      c  cpu=2
"""


def test_a_preemptor_waits_and_is_told_for_how_many() -> None:
    found = scene(
        "team cpu=4 within=LowerPriority", "x@team cpu=2 priority=-1; y@team cpu=2 priority=-1"
    )
    (decision,) = found.plan("w@team cpu=4").decisions
    assert isinstance(decision, Preempt)
    start = (
        "couldn't assign flavors to pod set main: insufficient unused quota for cpu in flavor "
        "default, 4 more needed. "
    )
    assert decision.wait.message == f"{start}Pending the preemption of 2 workload(s)"
    assert decision.wait.reason == "WaitingForPreemptedWorkloads"
    assert decision.wait.requeue is Requeue.PENDING_PREEMPTION
    assert decision.wait_if_failed.message == f"{start}Preempting 2 workload(s) failed, will retry."
    assert decision.wait_if_failed.requeue is Requeue.PREEMPTION_FAILED


@pytest.mark.rule("kueue 13.3")
def test_one_victim_for_two_is_evicted_once_and_both_get_in() -> None:
    found = scene(PREEMPT, "x@c cpu=6")
    plan = found.plan("one@a cpu=2 created=1", "two@b cpu=2 created=2")
    first, second = plan.decisions
    assert isinstance(first, Preempt)
    assert isinstance(second, Wait)
    assert second.message == (
        "Workload has overlapping preemption targets with another workload, but will fit after "
        "these preemptions complete"
    )
    assert (second.reason, second.requeue, second.record) == (
        "WaitingForPreemptedWorkloads",
        Requeue.PENDING_PREEMPTION,
        None,
    )
    found.carry_out(plan)
    assert found.cycle("one@a cpu=2 created=1", "two@b cpu=2 created=2") == [
        "one: admit default",
        "two: admit default",
    ]


@pytest.mark.rule("kueue 13.3")
def test_another_victim_is_found_where_the_first_is_taken() -> None:
    found = scene(PREEMPT, "x@c cpu=2 priority=-2; y@c cpu=2 priority=-1; z@c cpu=2 priority=5")
    plan = found.cycle("one@a cpu=2 created=1", "two@b cpu=2 created=2")
    assert plan == ["one: preempt x", "two: preempt y"]


def test_those_who_overlap_are_skipped_where_they_get_no_other_try() -> None:
    found = scene(PREEMPT, "x@c cpu=6", Settings(recomputes_overlap=False))
    second = found.plan("one@a cpu=2 created=1", "two@b cpu=2 created=2").decisions[1]
    assert isinstance(second, Wait)
    assert second.message == ("Workload has overlapping preemption targets with another workload")
    assert (second.reason, second.requeue) == ("WaitingForQuota", Requeue.FAILED_AFTER_NOMINATION)


def test_what_a_preemptor_will_take_is_not_given_away() -> None:
    found = scene("lab\n  a cpu=4 reclaim=Any\n  b cpu=4", "x@b cpu=6")
    assert found.cycle("w@a cpu=4 created=1", "o@b cpu=2 created=2") == [
        "w: preempt x",
        "o: admit default",
    ]
    assert found.cycle("w@a cpu=4 created=1", "o@b cpu=2 created=2", "p@b cpu=1 created=3") == [
        "w: preempt x",
        "o: admit default",
        "p: wait WaitingForQuota",
    ]


def test_quota_of_victims_is_not_given_away_before_they_are_gone() -> None:
    picture = "lab\n  a cpu=7 reclaim=Any\n  v cpu=1\n  b cpu=4\n  c cpu=4"
    found = scene(picture, "x@v cpu=10")
    assert found.cycle("w@a cpu=7 created=1", "o@b cpu=4 created=2", "p@c cpu=4 created=3") == [
        "w: preempt x",
        "o: admit default",
        "p: wait WaitingForQuota",
    ]


@pytest.mark.rule("kueue 7.9")
def test_a_closed_gate_keeps_from_preempting() -> None:
    in_use = "x@team cpu=4 priority=-1"
    settings = Settings(honors_preemption_gates=True)
    found = scene("team cpu=4 within=LowerPriority", in_use, settings)
    gated = waiting("w@team cpu=4", has_closed_gate=True)
    (decision,) = found.plan(gated).decisions
    assert isinstance(decision, Wait)
    assert decision.message == "Workload requires preemption, but it's gated"
    assert (decision.reason, decision.requeue) == ("AdmissionGated", Requeue.PREEMPTION_GATED)
    assert decision.is_gated
    assert decision.record is None
    found.state.release(next(iter(found.state.holders["team"])))
    assert found.cycle(gated) == ["w: admit default"]


def test_gates_count_only_where_they_are_to() -> None:
    found = scene("team cpu=4 within=LowerPriority", "x@team cpu=4 priority=-1")
    assert found.cycle(waiting("w@team cpu=4", has_closed_gate=True)) == ["w: preempt x"]


# The plan


def test_the_state_is_left_as_it_was() -> None:
    found = scene(PREEMPT, "x@c cpu=4; y@c cpu=1 priority=9")
    before = usage(found.state)
    found.plan("one@a cpu=2", "two@b cpu=2", "three@c cpu=1")
    assert usage(found.state) == before
    assert not any(found.state.is_taken(key) for key in found.state.holders["c"])


def test_what_is_admitted_holds_quota_since_now() -> None:
    (decision,) = scene("team cpu=4").plan("w@team cpu=4").admitted()
    assert decision.held.reserved_at == NOW
    assert decision.held.usage() == {("default", "cpu"): 4000}


def test_every_decision_can_be_asked_why() -> None:
    found = scene("lab\n  a cpu=4\n  b cpu=4", "x@a cpu=1; y@b cpu=5")
    plan = found.plan("w@a cpu=4")
    decision = plan.of(waiting("w@a").key)
    assert decision is plan.decisions[0]
    assert explain(decision) == [
        {
            "name": "main",
            "count": 1,
            "flavors": {"cpu": "default"},
            "considered": [
                {
                    "flavor": "default",
                    "mode": "preemptionMode=NoCandidates",
                    "borrowing": 1,
                    "reasons": [
                        "insufficient unused quota for cpu in flavor default, 2 more needed"
                    ],
                    "resources": [
                        {
                            "resource": "cpu",
                            "needed": "4",
                            "free": "2",
                            "borrowable": "0",
                            "mode": "preemptionMode=NoCandidates",
                            "why": "insufficient unused quota for cpu in flavor default, "
                            "2 more needed",
                        }
                    ],
                }
            ],
            "message": "couldn't assign flavors to pod set main: insufficient unused quota for "
            "cpu in flavor default, 2 more needed",
        }
    ]


@pytest.mark.rule("kueue 5.9")
@pytest.mark.parametrize(
    ("picture", "in_use", "asks", "considered"),
    [
        ("team cpu=4", "", "w@team cpu=1", ""),
        ("lab\n  team cpu=4\n  b cpu=4", "", "w@team cpu=5", "main: default(Fit;borrow=1)"),
        (
            "team z:cpu=1 a:cpu=2 m:cpu=9",
            "x@team a:cpu=1",
            "w@team cpu=2",
            "main: a(preemptionMode=NoCandidates;insufficient unused quota for cpu in flavor a, "
            "1 more needed), "
            "z(NoFit;insufficient quota for cpu in flavor z, previously considered podsets "
            "requests (0) + current podset request (2) > maximum capacity (1))",
        ),
        (
            "team a:cpu=2 b:cpu=9",
            "",
            "w@team one cpu=1 + two cpu=2 + three cpu=3",
            "two: a(NoFit;insufficient quota for cpu in flavor a, previously considered podsets "
            "requests (1) + current podset request (2) > maximum capacity (2)) | "
            "three: a(NoFit;insufficient quota for cpu in flavor a, previously considered podsets "
            "requests (1) + current podset request (3) > maximum capacity (2))",
        ),
    ],
    ids=["fits", "borrows", "the third does", "several sets"],
)
def test_the_flavors_considered(picture: str, in_use: str, asks: str, considered: str) -> None:
    (decision,) = scene(picture, in_use).plan(asks).admitted()
    assert decision.considered == considered
