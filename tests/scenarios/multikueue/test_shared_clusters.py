"""One cluster that two MultiKueueClusters lead to, as while one of them is renamed; and one that is
slow, which delays nobody else.
"""

import asyncio
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from tests.support import dispatching, shared_world
from tests.support.dispatching import job
from tests.support.shared_world import SharedWorld

from fleetqueue.kube.resources import Object
from fleetqueue.multikueue import kinds, worker_calls
from fleetqueue.multikueue.session import Session
from fleetqueue.runtime.kinds import JOB

pytestmark = pytest.mark.asyncio(loop_scope="module")
CONFIG = "two-workers"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world() -> AsyncIterator[SharedWorld]:
    async with shared_world.start() as made:
        yield made


@pytest_asyncio.fixture(loop_scope="module")
async def alias(world: SharedWorld) -> AsyncIterator[str]:
    """Another name for worker1."""
    await world.begin(workers={"worker1": "4", "worker2": "0"})
    made = dispatching.cluster("alias", location="worker1-secret")
    await world.manager.client.create(made)
    yield "alias"
    await configure(world, "worker1", "worker2")
    await world.manager.client.delete(kinds.CLUSTER, "alias")
    await world.passes(seconds=5)


async def configure(world: SharedWorld, *clusters: str) -> None:
    patch = {"spec": {"clusters": list(clusters)}}
    await world.manager.client.patch(kinds.CONFIG, CONFIG, patch)
    await world.passes(seconds=5)


@pytest.mark.rule("FLOW-30", "LOST-4")
@pytest.mark.parametrize("names", [("worker1", "alias", "worker2"), ("alias", "worker1")])
async def test_a_cluster_with_two_names_runs_a_job_once(
    world: SharedWorld, alias: str, names: tuple[str, ...]
) -> None:
    await configure(world, *names)
    await world.submit(job("one"))
    await world.passes(minutes=5)
    told = await world.told("one")
    assert told["clusterName"] == names[0]
    assert not told["admissionChecks"][0].get("retryCount")
    assert len(await world.pods(world.workers["worker1"])) == 1
    [mirror] = await world.workers["worker1"].all(JOB)
    assert mirror["status"]["active"] == 1


@pytest.mark.rule("GC-1")
async def test_a_name_that_is_not_configured_takes_nothing_away(
    world: SharedWorld, alias: str
) -> None:
    await world.submit(job("one"))
    await world.passes(minutes=5)
    assert (await world.told("one"))["clusterName"] == "worker1"
    [pod] = await world.pods(world.workers["worker1"])
    await world.passes(minutes=5)
    assert [each["metadata"]["uid"] for each in await world.pods(world.workers["worker1"])] == [
        pod["metadata"]["uid"]
    ]


@pytest.mark.rule("CONN-6")
async def test_a_worker_that_is_slow_delays_none_of_the_others(
    world: SharedWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each of its answers comes just in time."""
    create = worker_calls.create

    async def created(session: Session, obj: Object) -> Object:
        if obj["kind"] == "Job" and obj["metadata"]["name"].startswith("slow"):
            await asyncio.sleep(9)
        return await create(session, obj)

    await world.begin(quota="200", workers={"worker1": "100", "worker2": "0"})
    monkeypatch.setattr(worker_calls, "create", created)
    for number in range(100):
        await world.manager.client.create(job(f"slow-{number:02}"))
    await world.fleet.passes(seconds=3)
    groups = shared_world.objects.cluster_queue("cluster-queue", "2")["spec"]["resourceGroups"]
    patch = {"spec": {"resourceGroups": groups}}
    await world.workers["worker2"].client.patch(kinds.CLUSTER_QUEUE, "cluster-queue", patch)
    await world.manager.client.create(job("quick"))
    await world.fleet.passes(seconds=5)
    assert [
        pod["metadata"]["labels"]["job-name"] for pod in await world.pods(world.workers["worker2"])
    ] == ["quick"]
    await world.passes(minutes=2)
