"""A Job that runs longer than it may is stopped and its workload deactivated. Kueue looks at the
evicted workload once more, marks it again and tells it twice; here it is looked at once.
"""

import pytest
from tests.support import golden, whole
from tests.support.golden import Maybe
from tests.support.kueue import cluster_queue, flavor, local_queue

from fleetqueue.testing import Fleet

pytestmark = [pytest.mark.rule("kueue 3.8"), pytest.mark.rule("kueue 3.13")]

HERE = ("b12-cq", "user-queue")
LIMIT = "kueue.x-k8s.io/max-exec-time-seconds"
REASON = "DeactivatedDueToMaximumExecutionTimeExceeded"
WHY = "The workload is deactivated due to exceeding the maximum execution time"
TARGET = "MaximumExecutionTimeExceeded"
COUNTS = [
    "0 wait, 0 hold 0, 0 admitted 0",
    "0 wait, 1 hold 1, 1 admitted 1",
    "0 wait, 0 hold 0, 0 admitted 0",
]
RECORDED = golden.Recording(
    stories={
        "ClusterQueue b12-cq": [golden.queue(), golden.admits()],
        "LocalQueue user-queue": [
            golden.local("b12-cq"),
            Maybe(golden.submits_not()),
            golden.submits(),
        ],
        "Job sample": [
            golden.job_made("sample", "user-queue", "1", facts={f"labels.{LIMIT}": "3"}),
            golden.SUSPENDED,
            *golden.started("sample", *HERE),
            *golden.stopped("sample"),
        ],
        "Workload job-sample-*": [
            golden.workload_made(
                "sample", "user-queue", "1", **{"spec.maximumExecutionTimeSeconds": 3}
            ),
            golden.admitted("b12-cq", "1"),
            {"DeactivationTarget": f"True {TARGET} @1: exceeding the maximum execution time"},
            {"generation": 2, "spec.active": False},
            golden.evicted(REASON, WHY, at=2, cause=TARGET, DeactivationTarget=None),
            golden.released(REASON, WHY, seconds=3, at=2, requeued=False),
            golden.no_quota("Deactivated", "The workload is deactivated", at=2),
        ],
        "Pod sample-*": [golden.pod("sample", *HERE), *golden.RUNS, *golden.GOES],
    },
    counts={"ClusterQueue b12-cq": COUNTS, "LocalQueue user-queue": COUNTS},
    ready={
        "Workload job-sample-*": [
            golden.not_started(),
            golden.all_ready(),
            golden.recovers(2),
            golden.not_started(2),
        ]
    },
    events=[
        *golden.queued_events("sample", "b12"),
        *golden.started_events("sample", "b12", "b12-cq"),
        *golden.stopped_events("sample", WHY),
        golden.on_workload(
            "sample",
            TARGET,
            "The maximum execution time (3s) exceeded",
            "Warning",
            by="kueue-workload-controller",
        ),
        golden.on_workload("sample", f"EvictedDueTo{REASON}", WHY, by="kueue-workload-controller"),
    ],
)


async def test_a_job_that_runs_too_long_is_deactivated(fleet: Fleet) -> None:
    here = await whole.start(fleet, "b12")
    await here.create(flavor())
    async with here:
        await here.create(cluster_queue("b12-cq"), local_queue("user-queue", "b12-cq"))
        await here.create(golden.job("sample", "user-queue", "1", "b12", labels={LIMIT: "3"}))
        await here.passes(seconds=6)

    RECORDED.compare(here.seen)
