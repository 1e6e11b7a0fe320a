"""Workloads that every cluster deletes as soon as they have finished, as all clusters of a suite
have the same configuration.
"""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from tests.scenarios.multikueue import test_reference_ray as reference
from tests.support import ray, shared_world
from tests.support.dispatching import job
from tests.support.shared_world import SharedWorld, delete, for_queue

from fleetqueue.kube.resources import key_of
from fleetqueue.multikueue import kinds
from fleetqueue.runtime.kinds import JOB

pytestmark = pytest.mark.asyncio(loop_scope="module")
AT_ONCE = "objectRetentionPolicies: {workloads: {afterFinished: 0s}}\n"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world() -> AsyncIterator[SharedWorld]:
    async with shared_world.start(reference.RAY, config=AT_ONCE, worker_config=AT_ONCE) as made:
        yield made


async def _ran_once(world: SharedWorld, job: str) -> None:
    told = [reason for _, reason, _ in await world.manager.events(job)]
    assert "Started" in told
    assert "Stopped" not in told
    [local] = await world.manager.all(JOB)
    conditions = {each["type"]: each["status"] for each in local["status"]["conditions"]}
    assert conditions["Complete"] == "True"
    assert not await world.manager.workloads()
    assert await world.is_clean()


@pytest.mark.rule("FLOW-55", "HAR-20")
async def test_a_job_runs_once_where_workers_keep_nothing_that_finished(world: SharedWorld) -> None:
    await world.begin(workers={"worker1": "8", "worker2": "0"})
    await world.submit(job("one", run_seconds="10"))
    await world.passes(seconds=30)

    await _ran_once(world, "one")


@pytest.mark.rule("FLOW-55", "IMP-13")
async def test_a_ray_job_runs_once_too(world: SharedWorld) -> None:
    await world.begin(workers={"worker1": "8", "worker2": "0"})
    made = ray.ray_job_of(
        ray.worker_group(),
        name="one",
        shutdownAfterJobFinishes=True,
        submitterPodTemplate=reference.submitter(run_seconds="10"),
    )
    await world.submit(for_queue(made))
    await world.passes(seconds=40)
    kind = reference.KINDS["RayJob"]
    ended = (await world.manager.get(kind, "one"))["status"]
    await world.passes(minutes=2)

    assert ended["jobDeploymentStatus"] == "Complete"
    assert (await world.manager.get(kind, "one"))["status"] == ended
    assert not await world.manager.workloads()
    assert await world.is_clean()


@pytest.mark.rule("LOST-4", "FLOW-52")
async def test_what_a_job_says_counts_where_its_copy_was_cleared_away(world: SharedWorld) -> None:
    """A worker of another make deletes copies that finished, whoever they belong to."""
    await world.begin(workers={"worker1": "8", "worker2": "0"})
    await world.submit(job("two", run_seconds="10"))
    await world.passes(seconds=3)
    world.world.cut("worker1")
    await world.fleet.passes(seconds=20)
    side = world.workers["worker1"]
    [copy] = await side.workloads()
    await delete(side, kinds.WORKLOAD, key_of(copy).name)
    await world.fleet.passes(seconds=1)
    assert not await side.workloads()
    assert await side.all(JOB)
    world.world.restore("worker1")
    await world.passes(seconds=30)

    await _ran_once(world, "two")
