"""Conditions: found, set, settled; the transition time moves only with the status."""

from datetime import UTC, datetime, timedelta

import pytest

from fleetqueue.api.meta import Condition, ConditionStatus
from fleetqueue.kube import conditions
from fleetqueue.kube.conditions import condition

THEN = datetime(2026, 1, 1, tzinfo=UTC)
NOW = THEN + timedelta(hours=1, microseconds=5)
READY = condition("Ready", True, "AllGood", "", now=THEN, generation=1)
OTHER = condition("Other", False, "No", "", now=THEN)


@pytest.mark.parametrize(
    ("status", "reason", "moved"),
    [(True, "AllGood", False), (True, "Better", False), (False, "Broken", True)],
)
def test_the_transition_time_moves_with_the_status_alone(
    status: bool, reason: str, moved: bool
) -> None:
    new = condition("Ready", status, reason, "text", now=NOW, generation=2)

    settled, other = conditions.set_condition([READY, OTHER], new)

    assert settled.last_transition_time == (NOW.replace(microsecond=0) if moved else THEN)
    assert (settled.reason, settled.observed_generation) == (reason, 2)
    assert other is OTHER


def test_a_condition_of_a_new_type_goes_to_the_end() -> None:
    assert conditions.set_condition([OTHER], READY) == [OTHER, READY]
    assert conditions.set_condition(None, READY) == [READY]


def test_times_have_no_fractions() -> None:
    assert condition("A", True, "R", "", now=NOW).last_transition_time.microsecond == 0


def test_looking_up() -> None:
    unknown = condition("U", ConditionStatus.UNKNOWN, "R", "", now=THEN)
    held: list[Condition] = [READY, OTHER, unknown]

    assert conditions.find(held, "Ready") is READY
    assert conditions.find(None, "Ready") is None
    assert conditions.is_true(held, "Ready")
    assert conditions.is_false(held, "Other")
    assert not conditions.is_true(held, "U")
    assert not conditions.is_false(held, "U")
    assert not conditions.is_false(held, "Missing")
    assert conditions.remove(held, "Other") == [READY, unknown]
