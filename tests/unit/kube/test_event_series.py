"""Events with an action: those that come again are one, and the server is told now and then."""

from datetime import UTC, datetime, timedelta

import pytest

from fleetqueue.kube.event_correlation import Correlator, Occurrence

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def happens(message: str = "no room", after: float = 0.0, action: str = "Wait") -> Occurrence:
    at = NOW + timedelta(seconds=after)
    return Occurrence((("name", "a"),), "Warning", "Waiting", message, "queue", at, action)


def write(correlator: Correlator, occurrence: Occurrence) -> tuple[int, str] | None:
    """The count and the name of the event that is written, if one is."""
    found = correlator.correlate(occurrence)
    if found is None:
        return None
    correlator.written(found, {"metadata": {"name": found.name or "first"}})
    return found.count, found.name


@pytest.mark.rule("kueue 11.3")
def test_the_second_that_says_the_same_counts_up_the_first() -> None:
    correlator = Correlator()

    assert write(correlator, happens("1 more needed")) == (1, "")
    assert write(correlator, happens("1 more needed", after=1)) == (2, "first")
    assert write(correlator, happens("2 more needed", after=2)) == (1, "")


def test_those_that_follow_are_counted_and_told_once_in_a_while() -> None:
    correlator = Correlator()
    write(correlator, happens())
    write(correlator, happens(after=1))

    assert all(write(correlator, happens(after=300 * n)) is None for n in range(1, 7))
    assert write(correlator, happens(after=1802)) == (9, "first")


def test_after_a_while_a_new_one_begins() -> None:
    correlator = Correlator()
    write(correlator, happens())

    assert write(correlator, happens(after=361)) == (1, "")
