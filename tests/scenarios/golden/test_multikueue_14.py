"""The queue of the manager is stopped while a Job of it runs on a worker: the Job stops there, and
runs again when the queue does.
"""

import pytest
from tests.support import golden
from tests.support import golden_dispatch as dispatch
from tests.support.golden import Lives, Maybe
from tests.support.golden_dispatch import STOPPED, Sent

from fleetqueue.testing import Fleet

pytestmark = [
    pytest.mark.rule("multikueue 3.9"),
    pytest.mark.rule("FLOW-31"),
    pytest.mark.rule("FLOW-51"),
    pytest.mark.rule("FLOW-57"),
    pytest.mark.rule("FLOW-68"),
]

SAMPLE = Sent("sample", "mk14")
SECONDS = 3
REASON = "ClusterQueueStopped"
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
                *SAMPLE.claimed("worker1"),
                SAMPLE.evicted(REASON, STOPPED, "Ready"),
                golden.released(REASON, STOPPED, SECONDS, requeued=False),
                golden.no_quota("Suspended", "ClusterQueue mk14-cq is inactive"),
                {
                    "Requeued": "True ClusterQueueRestarted @1: "
                    "The ClusterQueue was restarted after being stopped"
                },
                golden.SOON,
                SAMPLE.reserved_again(STOPPED),
                dispatch.nominated(),
                *SAMPLE.claimed("worker2"),
            ],
        },
        ready={
            "Workload job-sample-*": [
                *dispatch.READY,
                golden.recovers(),
                golden.not_started(),
                golden.all_ready(),
            ]
        },
        tracks={"Job sample active": [1, None, 1], "Job sample ready": [Maybe(0), 1, 0, 1]},
        events=[
            *SAMPLE.queued_events(),
            *SAMPLE.claimed_events("worker1"),
            SAMPLE.told(STOPPED, reason="EvictedDueToClusterQueueStopped"),
            *SAMPLE.reset_events(STOPPED, "Ready"),
            *SAMPLE.claimed_events("worker2"),
        ],
    ),
    "worker1": golden.Recording(
        stories={
            "Workload job-sample-*": Lives(
                [[*SAMPLE.runs(), *SAMPLE.stopped_by_manager(STOPPED, SECONDS)], SAMPLE.lost()]
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
        events=[*SAMPLE.run_events(), *SAMPLE.stopped_by_manager_events(STOPPED)],
    ),
    "worker2": golden.Recording(
        stories={
            "Workload job-sample-*": Lives([SAMPLE.lost(), SAMPLE.runs()]),
            "Job sample": [*SAMPLE.mirror(), *SAMPLE.mirror_started()],
            "Pod sample-*": SAMPLE.pod(),
        },
        ready={"Workload job-sample-*": Lives([[], dispatch.READY])},
        events=SAMPLE.run_events(),
    ),
}


async def test_a_queue_that_is_stopped_here_stops_its_job_there(fleet: Fleet) -> None:
    async with await dispatch.start(fleet, "mk14") as world:
        await world.manager.create(golden.job("sample", "user-queue", "1", "mk14"))
        await world.passes(seconds=SECONDS)
        await dispatch.set_stop(world.manager, "HoldAndDrain")
        await world.passes(seconds=5)
        await dispatch.prefer(world, "worker2", "worker1")
        await dispatch.set_stop(world.manager, "None")
        await world.passes(seconds=4)

    dispatch.compare(world, RECORDED)
