"""Somebody deletes the Workload of a job that was dispatched, and the job lives on."""

import asyncio
from collections.abc import AsyncIterator
from random import Random

import pytest
import pytest_asyncio
from tests.support import leader_workers, shared_world
from tests.support.dispatching import cluster, job
from tests.support.fault_jobs import PODS, pod_of
from tests.support.fault_serving import LEADER_WORKERS, STATEFUL_SETS, led, stateful
from tests.support.shared_world import SharedWorld, for_queue

from fleetqueue.kube.resources import Object
from fleetqueue.multikueue import kinds
from fleetqueue.runtime.kinds import JOB

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.rule("FLOW-62", "LOST-1")]
WAITS = (
    'The Workload was deleted, and the job may still run on "worker1": it waits until that can be'
    " asked"
)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world() -> AsyncIterator[SharedWorld]:
    async with shared_world.start(PODS, STATEFUL_SETS, LEADER_WORKERS) as made:
        yield made


def leaders(name: str) -> Object:
    """Two of them, alone in their groups."""
    [made] = led("any", Random(0)).objects
    template = {**made["spec"]["leaderWorkerTemplate"], "size": 1}
    return for_queue(leader_workers.lws(2, 1, name=name, template=template))


async def start(world: SharedWorld, made: Object, workloads: int = 1) -> str:
    """The name of the Workload of a job that runs on worker1; it could run on worker2 as well."""
    await world.begin(workers={"worker1": "4", "worker2": "0"})
    await world.passes(minutes=16)  # A worker that the test before has lost is back.
    await world.submit(made)
    await world.passes(seconds=10)
    assert await world.sites() == ["worker1"]
    await world.set_quota(world.workers["worker2"], "4")
    found = await world.manager.names(kinds.WORKLOAD)
    assert len(found) == workloads
    return found[0]


async def lose(world: SharedWorld, workload: str) -> None:
    """It goes while the manager is down."""
    assert world.manager.restart is not None
    restarting = asyncio.ensure_future(world.manager.restart())
    patch = {"metadata": {"finalizers": None}}
    await world.manager.client.patch(kinds.WORKLOAD, workload, patch, "default")
    await world.manager.client.delete(kinds.WORKLOAD, workload, "default")
    await restarting


async def running(world: SharedWorld) -> list[str]:
    """The workers that have pods."""
    return [name for name, side in world.workers.items() if await world.pods(side)]


async def goes_on(world: SharedWorld, name: str) -> None:
    """In one place, when the worker that was lost is back."""
    world.world.restore("worker1")
    await world.passes(minutes=2)
    assert len(await running(world)) == 1
    assert (await world.check(name))[0] == "Ready"


async def test_a_job_goes_on_with_another(world: SharedWorld) -> None:
    before = await start(world, job("one"))
    uid = (await world.workload("one"))["metadata"]["uid"]
    await world.manager.delete(kinds.WORKLOAD, before)
    await world.passes(seconds=20)
    assert (await world.workload("one"))["metadata"]["uid"] != uid
    assert (await world.check("one"))[0] == "Ready"
    assert len(await running(world)) == 1


@pytest.mark.parametrize(
    "made", [job("one"), stateful("set", Random(0)).objects[0]], ids=["Job", "StatefulSet"]
)
async def test_a_job_waits_for_the_worker_that_may_still_run_it(
    world: SharedWorld, made: Object
) -> None:
    workload = await start(world, made)
    world.world.cut("worker1")
    await world.manager.delete(kinds.WORKLOAD, workload)
    await world.passes(minutes=5)
    assert await running(world) == ["worker1"]

    await goes_on(world, made["metadata"]["name"])


async def test_it_is_said_once_that_a_job_waits(world: SharedWorld) -> None:
    workload = await start(world, job("told"))
    world.world.cut("worker1")
    await world.manager.delete(kinds.WORKLOAD, workload)
    await world.passes(minutes=5)
    assert (await world.manager.events("told")).count(("Warning", "MultiKueue", WAITS)) == 1


async def test_a_job_that_has_ended_waits_for_nobody(world: SharedWorld) -> None:
    workload = await start(world, job("ended", run_seconds="15"))
    await world.passes(minutes=1)
    assert "Finished" in await world.conditions("ended")
    world.world.cut("worker1")
    await world.passes(minutes=1)
    await world.manager.delete(kinds.WORKLOAD, workload)
    await world.passes(minutes=5)
    assert not [each for each in await world.manager.events("ended") if each[2] == WAITS]


async def test_a_worker_that_does_not_come_back_is_given_up(world: SharedWorld) -> None:
    workload = await start(world, job("one"))
    world.world.cut("worker1")
    await world.manager.delete(kinds.WORKLOAD, workload)
    await world.passes(minutes=16)
    assert (await world.told("one"))["clusterName"] == "worker2"
    assert await running(world) == ["worker1", "worker2"]

    world.world.restore("worker1")
    await world.passes(minutes=2)
    assert await running(world) == ["worker2"]


async def test_other_workers_that_are_lost_delay_nobody(world: SharedWorld) -> None:
    workload = await start(world, job("one"))
    world.world.cut("worker2")
    await world.passes(seconds=30)
    await world.manager.delete(kinds.WORKLOAD, workload)
    await world.passes(seconds=20)
    assert (await world.told("one"))["clusterName"] == "worker1"
    assert await running(world) == ["worker1"]


@pytest.mark.parametrize(
    "made", [job("one"), pod_of("one", Random(0), run_seconds="600")], ids=["Job", "Pod"]
)
async def test_a_job_is_found_that_lost_it_while_the_manager_was_down(
    world: SharedWorld, made: Object
) -> None:
    workload = await start(world, made)
    await lose(world, workload)
    await world.passes(minutes=2)
    assert (await world.check("one"))[0] == "Ready"
    assert len(await running(world)) == 1


async def test_a_set_that_lost_it_waits_after_a_restart_too(world: SharedWorld) -> None:
    """It does not tell that it runs elsewhere."""
    [made] = stateful("set", Random(0)).objects
    workload = await start(world, made)
    world.world.cut("worker1")
    await lose(world, workload)
    await world.passes(minutes=5)
    assert await running(world) == ["worker1"]

    await goes_on(world, "set")


async def test_a_worker_whose_cluster_is_deleted_too_is_waited_for(world: SharedWorld) -> None:
    workload = await start(world, job("one"))
    await world.manager.client.delete(kinds.CLUSTER, "worker1")
    await world.passes(minutes=1)
    await world.manager.delete(kinds.WORKLOAD, workload)
    await world.passes(minutes=5)
    assert await running(world) == ["worker1"]

    await world.manager.client.create(cluster("worker1"))
    await world.passes(minutes=3)
    assert len(await running(world)) == 1
    assert (await world.check("one"))[0] == "Ready"


@pytest.mark.rule("LWS-2")
async def test_all_groups_of_a_set_wait_when_all_their_workloads_are_deleted(
    world: SharedWorld,
) -> None:
    await start(world, leaders("led"), workloads=2)
    world.world.cut("worker1")
    await world.passes(seconds=30)
    for name in await world.manager.names(kinds.WORKLOAD):
        await world.manager.client.delete(kinds.WORKLOAD, name, "default")
    await world.passes(minutes=5)
    assert await running(world) == ["worker1"]


async def test_one_that_was_put_out_long_ago_waits_for_nobody_who_is_lost_now(
    world: SharedWorld,
) -> None:
    """After a restart nobody knows who had it; when all were seen without it, it had none."""
    await start(world, job("one"))
    await world.stop_queue(world.manager, "HoldAndDrain")
    await world.passes(seconds=20)
    assert await world.is_clean()
    assert world.manager.restart is not None
    await world.manager.restart()
    await world.passes(minutes=2)
    world.world.cut("worker2")
    await world.passes(seconds=40)
    await world.stop_queue(world.manager, "None")
    await world.passes(seconds=30)
    assert (await world.told("one"))["clusterName"] == "worker1"


async def test_a_job_that_lost_it_waits_after_a_restart_too(world: SharedWorld) -> None:
    workload = await start(world, job("one"))
    world.world.cut("worker1")
    await lose(world, workload)
    await world.passes(minutes=5)
    assert await running(world) == ["worker1"]
    assert (await world.manager.get(JOB, "one"))["status"]["active"] == 1

    await goes_on(world, "one")


@pytest.mark.parametrize("is_known", [False, True], ids=["before", "after"])
async def test_a_job_that_never_told_that_it_runs_waits_after_a_restart_too(
    world: SharedWorld, is_known: bool
) -> None:
    """Its worker was lost when it had the job, and before it said so. The job gets another Workload
    after the restart, or before it.
    """
    await world.begin(workers={"worker1": "4", "worker2": "0"})
    await world.passes(minutes=16)
    await world.manager.client.create(job("one"))
    for _ in range(1000):
        await asyncio.sleep(0.001)
        if await world.workers["worker1"].all(JOB):
            break
    world.world.cut("worker1")
    await world.passes(seconds=10)
    await world.set_quota(world.workers["worker2"], "4")
    local = await world.manager.get(JOB, "one")
    assert await running(world) == ["worker1"]
    assert not (local.get("status") or {}).get("active")
    [workload] = await world.manager.names(kinds.WORKLOAD)
    if is_known:
        await world.manager.delete(kinds.WORKLOAD, workload)
        await world.passes(seconds=10)
        assert world.manager.restart is not None
        await world.manager.restart()
    else:
        await lose(world, workload)
    await world.passes(minutes=5)
    assert await running(world) == ["worker1"]

    await goes_on(world, "one")
