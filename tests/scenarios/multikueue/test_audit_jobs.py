"""Jobs of kinds that nobody else's scenario has: those that delete themselves when they have
ended, and those whose Workload was there first.
"""

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest
import pytest_asyncio
from tests.support import fault_jobs, shared_world
from tests.support import kueue as objects
from tests.support.dispatching import LOCAL_QUEUE, SPACE, job
from tests.support.shared_world import READY, SharedWorld, delete, with_labels

from fleetqueue.api.kueue import admission_status as status
from fleetqueue.kube.resources import Object, key_of
from fleetqueue.runtime.controllers import ttl_after_finished
from fleetqueue.runtime.kinds import JOB
from fleetqueue.testing import named

pytestmark = pytest.mark.asyncio(loop_scope="module")
SELF_DELETING = replace(fault_jobs.PLAIN, frameworks=(), operators=(ttl_after_finished.OPERATOR,))


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world() -> AsyncIterator[SharedWorld]:
    async with shared_world.start(SELF_DELETING) as made:
        yield made


@pytest.mark.rule("FLOW-52", "LOST-4", "ROLE-1")
async def test_a_job_that_deletes_itself_when_it_has_ended_runs_once(world: SharedWorld) -> None:
    """Its mirror waits until its end is known here, also where the worker is out of reach then."""
    await world.begin(workers={"worker1": "8", "worker2": "0"})
    await world.submit(job("one", run_seconds="10", ttlSecondsAfterFinished=0))
    await world.passes(seconds=3)
    world.world.cut("worker1")
    await world.fleet.passes(seconds=20)
    [mirror] = await world.workers["worker1"].all(JOB)
    assert mirror["spec"]["ttlSecondsAfterFinished"] == 960
    world.world.restore("worker1")
    await world.passes(seconds=30)

    told = [text for _, _, text in await world.manager.events("one")]
    assert [text for text in told if "is declared finished" in text]
    assert not [text for text in told if "Evicted" in text]
    assert not await world.manager.all(JOB)
    assert await world.is_clean()


@pytest.mark.rule("FLOW-44", "FLOW-40")
async def test_a_workload_that_was_there_before_its_job_is_sent(world: SharedWorld) -> None:
    await world.begin()
    template = await _defaulted(world)
    pod_sets = [{"name": "main", "count": 1, "template": template}]
    spec = {"queueName": LOCAL_QUEUE, "podSets": pod_sets}
    await world.manager.client.create(named("Workload", objects.API, "mine", SPACE, spec=spec))
    await world.submit(with_labels(job("one"), prebuilt_workload_name="mine"))
    await world.passes(seconds=3)

    assert await world.check("one") in [("Ready", READY(name)) for name in world.workers]
    local = await world.workload("one")
    side = world.workers[local["status"]["clusterName"]]
    [mirror], [copy] = await side.all(JOB), await side.workloads()
    assert copy["metadata"]["name"] == local["metadata"]["name"] == "mine"
    assert mirror["metadata"]["annotations"]["kueue.x-k8s.io/prebuilt-workload-name"] == "mine"
    assert not status.is_finished(local)


@pytest.mark.rule("IMP-11", "FLOW-31")
async def test_nobody_is_told_that_a_job_waits_which_is_on_its_way_out(world: SharedWorld) -> None:
    await world.begin()
    await world.submit(job("one"))
    await world.passes(seconds=3)
    await world.stop_queue(world.manager, "HoldAndDrain")
    await world.passes(seconds=5)

    local = await world.workload("one")
    reasons = {reason for _, reason, _ in await world.manager.events(key_of(local).name)}
    assert "EvictedDueToClusterQueueStopped" in reasons
    assert "PendingOnWorkers" not in reasons


@pytest.mark.rule("IMP-11")
async def test_why_a_job_waits_is_told_when_all_have_been_asked(world: SharedWorld) -> None:
    """One that admits it at once has not spoken when another cannot run it."""
    await world.begin(workers={"worker1": "0", "worker2": "4"})
    await world.submit(job("taken"))
    await world.passes(seconds=3)
    await world.submit(job("waits", cpu="7"))
    await world.passes(seconds=3)

    told = {}
    for name in ("taken", "waits"):
        events = await world.manager.events(key_of(await world.workload(name)).name)
        told[name] = [text for _, reason, text in events if reason == "PendingOnWorkers"]
    assert told["taken"] == []
    assert told["waits"]
    assert all("worker1: " in why and "worker2: " in why for why in told["waits"])


async def _defaulted(world: SharedWorld) -> Object:
    """The template of a job as the API server completes it."""
    plain = {**job("sample"), "metadata": {"name": "sample", "namespace": SPACE}}
    made = await world.manager.client.create(plain)
    await delete(world.manager, JOB, "sample")
    found: Object = made["spec"]["template"]
    labels = ("controller-uid", "job-name")
    known = found["metadata"].pop("labels", {})
    kept = {name: value for name, value in known.items() if not name.endswith(labels)}
    return {**found, "metadata": {**found["metadata"], "labels": kept}}
