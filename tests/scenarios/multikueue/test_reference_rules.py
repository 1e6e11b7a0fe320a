"""Rules of the flow that no reference scenario tells of, seen between a manager and its workers."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from tests.support import dispatching, shared_world
from tests.support import kueue as objects
from tests.support.dispatching import CHECK, CLUSTER_QUEUE, CONFIG, LOCAL_QUEUE, SPACE, job
from tests.support.shared_world import READY, SharedWorld, delete

from fleetqueue.api.kueue import admission_status as status
from fleetqueue.kube.errors import Invalid
from fleetqueue.kube.resources import key_of
from fleetqueue.multikueue import kinds
from fleetqueue.runtime.kinds import JOB

pytestmark = pytest.mark.asyncio(loop_scope="module")
WORKERS = ("worker1", "worker2", "worker3")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world() -> AsyncIterator[SharedWorld]:
    """Three workers are joined; the third has no queue where a test gives it none."""
    settings = "multiKueue: {workerLostTimeout: 60s, gcInterval: 30s}\n"
    async with shared_world.start(workers=WORKERS, config=settings) as made:
        yield made


async def configure(world: SharedWorld, *workers: str) -> None:
    await world.manager.patch(kinds.CONFIG, CONFIG, {"spec": {"clusters": list(workers)}})


@pytest.mark.rule("ROLE-1")
async def test_a_job_is_never_split(world: SharedWorld) -> None:
    """Three pods do not run where two of them would fit, and one elsewhere."""
    await world.begin(workers={"worker1": "2", "worker2": "2", "worker3": "1"})
    await world.submit(job("one", parallelism=3, completions=3))
    await world.passes(seconds=30)
    assert await world.check("one") == ("Pending", "")
    assert [await world.pods(side) for side in world.sides] == [[], [], [], []]

    await world.set_quota(world.workers["worker3"], "3")
    await world.passes(seconds=5)
    assert await world.check("one") == ("Ready", READY("worker3"))
    assert [len(await world.pods(side)) for side in world.sides] == [0, 0, 0, 3]


@pytest.mark.rule("ROLE-6")
async def test_only_the_names_of_local_queues_have_to_agree(world: SharedWorld) -> None:
    await world.begin(workers=dict.fromkeys(WORKERS))
    other = world.workers["worker3"]
    await other.client.create(objects.flavor("of-the-worker"))
    await world.add(
        other,
        objects.cluster_queue("all-of-us", {"of-the-worker": {"cpu": "2", "memory": "4Gi"}}),
        objects.local_queue(LOCAL_QUEUE, "all-of-us"),
    )
    await world.submit(job("one"))
    await world.passes(seconds=5)
    assert await world.check("one") == ("Ready", READY("worker3"))
    copy = await world.workload("one", other)
    assert copy["status"]["admission"]["clusterQueue"] == "all-of-us"


@pytest.mark.rule("FLOW-9", "MKCFG-3")
async def test_only_workers_that_are_configured_and_connected_are_used(world: SharedWorld) -> None:
    await world.begin()
    await configure(world, "worker1", "worker2")
    world.world.cut("worker1")
    await world.fleet.settle()
    links = world.world.links
    before = {name: len(links[name].calls) for name in WORKERS}
    await world.submit(job("one", run_seconds="20"))
    await world.passes(seconds=30)

    assert status.is_finished(await world.workload("one"))
    written = {
        name: [call.method for call in links[name].calls[before[name] :] if call.method != "GET"]
        for name in WORKERS
    }
    assert written["worker1"] == written["worker3"] == []
    assert written["worker2"][:2] == ["POST", "POST"]
    world.world.restore("worker1")
    await configure(world, *WORKERS)


@pytest.mark.rule("FLOW-7", "MB-2")
async def test_a_job_that_was_not_handed_over_is_refused(world: SharedWorld) -> None:
    await world.begin()
    await world.submit(job("one", managedBy="example.com/other"))
    await world.passes(seconds=5)
    assert await world.check("one") == (
        "Rejected",
        "The owner is not managed by Kueue: Expecting spec.managedBy to be"
        ' "kueue.x-k8s.io/multikueue" not "example.com/other", Previously: "Pending"',
    )
    assert not status.has_quota(await world.workload("one"))
    assert await world.is_clean()


@pytest.mark.rule("FLOW-58")
async def test_a_rejected_check_deactivates(world: SharedWorld) -> None:
    await world.begin(workers="0")
    await world.submit(job("one"))
    await world.passes(seconds=3)
    assert await world.sites() == list(WORKERS)
    local = await world.workload("one")
    [check] = local["status"]["admissionChecks"]
    told = {**check, "state": "Rejected", "message": "not for us"}
    patch = {"status": {"admissionChecks": [told]}}
    await world.manager.patch(kinds.WORKLOAD, key_of(local).name, patch, "status")
    await world.passes(seconds=5)

    why = f'AdmissionCheck in Rejected state: "{CHECK}" (not for us)'
    local = await world.workload("one")
    assert local["spec"]["active"] is False
    assert await world.check("one") == (
        "Pending",
        "Reset to Pending after eviction. Previously: Rejected",
    )
    assert (await world.conditions("one"))["Evicted"] == (
        "True",
        "DeactivatedDueToAdmissionCheck",
        f"The workload is deactivated due to {why}",
    )
    assert not status.has_quota(local)
    events = await world.manager.events(key_of(local).name)
    assert ("Warning", "AdmissionCheckRejected", f"Deactivated due to {why}") in events
    assert await world.is_clean()


@pytest.mark.rule("FLOW-8")
async def test_a_job_that_is_not_found_is_not_rejected(world: SharedWorld) -> None:
    """A Workload whose job nobody knows is left as it is; its end is up to others."""
    await world.begin(workers="0")
    await world.submit(job("one"))
    await world.passes(seconds=3)
    async with world.manager:
        await delete(world.manager, JOB, "one")
        await world.passes(seconds=5)
        [name] = world.manager.seen.names("Workload")
        seen = world.manager.seen.track("Workload", name, f"admissionChecks[{CHECK}].state")
    assert "Rejected" not in seen
    assert await world.is_clean()


@pytest.mark.rule("FLOW-63", "AC-2")
async def test_without_its_config_nothing_moves_until_that_is_back(world: SharedWorld) -> None:
    await world.begin(workers="0")
    await world.submit(job("one"))
    await world.passes(seconds=3)
    await world.manager.client.delete(kinds.CONFIG, CONFIG)
    await world.fleet.passes(seconds=3)
    assert await world.world.check_activity() == (
        "False",
        "BadConfig",
        "Cannot load the AdmissionChecks parameters:"
        f' MultiKueueConfig.kueue.x-k8s.io "{CONFIG}" not found',
    )
    room = objects.cluster_queue(CLUSTER_QUEUE, "4")["spec"]["resourceGroups"]
    patch = {"spec": {"resourceGroups": room}}
    await world.workers["worker1"].client.patch(kinds.CLUSTER_QUEUE, CLUSTER_QUEUE, patch)
    await world.fleet.passes(seconds=20)
    assert await world.check("one") == ("Pending", "")

    await world.manager.client.create(dispatching.config(*WORKERS))
    await world.passes(seconds=20)
    assert await world.check("one") == ("Ready", READY("worker1"))

    await world.manager.delete(kinds.ADMISSION_CHECK, CHECK)
    kept = await world.manager.get(kinds.ADMISSION_CHECK, CHECK)
    assert kept["metadata"]["deletionTimestamp"]
    assert kept["metadata"]["finalizers"] == ["kueue.x-k8s.io/resource-in-use"]
    await world.clear()
    assert await world.manager.find(kinds.ADMISSION_CHECK, CHECK) is None
    await world.manager.client.create(dispatching.admission_check())
    await world.fleet.settle()


@pytest.mark.rule("FLOW-68", "IMP-14", "IMP-17")
async def test_a_job_that_is_deactivated_just_stops(world: SharedWorld) -> None:
    """Nobody is nominated on the way, and no suspended mirror is made anywhere."""
    await world.begin()
    await world.submit(job("one"))
    await world.passes(seconds=3)
    local = await world.workload("one")
    links = world.world.links
    before = {name: len(links[name].calls) for name in WORKERS}

    await world.manager.patch(kinds.WORKLOAD, key_of(local).name, {"spec": {"active": False}})
    await world.passes(seconds=5)
    found = await world.conditions("one")
    assert found["Evicted"] == ("True", "Deactivated", "The workload is deactivated")
    assert found["QuotaReserved"][0] == "False"
    told = await world.told("one")
    assert "nominatedClusterNames" not in told
    assert "clusterName" not in told
    assert await world.is_clean()
    posts = [
        call.path
        for name in WORKERS
        for call in links[name].calls[before[name] :]
        if call.method == "POST"
    ]
    assert posts == []
    here = await world.manager.get(JOB, "one")
    assert here["spec"]["suspend"] is True
    assert here["status"].get("active", 0) == 0


@pytest.mark.rule("LOST-3", "LOST-1", "CONN-8")
async def test_a_short_absence_of_a_worker_is_nothing(world: SharedWorld) -> None:
    """Even for a job that runs there for longer than a worker may be lost."""
    await world.begin()
    await world.submit(job("one"))
    await world.passes(minutes=5)
    mirror = await world.workers["worker1"].get(JOB, "one")
    world.world.cut("worker1")
    await world.fleet.passes(seconds=20)
    world.world.restore("worker1")
    await world.passes(minutes=3)

    assert await world.check("one") == ("Ready", READY("worker1"))
    assert "Evicted" not in await world.conditions("one")
    again = await world.workers["worker1"].get(JOB, "one")
    assert again["metadata"]["uid"] == mirror["metadata"]["uid"]


@pytest.mark.rule("I4", "LOST-2", "LOST-6", "IMP-13")
async def test_a_job_whose_worker_is_lost_starts_over(world: SharedWorld) -> None:
    """I4, with the queue on hold, so that what it lost can be seen."""
    await world.begin(workers={"worker1": "0", "worker2": "4", "worker3": "0"})
    await world.submit(job("one"))
    await world.passes(seconds=3)
    await world.stop_queue(world.manager, "Hold")
    world.world.cut("worker2")
    await world.fleet.passes(seconds=75)

    [check] = (await world.told("one"))["admissionChecks"]
    assert (check["state"], check["retryCount"]) == ("Pending", 1)
    found = await world.conditions("one")
    assert found["QuotaReserved"][0] == "False"
    assert 'Admitting remote lost, Previously: "Ready"' in found["Evicted"][2]
    assert len(await world.workers["worker2"].workloads()) == 1

    world.world.restore("worker2")
    await world.passes(minutes=2)
    assert await world.is_clean()


@pytest.mark.rule("S003-3")
async def test_one_worker_is_enough_and_none_is_not(world: SharedWorld) -> None:
    """S003-3."""
    await world.begin(workers={"worker1": None, "worker2": None, "worker3": "4"})
    await configure(world, "worker3")
    await world.submit(job("one", run_seconds="5"))
    await world.passes(seconds=15)
    assert status.is_finished(await world.workload("one"))
    with pytest.raises(Invalid):
        await configure(world)
    await configure(world, *WORKERS)


@pytest.mark.rule("S003-8", "S003-10")
async def test_the_quota_here_bounds_what_is_sent(world: SharedWorld) -> None:
    """S003-8, S003-10: two of five jobs are on workers that would have room for all."""
    await world.begin(quota="2", workers="8")
    await world.submit(*(job(f"job-{number}") for number in range(5)))
    await world.passes(seconds=5)
    assert sum([len(await side.workloads()) for side in world.workers.values()]) == 2
    waiting = [each for each in await world.manager.workloads() if not status.has_quota(each)]
    assert len(waiting) == 3


@pytest.mark.rule("S003-11")
async def test_much_more_quota_here_makes_copies_that_wait(world: SharedWorld) -> None:
    """S003-11: all ten are offered, two fit."""
    await world.begin(quota="10", workers={"worker1": "1", "worker2": "1", "worker3": None})
    await configure(world, "worker1", "worker2")
    await world.submit(*(job(f"job-{number}") for number in range(10)))
    await world.passes(seconds=5)
    states = [
        each["status"]["admissionChecks"][0]["state"] for each in await world.manager.workloads()
    ]
    assert sorted(states) == ["Pending"] * 8 + ["Ready"] * 2
    for name in ("worker1", "worker2"):
        copies = await world.workers[name].workloads()
        assert len(copies) == 9
        assert sum(status.is_admitted(each) for each in copies) == 1
    await configure(world, *WORKERS)


@pytest.mark.rule("S003-24", "WLF-1", "WLF-2", "DISP-35")
async def test_a_worker_that_was_chosen_is_not_changed(world: SharedWorld) -> None:
    """S003-24, by the API alone."""
    await world.begin()
    await world.submit(job("one"))
    await world.passes(seconds=3)
    name = key_of(await world.workload("one")).name
    for patch, why in (
        ({"clusterName": "worker2"}, "clusterName is immutable once set"),
        (
            {"nominatedClusterNames": ["worker2"]},
            "clusterName and nominatedClusterNames are mutually exclusive",
        ),
    ):
        with pytest.raises(Invalid, match=why):
            await world.manager.client.patch(
                kinds.WORKLOAD, name, {"status": patch}, SPACE, subresource="status"
            )


@pytest.mark.rule("IMP-2")
async def test_copies_go_when_no_check_sends_their_workload_anywhere(world: SharedWorld) -> None:
    await world.begin(workers="0")
    await world.submit(job("one"))
    await world.passes(seconds=3)
    assert await world.sites() == list(WORKERS)
    patch: dict[str, Any] = {"spec": {"admissionChecksStrategy": None}}
    await world.manager.client.patch(kinds.CLUSTER_QUEUE, CLUSTER_QUEUE, patch)
    await world.passes(seconds=35)
    assert await world.sites() == []


@pytest.mark.rule("IMP-2")
async def test_what_runs_on_a_worker_runs_on_when_nobody_sends_it_there(world: SharedWorld) -> None:
    await world.begin()
    await world.submit(job("one"))
    await world.passes(seconds=3)
    patch: dict[str, Any] = {"spec": {"admissionChecksStrategy": None}}
    await world.manager.client.patch(kinds.CLUSTER_QUEUE, CLUSTER_QUEUE, patch)
    await world.passes(seconds=70)
    assert await world.sites() == ["worker1"]
    assert len(await world.pods(world.workers["worker1"])) == 1


@pytest.mark.rule("HAR-30")
async def test_who_ran_for_long_does_not_rest(world: SharedWorld) -> None:
    await world.begin()
    await world.submit(job("one"))
    there, other = "worker1", "worker2"
    for _ in range(6):
        await world.passes(minutes=30)
        for name, policy in ((other, "None"), (there, "HoldAndDrain")):
            await world.stop_queue(world.workers[name], policy)
        await world.passes(seconds=10)
        assert (await world.told("one")).get("clusterName") == other
        there, other = other, there
