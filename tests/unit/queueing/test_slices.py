"""Slices of elastic jobs: a bigger one takes the place of the one before it."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from fleetqueue.api.meta import Key
from fleetqueue.queueing.plan import Admit, Decision, Preempt, Wait
from fleetqueue.queueing.workload import PodSetAssignment, Workload
from support.cycles import Scene, message, scene, usage, waiting

Said = dict[str, Any]

pytestmark = [pytest.mark.rule("kueue 9.9"), pytest.mark.rule("kueue 13.2")]


def slice_of(line: str, flavor: str = "default") -> Workload:
    found = waiting(line)
    held = tuple(
        PodSetAssignment(each.name, each.count, dict.fromkeys(each.requests, flavor), each.total())
        for each in found.pod_sets
    )
    return replace(found, assignments=held, reserved_at=found.created_at, is_admitted=True)


def bigger(line: str, of: str = "old") -> Workload:
    return waiting(line, replaces=waiting(f"{of}@team").key, slice_name=of)


def with_old(picture: str, line: str = "old@team cpu=1 x2", flavor: str = "default") -> Scene:
    found = scene(picture)
    found.state.hold(slice_of(line, flavor))
    return found


def test_only_the_difference_is_charged() -> None:
    found = with_old("team cpu=3")
    (decision,) = found.plan(bigger("new@team cpu=1 x3")).decisions
    assert isinstance(decision, Admit)
    assert decision.replaced is not None
    assert decision.replaced.key.name == "old"
    assert decision.assignment.charge() == {("default", "cpu"): 1000}
    assert decision.admission["podSetAssignments"][0]["resourceUsage"] == {"cpu": "3"}
    found.carry_out(found.plan(bigger("new@team cpu=1 x3")))
    assert usage(found.state) == {"team": {("default", "cpu"): 3000}}


def test_what_is_missing_is_the_difference() -> None:
    found = with_old("team cpu=4", "old@team cpu=1 x2")
    found.state.hold(slice_of("other@team cpu=1"))
    (decision,) = found.plan(bigger("new@team cpu=1 x4")).decisions
    assert message(decision) == (
        "couldn't assign flavors to pod set main: insufficient unused quota for cpu in flavor "
        "default, 1 more needed"
    )


def test_each_set_is_charged_for_itself() -> None:
    found = with_old("team cpu=4", "old@team a cpu=1 + b cpu=1")
    (decision,) = found.plan(bigger("new@team a cpu=1 x2 + b cpu=1 x2")).admitted()
    assert decision.assignment.charge() == {("default", "cpu"): 2000}
    assert found.plan(bigger("new@team a cpu=1 x2 + b cpu=1 x3")).admitted() == []


def test_the_flavor_stays() -> None:
    found = with_old("team spot:cpu=9 on-demand:cpu=3", flavor="on-demand")
    assert found.cycle(bigger("new@team cpu=1 x3")) == ["new: admit on-demand"]
    (decision,) = found.plan(bigger("new@team cpu=1 x4")).decisions
    assert isinstance(decision, Wait)
    assert (
        "could not assign spot flavor since the original workload is assigned: on-demand"
        in decision.message
    )


@pytest.mark.rule("kueue 13.3")
def test_a_bigger_slice_preempts_others_and_not_the_one_before() -> None:
    found = with_old("team cpu=4 within=LowerPriority", "old@team cpu=1 x2 priority=1")
    found.state.hold(slice_of("low@team cpu=2 priority=-1"))
    found.state.hold(slice_of("high@team cpu=0 priority=9"))
    decision = found.plan(bigger("new@team cpu=1 x3 priority=5")).decisions[0]
    assert isinstance(decision, Preempt)
    assert [each.workload.key.name for each in decision.targets] == ["low"]
    assert decision.wait.message.endswith("1 more needed. Pending the preemption of 1 workload(s)")


def test_one_whose_former_slice_is_gone_is_like_any_other() -> None:
    found = scene("team cpu=3")
    (decision,) = found.plan(bigger("new@team cpu=1 x3")).admitted()
    assert decision.replaced is None
    assert decision.assignment.charge() == {("default", "cpu"): 3000}


def test_a_former_slice_in_another_queue_is_not_replaced() -> None:
    found = scene("team cpu=3\nother cpu=3")
    found.state.hold(slice_of("old@other cpu=1"))
    (decision,) = found.plan(bigger("new@team cpu=1 x3")).admitted()
    assert decision.replaced is None


ANNAS = {"slice_name": "old", "controller_uid": "annas job"}
COPY = {"slice_name": "old", "origin": "multikueue"}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (ANNAS, ANNAS),
        ({"controller_uid": "annas job"}, ANNAS),
        (COPY, COPY),
        ({**COPY, "controller_uid": "mirror"}, COPY),
        (COPY, {**COPY, "controller_uid": "mirror"}),
    ],
    ids=["of one job", "before it was elastic", "copies", "a copy after one taken", "taken late"],
)
def test_a_slice_takes_the_place_of_one_of_its_job(old: Said, new: Said) -> None:
    (decision,) = _grown(old, new)
    assert isinstance(decision, Admit)
    assert decision.replaced is not None


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ({**ANNAS, "key": Key("anna", "old")}, ANNAS),
        (ANNAS, {**ANNAS, "controller_uid": "bobs job"}),
        (ANNAS, {**ANNAS, "controller_uid": ""}),
        (ANNAS, {**ANNAS, "slice_name": "new"}),
        (ANNAS, {**ANNAS, "slice_name": ""}),
        ({"slice_name": ""}, {"slice_name": ""}),
        (COPY, {**COPY, "origin": "another"}),
        ({**COPY, "controller_uid": "mirror"}, {**COPY, "controller_uid": "another"}),
    ],
    ids=[
        "of another namespace",
        "of another job",
        "of no job",
        "of another chain",
        "no slice",
        "neither a slice",
        "a copy from elsewhere",
        "copies of two jobs",
    ],
)
def test_nobody_takes_the_place_of_what_is_not_of_its_job(old: Said, new: Said) -> None:
    (decision,) = _grown(old, new)
    assert isinstance(decision, Wait)


def _grown(old: Said, new: Said) -> Sequence[Decision]:
    """What becomes of a slice for which there is room only in the place of another."""
    found = scene("team cpu=3")
    held = replace(slice_of("old@team cpu=1 x2"), **old)
    found.state.hold(held)
    return found.plan(waiting("new@team cpu=1 x3", replaces=held.key, **new)).decisions


@pytest.mark.rule("kueue 5.6")
def test_slices_do_not_shrink() -> None:
    found = with_old("team cpu=3", "old@team cpu=1")
    assert found.cycle(bigger("new@team cpu=1 x4 min=1")) == ["new: wait WaitingForQuota"]


@pytest.mark.rule("kueue 5.7")
def test_a_slice_whose_former_one_is_chosen_to_go_is_charged_in_full() -> None:
    found = with_old("lab\n  team cpu=2\n  other cpu=2 reclaim=Any", "old@team cpu=1 x3")
    heads = (bigger("new@team cpu=1 x4 created=1"), waiting("w@other cpu=2 created=2"))
    assert found.cycle(*heads) == ["w: preempt old", "new: wait WaitingForQuota"]


@pytest.mark.rule("kueue 5.7")
def test_a_former_slice_that_is_replaced_is_nobodys_victim() -> None:
    rules = "reclaim=LowerPriority while-borrowing=LowerPriority"
    found = with_old(f"lab\n  team cpu=2\n  other cpu=2 {rules}", "old@team cpu=1 x3")
    grown = bigger("new@team cpu=1 x4 priority=5")
    assert found.cycle("w@other cpu=3 priority=3") == ["w: preempt old"]
    assert found.cycle(grown, "w@other cpu=3 priority=3") == [
        "new: admit default",
        "w: wait WaitingForQuota",
    ]
