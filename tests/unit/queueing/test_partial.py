"""Partial admission: as few pods less as possible."""

import pytest

from fleetqueue.queueing import partial
from fleetqueue.queueing.plan import Admit
from fleetqueue.queueing.settings import Settings
from support.cycles import scene, waiting

pytestmark = [pytest.mark.rule("kueue 5.6"), pytest.mark.rule("kueue 6.8")]

CASES = {
    "all fit": ("cpu=3", "w@team cpu=1 x3 min=1", "admit default"),
    "one less": ("cpu=1", "w@team cpu=500m x3 min=1", "admit default x2"),
    "as few as allowed": ("cpu=1", "w@team cpu=1 x5 min=1", "admit default x1"),
    "fewer than allowed": ("cpu=1", "w@team cpu=1 x5 min=2", "wait ExceedsMaxQuota"),
    "no least": ("cpu=1", "w@team cpu=1 x5", "wait ExceedsMaxQuota"),
    "a least of all": ("cpu=1", "w@team cpu=1 x5 min=5", "wait ExceedsMaxQuota"),
    "down to none": ("cpu=0", "w@team cpu=1 x5 min=0", "admit default x0"),
    "two sets shrink together": (
        "cpu=9",
        "w@team a cpu=1 x4 min=2 + b cpu=1 x8 min=4",
        "admit default x3 + default x6",
    ),
    "one of two shrinks": (
        "cpu=5",
        "w@team a cpu=1 x2 + b cpu=1 x8 min=1",
        "admit default + default x3",
    ),
    "pods count": ("cpu=9 pods=2", "w@team cpu=1 x4 min=1", "admit default x2"),
}


@pytest.mark.parametrize(("quota", "asks", "answer"), CASES.values(), ids=CASES.keys())
def test_partial_admission(quota: str, asks: str, answer: str) -> None:
    assert scene(f"team {quota}").cycle(asks) == [f"w: {answer}"]


def test_what_is_held_is_less_too() -> None:
    (decision,) = scene("team cpu=1").plan("w@team cpu=500m x3 min=1").decisions
    assert isinstance(decision, Admit)
    (assigned,) = decision.admission["podSetAssignments"]
    assert (assigned["count"], assigned["resourceUsage"]) == (2, {"cpu": "1"})


def test_preempting_for_all_pods_comes_before_fewer_pods() -> None:
    found = scene("team cpu=4 within=LowerPriority", "low@team cpu=2 priority=-1")
    assert found.cycle("w@team cpu=1 x4 min=1") == ["w: preempt low"]


def test_preempting_for_fewer_pods_counts_as_found() -> None:
    found = scene("team cpu=4 within=LowerPriority", "low@team cpu=2 priority=-1; high@team cpu=2")
    assert found.cycle("w@team cpu=1 x3 min=2") == ["w: preempt low"]


def test_it_can_be_switched_off() -> None:
    found = scene("team cpu=1", settings=Settings(admits_partially=False))
    assert found.cycle("w@team cpu=1 x2 min=1") == ["w: wait ExceedsMaxQuota"]


@pytest.mark.parametrize("fits", range(1, 12))
def test_the_search_finds_the_border(fits: int) -> None:
    pod_sets = waiting("w@team cpu=1 x10 min=1").pod_sets
    asked: list[int] = []

    def attempt(counts: dict[str, int]) -> int | None:
        asked.append(counts["main"])
        return counts["main"] if counts["main"] <= fits else None

    assert partial.fewest_less(pod_sets, attempt) == (min(fits, 9) if fits >= 1 else None)
    assert len(asked) <= 4
