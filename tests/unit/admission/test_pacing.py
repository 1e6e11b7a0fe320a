"""Telling takes its share of the server's time and no more."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from fleetqueue.admission.pacing import (
    COUNTERS_AT_ONCE,
    COUNTERS_PER_SECOND,
    COUNTERS_SECONDS_MAX,
    COUNTERS_SECONDS_MIN,
    Budget,
    Pace,
    told,
)
from fleetqueue.kube.plan import Plan, Status

pytestmark = pytest.mark.rule("kueue 4.4")


class Clock:
    def __init__(self) -> None:
        self.now = datetime(2026, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def passes(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


def test_a_budget_lets_some_through_at_once_and_the_others_in_turn() -> None:
    clock = Clock()
    budget = Budget(clock, per_second=10, at_once=3)

    assert [round(budget.take(), 3) for _ in range(6)] == [0, 0, 0, 0.1, 0.2, 0.3]


def test_what_is_not_spent_is_saved_up_to_a_limit() -> None:
    clock = Clock()
    budget = Budget(clock, per_second=10, at_once=2)
    for _ in range(4):
        budget.take()
    clock.passes(1000)

    assert [round(budget.take(), 3) for _ in range(3)] == [0, 0, 0.1]


def test_counters_of_a_quiet_queue_follow_soon() -> None:
    pace = Pace(Clock())

    assert pace.after("a") == COUNTERS_SECONDS_MIN
    pace.wrote("a")
    assert pace.after("a") == COUNTERS_SECONDS_MIN


def test_many_busy_queues_wait_their_turn_and_a_quiet_one_does_not() -> None:
    clock = Clock()
    pace = Pace(clock)
    count = int(COUNTERS_PER_SECOND) * 20
    for number in range(COUNTERS_AT_ONCE):
        pace.wrote(f"earlier {number}")
    for number in range(count):
        pace.wrote(number)

    assert pace.after(count - 1) == pytest.approx(20, abs=0.2)
    assert pace.after(0) == COUNTERS_SECONDS_MIN
    assert pace.after("quiet") == COUNTERS_SECONDS_MIN
    clock.passes(19)
    assert pace.after(count - 1) == COUNTERS_SECONDS_MIN


def test_nobody_waits_for_ever() -> None:
    pace = Pace(Clock())
    for number in range(100_000):
        pace.wrote(number)

    assert pace.after(99_999) == pytest.approx(COUNTERS_SECONDS_MAX)


def queue(pending: int, active: str = "True") -> dict[str, Any]:
    """The status of a queue."""
    return {"conditions": [{"type": "Active", "status": active}], "pendingWorkloads": pending}


def test_a_queue_that_was_just_written_keeps_its_new_counters_for_a_while() -> None:
    clock = Clock()
    pace = Pace(clock)

    assert told(pace, "q", {"status": queue(1)}, queue(2)) == Plan([Status(queue(2))])
    clock.passes(0.25)
    rest = COUNTERS_SECONDS_MIN - 0.25
    assert told(pace, "q", {"status": queue(2)}, queue(3)) == Plan(after=rest)
    clock.passes(rest)
    assert told(pace, "q", {"status": queue(2)}, queue(4)) == Plan([Status(queue(4))])


def test_whether_a_queue_is_active_is_written_at_once() -> None:
    pace = Pace(Clock())
    pace.wrote("q")

    off = queue(2, active="False")
    assert told(pace, "q", {"status": queue(1)}, off) == Plan([Status(off)])
    assert told(pace, "q", {}, off) == Plan([Status(off)])
    assert told(pace, "q", {"status": off}, off) == Plan()
