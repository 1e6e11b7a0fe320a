"""Delays grow, stop at the cap, and repeat with the same seed."""

from random import Random

from fleetqueue.base.backoff import Attempts, Backoff

RULE = Backoff(first_seconds=1, cap_seconds=10)


def test_delays_double_up_to_the_cap() -> None:
    assert [RULE.plain_delay(attempt) for attempt in range(6)] == [1, 2, 4, 8, 10, 10]


def test_a_million_failures_do_not_overflow() -> None:
    assert RULE.plain_delay(1_000_000) == 10


def test_the_same_seed_gives_the_same_delays() -> None:
    rule = Backoff(first_seconds=1, cap_seconds=100, jitter=0.5)
    first = [rule.delay(attempt, Random(7)) for attempt in range(5)]
    assert first == [rule.delay(attempt, Random(7)) for attempt in range(5)]
    assert first != [rule.delay(attempt, Random(8)) for attempt in range(5)]


def test_attempts_count_until_they_are_reset() -> None:
    attempts = Attempts(RULE, Random(1))
    assert [attempts.next_delay() for _ in range(3)] == [1, 2, 4]
    attempts.reset()
    assert attempts.next_delay() == 1
