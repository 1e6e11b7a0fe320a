"""While little happens everybody speaks at once; while much does, each in its turn."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pytest

from fleetqueue.fleet.hub.pacing import SECONDS_MAX, Turns


@dataclass
class StoppedClock:
    seconds: float = 100.0

    def now(self) -> datetime:
        return datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=self.seconds)

    def monotonic(self) -> float:
        return self.seconds


@pytest.fixture
def clock() -> StoppedClock:
    return StoppedClock()


def test_the_first_speak_at_once_and_the_others_one_after_the_other(clock: StoppedClock) -> None:
    turns = Turns(clock, at_once=3, per_second=2.0)
    assert [turns.wait(number) for number in range(6)] == [0.0, 0.0, 0.0, 0.5, 1.0, 1.5]


def test_who_waits_keeps_its_turn_and_uses_it_up(clock: StoppedClock) -> None:
    turns = Turns(clock, at_once=1, per_second=2.0)
    assert turns.wait("a") == 0.0
    assert [turns.wait("b"), turns.wait("b"), turns.wait("c")] == [0.5, 0.5, 1.0]
    clock.seconds += 0.5
    assert turns.wait("b") == 0.0
    assert turns.wait("b") == 1.0, "it goes to the end of the line"


def test_a_turn_that_is_given_back_is_the_next_ones(clock: StoppedClock) -> None:
    turns = Turns(clock, at_once=1, per_second=2.0)
    turns.wait("a")
    assert turns.wait("b") == 0.5
    turns.give_back("b")
    turns.give_back("nobody")
    assert turns.wait("c") == 0.5


def test_what_was_not_used_is_saved_up_to_a_limit(clock: StoppedClock) -> None:
    turns = Turns(clock, at_once=2, per_second=1.0)
    clock.seconds += 1000
    assert [turns.wait(number) for number in range(3)] == [0.0, 0.0, 1.0]


def test_nobody_waits_for_ever(clock: StoppedClock) -> None:
    turns = Turns(clock, at_once=1, per_second=1.0)
    assert max(turns.wait(number) for number in range(1000)) == SECONDS_MAX
    clock.seconds += SECONDS_MAX
    assert turns.wait(999) == 0.0
