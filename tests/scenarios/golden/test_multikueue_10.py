"""A worker puts a Job out that it runs, because its queue is stopped: the Job goes to another."""

import pytest
from tests.support import golden
from tests.support import golden_dispatch as dispatch
from tests.support.golden import Lives, Maybe
from tests.support.golden_dispatch import GONE, STOPPED, Sent

from fleetqueue.testing import Fleet

pytestmark = [
    pytest.mark.rule("multikueue 3.9"),
    pytest.mark.rule("FLOW-50"),
    pytest.mark.rule("FLOW-51"),
    pytest.mark.rule("FLOW-56"),
    pytest.mark.rule("FLOW-57"),
    pytest.mark.rule("FLOW-60"),
]

SAMPLE = Sent("sample", "mk10")
SECONDS = 3
TOLD = dispatch.evicted_on("worker2")
CLOSED = "ClusterQueue mk10-cq is inactive"
RECORDED = {
    "manager": golden.Recording(
        stories={
            "Job sample": [
                SAMPLE.job(),
                dispatch.MAY_BE_SUSPENDED,
                *SAMPLE.started(),
                *SAMPLE.put_out(),
                *SAMPLE.started(generation=5),
            ],
            "Workload job-sample-*": [
                SAMPLE.made(),
                *SAMPLE.queued(),
                *SAMPLE.claimed("worker2"),
                *SAMPLE.retried(TOLD, SECONDS),
                SAMPLE.reserved_again(SAMPLE.retry_text(TOLD)),
                dispatch.nominated(),
                *SAMPLE.claimed("worker1"),
            ],
        },
        ready={
            "Workload job-sample-*": [
                *dispatch.READY,
                golden.recovers(),
                golden.not_started(),
                *golden.STALE,
                golden.all_ready(),
            ]
        },
        tracks={"Job sample active": [1, None, 1], "Job sample ready": [Maybe(0), 1, 0, 1]},
        events=[
            *SAMPLE.queued_events(),
            *SAMPLE.claimed_events("worker2"),
            SAMPLE.told(TOLD),
            *SAMPLE.retried_events(TOLD),
            *SAMPLE.claimed_events("worker1"),
        ],
    ),
    "worker1": golden.Recording(
        stories={
            "Workload job-sample-*": Lives(
                [SAMPLE.lost(), [SAMPLE.copy(), SAMPLE.admitted(), SAMPLE.adopted()]]
            ),
            "Job sample": [*SAMPLE.mirror(), *SAMPLE.mirror_started()],
            "Pod sample-*": SAMPLE.pod(),
        },
        ready={"Workload job-sample-*": Lives([[], dispatch.READY])},
        events=SAMPLE.run_events(),
    ),
    "worker2": golden.Recording(
        stories={
            "Workload job-sample-*": Lives(
                [
                    [
                        SAMPLE.copy(),
                        SAMPLE.admitted(),
                        SAMPLE.adopted(),
                        golden.evicted("ClusterQueueStopped", STOPPED),
                        golden.released("ClusterQueueStopped", STOPPED, SECONDS, requeued=False),
                        golden.no_quota("Suspended", CLOSED),
                        dispatch.OWNER_GONE,
                        GONE,
                    ],
                    [SAMPLE.copy(), golden.waits("Suspended", CLOSED), GONE],
                ]
            ),
            "Job sample": [
                *SAMPLE.mirror(),
                *SAMPLE.mirror_started(),
                *SAMPLE.mirror_stopped(),
                GONE,
            ],
            "Pod sample-*": [*SAMPLE.pod(), *golden.GOES],
        },
        ready={
            "Workload job-sample-*": Lives(
                [[*dispatch.READY, golden.recovers(), golden.not_started()], []]
            )
        },
        events=[
            *SAMPLE.run_events(),
            *golden.stopped_events("sample", STOPPED),
            SAMPLE.told(STOPPED, reason="EvictedDueToClusterQueueStopped"),
        ],
    ),
}


async def test_a_job_that_a_worker_puts_out_goes_to_another(fleet: Fleet) -> None:
    async with await dispatch.start(fleet, "mk10", order=("worker2", "worker1")) as world:
        await world.manager.create(golden.job("sample", "user-queue", "1", "mk10"))
        await world.passes(seconds=SECONDS)
        await dispatch.set_stop(world.workers["worker2"], "HoldAndDrain")
        await world.passes(seconds=5)
        await dispatch.set_stop(world.workers["worker2"], "None")
        await world.passes(seconds=3)

    dispatch.compare(world, RECORDED)
