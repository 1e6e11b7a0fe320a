"""What LocalQueues used is known again after a restart, and to whoever takes over."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from math import inf
from typing import Any

import pytest
from tests.support.cycles import waiting
from tests.support.held import entries

from fleetqueue.admission.usage import UsageKeeper
from fleetqueue.api.meta import Key
from fleetqueue.api.times import format_time
from fleetqueue.queueing.settings import UsageSharing

pytestmark = pytest.mark.rule("kueue 4.10")

NOW = datetime(2026, 1, 1, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
QUEUE = Key("team", "main")


class Keeping:
    """A keeper for a queue that uses one core, and what it told of it."""

    def __init__(self) -> None:
        self.now = NOW
        self.told: list[float] = []
        settings = UsageSharing(half_life=10 * MINUTE, sampling=5 * MINUTE)
        self.keeper = UsageKeeper(
            settings, lambda: self.now, lambda _: {"cpu": 1000}, lambda _, usage: self.hear(usage)
        )

    def hear(self, usage: float) -> None:
        self.told.append(usage)


def status(cpu: str, at: datetime) -> dict[str, Any]:
    past = {"consumedResources": {"cpu": cpu}, "lastUpdate": format_time(at)}
    return {"weightedShare": 0, "admissionFairSharingStatus": past}


def consumed(fair_sharing: dict[str, Any]) -> str:
    return str(fair_sharing["admissionFairSharingStatus"]["consumedResources"].get("cpu"))


def test_what_the_status_says_is_known_before_anything_is_ordered() -> None:
    found = Keeping()
    found.keeper.learn(QUEUE, status("5", NOW - MINUTE))
    found.keeper.put_queue(QUEUE, 1.0)
    assert found.told == [5.0]
    assert found.keeper.sample(QUEUE, status("5", NOW - MINUTE)) == status("5", NOW - MINUTE)


def test_the_past_goes_on_to_fade_where_it_was_left() -> None:
    found = Keeping()
    found.keeper.put_queue(QUEUE, 1.0)
    assert consumed(found.keeper.sample(QUEUE, status("5", NOW - 10 * MINUTE))) == "3"
    assert found.told == [0.0, 5.0, 3.0]


def test_an_older_status_changes_nothing() -> None:
    found = Keeping()
    found.keeper.put_queue(QUEUE, 1.0)
    found.keeper.learn(QUEUE, status("5", NOW))
    found.keeper.learn(QUEUE, status("9", NOW - MINUTE))
    found.keeper.learn(QUEUE, status("9", NOW))
    found.keeper.learn(QUEUE, None)
    assert found.keeper.usage(QUEUE) == 5.0


def test_one_who_only_watches_follows_what_the_leader_writes() -> None:
    found = Keeping()
    found.keeper.put_queue(QUEUE, 1.0)
    for cores in range(3):
        found.keeper.learn(QUEUE, status(str(cores), NOW + cores * MINUTE))
    assert found.told == [0.0, 0.0, 1.0, 2.0]


def test_a_queue_without_a_past_used_nothing() -> None:
    found = Keeping()
    assert found.keeper.usage(QUEUE) == 0.0
    found.keeper.put_queue(QUEUE, 0.0)
    assert found.told == [inf]


def test_queues_that_went_leave_nothing_behind() -> None:
    found = Keeping()
    before = entries(found.keeper)
    for name in ("first", "second"):
        workload = replace(waiting("w@team cpu=1"), local_queue=name)
        queue = Key(workload.key.namespace, name)
        found.keeper.put_queue(queue, 1.0)
        found.keeper.reserve(workload, None)
        found.keeper.remove_queue(queue)
        told = len(found.told)
        found.keeper.drop(workload.key)
        found.keeper.reserve(workload, None)
        found.keeper.admit(workload)
        assert len(found.told) == told

    assert entries(found.keeper) == before
