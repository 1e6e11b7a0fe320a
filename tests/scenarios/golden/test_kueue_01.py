"""A Job in a queue with room is created, admitted, run and finished; who owns which field."""

import pytest
from tests.support import golden, whole
from tests.support import golden_owners as owners
from tests.support.golden import Maybe
from tests.support.kueue import cluster_queue, flavor, local_queue
from tests.support.recorder import owned

from fleetqueue.admission import kinds
from fleetqueue.runtime.kinds import JOB
from fleetqueue.testing import Fleet

pytestmark = [
    pytest.mark.rule("kueue 3.3"),
    pytest.mark.rule("kueue 9.3"),
    pytest.mark.rule("jobs B.1.2"),
]

HERE = ("b1-cq", "user-queue")
COUNTS = [
    "0 wait, 0 hold 0, 0 admitted 0",
    "0 wait, 1 hold 2, 1 admitted 2",
    "0 wait, 0 hold 0, 0 admitted 0",
]
RECORDED = golden.Recording(
    stories={
        "ClusterQueue b1-cq": [golden.queue(), golden.admits()],
        "LocalQueue user-queue": [
            golden.local("b1-cq"),
            Maybe(golden.submits_not()),
            golden.submits(),
        ],
        "Job sample": [
            golden.job_made("sample", "user-queue", "1", pods=2),
            golden.SUSPENDED,
            *golden.started("sample", *HERE),
            *golden.COMPLETED,
        ],
        "Workload job-sample-*": [
            golden.workload_made("sample", "user-queue", "1", count=2),
            golden.admitted("b1-cq", "2", count=2),
            golden.FINISHED,
            golden.LET_GO,
        ],
        "Pod sample-*": [golden.pod("sample", *HERE), *golden.RUNS, *golden.SUCCEEDS],
    },
    counts={"ClusterQueue b1-cq": COUNTS, "LocalQueue user-queue": COUNTS},
    ready={"Workload job-sample-*": [golden.not_started(), golden.all_ready()]},
    events=[
        *golden.queued_events("sample", "b1"),
        *golden.started_events("sample", "b1", "b1-cq"),
        *golden.finished_events("sample", "b1"),
    ],
)


async def test_a_job_is_admitted_and_finishes(fleet: Fleet) -> None:
    here = await whole.start(fleet, "b1")
    await here.create(flavor())
    async with here:
        await here.create(cluster_queue("b1-cq"), local_queue("user-queue", "b1-cq"))
        await here.create(golden.job("sample", "user-queue", "1", "b1", pods=2, runs="2"))
        await here.passes(seconds=6)

    RECORDED.compare(here.seen)
    assert len(here.seen.stories("Pod", "sample-*")) == 2
    [workload] = (await here.client.list(kinds.WORKLOAD, "b1")).items
    assert owned(workload) == WORKLOAD_FIELDS
    found = owned(await here.get(JOB, "sample"))
    assert {by: found[by] for by in JOB_FIELDS} == JOB_FIELDS


JOB_FIELDS = {**owners.JOB_STARTED, owners.CONTROLLER: owners.JOB_FINISHED}
WORKLOAD_FIELDS = {
    owners.READINESS: {owners.UID, *owners.conditions("PodsReady")},
    owners.ADMISSION: {
        owners.UID,
        *owners.admitted(),
        *owners.conditions("Admitted", "Finished", "PodsReady", "QuotaReserved"),
    },
    owners.MAKER: {*owners.MADE, *owners.spec()},
}
