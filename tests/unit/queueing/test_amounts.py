"""Amounts: base units, rounding up, bounds, and what is unlimited."""

import pytest

from fleetqueue.queueing.amounts import (
    AMOUNT_MAX,
    UNLIMITED,
    add_to,
    minus,
    plus,
    print_amount,
    quantity_of,
    read_amount,
    read_quota,
    times,
    total,
)

pytestmark = pytest.mark.rule("kueue 6.1")


@pytest.mark.parametrize(
    ("resource", "quantity", "amount"),
    [
        ("cpu", "1", 1000),
        ("cpu", "1500m", 1500),
        ("cpu", "100u", 1),
        ("cpu", 2, 2000),
        ("memory", "1Ki", 1024),
        ("memory", "1500m", 2),
        ("nvidia.com/gpu", "3", 3),
        ("cpu", "-1", 0),
        ("memory", "100E", AMOUNT_MAX),
        ("cpu", "9223372036854775807", AMOUNT_MAX),
    ],
)
def test_requests_are_rounded_up_to_the_base_unit_and_bounded(
    resource: str, quantity: str | int, amount: int
) -> None:
    assert read_amount(resource, quantity) == amount


@pytest.mark.parametrize(
    ("resource", "quantity", "amount"),
    [
        ("memory", "9223372036854775806", AMOUNT_MAX - 1),
        ("memory", "9223372036854775807", UNLIMITED),
        ("memory", "8Ei", UNLIMITED),
        ("cpu", "9223372036854775", 9223372036854775000),
        ("cpu", "9223372036854776", UNLIMITED),
        ("cpu", "1E", UNLIMITED),
        ("gpu", "4", 4),
        ("gpu", "-4", 0),
    ],
)
def test_a_quota_that_is_too_large_to_count_is_unlimited(
    resource: str, quantity: str, amount: int
) -> None:
    assert read_quota(resource, quantity) == amount


def test_sums_stay_within_bounds() -> None:
    assert plus(2, 3) == 5
    assert plus(AMOUNT_MAX, 1) == AMOUNT_MAX
    assert minus(2, 3) == -1
    assert minus(-AMOUNT_MAX, 1) == -AMOUNT_MAX
    assert times(2**62, 4) == AMOUNT_MAX
    assert times(7, 0) == 0
    assert total([1, 2, 3]) == 6
    assert total([AMOUNT_MAX, AMOUNT_MAX]) == AMOUNT_MAX


def test_unlimited_absorbs_and_is_more_than_anything() -> None:
    assert plus(UNLIMITED, -5) == UNLIMITED
    assert plus(5, UNLIMITED) == UNLIMITED
    assert minus(UNLIMITED, 5) == UNLIMITED
    assert minus(UNLIMITED, UNLIMITED) == UNLIMITED
    assert minus(5, UNLIMITED) == -AMOUNT_MAX
    assert times(UNLIMITED, 2) == UNLIMITED
    assert times(UNLIMITED, 0) == 0
    assert total([1, UNLIMITED]) == UNLIMITED
    assert UNLIMITED > AMOUNT_MAX


def test_amounts_are_added_place_by_place() -> None:
    target = {("a", "cpu"): 1}
    add_to(target, {("a", "cpu"): 2, ("b", "cpu"): 3})
    assert target == {("a", "cpu"): 3, ("b", "cpu"): 3}


@pytest.mark.rule("kueue 5.4")
@pytest.mark.parametrize(
    ("resource", "amount", "printed"),
    [
        ("cpu", 1000, "1"),
        ("cpu", 500, "500m"),
        ("cpu", 2500, "2500m"),
        ("memory", 2 * 1024**3, "2Gi"),
        ("memory", 1000, "1k"),
        ("ephemeral-storage", 1024, "1Ki"),
        ("hugepages-2Mi", 4 * 1024**2, "4Mi"),
        ("nvidia.com/gpu", 4, "4"),
        ("pods", 2000, "2k"),
        ("cpu", UNLIMITED, "<unlimited>"),
    ],
)
def test_amounts_are_printed_as_quantities(resource: str, amount: int, printed: str) -> None:
    assert print_amount(resource, amount) == printed
    if amount < UNLIMITED:
        assert read_amount(resource, quantity_of(resource, amount)) == amount
