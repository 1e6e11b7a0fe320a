"""A Job goes to a queue that two workers serve: one of them gets it and runs it, and its status
comes back; who owns which field.
"""

import pytest
from tests.support import golden
from tests.support import golden_dispatch as dispatch
from tests.support import golden_owners as owners
from tests.support.golden import Maybe
from tests.support.golden_dispatch import GONE, Sent
from tests.support.recorder import owned

from fleetqueue.runtime.kinds import JOB
from fleetqueue.testing import Fleet

pytestmark = [
    pytest.mark.rule("FLOW-67"),
    pytest.mark.rule("FLOW-65"),
    pytest.mark.rule("multikueue 3.12"),
    pytest.mark.rule("EVT-2"),
    pytest.mark.rule("FLOW-40"),
    pytest.mark.rule("FLOW-45"),
]

SAMPLE = Sent("sample", "mk1", pods=2)
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
            "Job sample active": [2, None],
            "Job sample ready": [Maybe(0), Maybe(1), 2, 0],
            "Job sample succeeded": [2],
        },
        events=[
            *SAMPLE.queued_events(),
            *SAMPLE.claimed_events("worker1"),
            *SAMPLE.finished_events(),
        ],
    ),
    "worker1": golden.Recording(
        stories={
            "Workload job-sample-*": [
                SAMPLE.copy(),
                SAMPLE.admitted(),
                SAMPLE.adopted(),
                golden.FINISHED,
                GONE,
            ],
            "Job sample": [
                *SAMPLE.mirror(),
                *SAMPLE.mirror_started(),
                *golden.COMPLETED,
                GONE,
            ],
            "Pod sample-*": [*SAMPLE.pod(), *dispatch.TAKEN_ALONG],
        },
        ready={"Workload job-sample-*": dispatch.READY},
        events=[*SAMPLE.run_events(), *golden.finished_events("sample", "mk1")],
    ),
    "worker2": golden.Recording(
        stories={"Workload job-sample-*": SAMPLE.lost()},
        chance=SAMPLE.lost_events(),
    ),
}


async def test_a_job_runs_on_one_of_two_workers(fleet: Fleet) -> None:
    async with await dispatch.start(fleet, "mk1") as world:
        await world.manager.create(golden.job("sample", "user-queue", "1", "mk1", pods=2, runs="3"))
        await world.passes(seconds=2)
        mirror = await world.workers["worker1"].get(JOB, "sample")
        await world.passes(seconds=6)

    dispatch.compare(world, RECORDED)
    [workload] = await world.manager.workloads()
    assert owned(workload) == WORKLOAD_FIELDS
    found = owned(await world.manager.get(JOB, "sample"))
    assert {by: found[by] for by in JOB_FIELDS} == JOB_FIELDS
    found = owned(mirror)
    assert [by for by in found if by[2] != "status"] == [owners.MAKER]
    assert found[owners.MAKER] >= owners.JOB_STARTED[owners.MAKER]
    assert found[owners.CONTROLLER] == owners.JOB_RUNNING


JOB_FIELDS = {**owners.JOB_STARTED, ("kueue", "Update", "status"): owners.JOB_FINISHED}
WORKLOAD_FIELDS = {
    owners.READINESS: {owners.UID, *owners.conditions("PodsReady")},
    owners.ADMISSION: {
        owners.UID,
        *owners.admitted(),
        *owners.check("multikueue"),
        *owners.conditions("Admitted", "Finished", "PodsReady", "QuotaReserved"),
        "status.clusterName",
    },
    # The entry was listed with an update; of that is left what nobody has changed since.
    owners.LISTER: {
        *owners.under("status", "admissionChecks"),
        *owners.check("multikueue", "lastTransitionTime", "name"),
    },
    owners.MAKER: {*owners.MADE, *owners.spec()},
}
