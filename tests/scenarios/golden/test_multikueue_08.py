"""The Incremental dispatcher with two workers: both are asked in the first round, one gets the Job;
who owns which field.
"""

import pytest
from tests.support import golden
from tests.support import golden_dispatch as dispatch
from tests.support import golden_owners as owners
from tests.support.golden import Maybe
from tests.support.golden_dispatch import GONE, Sent
from tests.support.recorder import owned

from fleetqueue.testing import Fleet

pytestmark = [
    pytest.mark.rule("DISP-20"),
    pytest.mark.rule("DISP-21"),
    pytest.mark.rule("DISP-26"),
    pytest.mark.rule("FLOW-65"),
]

CONFIG = """
multiKueue:
  dispatcherName: kueue.x-k8s.io/multikueue-dispatcher-incremental
"""
SAMPLE = Sent("sample", "a8")
RECORDED = {
    "manager": golden.Recording(
        stories={
            "Job sample": [
                SAMPLE.job(),
                dispatch.MAY_BE_SUSPENDED,
                *SAMPLE.started(),
                dispatch.ENDED,
            ],
            "Workload job-sample-*": [
                SAMPLE.made(),
                *SAMPLE.queued(),
                *SAMPLE.claimed("worker1"),
                golden.FINISHED,
                golden.LET_GO,
            ],
        },
        ready={"Workload job-sample-*": dispatch.READY},
        tracks={
            "Job sample active": [1, None],
            "Job sample ready": [Maybe(0), 1, 0],
            "Job sample succeeded": [1],
        },
        events=[
            *SAMPLE.queued_events(),
            *SAMPLE.claimed_events("worker1"),
            *SAMPLE.finished_events(),
        ],
    ),
    "worker1": golden.Recording(
        stories={
            "Workload job-sample-*": [*SAMPLE.runs(), golden.FINISHED, GONE],
            "Job sample": [
                *SAMPLE.mirror(),
                *SAMPLE.mirror_started(),
                *golden.COMPLETED,
                GONE,
            ],
            "Pod sample-*": [*SAMPLE.pod(), *dispatch.TAKEN_ALONG],
        },
        ready={"Workload job-sample-*": dispatch.READY},
        events=[*SAMPLE.run_events(), *golden.finished_events("sample", "a8")],
    ),
    "worker2": golden.Recording(
        stories={"Workload job-sample-*": SAMPLE.lost()},
        chance=SAMPLE.lost_events(),
    ),
}
FIELDS = {
    owners.READINESS: {owners.UID, *owners.conditions("PodsReady")},
    owners.ADMISSION: {
        owners.UID,
        *owners.admitted(),
        *owners.check("multikueue"),
        *owners.conditions("Admitted", "Finished", "PodsReady", "QuotaReserved"),
        "status.clusterName",
    },
    owners.MAKER: {*owners.MADE, *owners.spec()},
}


async def test_the_first_round_asks_both_workers(fleet: Fleet) -> None:
    async with await dispatch.start(fleet, "a8", config=CONFIG) as world:
        await world.manager.create(golden.job("sample", "user-queue", "1", "a8", runs="3"))
        await world.passes(seconds=8)

    dispatch.compare(world, RECORDED)
    [workload] = await world.manager.workloads()
    found = owned(workload)
    assert {by: found[by] for by in FIELDS} == FIELDS
