"""How workloads are told why they wait, while little is told and while much is."""

import asyncio
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from fleetqueue.admission.pacing import REASONS_AT_ONCE, REASONS_PER_SECOND
from fleetqueue.admission.writing import Writer
from fleetqueue.api.kueue import admission_status as status
from fleetqueue.api.meta import Key
from fleetqueue.base import virtual_time
from fleetqueue.queueing.plan import Wait
from fleetqueue.queueing.queues import Requeue
from fleetqueue.queueing.reading import ReadingRules, read_workload

pytestmark = pytest.mark.rule("kueue 3.3", "kueue 4.4")

Json = dict[str, Any]
EPOCH = datetime(2026, 1, 1, tzinfo=UTC)
ANSWER_SECONDS = 0.001
MORE = REASONS_AT_ONCE + 30


def workload(number: int) -> Json:
    template = {"spec": {"containers": [{"name": "c", "image": "i"}]}}
    metadata = {"name": f"w-{number}", "namespace": "ns", "uid": f"u-{number}"}
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "Workload",
        "metadata": {**metadata, "creationTimestamp": "2026-01-01T00:00:00Z"},
        "spec": {"podSets": [{"name": "main", "count": 1, "template": template}]},
    }


class Paper:
    """A ledger and a cluster of a few workloads: what is written is known at once."""

    def __init__(self, count: int) -> None:
        self.known = {Key("ns", f"w-{number}"): workload(number) for number in range(count)}
        self.written: list[tuple[str, str]] = []
        self.told: list[tuple[str, str]] = []
        self.under_way = self.most_under_way = 0
        self.events = SimpleNamespace(record=self._record)
        self.writer = Writer(self, self, status.EXPLICIT, self.now)  # type: ignore[arg-type]

    def now(self) -> datetime:
        return EPOCH + timedelta(seconds=asyncio.get_running_loop().time())

    def workload(self, key: Key) -> Json | None:
        return self.known.get(key)

    async def apply(self, body: Json, **options: Any) -> None:
        self.under_way += 1
        self.most_under_way = max(self.most_under_way, self.under_way)
        await asyncio.sleep(ANSWER_SECONDS)
        self.under_way -= 1
        name = body["metadata"]["name"]
        found = status.find_condition(body, status.QUOTA_RESERVED)
        self.written.append((name, found["message"] if found else ""))
        key = Key("ns", name)
        self.known[key] = {**self.known[key], "status": body["status"]}

    def _record(self, obj: Json, kind: str, reason: str, message: str, **more: Any) -> None:
        self.told.append((obj["metadata"]["name"], message))

    def tell(self, number: int, message: str = "no room") -> "asyncio.Task[None]":
        read = read_workload(self.known[Key("ns", f"w-{number}")], "queue", ReadingRules())
        decision = Wait(read, "WaitingForQuota", message, Requeue.GENERIC)
        return asyncio.ensure_future(self.writer.wait(decision))

    def admit(self, number: int) -> None:
        key = Key("ns", f"w-{number}")
        self.known[key] = status.reserve(self.known[key], {"clusterQueue": "queue"}, EPOCH)


def test_whoever_waits_is_told_at_once_while_few_do() -> None:
    async def story() -> None:
        paper = Paper(5)
        await asyncio.gather(*map(paper.tell, range(5)))
        assert sorted(paper.written) == [(f"w-{number}", "no room") for number in range(5)]
        assert sorted(paper.told) == sorted(paper.written)
        assert asyncio.get_running_loop().time() < 0.1

    virtual_time.run(story())


def test_the_same_reason_is_not_written_again_and_costs_nobody_his_turn() -> None:
    async def story() -> None:
        paper = Paper(1)
        for _ in range(MORE):
            await paper.tell(0)
        assert paper.written == [("w-0", "no room")]
        assert len(paper.told) == MORE
        assert asyncio.get_running_loop().time() < 0.1

    virtual_time.run(story())


def test_where_much_is_told_the_last_wait_their_turn() -> None:
    async def story() -> None:
        paper = Paper(MORE)
        telling = asyncio.gather(*map(paper.tell, range(MORE)))
        await asyncio.sleep(0.5)
        assert REASONS_AT_ONCE <= len(paper.written) < MORE
        await telling
        assert len(paper.written) == len(paper.told) == MORE
        took = asyncio.get_running_loop().time()
        assert took == pytest.approx((MORE - REASONS_AT_ONCE) / REASONS_PER_SECOND, abs=0.2)

    virtual_time.run(story())


def test_who_is_admitted_before_his_turn_is_told_nothing() -> None:
    async def story() -> None:
        paper = Paper(MORE)
        telling = asyncio.gather(*map(paper.tell, range(MORE)))
        await asyncio.sleep(0.5)
        paper.admit(MORE - 1)
        await telling
        name = f"w-{MORE - 1}"
        assert name not in dict(paper.written)
        assert name not in dict(paper.told)
        assert len(paper.written) == MORE - 1

    virtual_time.run(story())


def test_of_several_reasons_before_the_turn_the_last_is_told() -> None:
    async def story() -> None:
        paper = Paper(MORE)
        telling = asyncio.gather(*map(paper.tell, range(MORE)))
        await asyncio.sleep(0.5)
        await asyncio.gather(paper.tell(MORE - 1, "less room"), paper.tell(MORE - 1, "no more"))
        await telling
        name = f"w-{MORE - 1}"
        assert [text for who, text in paper.written if who == name] == ["no more"]
        assert [text for who, text in paper.told if who == name] == ["no more"]

    virtual_time.run(story())


def test_a_slow_server_is_told_little_at_a_time() -> None:
    async def story() -> None:
        paper = Paper(20)
        await asyncio.gather(*map(paper.tell, range(20)))
        assert paper.most_under_way == 2

    virtual_time.run(story())


@pytest.mark.rule("kueue 6.6")
def test_one_that_is_finished_is_not_evicted_any_more() -> None:
    async def story() -> None:
        paper, key = Paper(1), Key("ns", "w-0")
        paper.admit(0)
        paper.known[key] = status.finish(paper.known[key], "Succeeded", "done", EPOCH)
        assert await paper.writer.evict(key, "Preempted", "to make room")
        assert not paper.written
        assert not paper.told

    virtual_time.run(story())
