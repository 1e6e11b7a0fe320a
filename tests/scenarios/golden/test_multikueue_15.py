"""The only worker is lost for too long while it runs a Job, and then returns.

In Kueue the workload holds its quota until the worker is back, whose Job is then stopped and
started again. Here the quota is free as soon as the Job is suspended (IMP-13), and when the worker
is back with the Job still running, that is the admission the workload waited for: nothing is
stopped.
"""

import pytest
from tests.support import golden
from tests.support import golden_dispatch as dispatch
from tests.support.dispatching import NOBODY
from tests.support.golden import Maybe
from tests.support.golden_dispatch import Sent

from fleetqueue.testing import Fleet

pytestmark = [
    pytest.mark.rule("LOST-2"),
    pytest.mark.rule("IMP-13"),
    pytest.mark.rule("AC-2"),
    pytest.mark.rule("multikueue 2.4"),
]

CHECK = "only-worker"
SAMPLE = Sent("sample", "mk15", check=CHECK)
LOST = 'Admitting remote lost, Previously: "Ready"'
SECONDS = 7
OPEN = "True Ready @1: Can admit new workloads"
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
                *SAMPLE.queued("worker2"),
                *SAMPLE.claimed("worker2"),
                *SAMPLE.retried(LOST, SECONDS),
                golden.no_quota("Suspended", "ClusterQueue mk15-cq is inactive"),
                golden.SOON,
                SAMPLE.reserved_again(SAMPLE.retry_text(LOST)),
                dispatch.nominated("worker2"),
                *SAMPLE.claimed("worker2"),
            ],
            "AdmissionCheck only-worker": [
                dispatch.check_made(),
                {"Active": "False NoUsableClusters @1: Inactive clusters: [worker2]"},
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
            "ClusterQueue mk15-cq Active": [
                OPEN,
                "False AdmissionCheckInactive @1: Can't admit new workloads: "
                "references inactive AdmissionCheck(s): only-worker.",
                OPEN,
            ],
        },
        events=[
            *SAMPLE.queued_events(),
            *SAMPLE.claimed_events("worker2"),
            *SAMPLE.retried_events(LOST),
        ],
    ),
    "worker2": golden.Recording(
        stories={
            "Workload job-sample-*": SAMPLE.runs(),
            "Job sample": [*SAMPLE.mirror(), *SAMPLE.mirror_started()],
            "Pod sample-*": SAMPLE.pod(),
        },
        ready={"Workload job-sample-*": dispatch.READY},
        events=SAMPLE.run_events(),
    ),
}


async def test_a_job_goes_on_where_it_was_when_its_only_worker_returns(fleet: Fleet) -> None:
    config = "multiKueue: {workerLostTimeout: 5s}\n"
    async with await dispatch.start(
        fleet, "mk15", config=config, check=CHECK, order=("worker2",)
    ) as world:
        await world.manager.create(golden.job("sample", "user-queue", "1", "mk15"))
        await world.passes(seconds=2)
        await world.write_secret("worker2", server=NOBODY)
        await world.passes(seconds=18)
        await world.write_secret("worker2")
        await world.passes(seconds=10)

    dispatch.compare(world, RECORDED)
    assert dispatch.activity(world, "worker2") == [
        dispatch.CONNECTED,
        *(dispatch.unreachable(attempts) for attempts in (1, 2, 3)),
        dispatch.CONNECTED,
    ]
