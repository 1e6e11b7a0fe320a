"""Reference scenarios of Jobs that two workers compete for: E5, E9, I1, I2, I5, I17, I30, I38."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from tests.support import kueue as objects
from tests.support import shared_world
from tests.support.dispatching import job
from tests.support.shared_world import READY, SharedWorld, delete, evict_copy, with_labels

from fleetqueue.api.kueue import admission_status as status
from fleetqueue.kube.resources import key_of
from fleetqueue.multikueue import kinds
from fleetqueue.runtime.kinds import JOB

pytestmark = pytest.mark.asyncio(loop_scope="module")
ORDINARY = "ordinary-queue"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world() -> AsyncIterator[SharedWorld]:
    """Batch Jobs alone, and nobody who looks for leftovers."""
    async with shared_world.start(config="multiKueue: {gcInterval: 0s}\n") as made:
        yield made


@pytest.mark.rule("E5", "I2", "I30", "KIND-5", "FLOW-37", "FLOW-38", "FLOW-54", "S003-1", "S003-19")
async def test_a_job_runs_elsewhere_and_is_seen_here(world: SharedWorld) -> None:
    """E5, I2, I30, and S003-1 (no gate is set), S003-19 (the last status comes before the end)."""
    await world.begin()
    await world.submit(job("one", run_seconds="30"))
    here = await world.manager.get(JOB, "one")
    assert here["spec"]["managedBy"] == kinds.CONTROLLER
    await world.passes(seconds=5)

    assert await world.check("one") == ("Ready", READY("worker1"))
    here = await world.manager.get(JOB, "one")
    mirror = await world.workers["worker1"].get(JOB, "one")
    assert here["spec"]["suspend"] is False
    assert here["status"] == mirror["status"]
    assert (here["status"]["active"], here["status"]["ready"]) == (1, 1)
    assert "completionTime" not in here["status"]
    assert "startTime" in here["status"]
    assert len(await world.pods(world.workers["worker1"])) == 1
    assert await world.pods(world.manager) == await world.pods(world.workers["worker2"]) == []

    await world.passes(seconds=30)
    here = await world.manager.get(JOB, "one")
    assert (await world.conditions("one"))["Finished"][:2] == ("True", "Succeeded")
    assert await world.is_clean()
    assert objects.conditions_of(here)["Complete"][0] == "True"
    assert here["status"]["succeeded"] == 1


@pytest.mark.rule("I1", "FLOW-21", "FLOW-24", "FLOW-25", "FLOW-30", "FLOW-35", "FLOW-36", "FLOW-52")
@pytest.mark.rule("S003-5", "S003-15", "S003-16", "S003-18", "S003-22", "S003-23", "S003-25")
async def test_the_first_worker_that_admits_a_job_gets_it(world: SharedWorld) -> None:
    """I1; S003-15: there is no copy before the reservation, S003-16: and one after admission."""
    await world.begin(workers="0", stopPolicy="Hold")
    before = world.metric("multikueue_workloads_admitted")
    await world.submit(job("one", run_seconds="20"))
    assert await world.sites() == []
    assert "nominatedClusterNames" not in await world.told("one")

    await world.stop_queue(world.manager, "None")
    local = await world.workload("one")
    assert local["status"]["nominatedClusterNames"] == ["worker1", "worker2"]
    for side in world.workers.values():
        assert (await world.workload("one", side))["spec"] == local["spec"]
    assert await world.check("one") == ("Pending", "")

    await world.set_quota(world.workers["worker1"], "4")
    await world.passes(seconds=3)
    assert await world.check("one") == ("Ready", READY("worker1"))
    assert await world.sites() == ["worker1"]
    told = await world.told("one")
    assert told["clusterName"] == "worker1"
    assert "nominatedClusterNames" not in told
    events = await world.manager.events(local["metadata"]["name"])
    assert events.count(("Normal", "MultiKueue", READY("worker1"))) == 1
    assert world.metric("multikueue_workloads_admitted") == before + 1

    seen = []
    while not seen or not status.is_finished(await world.workload("one")):
        mirror = await world.workers["worker1"].find(JOB, "one")
        seen += [mirror] if mirror else []
        await world.fleet.passes(seconds=0.5)
    here = await world.manager.get(JOB, "one")
    finished = (await world.conditions("one"))["Finished"]
    complete = objects.conditions_of(here)["Complete"]
    assert finished == ("True", "Succeeded", complete[2])
    await world.passes(seconds=2)
    assert await world.is_clean()


@pytest.mark.rule("E9", "ROLE-4", "S003-14", "S003-31", "MB-1")
async def test_other_queues_of_the_manager_run_jobs_as_ever(world: SharedWorld) -> None:
    """E9, S003-14; S003-31: one manifest goes either way, by its queue alone."""
    await world.begin()
    await world.add(
        world.manager,
        objects.cluster_queue("ordinary", "4"),
        objects.local_queue(ORDINARY, "ordinary"),
    )
    there = job("there", run_seconds="20")
    here = with_labels({**there, "metadata": {**there["metadata"], "name": "here"}})
    here["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": ORDINARY}
    await world.submit(there, here)
    await world.passes(seconds=5)

    found = {each["metadata"]["name"]: each for each in await world.manager.all(JOB)}
    assert found["there"]["spec"]["managedBy"] == kinds.CONTROLLER
    assert "managedBy" not in found["here"]["spec"]
    assert [each["spec"]["suspend"] for each in found.values()] == [False, False]
    [local] = await world.pods(world.manager)
    [remote] = await world.pods(world.workers["worker1"])
    assert local["metadata"]["ownerReferences"][0]["name"] == "here"
    assert remote["metadata"]["ownerReferences"][0]["name"] == "there"
    assert "admissionChecks" not in await world.told("here")

    await world.passes(seconds=30)
    for name in found:
        ended = await world.manager.condition(JOB, name, "Complete")
        assert ended is not None
        assert ended[0] == "True"


@pytest.mark.rule("I5", "FLOW-50", "FLOW-51", "FLOW-56", "FLOW-57", "FLOW-59", "MET-2")
async def test_a_job_that_its_worker_puts_out_starts_over(world: SharedWorld) -> None:
    """I5: with the queues on hold each step of the way back can be seen."""
    await world.begin(workers={"worker1": "4", "worker2": "0"})
    admitted = world.metric("multikueue_workloads_admitted")
    evicted = world.metric("kueue_evicted_workloads", reason="AdmissionCheck")
    await world.submit(job("one"))
    await world.passes(seconds=3)
    for side in (world.manager, world.workers["worker1"]):
        await world.stop_queue(side, "Hold")
    await evict_copy(world, world.workers["worker1"], "one")
    await world.passes(seconds=3)

    told = await world.told("one")
    assert "clusterName" not in told
    [check] = told["admissionChecks"]
    reset = "Reset to Pending after eviction. Previously: Retry"
    assert (check["state"], check["message"], check["retryCount"]) == ("Pending", reset, 1)
    why = (
        'Evicted due to AdmissionCheck in Retry state: "multikueue" (Workload evicted on worker'
        ' cluster: "worker1", resetting for re-admission. Previously: "Ready")'
    )
    found = await world.conditions("one")
    assert found["Evicted"] == ("True", "AdmissionCheck", why)
    assert found["QuotaReserved"][0] == "False"
    assert found["Requeued"] == ("True", "BackoffFinished", "The workload backoff was finished")
    assert world.metric("kueue_evicted_workloads", reason="AdmissionCheck") == evicted + 1
    assert await world.sites() == []

    await world.stop_queue(world.manager, "None")
    assert await world.sites() == ["worker1", "worker2"]
    assert await world.check("one") == ("Pending", reset)
    await world.stop_queue(world.workers["worker1"], "None")
    await world.passes(seconds=3)
    assert await world.check("one") == ("Ready", READY("worker1"))
    assert world.metric("multikueue_workloads_admitted") == admitted + 2


@pytest.mark.rule("I5", "FLOW-56", "MET-2")
async def test_a_job_starts_over_although_its_worker_takes_it_again_at_once(
    world: SharedWorld,
) -> None:
    await world.begin(workers={"worker1": "4", "worker2": "0"})
    admitted = world.metric("multikueue_workloads_admitted")
    evicted = world.metric("kueue_evicted_workloads", reason="AdmissionCheck")
    await world.submit(job("one"))
    await world.passes(seconds=3)
    for times in (1, 2):
        await evict_copy(world, world.workers["worker1"], "one")
        await world.passes(seconds=60)
        [check] = (await world.told("one"))["admissionChecks"]
        assert check["retryCount"] == times
        assert await world.check("one") == ("Ready", READY("worker1"))
        assert world.metric("kueue_evicted_workloads", reason="AdmissionCheck") == evicted + times
        assert world.metric("multikueue_workloads_admitted") == admitted + 1 + times
    assert len(await world.pods(world.workers["worker1"])) == 1


@pytest.mark.rule("CONN-6", "DISP-10")
async def test_a_worker_that_had_a_job_and_is_lost_holds_up_nobody(world: SharedWorld) -> None:
    """Where it is known that nothing of the job was left there."""
    await world.begin(workers={"worker1": "4", "worker2": "0"})
    await world.submit(job("one"))
    await world.passes(seconds=3)
    await world.stop_queue(world.manager, "HoldAndDrain")
    await world.passes(seconds=10)
    assert await world.sites() == []
    world.world.cut("worker1")
    try:
        await world.passes(seconds=10)
        await world.set_quota(world.workers["worker2"], "4")
        await world.stop_queue(world.manager, "None")
        await world.passes(seconds=10)
        assert await world.check("one") == ("Ready", READY("worker2"))
    finally:
        world.world.restore("worker1")
        await world.passes(seconds=10)


@pytest.mark.rule("I17", "FLOW-60", "FLOW-61", "S003-13")
async def test_nothing_remains_of_a_job_that_is_deleted(world: SharedWorld) -> None:
    """I17: by itself, as garbage collection is off here."""
    await world.begin()
    await world.submit(job("one"))
    await world.passes(seconds=3)
    assert await world.sites() == ["worker1"]

    await delete(world.manager, JOB, "one")
    await world.passes(seconds=3)
    assert await world.manager.workloads() == []
    assert await world.is_clean()
    assert await world.pods(world.workers["worker1"]) == []


@pytest.mark.rule("FLOW-62")
async def test_a_job_whose_workload_is_deleted_is_sent_anew(world: SharedWorld) -> None:
    await world.begin()
    await world.submit(job("one"))
    await world.passes(seconds=3)
    before = await world.workload("one")
    mirror = await world.workers["worker1"].get(JOB, "one")

    await world.manager.delete(kinds.WORKLOAD, key_of(before).name)
    await world.passes(seconds=10)
    after = await world.workload("one")
    assert after["metadata"]["uid"] != before["metadata"]["uid"]
    assert await world.check("one") == ("Ready", READY("worker1"))
    again = await world.workers["worker1"].get(JOB, "one")
    assert again["metadata"]["uid"] != mirror["metadata"]["uid"]
    assert len(await world.pods(world.workers["worker1"])) == 1


@pytest.mark.rule("I38", "ROLE-3", "S003-6", "S003-12")
async def test_a_worker_serves_its_own_users_as_ever(world: SharedWorld) -> None:
    """I38; S003-12: as a stand-alone installation, S003-6: which knows nothing of MultiKueue."""
    await world.begin(workers={"worker1": "4", "worker2": "0"})
    worker = world.workers["worker1"]
    await worker.client.create(job("direct", run_seconds="40"))
    await world.submit(job("sent", run_seconds="20"))
    await world.passes(seconds=5)

    assert await worker.all(kinds.ADMISSION_CHECK) == await worker.all(kinds.CONFIG) == []
    direct = await worker.get(JOB, "direct")
    assert direct["status"]["active"] == (await worker.get(JOB, "sent"))["status"]["active"] == 1
    own = [each for each in await worker.workloads() if _owner(each) == "direct"]
    assert status.is_admitted(own[0])
    assert "admissionChecks" not in own[0]["status"]

    await world.passes(seconds=20)
    assert (await world.conditions("sent"))["Finished"][0] == "True"
    [kept] = await worker.workloads()
    assert kept["status"]["admission"] == own[0]["status"]["admission"]
    await world.passes(seconds=30)
    ended = await worker.get(JOB, "direct")
    assert ended["metadata"]["uid"] == direct["metadata"]["uid"]
    assert objects.conditions_of(ended)["Complete"][0] == "True"


def _owner(workload: dict[str, object]) -> str:
    metadata = workload["metadata"]
    assert isinstance(metadata, dict)
    return str(metadata["ownerReferences"][0]["name"])
