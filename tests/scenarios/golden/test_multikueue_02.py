"""Two Jobs, and room for one of them at a time on one of two workers: the other waits there."""

import pytest
from tests.support import golden
from tests.support import golden_dispatch as dispatch
from tests.support.golden import Maybe
from tests.support.golden_dispatch import GONE, Sent

from fleetqueue.testing import Fleet

pytestmark = [
    pytest.mark.rule("FLOW-11"),
    pytest.mark.rule("FLOW-25"),
    pytest.mark.rule("FLOW-30"),
    pytest.mark.rule("FLOW-67"),
]

FIRST, SECOND = Sent("first", "mk2"), Sent("second", "mk2")
BOTH = (FIRST, SECOND)


def on_manager(sent: Sent) -> dict[str, list[golden.Told]]:
    return {
        f"Job {sent.name}": [
            sent.job(),
            dispatch.MAY_BE_SUSPENDED,
            *sent.started(),
            dispatch.ENDED,
        ],
        f"Workload {sent.workload}": [
            sent.made(),
            *sent.queued(),
            *sent.claimed("worker1"),
            golden.FINISHED,
            golden.LET_GO,
        ],
    }


def on_worker(sent: Sent, *admission: golden.Told) -> dict[str, list[golden.Told]]:
    return {
        f"Workload {sent.workload}": [
            sent.copy(),
            *admission,
            sent.adopted(),
            golden.FINISHED,
            GONE,
        ],
        f"Job {sent.name}": [*sent.mirror(), *sent.mirror_started(), *golden.COMPLETED, GONE],
        f"Pod {sent.name}-*": [*sent.pod(), *dispatch.TAKEN_ALONG],
    }


RECORDED = {
    "manager": golden.Recording(
        stories={**on_manager(FIRST), **on_manager(SECOND)},
        ready={f"Workload {sent.workload}": dispatch.READY for sent in BOTH},
        tracks={
            f"Job {sent.name} {fact}": values
            for sent in BOTH
            for fact, values in {
                "active": [1, None],
                "ready": [Maybe(0), 1, 0],
                "succeeded": [1],
            }.items()
        },
        events=[
            event
            for sent in BOTH
            for event in (
                *sent.queued_events(),
                *sent.claimed_events("worker1"),
                *sent.finished_events(),
            )
        ],
    ),
    "worker1": golden.Recording(
        stories={
            **on_worker(FIRST, FIRST.admitted()),
            **on_worker(
                SECOND,
                golden.waits("WaitingForQuota", dispatch.NOT_NOW, cpu="1"),
                SECOND.admitted(**golden.WAITED),
            ),
        },
        ready={f"Workload {sent.workload}": dispatch.READY for sent in BOTH},
        events=[
            *(event for sent in BOTH for event in sent.run_events()),
            *(event for sent in BOTH for event in golden.finished_events(sent.name, "mk2")),
            golden.on_workload("second", "WaitingForQuota", dispatch.NOT_NOW, "Warning"),
        ],
    ),
    "worker2": golden.Recording(
        stories={f"Workload {sent.workload}": sent.never_admitted() for sent in BOTH},
        events=[sent.never_admitted_event() for sent in BOTH],
    ),
}


async def test_a_job_waits_on_the_workers_until_one_has_room(fleet: Fleet) -> None:
    quota = {"worker1": "1", "worker2": "0"}
    async with await dispatch.start(fleet, "mk2", quota=quota) as world:
        await world.manager.create(golden.job("first", "user-queue", "1", "mk2", runs="8"))
        await world.passes(seconds=1.5)
        await world.manager.create(golden.job("second", "user-queue", "1", "mk2", runs="3"))
        await world.passes(seconds=14)

    dispatch.compare(world, RECORDED)
