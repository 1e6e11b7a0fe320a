"""What LocalQueues used in the past: how it fades, and what weighs on it at once."""

from datetime import UTC, datetime, timedelta
from math import inf

import pytest

from fleetqueue.api.meta import Key
from fleetqueue.queueing.settings import UsageSharing
from fleetqueue.queueing.usage_history import (
    QueueHistory,
    entry_penalty,
    faded,
    fading,
    print_consumed,
    read_consumed,
    weighted,
)

pytestmark = [pytest.mark.rule("kueue 4.10"), pytest.mark.rule("kueue 13.3")]

NOW = datetime(2025, 1, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)
HALVES = UsageSharing(half_life=HOUR, sampling=HOUR)
JOB = Key("team", "job")


@pytest.mark.parametrize(
    ("elapsed", "half_life", "part"),
    [
        (0 * HOUR, HOUR, 0.0),
        (HOUR, HOUR, 0.5),
        (2 * HOUR, HOUR, 0.75),
        (HOUR / 2, HOUR, 1 - 0.5**0.5),
        (HOUR, 0 * HOUR, 0.0),
        (-HOUR, HOUR, 0.0),
    ],
)
def test_the_past_is_halved_each_half_life(
    elapsed: timedelta, half_life: timedelta, part: float
) -> None:
    assert fading(elapsed, half_life) == pytest.approx(part)


def test_what_is_used_now_takes_the_place_of_what_fades() -> None:
    consumed = faded({"cpu": 8000}, {"cpu": 4000, "memory": 10}, HOUR, HOUR)
    assert consumed == {"cpu": 4000 + 2000, "memory": 5000}


def test_usage_that_goes_on_is_approached() -> None:
    history = QueueHistory()
    for hour in range(21):
        history.sample({"gpu": 8}, NOW + hour * HOUR, HALVES)
    assert history.usage(HALVES) == pytest.approx(8, abs=0.01)
    for hour in range(21, 41):
        history.sample({}, NOW + hour * HOUR, HALVES)
    assert history.usage(HALVES) == pytest.approx(0, abs=0.01)


def test_without_a_half_life_nothing_is_remembered() -> None:
    history = QueueHistory({"cpu": 5000}, NOW)
    settings = UsageSharing()
    history.sample({"cpu": 9000}, NOW + HOUR, settings)
    assert (history.consumed, history.updated_at) == ({}, NOW + HOUR)
    assert entry_penalty({"cpu": 9000}, settings) == {"cpu": 0}
    history.reserve(JOB, entry_penalty({"cpu": 9000}, settings))
    assert history.admit(JOB, {"cpu": 9000}, NOW + HOUR, settings)
    assert history.consumed == {}


def test_the_first_sample_only_starts_the_clock() -> None:
    history = QueueHistory()
    assert history.is_due(NOW, HALVES)
    history.sample({"cpu": 9000}, NOW, HALVES)
    assert history.usage(HALVES) == 0
    assert not history.is_due(NOW + HOUR / 2, HALVES)
    assert history.is_due(NOW + HOUR, HALVES)


def test_a_reservation_weighs_at_once_as_much_as_one_sample_of_it() -> None:
    assert entry_penalty({"cpu": 4000, "gpu": 2}, HALVES) == {"cpu": 2000, "gpu": 1000}


def test_only_resources_that_the_queue_covers_weigh_where_others_are_ignored() -> None:
    assert entry_penalty({"cpu": 4000, "gpu": 2}, HALVES, covered={"cpu"}) == {"cpu": 2000}


def test_a_penalty_becomes_consumed_on_admission_after_a_step_of_decay() -> None:
    history = QueueHistory({"cpu": 8000}, NOW)
    history.reserve(JOB, entry_penalty({"cpu": 4000}, HALVES))
    assert history.usage(HALVES) == 8 + 2
    assert history.admit(JOB, {"cpu": 4000}, NOW + HOUR, HALVES)
    assert history.consumed == {"cpu": 4000 + 2000 + 2000}
    assert history.updated_at == NOW + HOUR
    assert not history.admit(JOB, {"cpu": 4000}, NOW + 2 * HOUR, HALVES)
    assert history.consumed == {"cpu": 8000}


def test_a_penalty_is_dropped_with_the_workload() -> None:
    history = QueueHistory({"cpu": 1000}, NOW)
    history.reserve(JOB, {"cpu": 500})
    history.reserve(JOB, {"cpu": 700})
    assert history.usage(HALVES) == pytest.approx(1.7)
    assert history.drop(JOB)
    assert not history.drop(JOB)
    assert history.usage(HALVES) == 1


def test_penalties_of_several_workloads_add_up() -> None:
    history = QueueHistory()
    for number in range(3):
        history.reserve(Key("team", f"job-{number}"), {"gpu": 1000, "cpu": 500})
    assert history.usage(HALVES) == pytest.approx(4.5)


@pytest.mark.parametrize(
    ("weights", "queue_weight", "usage"),
    [
        ({}, 1.0, 2 + 3),
        ({"cpu": 0.5}, 1.0, 1 + 3),
        ({"cpu": 0.0, "gpu": 2.0}, 1.0, 6),
        ({}, 2.0, 2.5),
        ({}, 0.0, inf),
        ({}, -1.0, inf),
    ],
)
def test_resources_and_queues_have_weights(
    weights: dict[str, float], queue_weight: float, usage: float
) -> None:
    assert weighted({"cpu": 2000, "gpu": 3000}, weights, queue_weight) == pytest.approx(usage)


def test_a_queue_without_weight_is_last_even_if_it_used_nothing() -> None:
    assert QueueHistory().usage(HALVES, weight=0) == inf


def test_what_a_status_says_is_what_goes_on() -> None:
    consumed = {"cpu": 1500, "memory": 2 * 1024**3 * 1000, "gpu": 250, "disk": 0}
    printed = print_consumed(consumed)
    assert printed == {"cpu": "1500m", "memory": "2Gi", "gpu": "250m", "disk": "0"}
    assert list(printed) == sorted(printed)
    assert read_consumed(printed) == consumed
