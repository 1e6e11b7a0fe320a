"""Dispatching with settings of its own: how much is done at once, and how statuses are written."""

import asyncio
from typing import Any

import pytest
from tests.support import dispatching, shared_world
from tests.support import kueue as objects
from tests.support.dispatching import job
from tests.support.shared_world import READY

from fleetqueue import kueue
from fleetqueue.api.kueue import admission_status as status
from fleetqueue.api.meta import Key
from fleetqueue.kube.cluster import Cluster
from fleetqueue.kube.controller import DONE, Controller, Result
from fleetqueue.kube.manager import Manager
from fleetqueue.kube.resources import Object
from fleetqueue.multikueue import kinds
from fleetqueue.runtime.kinds import JOB
from fleetqueue.testing import Fleet

CONCURRENCY = """
controller:
  groupKindConcurrency:
    Workload.kueue.x-k8s.io: 7
    MultiKueueCluster.kueue.x-k8s.io: 2
    AdmissionCheck.kueue.x-k8s.io: 3
    ClusterQueue.kueue.x-k8s.io: 5
    Job.batch: 6
"""


@pytest.mark.rule("FLOW-66", "DISP-32")
async def test_statuses_can_be_patched_so_that_nobody_owns_them() -> None:
    """A nomination by anybody is no obstacle then, as no field has an owner to heed."""
    gates = {"WorkloadRequestUseMergePatch": True}
    external = "multiKueue: {dispatcherName: example.com/by-hand}\n"
    async with shared_world.start(gates=gates, config=external) as world:
        await world.begin()
        await world.submit(job("one", run_seconds="20"))
        name = str((await world.workload("one"))["metadata"]["name"])
        patch = {"status": {"nominatedClusterNames": ["worker2"]}}
        await world.manager.patch(kinds.WORKLOAD, name, patch, "status")
        await world.passes(seconds=3)
        assert await world.check("one") == ("Ready", READY("worker2"))
        local = await world.workload("one")
        assert "nominatedClusterNames" not in local["status"]
        managers = {each["manager"] for each in local["metadata"]["managedFields"]}
        assert status.MANAGER not in managers
        assert kinds.CONTROLLER not in managers

        await world.passes(seconds=30)
        assert (await world.conditions("one"))["Finished"][:2] == ("True", "Succeeded")
        assert status.MANAGER not in str((await world.workload("one"))["metadata"])
        assert await world.is_clean()


@pytest.mark.rule("GATE-1", "S003-2")
async def test_it_can_be_switched_off(fleet: Fleet) -> None:
    """S003-2: nobody connects, nobody looks after the check, and its queue admits nothing."""
    gates = {"MultiKueue": False}
    world = await dispatching.start(fleet, gates=gates, install=_installed)
    assert not [name for name in world.installed if name.startswith("multikueue")]
    await world.join()
    await world.set_up()
    await world.manager.client.create(job("one"))
    await world.passes(seconds=5)

    assert await world.activity("worker1") is None
    assert await world.check_activity() is None
    queue = await world.manager.condition(kinds.CLUSTER_QUEUE, dispatching.CLUSTER_QUEUE, "Active")
    assert queue is not None
    assert queue[:2] == ("False", "AdmissionCheckInactive")
    here = await world.manager.get(JOB, "one")
    assert "managedBy" not in here["spec"]
    assert here["spec"]["suspend"] is True
    for side in world.workers.values():
        assert await side.workloads() == []


@pytest.mark.rule("CC-1")
async def test_how_many_are_handled_at_once_can_be_said(fleet: Fleet) -> None:
    world = await dispatching.start(fleet, workers=(), config=CONCURRENCY, install=_installed)
    workers = world.installed
    assert workers["multikueue-workload"] == 7
    assert workers["multikueue-cluster"] == 2
    assert workers["batch/job-kueue-controller"] == 6
    assert {3, 5} <= set(workers.values())


def _installed(manager: Manager, options: Any, settings: Any, connect: Any) -> dict[str, int]:
    made = kueue.install(manager, options)
    kueue.install_dispatching(manager, options, made, connect)
    return {loop.controller.name: loop.controller.workers for loop in manager.loops()}


@pytest.mark.rule("CC-2")
async def test_a_workload_is_never_handled_twice_at_once(fleet: Fleet) -> None:
    """Others are, meanwhile; and a worker is connected to once, however often it is looked at."""
    world = await dispatching.start(fleet, workers=("worker1",))
    made: list[Slow] = []

    def slow(cluster: Cluster) -> Slow:
        made.append(Slow(cluster))
        return made[-1]

    fleet.run(slow, on=world.manager.cluster)
    await world.join()
    for name in ("a", "b"):
        await world.manager.client.create(objects.workload(name, queue="nowhere"))
    for number in range(6):
        for name in ("a", "b"):
            note = {"metadata": {"annotations": {"number": str(number)}}}
            await world.manager.client.patch(kinds.WORKLOAD, name, note, "default")
        patch = {"metadata": {"labels": {"number": str(number)}}}
        await world.manager.client.patch(kinds.CLUSTER, "worker1", patch)
        await fleet.passes(seconds=2)
    assert made[0].together == 2
    assert [call.path for call in world.links["worker1"].calls].count("/api") == 1


class Slow(Controller[Any]):
    """Takes its time, and counts who is there."""

    kind = kinds.WORKLOAD
    workers = 8

    def __init__(self, cluster: Cluster) -> None:
        self.under_way: list[str] = []
        self.together = 0

    async def reconcile(self, obj: Object, /) -> Result:
        name = str(obj["metadata"]["name"])
        assert name not in self.under_way
        self.under_way.append(name)
        self.together = max(self.together, len(self.under_way))
        await asyncio.sleep(5)
        self.under_way.remove(name)
        return DONE

    async def gone(self, key: Key, /) -> Result:
        return DONE
