"""Workers that people take off a manager while they have jobs."""

from collections.abc import AsyncIterator

import pytest
from tests.support import dispatching
from tests.support.dispatching import CONFIG, Dispatching, job

from fleetqueue.errors import UserError
from fleetqueue.kube.client import Client
from fleetqueue.kube.kubeconfig import Access
from fleetqueue.local_fleet import leaving
from fleetqueue.multikueue import kinds
from fleetqueue.runtime.kinds import JOB
from fleetqueue.testing import Fleet

pytestmark = pytest.mark.rule("RBAC-1")


@pytest.fixture
async def world(fleet: Fleet) -> AsyncIterator[Dispatching]:
    """Four jobs are on worker1, which is the only one that had room."""
    async with await dispatching.start(fleet, install=dispatching.install_dispatch) as made:
        await made.join()
        await made.set_up(worker_quota={"worker1": "4", "worker2": "0"})
        for name in ("a", "b", "c", "d"):
            await made.manager.create(job(name))
        await made.passes(seconds=5)
        yield made


async def leave(world: Dispatching, name: str = "worker1", **options: bool) -> list[str]:
    return await leaving.leave(world.manager.client, name, CONFIG, world.connect, **options)


async def test_jobs_of_a_worker_within_reach_move(world: Dispatching) -> None:
    assert await leave(world) == [
        "removed: MultiKueueCluster/worker1",
        "removed: Secret/worker1-secret",
        "jobs that move elsewhere: 4",
    ]
    assert await world.workers["worker1"].workloads() == []


async def test_a_worker_out_of_reach_that_has_jobs_does_not_leave(world: Dispatching) -> None:
    world.cut("worker1")
    await world.passes(seconds=30)
    names = sorted(each["metadata"]["name"] for each in await world.manager.workloads())

    with pytest.raises(UserError) as refused:
        await leave(world)

    named = ", ".join(f"default/{each}" for each in names[:3])
    assert str(refused.value) == (
        f'"worker1" is out of reach and has 4 Workloads ({named} and 1 more), which may still run'
        " there while they start elsewhere: bring it back first, or leave anyhow with --force"
    )
    assert await world.manager.find(kinds.CLUSTER, "worker1") is not None
    [config] = await world.manager.all(kinds.CONFIG)
    assert config["spec"]["clusters"] == ["worker1", "worker2"]


async def test_it_leaves_by_force(world: Dispatching) -> None:
    world.cut("worker1")
    await world.passes(seconds=30)

    told = await leave(world, is_forced=True)

    assert told[0] == "removed: MultiKueueCluster/worker1"
    assert told[-1] == "jobs that may still run there: 4"


async def test_one_out_of_reach_without_jobs_leaves(world: Dispatching) -> None:
    world.cut("worker2")
    await world.passes(seconds=30)

    assert await leave(world, "worker2") == [
        "removed: MultiKueueCluster/worker2",
        "removed: Secret/worker2-secret",
    ]


async def test_finished_jobs_hold_nobody(world: Dispatching) -> None:
    for name in ("a", "b", "c", "d"):
        await world.manager.client.delete(JOB, name, "default", propagation="Background")
    await world.manager.create(job("short", run_seconds="1"))
    await world.passes(seconds=60)
    [workload] = await world.manager.workloads()
    assert workload["status"]["clusterName"] == "worker1"
    world.cut("worker1")
    await world.passes(seconds=30)

    assert len(await leave(world)) == 2


async def test_a_secret_that_names_a_program_makes_nobody_run_it(world: Dispatching) -> None:
    api = "client.authentication.k8s.io/v1"
    program = f"exec: {{command: x, apiVersion: {api}, interactiveMode: Never}}"
    text = dispatching.kubeconfig("worker1").replace("token: token-of-worker1", program)
    data = dispatching.kubeconfig_secret("worker1", text)["data"]
    name = dispatching.secret_name("worker1")
    await world.manager.client.patch(kinds.SECRET, name, {"data": data}, dispatching.SYSTEM)
    opened: list[Access] = []

    def connect(access: Access) -> Client:
        opened.append(access)
        return world.connect(access)

    # The manager has not looked at the Secret yet.
    await leaving.leave(world.manager.client, "worker1", CONFIG, connect, is_forced=True)

    assert opened == []


async def test_of_the_last_worker_nothing_is_taken_back(world: Dispatching) -> None:
    await leave(world, "worker2")

    assert (await leave(world))[-1] == "jobs that may still run there: 4"
