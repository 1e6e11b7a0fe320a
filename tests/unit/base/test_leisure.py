"""Each step is shown while little happens."""

from datetime import UTC, datetime, timedelta

from fleetqueue.base.leisure import Leisure

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def test_so_many_at_once_and_then_so_many_a_second() -> None:
    leisure = Leisure(per_second=2, at_once=3)

    assert [leisure.take(NOW) for _ in range(5)] == [True, True, True, False, False]
    later = NOW + timedelta(seconds=1)
    assert [leisure.take(later) for _ in range(3)] == [True, True, False]


def test_what_is_not_taken_is_saved_up_to_a_limit() -> None:
    leisure = Leisure(per_second=1, at_once=2)
    assert leisure.take(NOW)

    later = NOW + timedelta(hours=1)
    assert [leisure.take(later) for _ in range(3)] == [True, True, False]


def test_nobody_has_leisure_while_somebody_is_busy() -> None:
    busy = [True]
    leisure = Leisure(at_once=1, is_busy=lambda: busy[0])
    assert not leisure.take(NOW)

    busy[0] = False
    assert leisure.take(NOW)
