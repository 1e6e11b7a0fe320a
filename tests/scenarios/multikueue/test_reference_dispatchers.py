"""Reference scenarios of dispatchers: E17, I13, I14."""

from typing import Any

import pytest
from tests.support import shared_world
from tests.support.dispatching import SPACE, job
from tests.support.shared_world import READY, SharedWorld

from fleetqueue.api.kueue import admission_status as status
from fleetqueue.multikueue import kinds
from fleetqueue.runtime.kinds import JOB

INCREMENTAL = "kueue.x-k8s.io/multikueue-dispatcher-incremental"


def by(dispatcher: str) -> Any:
    return shared_world.start(config=f"multiKueue: {{dispatcherName: {dispatcher}}}\n")


async def send_back(world: SharedWorld, name: str) -> None:
    """The check asks for another worker; nobody gives quota again meanwhile."""
    await world.stop_queue(world.manager, "Hold")
    local = await world.workload(name)
    [check] = local["status"]["admissionChecks"]
    patch = {"status": {"admissionChecks": [{**check, "state": "Retry", "message": "again"}]}}
    await world.manager.patch(kinds.WORKLOAD, str(local["metadata"]["name"]), patch, "status")
    await world.passes(seconds=3)
    told = await world.told(name)
    assert "clusterName" not in told
    assert "nominatedClusterNames" not in told


@pytest.mark.rule("E17", "I13", "DISP-20", "DISP-22", "S003-15", "S003-26")
async def test_incremental_asks_some_workers_and_takes_the_first() -> None:
    """I13, and E17 after a restart: the job fits the second worker alone."""
    async with by(INCREMENTAL) as world:
        await world.begin(workers="0")
        await world.submit(job("one"))
        told = await world.told("one")
        assert told["nominatedClusterNames"] == ["worker1", "worker2"]
        local = await world.workload("one")
        for side in world.workers.values():
            assert (await world.workload("one", side))["spec"] == local["spec"]
        await world.set_quota(world.workers["worker1"], "4")
        await world.passes(seconds=3)
        assert await world.sites() == ["worker1"]
        told = await world.told("one")
        assert told["clusterName"] == "worker1"
        assert "nominatedClusterNames" not in told
        await send_back(world, "one")

        assert world.manager.restart is not None
        await world.manager.restart()
        await world.begin(workers={"worker1": "0", "worker2": "4"})
        await world.submit(job("two", run_seconds="20"))
        await world.passes(seconds=5)
        assert await world.check("two") == ("Ready", READY("worker2"))
        assert (await world.manager.get(JOB, "two"))["status"]["active"] == 1
        await world.passes(seconds=30)
        assert status.is_finished(await world.workload("two"))
        assert await world.is_clean()


@pytest.mark.rule("I14", "DISP-30", "DISP-31", "DISP-3", "DISP-34", "FLOW-22", "FLOW-23")
@pytest.mark.rule("S003-28", "S003-29")
async def test_another_controller_says_who_is_asked() -> None:
    """I14, by the manager that the documents ask for (S003-29)."""
    async with by("example.com/by-hand") as world:
        await world.begin(workers="0")
        await world.submit(job("one"))
        assert await world.sites() == []
        assert "clusterName" not in await world.told("one")
        for names in (["worker2"], ["worker1", "worker2"], ["worker1", "nowhere"], ["worker2"]):
            await nominate(world, "one", names)
            assert await world.sites() == [each for each in names if each in world.workers]
        await nominate(world, "one", ["worker1", "worker2"])

        await world.set_quota(world.workers["worker2"], "4")
        await world.passes(seconds=3)
        assert await world.sites() == ["worker2"]
        told = await world.told("one")
        assert told["clusterName"] == "worker2"
        assert "nominatedClusterNames" not in told
        await send_back(world, "one")


async def nominate(world: SharedWorld, job: str, names: list[str]) -> None:
    local = await world.workload(job)
    body = status.admission_patch(local, nominatedClusterNames=names)
    await world.manager.client.apply(
        body, force=True, subresource="status", field_manager="kueue-admission"
    )
    await world.passes(seconds=2)
    assert (await world.told(job))["nominatedClusterNames"] == names
    assert local["metadata"]["namespace"] == SPACE
