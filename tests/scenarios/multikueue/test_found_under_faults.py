"""What the simulation under faults has found, each as the shortest story that shows it."""

from collections.abc import AsyncIterator
from random import Random

import pytest
import pytest_asyncio
from tests.support import shared_world
from tests.support.dispatching import job
from tests.support.fault_jobs import PODS, pod_of
from tests.support.fault_serving import STATEFUL_SETS, stateful
from tests.support.shared_world import SharedWorld

from fleetqueue.multikueue import kinds
from fleetqueue.runtime.kinds import JOB, POD, STATEFUL_SET

pytestmark = pytest.mark.asyncio(loop_scope="module")
GROUP = {"kueue.x-k8s.io/pod-group-name": "group"}
TOTAL = {"kueue.x-k8s.io/pod-group-total-count": "2"}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world() -> AsyncIterator[SharedWorld]:
    async with shared_world.start(PODS, STATEFUL_SETS) as made:
        yield made


async def orphan(world: SharedWorld, name: str) -> str:
    """The job goes, its Workload stays; the name of that."""
    workload = str((await world.workload(name))["metadata"]["name"])
    await world.manager.client.delete(JOB, name, "default", propagation="Orphan")
    await world.passes(seconds=5)
    return workload


async def finish_of(world: SharedWorld, workload: str) -> tuple[str, str, str] | None:
    return await world.manager.condition(kinds.WORKLOAD, workload, "Finished")


@pytest.mark.rule("FLOW-61", "FLOW-54")
async def test_a_job_that_leaves_its_workload_behind_leaves_nothing_there(
    world: SharedWorld,
) -> None:
    await world.begin()
    await world.submit(job("one"))
    await world.passes(seconds=5)
    assert await world.sites() == ["worker1"]
    workload = await orphan(world, "one")
    assert (await finish_of(world, workload) or ())[:2] == ("True", "OwnerNotFound")
    assert await world.is_clean()
    [check] = (await world.manager.get(kinds.WORKLOAD, workload))["status"]["admissionChecks"]
    assert check["state"] == "Ready"
    await world.manager.delete(kinds.WORKLOAD, workload)


@pytest.mark.rule("LOST-6", "FLOW-61")
async def test_a_worker_that_returns_loses_what_nobody_owns_any_more(world: SharedWorld) -> None:
    """Also where nobody remembers whose it was."""
    await world.begin()
    await world.submit(job("one"))
    await world.passes(seconds=5)
    world.world.cut("worker1")
    workload = await orphan(world, "one")
    assert world.manager.restart is not None
    await world.manager.restart()
    await world.passes(seconds=5)
    assert not await world.is_clean()
    world.world.restore("worker1")
    await world.passes(seconds=60)
    assert await world.is_clean()
    await world.manager.delete(kinds.WORKLOAD, workload)


@pytest.mark.rule("POD-4", "POD-5", "FLOW-52")
async def test_a_group_whose_pods_leave_here_ends_with_those_there(world: SharedWorld) -> None:
    await world.begin()
    for name in ("a", "b"):
        member = pod_of(name, Random(0), run_seconds="20", labels=GROUP, annotations=TOTAL)
        await world.submit(member)
    await world.passes(seconds=4)
    assert await world.sites() == ["worker1"]
    for name in ("a", "b"):
        await world.manager.delete(POD, name)
    assert len(await world.pods(world.manager)) == 2
    await world.passes(seconds=20)
    assert await world.pods(world.manager) == []
    assert await world.manager.names(kinds.WORKLOAD) == []
    assert await world.is_clean()


@pytest.mark.rule("STS-4")
async def test_a_set_that_is_switched_off_and_has_no_pods_is_written_once(
    world: SharedWorld,
) -> None:
    """That it is on hold and that it is switched off are both said of its quota: whoever says the
    one must not put out the other for ever.
    """
    await world.begin()
    [made] = stateful("set", Random(0)).objects
    await world.submit(made)
    await world.passes(seconds=10)
    workload = str((await world.workload("set"))["metadata"]["name"])
    await world.manager.patch(kinds.WORKLOAD, workload, {"spec": {"active": False}})
    await world.manager.patch(STATEFUL_SET, "set", {"spec": {"replicas": 0}})
    await world.passes(seconds=10)
    assert await world.is_clean()
    assert (await world.conditions("set"))["QuotaReserved"][:2] == ("False", "Deactivated")

    await world.manager.patch(kinds.WORKLOAD, workload, {"spec": {"active": True}})
    await world.passes(seconds=10)
    assert (await world.conditions("set"))["QuotaReserved"][:2] == ("False", "OnHold")
    await world.manager.patch(STATEFUL_SET, "set", {"spec": {"replicas": 1}})
    await world.passes(seconds=10)
    assert await world.sites() == ["worker1"]


@pytest.mark.rule("STS-4", "LOST-1", "LOST-6")
async def test_a_set_that_was_on_hold_waits_for_the_worker_that_may_still_run_it(
    world: SharedWorld,
) -> None:
    """Also after a restart, when nobody remembers which one had it."""
    await world.begin(workers={"worker1": "4", "worker2": "0"})
    [made] = stateful("set", Random(0)).objects
    await world.submit(made)
    await world.passes(seconds=10)
    assert await world.sites() == ["worker1"]
    world.world.cut("worker1")
    await world.manager.patch(STATEFUL_SET, "set", {"spec": {"replicas": 0}})
    await world.passes(seconds=10)
    assert world.manager.restart is not None
    await world.manager.restart()
    await world.set_quota(world.workers["worker2"], "4")
    await world.manager.patch(STATEFUL_SET, "set", {"spec": {"replicas": 1}})
    await world.passes(seconds=60)
    assert await world.sites() == ["worker1"]
    assert await world.pods(world.workers["worker2"]) == []

    world.world.restore("worker1")
    await world.passes(minutes=2)
    assert len(await world.sites()) == 1
    assert (await world.check("set"))[0] == "Ready"


@pytest.mark.rule("LOST-2", "FLOW-57", "POD-5", "WH-7")
async def test_a_group_that_began_anew_is_let_go_though_one_of_its_pods_had_ended(
    world: SharedWorld,
) -> None:
    """The quota of that pod was given back, which cannot be undone while the group holds the rest;
    that must not keep it from giving that back too.
    """
    await world.begin()
    for name, seconds in (("a", "200"), ("b", "400")):
        member = pod_of(name, Random(0), run_seconds=seconds, labels=GROUP, annotations=TOTAL)
        await world.submit(member)
    await world.passes(seconds=210)
    [given_back] = (await world.told("a"))["reclaimablePods"]
    assert given_back["count"] == 1
    world.world.cut("worker1")
    await world.passes(minutes=16)
    assert (await world.told("a"))["clusterName"] == "worker2"
    assert (await world.manager.get(POD, "a"))["status"]["phase"] == "Running"

    await world.manager.patch(kinds.WORKLOAD, "group", {"spec": {"active": False}})
    await world.passes(seconds=10)
    assert (await world.conditions("a"))["QuotaReserved"][0] == "False"
    assert "reclaimablePods" not in await world.told("a")
