"""Ends that somebody brings about from outside: a Workload that is cleared away when its job has
ended, and members of a group of pods that are deleted, here or on their worker.
"""

from collections.abc import AsyncIterator
from random import Random

import pytest
import pytest_asyncio
from tests.scenarios.multikueue import test_reference_ray as reference
from tests.support import ray, shared_world, simulated
from tests.support.dispatching import Side
from tests.support.fault_jobs import PODS, pod_of
from tests.support.shared_world import SharedWorld, delete, evict_copy, for_queue, remove_all

from fleetqueue.kube.resources import Object
from fleetqueue.multikueue import kinds
from fleetqueue.runtime.kinds import POD

pytestmark = pytest.mark.asyncio(loop_scope="module")
RAY_JOB = reference.KINDS["RayJob"]
SOON = "objectRetentionPolicies: {workloads: {afterFinished: 1m}}\n"
WAITS = "WaitingForReplacementPods"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world() -> AsyncIterator[SharedWorld]:
    async with shared_world.start(PODS, reference.RAY, config=SOON) as made:
        yield made


def member(name: str, run_seconds: str = "never") -> Object:
    group = {"kueue.x-k8s.io/pod-group-name": "group"}
    total = {"kueue.x-k8s.io/pod-group-total-count": "2"}
    return pod_of(name, Random(0), run_seconds=run_seconds, labels=group, annotations=total)


async def start(world: SharedWorld, *pods: Object) -> Side:
    """The worker on which a group runs."""
    await cancel(world)
    await world.begin(workers={"worker1": "8", "worker2": "0"})
    await world.submit(*pods)
    await world.passes(seconds=4)
    side = world.workers["worker1"]
    assert await phases(side) == {"a": "Running", "b": "Running"}
    return side


async def cancel(world: SharedWorld) -> None:
    """A group whose pods are deleted waits for others, until its Workload is deleted too."""
    for kind in (POD, kinds.WORKLOAD):
        await remove_all(world.manager, kind)
    await world.passes(minutes=1)


async def phases(side: Side) -> dict[str, str]:
    return {str(each["metadata"]["name"]): each["status"]["phase"] for each in await side.all(POD)}


@pytest.mark.rule("FLOW-55", "IMP-13")
@pytest.mark.parametrize("fails", [False, True], ids=["Complete", "Failed"])
async def test_a_ray_job_that_has_ended_is_not_run_again(world: SharedWorld, fails: bool) -> None:
    await world.begin()
    notes = {"fleetqueue.io/sim-exit-code": "1"} if fails else {}
    submitter = simulated.template(
        name="ray-job-submitter", run_seconds="10", restartPolicy="Never", annotations=notes
    )
    made = ray.ray_job_of(
        ray.worker_group(),
        name="one",
        shutdownAfterJobFinishes=True,
        submitterPodTemplate=submitter,
        backoffLimit=0,
    )
    await world.submit(for_queue(made))
    await world.passes(seconds=45)
    ended = (await world.manager.get(RAY_JOB, "one"))["status"]
    assert ended["jobDeploymentStatus"] == ("Failed" if fails else "Complete")
    await world.passes(minutes=3)

    assert (await world.manager.get(RAY_JOB, "one"))["status"] == ended
    assert not await world.manager.workloads()
    assert await world.is_clean()


@pytest.mark.rule("POD-3", "POD-4")
async def test_a_member_that_is_deleted_on_its_worker_has_failed(world: SharedWorld) -> None:
    """So that somebody can replace it."""
    there = await start(world, member("a"), member("b"))
    await delete(there, POD, "a")
    await world.passes(seconds=30)
    assert await phases(world.manager) == {"a": "Failed", "b": "Running"}
    assert (await world.conditions("b"))[WAITS][0] == "True"

    await world.submit(member("c"))
    await world.passes(seconds=30)
    assert (await phases(there))["c"] == (await phases(world.manager))["c"] == "Running"
    assert (await world.conditions("b"))[WAITS][0] == "False"


@pytest.mark.rule("POD-3", "POD-6")
async def test_members_that_are_put_out_there_have_not_failed(world: SharedWorld) -> None:
    there = await start(world, member("a"), member("b"))
    await evict_copy(world, there, "a")
    for _ in range(40):
        await world.passes(seconds=1)
        assert "Failed" not in (await phases(world.manager)).values()
    assert await phases(there) == {"a": "Running", "b": "Running"}


@pytest.mark.rule("POD-5", "IMP-7")
@pytest.mark.parametrize("waits", [0, 40], ids=["at once", "later"])
async def test_a_member_that_is_replaced_here_is_replaced_there(
    world: SharedWorld, waits: int
) -> None:
    there = await start(world, member("a"), member("b"))
    await delete(world.manager, POD, "a")
    await world.passes(seconds=waits)
    await world.submit(member("c"))
    await world.passes(seconds=60)
    assert await phases(there) == {"b": "Running", "c": "Running"}
    assert await phases(world.manager) == {"b": "Running", "c": "Running"}


@pytest.mark.rule("POD-5")
async def test_a_member_that_has_succeeded_keeps_its_end(world: SharedWorld) -> None:
    there = await start(world, member("a", "10"), member("b", "60"))
    await world.passes(seconds=15)
    await delete(world.manager, POD, "a")
    await world.passes(seconds=20)
    assert await phases(there) == {"a": "Succeeded", "b": "Running"}
