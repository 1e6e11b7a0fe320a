"""Counts by number and by percentage, and what a status leaves out."""

import pytest

from fleetqueue.runtime.amounts import number, scaled, told, total


@pytest.mark.parametrize(
    ("amount", "count", "up", "expected"),
    [
        (3, 10, True, 3),
        (0, 10, True, 0),
        ("25%", 10, True, 3),
        ("25%", 10, False, 2),
        ("0%", 10, True, 0),
        ("100%", 7, False, 7),
        ("1%", 1, True, 1),
        ("1%", 1, False, 0),
        (None, 10, True, 0),
    ],
)
def test_a_percentage_is_of_the_total(
    amount: int | str | None, count: int, up: bool, expected: int
) -> None:
    assert scaled(amount, count, up=up) == expected


def test_a_status_leaves_out_what_is_zero_unless_it_is_always_sent() -> None:
    status = {"replicas": 0, "ready": 0, "more": 2, "list": [], "text": "", "none": None}
    assert told(status, "replicas") == {"replicas": 0, "more": 2}


def test_missing_numbers_are_zero() -> None:
    objects = [{"status": {"replicas": 2}}, {"status": {}}, {}]
    assert total(objects, "status", "replicas") == 2
    assert number({"a": {"b": "text"}}, "a", "b") == 0
