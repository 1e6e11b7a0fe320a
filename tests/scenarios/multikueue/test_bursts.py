"""Many jobs at once: of the first each state is shown; of the others fewer writes tell the same."""

import asyncio

import pytest
from tests.support import golden
from tests.support import golden_dispatch as dispatch

from fleetqueue.api.kueue import admission_status as status
from fleetqueue.base.leisure import AT_ONCE, PER_SECOND
from fleetqueue.kube.client import Client
from fleetqueue.multikueue import kinds
from fleetqueue.runtime.kinds import JOB
from fleetqueue.testing import Fleet
from fleetqueue.testing.faults import Weather

JOBS = AT_ONCE + 5
SECONDS = 60
MANAGER = "manager"
BUSY = Weather(delay=1.0, delay_seconds_max=1.0)
FIRST, LAST = "job-j-0-*", f"job-j-{JOBS - 1}-*"


@pytest.mark.rule("FLOW-4", "FLOW-34", "FLOW-38", "FLOW-52", "DISP-10", "FLOW-65")
async def test_a_burst_is_dispatched_with_fewer_writes(fleet: Fleet) -> None:
    async with await dispatch.start(fleet, "mk1") as world:
        for number in range(JOBS):
            job = golden.job(f"j-{number}", dispatch.QUEUE, "10m", "mk1", runs="3")
            await world.manager.client.create(job)
        await world.passes(seconds=40)

    seen = world.manager.seen
    [first], [last] = (seen.stories("Workload", name) for name in (FIRST, LAST))
    assert len(first) > len(last)
    quota, claimed, over, let_go = last[1:]
    state = "admissionChecks[multikueue].state"
    names = {"nominatedClusterNames", "QuotaReserved", "Admitted", state}
    assert names <= set(quota)
    assert claimed["clusterName"] in dispatch.WORKERS
    assert claimed[state] == "Ready"
    assert claimed["Admitted"].startswith("True")
    assert over["Finished"].startswith("True")
    assert let_go == golden.LET_GO

    for number in range(JOBS):
        job = await world.manager.get(JOB, f"j-{number}")
        assert job["status"]["succeeded"] == 1
        assert job["spec"]["suspend"] is False
    workloads = await world.manager.workloads()
    assert [status.is_finished(each) for each in workloads] == [True] * JOBS
    for worker in world.workers.values():
        for kind in (kinds.WORKLOAD, JOB):
            assert (await worker.client.list(kind, "mk1")).items == []
    for reason in ("QuotaReserved", "MultiKueue", "Admitted"):
        about = {each[0] for each in seen.events() if each[2] == reason}
        assert len(about) == JOBS, reason


@pytest.mark.rule("JOB-3")
async def test_while_the_server_is_busy_jobs_are_let_go_before_they_have_mirrors(
    fleet: Fleet,
) -> None:
    """Otherwise the mirrors come first, as with Kueue."""
    seen: list[tuple[str, str]] = []

    async def follow(where: str, client: Client) -> None:
        async for event in client.watch(JOB):
            if event.type != "BOOKMARK" and (
                where != MANAGER or not event.object["spec"]["suspend"]
            ):
                seen.append((where, event.object["metadata"]["name"]))

    async with await dispatch.start(fleet, "mk1") as world:
        sides = {MANAGER: world.manager, **world.workers}
        watching = [asyncio.create_task(follow(name, sides[name].client)) for name in sides]
        world.manager.cluster.set_weather(BUSY)
        jobs = [
            golden.job(f"j-{number}", dispatch.QUEUE, "10m", "mk1", runs="3")
            for number in range(2 * JOBS)
        ]
        await asyncio.gather(*map(world.manager.client.create, jobs))
        await world.passes(seconds=SECONDS)
        for task in watching:
            task.cancel()

    first = {name: where for where, name in reversed(seen)}
    assert len(first) == 2 * JOBS
    shown = [name for name, where in first.items() if where != MANAGER]
    assert 0 < len(shown) <= AT_ONCE + PER_SECOND * SECONDS < len(first)
