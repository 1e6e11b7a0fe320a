"""What is on workers of jobs and Workloads that had a name before: it is never taken for what has
that name now, and goes first. And what stands in the way of a copy.
"""

from collections.abc import AsyncIterator
from random import Random

import pytest
import pytest_asyncio
from tests.support import shared_world
from tests.support.dispatching import job
from tests.support.fault_jobs import PODS, pod_of
from tests.support.fault_serving import STATEFUL_SETS, stateful
from tests.support.shared_world import SharedWorld, delete

from fleetqueue.kube.errors import Forbidden
from fleetqueue.kube.resources import Object, Resource, uid_of
from fleetqueue.multikueue import kinds, worker_calls
from fleetqueue.multikueue.session import Session
from fleetqueue.runtime.kinds import JOB, POD, STATEFUL_SET

pytestmark = pytest.mark.asyncio(loop_scope="module")
GROUP = {"kueue.x-k8s.io/pod-group-name": "group"}
TOTAL = {"kueue.x-k8s.io/pod-group-total-count": "1"}
HOLD = "example.com/hold"
ELASTIC = {"kueue.x-k8s.io/elastic-job": "true"}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world() -> AsyncIterator[SharedWorld]:
    config = "objectRetentionPolicies: {workloads: {afterFinished: 30s}}\n"
    async with shared_world.start(PODS, STATEFUL_SETS, config=config) as made:
        yield made


async def begin(world: SharedWorld, *made: Object) -> None:
    """They run on worker1, the only one with room."""
    await world.begin(workers={"worker1": "4", "worker2": "0"})
    await world.passes(minutes=16)  # A worker that the test before has lost is back.
    await world.submit(*made)
    await world.passes(seconds=10)
    assert await running(world) == ["worker1"]


async def running(world: SharedWorld) -> list[str]:
    """The workers that have pods."""
    return [name for name, side in world.workers.items() if await world.pods(side)]


async def hold(world: SharedWorld, kind: Resource, name: str) -> None:
    """What is deleted on worker1 stays until `let_go`."""
    found = await world.workers["worker1"].get(kind, name)
    finalizers = [*(found["metadata"].get("finalizers") or ()), HOLD]
    await world.workers["worker1"].patch(kind, name, {"metadata": {"finalizers": finalizers}})


async def let_go(world: SharedWorld, kind: Resource, name: str) -> None:
    await world.workers["worker1"].patch(kind, name, {"metadata": {"finalizers": None}})
    await world.passes(seconds=10)


@pytest.mark.rule("LOST-6", "FLOW-52")
@pytest.mark.parametrize("seconds", ["60", "never"])
async def test_a_job_that_is_made_again_is_not_what_its_namesake_was(
    world: SharedWorld, seconds: str
) -> None:
    """The old one ended, or still runs, on a worker that could not be asked."""
    await begin(world, job("one", run_seconds=seconds))
    world.world.cut("worker1")
    await world.passes(seconds=30)
    await delete(world.manager, JOB, "one")
    await world.passes(seconds=5)
    await world.submit(job("one", backoffLimit=3))
    await world.passes(minutes=3)
    world.world.restore("worker1")
    await world.passes(minutes=5)

    [mirror] = await world.workers["worker1"].all(JOB)
    assert mirror["spec"]["backoffLimit"] == 3
    assert len(await world.pods(world.workers["worker1"])) == 1
    local = await world.manager.get(JOB, "one")
    assert local["status"]["active"] == 1
    assert "Finished" not in await world.conditions("one")


@pytest.mark.rule("FLOW-60")
@pytest.mark.parametrize(
    ("kind", "made"),
    [
        pytest.param(JOB, job("two"), id="Job"),
        pytest.param(POD, pod_of("two", Random(0), run_seconds="never"), id="Pod"),
        pytest.param(STATEFUL_SET, stateful("two", Random(0)).objects[0], id="StatefulSet"),
    ],
)
async def test_a_job_that_is_made_again_runs_when_its_namesake_has_gone(
    world: SharedWorld, kind: Resource, made: Object
) -> None:
    await begin(world, made)
    await hold(world, kind, "two")
    before = uid_of(await world.workers["worker1"].get(kind, "two"))
    await delete(world.manager, kind, "two")
    await world.passes(seconds=10)
    await world.submit(made)
    await world.passes(seconds=20)
    assert uid_of(await world.workers["worker1"].get(kind, "two")) == before

    await let_go(world, kind, "two")
    await world.passes(minutes=1)
    after = await world.workers["worker1"].get(kind, "two")
    assert uid_of(after) != before
    assert await running(world) == ["worker1"]


@pytest.mark.rule("LOST-6", "FLOW-61")
async def test_what_was_deleted_meanwhile_goes_as_soon_as_its_worker_is_back(
    world: SharedWorld,
) -> None:
    """Without waiting for anybody who looks for leftovers."""
    await begin(world, job("one"))
    world.world.cut("worker1")
    await world.passes(seconds=10)
    await delete(world.manager, JOB, "one")
    await world.passes(seconds=10)
    world.world.restore("worker1")
    for _ in range(60):
        await world.passes(seconds=1)
        if (await world.manager.get(kinds.CLUSTER, "worker1"))["status"]["conditions"][0][
            "status"
        ] == "True":
            break
    await world.passes(seconds=2)
    assert await world.is_clean()


@pytest.mark.rule("POD-4", "LOST-6")
async def test_a_group_that_is_made_again_is_not_what_its_namesake_was(world: SharedWorld) -> None:
    """Its Workload has the same name; and the old one ended on a worker that could not be asked."""

    def member(seconds: str) -> Object:
        return pod_of("a", Random(0), run_seconds=seconds, labels=GROUP, annotations=TOTAL)

    await begin(world, member("60"))
    world.world.cut("worker1")
    await world.passes(seconds=20)
    await delete(world.manager, POD, "a")
    await world.passes(seconds=5)
    await delete(world.manager, kinds.WORKLOAD, "group")
    await world.passes(seconds=10)
    await world.submit(member("never"))
    await world.passes(minutes=2)
    world.world.restore("worker1")
    await world.passes(minutes=5)
    assert "Finished" not in await world.conditions("a")
    assert (await world.manager.get(POD, "a"))["status"]["phase"] == "Running"
    for kind, name in ((POD, "a"), (kinds.WORKLOAD, "group")):
        await delete(world.manager, kind, name)
        await world.passes(seconds=5)


@pytest.mark.rule("LOST-4")
async def test_a_worker_that_leaves_the_configuration_ends_a_job_before_another_starts_it(
    world: SharedWorld,
) -> None:
    await begin(world, job("one"))
    await world.set_quota(world.workers["worker2"], "4")
    await hold(world, JOB, "one")
    names = {"spec": {"clusters": ["worker2"]}}
    await world.manager.client.patch(kinds.CONFIG, "two-workers", names)
    await world.passes(seconds=20)
    assert await running(world) == ["worker1"]

    await let_go(world, JOB, "one")
    await world.passes(seconds=20)
    assert await running(world) == ["worker2"]
    names = {"spec": {"clusters": ["worker1", "worker2"]}}
    await world.manager.client.patch(kinds.CONFIG, "two-workers", names)


@pytest.mark.rule("EL-3", "FLOW-55")
async def test_a_job_that_grows_runs_on_when_the_slice_before_is_deleted(
    world: SharedWorld,
) -> None:
    """There is no room for it to grow; what it has stays."""
    await world.begin(quota="16", workers={"worker1": "2", "worker2": "0"})
    made = job("grows", parallelism=2, completions=20)
    made["metadata"]["annotations"] = ELASTIC
    await world.submit(made)
    await world.passes(seconds=10)
    first = (await world.workload("grows"))["metadata"]["name"]
    await world.manager.patch(JOB, "grows", {"spec": {"parallelism": 3}})
    await world.passes(minutes=3)
    assert first not in await world.manager.names(kinds.WORKLOAD)
    assert len(await world.pods(world.workers["worker1"])) == 2

    await world.set_quota(world.workers["worker1"], "4")
    await world.passes(minutes=3)
    assert len(await world.pods(world.workers["worker1"])) == 3
    [copy] = await world.workers["worker1"].workloads()
    assert copy["metadata"]["name"] != first


@pytest.mark.rule("FLOW-62")
async def test_a_copy_that_does_not_go_keeps_nobody_from_other_workers(world: SharedWorld) -> None:
    await begin(world, job("one"))
    await world.set_quota(world.workers["worker2"], "4")
    name = str((await world.workload("one"))["metadata"]["name"])
    await hold(world, kinds.WORKLOAD, name)
    await world.manager.delete(kinds.WORKLOAD, name)
    await world.passes(minutes=2)
    assert (await world.told("one"))["clusterName"] == "worker2"
    assert await running(world) == ["worker2"]
    await let_go(world, kinds.WORKLOAD, name)


@pytest.mark.rule("IMP-11")
async def test_why_a_worker_refuses_a_copy_is_told_once(
    world: SharedWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    why = "workloads.kueue.x-k8s.io is forbidden"

    async def refuse(session: Session, obj: Object) -> Object:
        raise Forbidden({"message": why, "code": 403})

    await world.begin(workers={"worker1": "4", "worker2": None})
    monkeypatch.setattr(worker_calls, "create", refuse)
    await world.manager.client.create(job("refused"))
    await world.fleet.passes(minutes=10)
    events = await world.manager.events((await world.workload("refused"))["metadata"]["name"])
    text = f'The job does not get to worker cluster "worker1": {why}'
    assert events.count(("Warning", "MultiKueue", text)) == 1
