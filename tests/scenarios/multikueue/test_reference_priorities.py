"""Reference scenarios of jobs that others push aside, on the manager or on a worker: E6 to E8, I34,
I35.
"""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from tests.support import kueue as objects
from tests.support import shared_world
from tests.support.dispatching import job
from tests.support.shared_world import READY, SharedWorld, evict_copy, with_labels

from fleetqueue.api.kueue import admission_status as status
from fleetqueue.kube.resources import Object
from fleetqueue.runtime.kinds import JOB

pytestmark = pytest.mark.asyncio(loop_scope="module")
LOWER = {"withinClusterQueue": "LowerPriority"}
W1_ONLY = {"worker1": "2", "worker2": "0"}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world() -> AsyncIterator[SharedWorld]:
    classes = [objects.priority_class("high", 100), objects.priority_class("low", 10)]
    async with shared_world.start(furniture=classes) as made:
        yield made


def of(priority: str, name: str = "", **more: str) -> Object:
    return with_labels(job(name or priority, **more), priority_class=priority)


@pytest.mark.rule("E6", "I34", "PR-4", "FLOW-31")
async def test_a_job_that_is_preempted_here_leaves_its_worker(world: SharedWorld) -> None:
    """E6 and I34: quota is released only when the mirror does not run any more."""
    await world.begin(quota="2", workers=W1_ONLY, preemption=LOWER)
    worker = world.workers["worker1"]
    await world.submit(of("low", cpu="2"))
    await world.passes(seconds=3)
    assert (await world.workload("low", worker))["spec"] == (await world.workload("low"))["spec"]
    assert await world.sites() == ["worker1"]

    await world.manager.client.create(of("high", cpu="2"))
    active = []
    while status.has_quota(await world.workload("low")):
        mirror = await worker.find(JOB, "low")
        active.append(None if mirror is None else mirror["status"].get("active", 0))
        await world.fleet.passes(seconds=0.005)
    assert active[0] == 1
    assert active[-1] in (0, None)
    assert (await world.manager.get(JOB, "low"))["status"].get("active", 0) == 0

    await world.passes(seconds=5)
    assert await world.check("high") == ("Ready", READY("worker1"))
    assert (await world.workload("high", worker))["spec"] == (await world.workload("high"))["spec"]
    assert [each["metadata"]["name"] for each in await worker.all(JOB)] == ["high"]
    assert len(await worker.workloads()) == 1
    found = await world.conditions("low")
    assert found["Evicted"][:2] == ("True", "Preempted")
    assert found["Preempted"][:2] == ("True", "InClusterQueue")
    assert (await world.manager.get(JOB, "low"))["spec"]["suspend"] is True


@pytest.mark.rule("E7", "FLOW-56", "WLF-5")
async def test_a_job_moves_to_the_worker_that_has_room_now(world: SharedWorld) -> None:
    """E7."""
    await world.begin(workers=W1_ONLY)
    await world.submit(job("one", cpu="2"))
    await world.passes(seconds=3)
    assert (await world.told("one"))["clusterName"] == "worker1"

    await world.set_quota(world.workers["worker1"], "1")
    await world.set_quota(world.workers["worker2"], "2")
    await evict_copy(world, world.workers["worker1"], "one")
    await world.passes(seconds=5)
    assert (await world.told("one"))["clusterName"] == "worker2"
    assert await world.sites() == ["worker2"]
    copy = await world.workload("one", world.workers["worker2"])
    assert status.is_admitted(copy)
    assert copy["spec"] == (await world.workload("one"))["spec"]


@pytest.mark.rule("E8", "PR-1", "PR-4")
async def test_a_job_that_becomes_less_urgent_makes_room(world: SharedWorld) -> None:
    """E8."""
    await world.begin(quota="3", workers={"worker1": "2", "worker2": "3"}, preemption=LOWER)
    await world.submit(of("high", "first", cpu="2"))
    await world.passes(seconds=3)
    await world.submit(of("high", "second", cpu="3"))
    await world.passes(seconds=3)
    assert (await world.told("first"))["clusterName"] == "worker1"
    assert not status.has_quota(await world.workload("second"))
    assert await world.sites() == ["worker1"]

    label = {"metadata": {"labels": {"kueue.x-k8s.io/priority-class": "low"}}}
    await world.manager.patch(JOB, "first", label)
    await world.passes(seconds=5)
    assert await world.check("second") == ("Ready", READY("worker2"))
    copy = await world.workload("second", world.workers["worker2"])
    assert copy["spec"] == (await world.workload("second"))["spec"]
    assert await world.sites() == ["worker2"]
    found = await world.conditions("first")
    assert (found["Evicted"][0], found["Preempted"][0]) == ("True", "True")


@pytest.mark.rule("I35", "PR-1", "PR-3")
async def test_a_new_priority_reaches_the_copy(world: SharedWorld) -> None:
    """I35: without any move."""
    await world.begin()
    await world.submit(of("low", "one"))
    await world.passes(seconds=3)
    mirror = await world.workers["worker1"].get(JOB, "one")

    label = {"metadata": {"labels": {"kueue.x-k8s.io/priority-class": "high"}}}
    await world.manager.patch(JOB, "one", label)
    await world.passes(seconds=3)
    copy = await world.workload("one", world.workers["worker1"])
    assert copy["spec"]["priorityClassRef"]["name"] == "high"
    assert copy["spec"]["priority"] == 100
    again = await world.workers["worker1"].get(JOB, "one")
    assert again["metadata"]["uid"] == mirror["metadata"]["uid"]
    assert await world.check("one") == ("Ready", READY("worker1"))


@pytest.mark.rule("PR-5")
async def test_a_job_that_its_worker_preempts_is_sent_again(world: SharedWorld) -> None:
    await world.begin(workers=W1_ONLY, worker={"preemption": LOWER})
    await world.submit(of("low", cpu="2"))
    await world.passes(seconds=3)
    await world.submit(of("high", cpu="2"))
    await world.passes(seconds=5)

    assert await world.check("high") == ("Ready", READY("worker1"))
    reset = "Reset to Pending after eviction. Previously: Retry"
    assert await world.check("low") == ("Pending", reset)
    told = await world.told("low")
    assert told["nominatedClusterNames"] == ["worker1", "worker2"]
    assert [len(await side.workloads()) for side in world.workers.values()] == [2, 1]

    await world.set_quota(world.workers["worker2"], "2")
    await world.passes(seconds=3)
    assert await world.check("low") == ("Ready", READY("worker2"))
    assert [len(await side.workloads()) for side in world.workers.values()] == [1, 1]
