"""A Workload is switched off on the manager while its Job runs on a worker, and on again.

Kueue deletes the running mirror at once, offers the workload that is on its way out to all workers,
and makes a suspended mirror on each of them. Here it stops as after any other eviction (IMP-14,
IMP-17): its worker is told, nobody is nominated, and nothing is made.
"""

import pytest
from tests.support import golden
from tests.support import golden_dispatch as dispatch
from tests.support.golden import Lives, Maybe
from tests.support.golden_dispatch import Sent

from fleetqueue.multikueue import kinds
from fleetqueue.testing import Fleet

pytestmark = [
    pytest.mark.rule("FLOW-68"),
    pytest.mark.rule("IMP-14"),
    pytest.mark.rule("IMP-17"),
]

SAMPLE = Sent("sample", "mk12")
SECONDS = 4
OFF = "The workload is deactivated"
RECORDED = {
    "manager": golden.Recording(
        stories={
            "Job sample": [
                SAMPLE.job(),
                dispatch.MAY_BE_SUSPENDED,
                *SAMPLE.started(),
                *SAMPLE.stopped(),
                *SAMPLE.started(generation=5),
            ],
            "Workload job-sample-*": [
                SAMPLE.made(),
                *SAMPLE.queued(),
                *SAMPLE.claimed("worker2"),
                {"generation": 2, "spec.active": False},
                SAMPLE.evicted("Deactivated", OFF, "Ready", at=2),
                golden.released("Deactivated", OFF, SECONDS, at=2, requeued=False),
                golden.no_quota("Deactivated", OFF, at=2),
                {"generation": 3, "spec.active": True},
                {"Requeued": "True Reactivated @3: The workload was reactivated"},
                {
                    **golden.no_quota(
                        "PendingEvaluation",
                        "Workload is pending evaluation in the scheduling queue",
                        at=3,
                    ),
                    "Admitted": "False NoReservation @3: The workload has no reservation",
                },
                SAMPLE.reserved_again(OFF, at=3),
                dispatch.nominated(),
                *SAMPLE.claimed("worker1", at=3),
            ],
        },
        ready={
            "Workload job-sample-*": [
                *dispatch.READY,
                Maybe(golden.recovers(2)),
                Maybe(golden.not_started(2)),
                Maybe(golden.not_started(3)),
                golden.all_ready(3),
            ]
        },
        tracks={"Job sample active": [1, None, 1], "Job sample ready": [Maybe(0), 1, 0, 1]},
        events=[
            *SAMPLE.queued_events(),
            *SAMPLE.claimed_events("worker2"),
            SAMPLE.told(OFF, reason="EvictedDueToDeactivated"),
            *SAMPLE.reset_events(OFF, "Ready"),
            *SAMPLE.claimed_events("worker1"),
        ],
    ),
    "worker1": golden.Recording(
        stories={
            "Workload job-sample-*": Lives([SAMPLE.lost(), SAMPLE.runs()]),
            "Job sample": [*SAMPLE.mirror(), *SAMPLE.mirror_started()],
            "Pod sample-*": SAMPLE.pod(),
        },
        ready={"Workload job-sample-*": Lives([[], dispatch.READY])},
        events=SAMPLE.run_events(),
    ),
    "worker2": golden.Recording(
        stories={
            "Workload job-sample-*": Lives(
                [[*SAMPLE.runs(), *SAMPLE.stopped_by_manager(OFF, SECONDS)], SAMPLE.lost()]
            ),
            "Job sample": [
                *SAMPLE.mirror(),
                *SAMPLE.mirror_started(),
                *SAMPLE.mirror_stopped(),
                dispatch.GONE,
            ],
            "Pod sample-*": [*SAMPLE.pod(), *golden.GOES],
        },
        ready={
            "Workload job-sample-*": Lives(
                [[*dispatch.READY, golden.recovers(2), golden.not_started(2)], []]
            )
        },
        events=[*SAMPLE.run_events(), *SAMPLE.stopped_by_manager_events(OFF)],
    ),
}


async def test_a_workload_that_is_switched_off_stops_and_is_sent_again(fleet: Fleet) -> None:
    async with await dispatch.start(fleet, "mk12", order=("worker2", "worker1")) as world:
        await world.manager.create(golden.job("sample", "user-queue", "1", "mk12"))
        await world.passes(seconds=SECONDS)
        name = (await world.manager.workload())["metadata"]["name"]
        await world.manager.patch(kinds.WORKLOAD, name, {"spec": {"active": False}})
        await world.passes(seconds=5)
        await dispatch.prefer(world, "worker1", "worker2")
        await world.manager.patch(kinds.WORKLOAD, name, {"spec": {"active": True}})
        await world.passes(seconds=4)

    dispatch.compare(world, RECORDED)
