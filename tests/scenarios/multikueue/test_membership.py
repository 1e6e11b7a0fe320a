"""Workers that join a configuration, leave it, or come back while workloads wait."""

import asyncio
from random import Random
from typing import Any

import pytest
from tests.support import dispatching
from tests.support.dispatching import CONFIG, Dispatching, job
from tests.support.golden_dispatch import install

from fleetqueue.api.meta import Key
from fleetqueue.jobs.settings import JobSettings
from fleetqueue.kube.cluster import Cluster
from fleetqueue.kube.leader import LeaderElector
from fleetqueue.kube.manager import Manager
from fleetqueue.multikueue import kinds
from fleetqueue.multikueue.connections import install_connections
from fleetqueue.multikueue.settings import DispatchSettings
from fleetqueue.testing import Fleet


async def start(fleet: Fleet, **options: Any) -> Dispatching:
    """Both workers are joined, and have no room for anything."""
    world = await dispatching.start(fleet, install=install)
    await world.join()
    await world.set_up(worker_quota="0", **options)
    return world


async def copies(world: Dispatching) -> list[str]:
    return [name for name, side in world.workers.items() if await side.workloads()]


@pytest.mark.rule("MKCFG-2")
@pytest.mark.rule("I16")
async def test_a_worker_that_joins_gets_a_copy_of_what_waits(fleet: Fleet) -> None:
    world = await start(fleet, clusters=["worker1"])
    await world.manager.create(job("one"))
    await world.passes(seconds=5)
    assert await copies(world) == ["worker1"]

    await world.manager.patch(kinds.CONFIG, CONFIG, {"spec": {"clusters": ["worker1", "worker2"]}})
    await world.passes(seconds=5)
    assert await copies(world) == ["worker1", "worker2"]
    assert await world.check_activity() == ("True", "Active", "The admission check is active")


@pytest.mark.rule("MKCFG-3")
@pytest.mark.rule("IMP-2")
async def test_a_worker_that_leaves_is_sent_nothing_more(fleet: Fleet) -> None:
    world = await start(fleet)
    await world.manager.create(job("one"))
    await world.passes(seconds=5)
    assert await copies(world) == ["worker1", "worker2"]

    await world.manager.patch(kinds.CONFIG, CONFIG, {"spec": {"clusters": ["worker2"]}})
    await world.passes(minutes=2)
    assert await copies(world) == ["worker2"]
    await world.manager.create(job("two"))
    await world.passes(seconds=5)
    assert await world.workers["worker1"].workloads() == []
    assert len(await world.workers["worker2"].workloads()) == 2


@pytest.mark.rule("IMP-1")
async def test_a_worker_that_is_back_gets_a_copy_of_what_waits(fleet: Fleet) -> None:
    world = await start(fleet)
    world.cut("worker1")
    await world.settle()
    await world.manager.create(job("one"))
    await world.passes(seconds=30)
    assert await copies(world) == ["worker2"]

    world.restore("worker1")
    await world.passes(minutes=2)
    assert await copies(world) == ["worker1", "worker2"]


@pytest.mark.rule("ROLE-8")
async def test_only_the_leader_connects_to_workers(fleet: Fleet) -> None:
    world = await dispatching.start(fleet, workers=("worker1",), install=_nothing)
    await world.manager.client.create(dispatching.kubeconfig_secret("worker1"))
    await world.manager.client.create(dispatching.cluster("worker1"))
    replicas = [Replica(fleet, world, name) for name in ("first", "second")]
    await fleet.passes(seconds=60)

    calls = world.links["worker1"].calls
    assert [call.path for call in calls].count("/api") == 1
    [leader] = [each for each in replicas if list(each.connections.all())]
    [other] = [each for each in replicas if each is not leader]
    await leader.end()
    await fleet.passes(seconds=60)
    assert [each.is_connected for each in other.connections.all()] == [True]
    await other.end()


class Replica:
    """One of several controllers of the manager cluster."""

    def __init__(self, fleet: Fleet, world: Dispatching, name: str) -> None:
        client, random = world.manager.cluster.connect(name), Random(name)
        cluster = Cluster(client, clock=fleet.clock, random=random)
        lease = Key(dispatching.SYSTEM, "lease")
        elector = LeaderElector(client, lease, name, clock=fleet.clock, random=random)
        self._manager = Manager(cluster, random=random, elector=elector)
        settings = DispatchSettings(JobSettings())
        self.connections = install_connections(self._manager, settings, {}, world.connect)
        self._running = asyncio.ensure_future(self._manager.run())

    async def end(self) -> None:
        self._manager.stop()
        await self._running


def _nothing(*_: Any) -> None:
    """The controllers of this cluster run elsewhere."""
