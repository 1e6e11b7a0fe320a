"""Leftovers on workers are found and removed; what is somebody else's stays."""

from typing import Any

import pytest
from tests.support import dispatching
from tests.support.dispatching import Dispatching, Side
from tests.support.kueue import pod_set

from fleetqueue.api.kueue import labels
from fleetqueue.multikueue import kinds
from fleetqueue.runtime.kinds import JOB
from fleetqueue.testing import Fleet, named

OURS = {labels.MULTIKUEUE_ORIGIN: "multikueue"}


def workload(name: str, origin: str = "multikueue") -> dict[str, Any]:
    marks = {labels.MULTIKUEUE_ORIGIN: origin} if origin else {}
    spec = {"podSets": [pod_set(cpu="1")], "queueName": "none"}
    return named("Workload", dispatching.API, name, "default", labels=marks, spec=spec)


def mirror(name: str, prebuilt: str = "", marks: dict[str, str] = OURS) -> dict[str, Any]:
    made = dispatching.job(name)
    made["metadata"]["labels"] = {**marks}
    if prebuilt:
        made["metadata"]["labels"][labels.PREBUILT_WORKLOAD_NAME] = prebuilt
    return made


async def start(fleet: Fleet, config: str = "", **options: Any) -> Dispatching:
    world = await dispatching.start(fleet, workers=("worker1",), config=config, **options)
    await world.join()
    return world


async def put(side: Side, *objects: dict[str, Any]) -> None:
    for obj in objects:
        await side.client.create(obj)
    await side.fleet.settle()


async def own(side: Side, name: str, job: str) -> None:
    """The job controls the Workload, as it does when it was taken up."""
    found = await side.get(JOB, job)
    reference = {
        "apiVersion": "batch/v1", "kind": "Job", "name": job, "uid": found["metadata"]["uid"],
        "controller": True,
    }  # fmt: skip
    await side.patch(kinds.WORKLOAD, name, {"metadata": {"ownerReferences": [reference]}})


@pytest.mark.rule("GC-1")
@pytest.mark.rule("GC-3")
@pytest.mark.rule("ROLE-7")
async def test_copies_go_when_their_workload_is_gone_and_take_their_job_along(fleet: Fleet) -> None:
    world = await start(fleet)
    there = world.workers["worker1"]
    await put(world.manager, workload("kept", ""))
    await put(there, workload("kept"), workload("left"), workload("others", "another"))
    await put(there, workload("nobodys", ""), workload("strange"))
    await put(there, mirror("job", "left"), mirror("stranger", marks={}))
    await own(there, "left", "job")
    await own(there, "strange", "stranger")

    await world.passes(seconds=50)
    assert "left" in await there.names(kinds.WORKLOAD)
    await world.passes(seconds=20)
    assert await there.names(kinds.WORKLOAD) == ["kept", "nobodys", "others"]
    assert await there.names(JOB) == ["stranger"]


@pytest.mark.rule("GC-2")
async def test_garbage_collection_can_be_turned_off(
    fleet: Fleet, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    world = await start(fleet, "multiKueue: {gcInterval: 0s}")
    there = world.workers["worker1"]
    await put(there, workload("left"))
    await world.passes(minutes=30)
    assert await there.names(kinds.WORKLOAD) == ["left"]
    assert "Garbage Collection is disabled" in caplog.text


@pytest.mark.rule("I3")
@pytest.mark.rule("LOST-6")
async def test_what_was_left_on_a_lost_worker_goes_when_it_is_back(fleet: Fleet) -> None:
    world = await start(fleet, "multiKueue: {gcInterval: 2s}")
    there = world.workers["worker1"]
    await put(world.manager, workload("a", ""))
    await put(there, workload("a"), mirror("job", "a"))
    await own(there, "a", "job")
    world.cut("worker1")
    await world.settle()
    await world.manager.delete(kinds.WORKLOAD, "a")
    await world.passes(minutes=1)
    assert await there.names(kinds.WORKLOAD) == ["a"]
    assert await there.names(JOB) == ["job"]

    world.restore("worker1")
    await world.passes(minutes=2)
    assert await there.names(kinds.WORKLOAD) == []
    assert await there.names(JOB) == []


@pytest.mark.rule("IMP-7")
async def test_mirrors_without_a_workload_go_when_their_job_is_gone_too(fleet: Fleet) -> None:
    world = await start(fleet)
    there = world.workers["worker1"]
    await put(world.manager, dispatching.job("kept"), workload("here", ""))
    await put(there, mirror("kept"), mirror("left"), mirror("others", marks={}))
    await put(there, mirror("waits", "here"))
    await world.passes(seconds=70)
    assert await there.names(JOB) == ["kept", "others", "waits"]


@pytest.mark.rule("IMP-2")
@pytest.mark.rule("LIM-9")
async def test_copies_go_from_a_worker_that_was_taken_out(fleet: Fleet) -> None:
    world = await start(fleet, "multiKueue: {gcInterval: 2s}")
    await world.set_up(clusters=["worker1"])
    here, there = world.manager, world.workers["worker1"]
    local = workload("a", "")
    local["spec"]["queueName"] = dispatching.LOCAL_QUEUE
    await put(here, local)
    await put(there, workload("a"))
    await world.passes(seconds=5)
    assert await there.names(kinds.WORKLOAD) == ["a"]

    await here.patch(kinds.CONFIG, dispatching.CONFIG, {"spec": {"clusters": ["another"]}})
    await world.passes(seconds=5)
    assert await there.names(kinds.WORKLOAD) == []
    assert await here.names(kinds.WORKLOAD) == ["a"]
