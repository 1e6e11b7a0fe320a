"""The worker that runs a Job is lost for too long, the other one takes the Job over, and then the
lost one returns.

Kueue offers the workload to the other worker while it is still on its way out, stops the copy there
that this gets, and only so finds out that nothing runs; when the lost worker returns with what it
had, the Job is deleted where it runs. Here the quota is free as soon as the Job is suspended
(IMP-13), nobody is asked before that (IMP-14), and what the lost worker brings back goes (IMP-12).
"""

import pytest
from tests.support import golden
from tests.support import golden_dispatch as dispatch
from tests.support.dispatching import NOBODY
from tests.support.golden import Lives, Maybe
from tests.support.golden_dispatch import GONE, Sent

from fleetqueue.testing import Fleet

pytestmark = [
    pytest.mark.rule("LOST-2"),
    pytest.mark.rule("IMP-12"),
    pytest.mark.rule("IMP-13"),
    pytest.mark.rule("IMP-14"),
]

SAMPLE = Sent("sample", "mk13")
LOST = 'Admitting remote lost, Previously: "Ready"'
SECONDS = 7
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
                *SAMPLE.retried(LOST, SECONDS),
                SAMPLE.reserved_again(SAMPLE.retry_text(LOST)),
                dispatch.nominated("worker2"),
                *SAMPLE.claimed("worker2"),
            ],
            "AdmissionCheck multikueue": [
                dispatch.check_made(),
                {"Active": "True SomeActiveClusters @1: Inactive clusters: [worker1]"},
                {"Active": "True Active @1: The admission check is active"},
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
        tracks={
            "Job sample active": [1, Maybe(0), Maybe(None), 1],
            "Job sample ready": [Maybe(0), 1, 0, 1],
            "MultiKueueCluster worker2 Active": [dispatch.CONNECTED],
            "ClusterQueue mk13-cq Active": ["True Ready @1: Can admit new workloads"],
        },
        events=[
            *SAMPLE.queued_events(),
            *SAMPLE.claimed_events("worker1"),
            *SAMPLE.retried_events(LOST),
            *SAMPLE.claimed_events("worker2"),
        ],
    ),
    "worker1": golden.Recording(
        stories={
            "Workload job-sample-*": [*SAMPLE.runs(), dispatch.OWNER_GONE, GONE],
            "Job sample": [*SAMPLE.mirror(), *SAMPLE.mirror_started(), GONE],
            "Pod sample-*": [*SAMPLE.pod(), *dispatch.PULLED_AWAY],
        },
        ready={"Workload job-sample-*": dispatch.READY},
        events=SAMPLE.run_events(),
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


async def test_a_job_whose_worker_is_lost_moves_and_stays_moved(fleet: Fleet) -> None:
    config = "multiKueue: {workerLostTimeout: 5s}\n"
    async with await dispatch.start(fleet, "mk13", config=config) as world:
        await world.manager.create(golden.job("sample", "user-queue", "1", "mk13"))
        await world.passes(seconds=2)
        await world.write_secret("worker1", server=NOBODY)
        await world.passes(seconds=10)
        await world.write_secret("worker1")
        await world.passes(seconds=10)

    dispatch.compare(world, RECORDED)
    assert dispatch.activity(world, "worker1") == [
        dispatch.CONNECTED,
        dispatch.unreachable(1),
        dispatch.unreachable(2),
        dispatch.CONNECTED,
    ]
