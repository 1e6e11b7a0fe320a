"""How the looks at a Work space out, and which one goes first."""

from datetime import UTC, datetime
from typing import Any

import pytest

from fleetqueue.fleet.decide.delivery import requeue
from fleetqueue.fleet.settings import Requeue

NOW = datetime(2026, 1, 1, 1, 0, 0, tzinfo=UTC)
TOLD = Requeue()


def waits(count: int, *, is_at_rest: bool, told: Requeue = TOLD) -> list[float]:
    pace, found = None, []
    for _ in range(count):
        pace = requeue.next_look(pace, "same", is_at_rest, told)
        found.append(round(requeue.wait(pace, told), 3))
    return found


@pytest.mark.rule("REQ-1")
def test_a_work_that_is_not_at_rest_is_looked_at_slowly_less() -> None:
    slow = [2.0, 2.4, 2.88, 3.456, 4.147, 4.977, 5.972, 7.166, 8.6, 10.32, 12.383, 14.86, 15.0]
    fast = [22.5, 33.75, 50.625]
    assert waits(17, is_at_rest=False) == [5.0, *slow, *fast]
    assert waits(60, is_at_rest=False)[-1] == 900.0


@pytest.mark.rule("REQ-1")
def test_a_work_at_rest_is_looked_at_less_quickly() -> None:
    assert waits(6, is_at_rest=True) == [5.0, 2.0, 3.0, 4.5, 6.75, 10.125]
    assert waits(60, is_at_rest=True)[-1] == 900.0
    patient = Requeue(skips_to_fast=False)
    assert waits(3, is_at_rest=True, told=patient) == [5.0, 2.0, 2.4]


@pytest.mark.rule("REQ-1")
def test_news_start_it_all_again() -> None:
    pace = None
    for _ in range(5):
        pace = requeue.next_look(pace, "1 failed", False, TOLD)
    assert requeue.wait(requeue.next_look(pace, "1 applied", False, TOLD), TOLD) == 5.0


def test_limits_hold_for_every_phase() -> None:
    told = Requeue(slow_max_seconds=5.0, fast_max_seconds=5.0)
    assert waits(9, is_at_rest=False, told=told)[1:] == [
        2.0, 2.4, 2.88, 3.456, 4.147, 4.977, 5.0, 5.0,
    ]  # fmt: skip


def work(minutes: int, *told: str, **metadata: Any) -> dict[str, Any]:
    created = f"2026-01-01T00:{60 - minutes:02}:00Z"
    conditions = [{"type": each, "status": "True"} for each in told]
    return {
        "metadata": {"creationTimestamp": created, **metadata},
        "status": {"conditions": conditions},
    }


@pytest.mark.rule("REQ-2")
@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (None, 100),
        (work(10), 100),
        (work(10, "Applied"), 100),
        (work(10, "Applied", "Available"), 70),
        (work(10, "DiffReported"), 70),
        (work(50, "Applied", "Available"), 0),
        (work(1, "Applied", "Available"), 97),
        (work(50, "Applied", "Available", deletionTimestamp="t"), 100),
    ],
)
def test_what_is_new_or_fails_goes_first(found: dict[str, Any] | None, expected: int) -> None:
    assert requeue.priority(found, NOW, -3.0, 100.0) == expected
