"""A running workload is deactivated by its user, and reactivated."""

import pytest
from tests.support import golden, whole
from tests.support.golden import Ends, Maybe
from tests.support.kueue import cluster_queue, flavor, local_queue

from fleetqueue.admission import kinds
from fleetqueue.testing import Fleet

pytestmark = [pytest.mark.rule("kueue 3.6"), pytest.mark.rule("kueue 3.13")]

HERE = ("b9-cq", "user-queue")
OFF = "The workload is deactivated"
ONE, NOTHING = "0 wait, 1 hold 1, 1 admitted 1", "0 wait, 0 hold 0, 0 admitted 0"
RECORDED = golden.Recording(
    stories={
        "ClusterQueue b9-cq": [golden.queue(), golden.admits()],
        "LocalQueue user-queue": [
            golden.local("b9-cq"),
            Maybe(golden.submits_not()),
            golden.submits(),
        ],
        "Job sample": [
            golden.job_made("sample", "user-queue", "1"),
            golden.SUSPENDED,
            *golden.started("sample", *HERE),
            *golden.stopped("sample"),
            *golden.started("sample", *HERE, generation=5),
        ],
        "Workload job-sample-*": [
            golden.workload_made("sample", "user-queue", "1"),
            golden.admitted("b9-cq", "1"),
            {"generation": 2, "spec.active": False},
            golden.evicted("Deactivated", OFF, at=2),
            golden.released("Deactivated", OFF, seconds=2, at=2, requeued=False),
            golden.no_quota("Deactivated", OFF, at=2),
            {"generation": 3, "spec.active": True},
            {"Requeued": "True Reactivated @3: The workload was reactivated"},
            golden.waits(
                "PendingEvaluation", "Workload is pending evaluation in the scheduling queue", at=3
            ),
            golden.admitted(
                "b9-cq", "1", at=3, Evicted=f"False QuotaReserved @3: Previously: {OFF}"
            ),
        ],
        "Pod sample-*": [golden.pod("sample", *HERE), *golden.RUNS, Ends(golden.GOES)],
    },
    counts={
        "ClusterQueue b9-cq": [NOTHING, ONE, NOTHING, ONE],
        "LocalQueue user-queue": [NOTHING, ONE, NOTHING, ONE],
    },
    ready={
        "Workload job-sample-*": [
            golden.not_started(),
            golden.all_ready(),
            golden.recovers(2),
            golden.not_started(2),
            golden.all_ready(3),
        ]
    },
    events=[
        *golden.queued_events("sample", "b9"),
        *golden.started_events("sample", "b9", "b9-cq"),
        *golden.stopped_events("sample", OFF),
        golden.on_workload(
            "sample", "EvictedDueToDeactivated", OFF, by="kueue-workload-controller"
        ),
    ],
)


async def test_a_workload_is_switched_off_and_on(fleet: Fleet) -> None:
    here = await whole.start(fleet, "b9")
    await here.create(flavor())
    async with here:
        await here.create(cluster_queue("b9-cq"), local_queue("user-queue", "b9-cq"))
        await here.create(golden.job("sample", "user-queue", "1", "b9"))
        for is_active in (False, True):
            await here.passes(seconds=2)
            [name] = await here.names(kinds.WORKLOAD)
            await here.patch(kinds.WORKLOAD, name, {"spec": {"active": is_active}})
        await here.passes(seconds=2)

    RECORDED.compare(here.seen)
    assert len(here.seen.stories("Pod", "sample-*")) == 2
