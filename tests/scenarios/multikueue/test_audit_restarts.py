"""A manager that starts again, or takes over, with workers that are not all there."""

import asyncio
from typing import Any

import pytest
from tests.support import dispatching, golden_dispatch
from tests.support.dispatching import CLUSTER_QUEUE, CONFIG, Dispatching, job

from fleetqueue.api.kueue import admission_status as status
from fleetqueue.kube import manager as managers
from fleetqueue.kube.resources import Object
from fleetqueue.multikueue import kinds
from fleetqueue.runtime.kinds import JOB
from fleetqueue.testing import Fleet

HOUR = 3600.0
STEPWISE = """\
multiKueue:
  dispatcherName: kueue.x-k8s.io/multikueue-dispatcher-incremental
  incrementalDispatcherConfig: {stepSize: 1}
"""


class Patient:
    """An elector whose turn comes after an hour."""

    async def acquire(self) -> None:
        await asyncio.sleep(HOUR)

    async def hold(self) -> None:
        await asyncio.Event().wait()

    async def release(self) -> None:
        """Nobody wants it."""


async def start(fleet: Fleet, **more: Any) -> Dispatching:
    return await dispatching.start(fleet, install=golden_dispatch.install, **more)


async def the_workload(world: Dispatching, of: str = "") -> Object:
    found = [each for each in await world.manager.workloads() if of in each["metadata"]["name"]]
    [one] = found
    return one


async def stop_queue(world: Dispatching, policy: str) -> None:
    await world.manager.patch(kinds.CLUSTER_QUEUE, CLUSTER_QUEUE, {"spec": {"stopPolicy": policy}})


async def put_out_of_reach(world: Dispatching) -> str:
    """A job is to stop on a worker that cannot be asked; which one."""
    await world.join()
    await world.set_up(quota="1")
    await world.manager.create(job("one", run_seconds="36000"))
    await world.passes(seconds=5)
    here = str((await the_workload(world))["status"]["clusterName"])
    world.cut(here)
    await world.passes(seconds=5)
    await stop_queue(world, "HoldAndDrain")
    return here


@pytest.mark.rule("CONN-8", "LOST-1", "LOST-3")
@pytest.mark.parametrize("lost", ["the Secret of another worker", "the MultiKueueCluster"])
async def test_a_standby_that_takes_over_gives_every_worker_its_grace(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch, lost: str
) -> None:
    async with await start(fleet) as world:
        await world.join()
        await world.set_up(worker_quota={"worker1": "0", "worker2": "4"})
        await world.manager.create(job("one", run_seconds="36000"))
        await world.passes(seconds=5)
        make = managers.Manager.__init__

        def patiently(made: Any, *given: Any, **named: Any) -> None:
            make(made, *given, **named)
            made._elector = Patient()

        with monkeypatch.context() as patched:
            patched.setattr(managers.Manager, "__init__", patiently)
            assert world.manager.restart is not None
            await world.manager.restart()
        await asyncio.sleep(HOUR - 60)
        if lost == "the MultiKueueCluster":
            await world.manager.client.delete(kinds.CLUSTER, "worker2")
        else:
            await world.manager.client.delete(kinds.SECRET, "worker1-secret", "kueue-system")
        await asyncio.sleep(60 + 600)

        local = await the_workload(world)
        assert local["status"]["clusterName"] == "worker2"
        assert status.find_condition(local, status.EVICTED) is None


@pytest.mark.rule("DISP-10", "CONN-6")
async def test_a_workload_that_never_ran_waits_for_no_worker_that_is_lost(fleet: Fleet) -> None:
    async with await start(fleet) as world:
        await world.join()
        await world.set_up(quota="1")
        await world.manager.create(job("first", run_seconds="20"))
        await world.passes(seconds=3)
        await world.manager.create(job("second", run_seconds="20"))
        await world.passes(seconds=3)
        here = (await the_workload(world, "first"))["status"]["clusterName"]
        [other] = {"worker1", "worker2"} - {here}
        world.cut(other)
        await world.passes(seconds=5)
        assert world.manager.restart is not None
        await world.manager.restart()
        await world.passes(seconds=25)

        assert (await the_workload(world, "second"))["status"]["clusterName"] == here


@pytest.mark.rule("QA-4", "QA-5")
async def test_quota_that_follows_workers_is_not_counted_before_they_are_connected(
    fleet: Fleet,
) -> None:
    async with await start(fleet, gates={"MultiKueueManagerQuotaAutomation": True}) as world:
        await world.join()
        await world.set_up(quota="1")
        automated = {"spec": {"quotaManagement": "Automated"}}
        await world.manager.patch(kinds.CONFIG, CONFIG, automated)
        await world.passes(seconds=5)

        async def queue() -> Object:
            return await world.manager.get(kinds.CLUSTER_QUEUE, CLUSTER_QUEUE)

        def nominal(of: Object) -> str:
            [group] = of["spec"]["resourceGroups"]
            return str(group["flavors"][0]["resources"][0]["nominalQuota"])

        before = await queue()
        assert nominal(before) == "8"
        assert world.manager.restart is not None
        await world.manager.restart()
        await world.passes(seconds=15)
        assert (await queue())["metadata"]["generation"] == before["metadata"]["generation"]

        world.cut("worker2")
        await world.manager.restart()
        await world.passes(seconds=30)
        assert nominal(await queue()) == "4"


@pytest.mark.rule("FLOW-57", "IMP-13")
async def test_quota_is_kept_while_a_worker_out_of_reach_may_be_asked_to_stop(
    fleet: Fleet,
) -> None:
    async with await start(fleet) as world:
        here = await put_out_of_reach(world)
        await world.passes(minutes=5)
        local = await the_workload(world)
        assert status.is_evicted(local)
        assert status.has_quota(local)
        assert (await world.manager.get(JOB, "one"))["status"]["active"] == 1

        world.restore(here)
        await world.passes(minutes=1)
        assert not status.has_quota(await the_workload(world))
        assert not (await world.manager.get(JOB, "one"))["status"].get("active")


@pytest.mark.rule("IMP-13", "LOST-2")
async def test_quota_goes_back_when_that_worker_is_given_up(fleet: Fleet) -> None:
    async with await start(fleet) as world:
        here = await put_out_of_reach(world)
        await world.passes(minutes=16)
        assert not status.has_quota(await the_workload(world))

        await stop_queue(world, "None")
        await world.passes(minutes=1)
        [other] = {"worker1", "worker2"} - {here}
        assert (await the_workload(world))["status"]["clusterName"] == other


@pytest.mark.rule("DISP-23")
async def test_a_round_is_no_longer_for_a_queue_that_was_on_hold(fleet: Fleet) -> None:
    async with await start(fleet, workers=("w1", "w2"), config=STEPWISE) as world:
        await world.join()
        await world.set_up(quota="4", worker_quota="0")
        await world.manager.create(job("one"))
        await world.passes(seconds=200)
        await stop_queue(world, "Hold")
        await world.passes(seconds=20)
        await stop_queue(world, "None")
        await world.passes(seconds=60)
        assert (await the_workload(world))["status"]["nominatedClusterNames"] == ["w1"]

        await world.passes(seconds=30)
        assert (await the_workload(world))["status"]["nominatedClusterNames"] == ["w1", "w2"]
