"""Snapshots of a cluster as they come to those who listen."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from random import Random
from typing import Any

import pytest

from fleetqueue.base import codec
from fleetqueue.dashboard import streams as module
from fleetqueue.dashboard.sight import Sight
from fleetqueue.dashboard.streams import GAP_SECONDS, Listener, Streams
from fleetqueue.dashboard.topics import Topic
from fleetqueue.kube.resources import Resource
from fleetqueue.testing import Fleet
from support.kueue import Kueue, cluster_queue, flavor, kinds, local_queue, workload
from support.looking import Looking

pytestmark = pytest.mark.rule("kueue 11.5")


class Shown:
    """A cluster with queues, and a dashboard that looks at it."""

    def __init__(self, kueue: Kueue, sight: Sight) -> None:
        self.kueue, self.fleet, self.sight = kueue, kueue.fleet, sight
        self.streams = Streams(sight)

    def listen(self, page: str, namespace: str = "", name: str = "", **more: Any) -> Any:
        return self.streams.listening(Topic(page, namespace, name, **more))

    async def newest(self, listener: Listener) -> Any:
        """What a listener has been told when all is quiet."""
        await self.fleet.passes(seconds=2)
        return codec.decode(await told(listener))


async def told(listener: Listener) -> bytes:
    async with asyncio.timeout(1):
        return await listener.next()


async def is_quiet(listener: Listener) -> bool:
    try:
        await told(listener)
    except TimeoutError:
        return True
    return False


@asynccontextmanager
async def showing(fleet: Fleet) -> AsyncIterator[Shown]:
    kueue = await Kueue.start(fleet)
    Looking(kueue)
    await kueue.create(flavor(), cluster_queue(quota="3"), local_queue())
    shown = Shown(kueue, Sight(kueue.cluster.connect("dashboard"), Random(1)))
    following = asyncio.create_task(shown.sight.run())
    try:
        yield shown
    finally:
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)


def phases(data: Any) -> dict[str, str]:
    return {row["name"]: row["phase"] for row in data["items"]}


async def test_whoever_listens_gets_the_whole_at_once_and_again_after_each_change(
    fleet: Fleet,
) -> None:
    async with showing(fleet) as shown, shown.listen("workloads") as listener:
        assert await shown.newest(listener) == {"items": []}

        await shown.kueue.create(workload("first", cpu="3"))
        assert phases(await shown.newest(listener)) == {"first": "ADMITTED"}

        await shown.kueue.create(workload("second", cpu="3"))
        assert phases(await shown.newest(listener)) == {"first": "ADMITTED", "second": "PENDING"}

        await shown.kueue.finish("first")
        assert phases(await shown.newest(listener)) == {"first": "FINISHED", "second": "ADMITTED"}

        await shown.kueue.delete(kinds.WORKLOAD, "first")
        assert phases(await shown.newest(listener)) == {"second": "ADMITTED"}


async def test_a_snapshot_is_made_once_for_all_who_listen(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = counted(monkeypatch)
    async with showing(fleet) as shown:
        async with shown.listen("workloads") as first, shown.listen("workloads") as second:
            assert await told(first) is await told(second)
            await shown.kueue.create(workload("one"))
            await shown.fleet.passes(seconds=2)
            assert await told(first) is await told(second)
        assert shown.streams.topics() == []
        before = len(made)
        await shown.kueue.create(workload("two"))
        await shown.fleet.passes(seconds=2)
        assert len(made) == before, "where nobody listens nothing is made"


def counted(monkeypatch: pytest.MonkeyPatch) -> list[Topic]:
    """Every snapshot that is made from now on."""
    made: list[Topic] = []
    real: Callable[..., bytes] = module.snapshot

    def counting(sight: Sight, topic: Topic, beside: Any) -> bytes:
        made.append(topic)
        return real(sight, topic, beside)

    monkeypatch.setattr(module, "snapshot", counting)
    return made


async def test_a_burst_of_changes_is_a_handful_of_snapshots(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = counted(monkeypatch)
    async with showing(fleet) as shown, shown.listen("workloads") as listener:
        await shown.newest(listener)
        before = len(made)
        for number in range(100):
            await shown.kueue.client.create(workload(f"w-{number}", cpu="1"))
        assert len((await shown.newest(listener))["items"]) == 100
        # Each workload changes several times as the queue looks at it.
        assert len(made) - before <= 2 / GAP_SECONDS


async def test_a_slow_listener_gets_the_newest_and_nothing_piles_up(fleet: Fleet) -> None:
    async with showing(fleet) as shown, shown.listen("workloads") as slow:
        await shown.newest(slow)
        for name in ("a", "b", "c"):
            await shown.kueue.create(workload(name))
            await shown.fleet.passes(seconds=5)

        assert set(phases(codec.decode(await told(slow)))) == {"a", "b", "c"}
        assert await is_quiet(slow)


async def test_what_changes_nothing_that_is_shown_is_not_sent(fleet: Fleet) -> None:
    async with showing(fleet) as shown, shown.listen("cohorts") as listener:
        assert await shown.newest(listener) == {"items": []}
        # The counters of the ClusterQueue change, which are no part of this list.
        await shown.kueue.create(workload("one"))
        await shown.fleet.passes(seconds=5)
        assert await is_quiet(listener)


async def test_only_what_a_change_concerns_is_made_anew(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with showing(fleet) as shown:
        await shown.kueue.create(workload("one"))
        async with (
            shown.listen("workload", "default", "one") as one,
            shown.listen("local-queues", "elsewhere") as elsewhere,
        ):
            await shown.newest(one)
            await shown.newest(elsewhere)
            made = counted(monkeypatch)
            await shown.kueue.create(workload("another"))
            await shown.fleet.passes(seconds=5)
            assert made == []


async def test_a_workload_tells_why_it_waits_and_that_follows_the_verdict(fleet: Fleet) -> None:
    async with showing(fleet) as shown:
        await shown.kueue.create(workload("holder", cpu="2"), workload("waits", cpu="2"))
        async with shown.listen("workload", "default", "waits", is_explained=True) as listener:
            found = await shown.newest(listener)
            assert found["row"]["phase"] == "PENDING"
            verdict = found["explanation"]
            assert verdict["decision"] == "Wait"
            [considered] = verdict["podSets"][0]["considered"]
            [cpu] = considered["resources"]
            assert (cpu["needed"], cpu["free"]) == ("2", "1")

            await shown.kueue.finish("holder")
            found = await shown.newest(listener)
            assert (found["row"]["phase"], found["explanation"]) == ("ADMITTED", None)


async def test_where_nobody_explains_the_workload_is_shown_all_the_same(fleet: Fleet) -> None:
    kueue = await Kueue.start(fleet)
    await kueue.create(flavor(), cluster_queue(quota="1"), local_queue(), workload("big", cpu="2"))
    shown = Shown(kueue, Sight(kueue.cluster.connect("dashboard"), Random(1)))
    following = asyncio.create_task(shown.sight.run())
    async with shown.listen("workload", "default", "big", is_explained=True) as listener:
        found = await shown.newest(listener)
        assert (found["row"]["phase"], found["explanation"]) == ("PENDING", None)
    following.cancel()
    await asyncio.gather(following, return_exceptions=True)


async def test_events_of_one_workload_are_followed_while_somebody_looks(fleet: Fleet) -> None:
    async with showing(fleet) as shown:
        await shown.kueue.create(workload("one", cpu="3"), workload("other", cpu="1"))
        async with shown.listen("events", "default", "one") as listener:
            found = await shown.newest(listener)
            reasons = {each["reason"] for each in found["items"]}
            assert {"QuotaReserved", "Admitted"} <= reasons
            assert "WaitingForQuota" not in reasons
            assert all("secret" not in str(each).lower() for each in found["items"])


async def test_what_comes_later_appears(fleet: Fleet) -> None:
    async with showing(fleet) as shown, shown.listen("local-queue", "default", "late") as listener:
        assert await shown.newest(listener) == {"error": 'there is no LocalQueue "default/late"'}
        await shown.kueue.create(local_queue("late"))
        assert (await shown.newest(listener))["row"]["clusterQueue"] == "queue"


async def test_a_cluster_that_goes_away_is_said_and_comes_back(fleet: Fleet) -> None:
    async with showing(fleet) as shown, shown.listen("cluster-queues") as listener:
        assert "problem" not in await shown.newest(listener)
        await shown.kueue.cluster.kill()
        await shown.fleet.passes(seconds=60)
        found = codec.decode(await told(listener))
        assert [row["name"] for row in found["items"]] == ["queue"]
        assert "cannot be followed" in found["problem"]

        await shown.kueue.cluster.start()
        await shown.fleet.passes(seconds=120)
        assert "problem" not in codec.decode(await told(listener))


async def test_a_cluster_without_these_kinds_is_said(fleet: Fleet) -> None:
    cluster = await fleet.add_cluster("bare")
    sight = Sight(cluster.connect("dashboard"), Random(1))
    following = asyncio.create_task(sight.run())
    async with Streams(sight).listening(Topic("workloads")) as listener:
        await fleet.passes(seconds=10)
        found = codec.decode(await told(listener))
        assert "workloads.kueue.x-k8s.io cannot be followed" in found["error"]
    following.cancel()
    await asyncio.gather(following, return_exceptions=True)


async def test_nothing_but_queues_and_workloads_is_ever_followed(fleet: Fleet) -> None:
    async with showing(fleet) as shown:
        followed: set[Resource] = set(shown.sight.informers)
        assert {kind.plural for kind in followed} == {
            "workloads",
            "localqueues",
            "clusterqueues",
            "cohorts",
            "resourceflavors",
        }
