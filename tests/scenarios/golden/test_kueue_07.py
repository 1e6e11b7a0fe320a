"""A Job of ten pods that is content with two is admitted with the four that fit."""

import pytest
from tests.support import golden, whole
from tests.support.golden import Maybe
from tests.support.kueue import cluster_queue, flavor, local_queue
from tests.support.recorder import owned

from fleetqueue.kube.resources import Resource
from fleetqueue.testing import Fleet

pytestmark = [pytest.mark.rule("kueue 5.6"), pytest.mark.rule("kueue 3.9")]

HERE = ("b7-cq", "user-queue")
OLD_WORKLOAD = Resource("kueue.x-k8s.io", "v1beta1", "workloads", "Workload")
LEAST = "annotations.kueue.x-k8s.io/job-min-parallelism"
COUNTS = [
    "0 wait, 0 hold 0, 0 admitted 0",
    "0 wait, 1 hold 4, 1 admitted 4",
    "0 wait, 0 hold 0, 0 admitted 0",
]
COMBINED = "(combined from similar events): Created pod: sample-*"
RECORDED = golden.Recording(
    stories={
        "ClusterQueue b7-cq": [golden.queue(), golden.admits()],
        "LocalQueue user-queue": [
            golden.local("b7-cq"),
            Maybe(golden.submits_not()),
            golden.submits(),
        ],
        "Job sample": [
            golden.job_made("sample", "user-queue", "1", pods=10, facts={LEAST: "2"}),
            golden.SUSPENDED,
            *golden.started("sample", *HERE, **{"spec.parallelism": 4}),
            *golden.COMPLETED,
        ],
        "Workload job-sample-*": [
            golden.workload_made(
                "sample", "user-queue", "1", count=10, **{"spec.podSets[main].minCount": 2}
            ),
            golden.admitted("b7-cq", "4", count=4),
            {"reclaimablePods[main].count": 2},
            golden.FINISHED,
            golden.LET_GO,
        ],
        "Pod sample-*": [golden.pod("sample", *HERE), *golden.RUNS, *golden.SUCCEEDS],
    },
    counts={"ClusterQueue b7-cq": COUNTS, "LocalQueue user-queue": COUNTS},
    ready={"Workload job-sample-*": [golden.not_started(), golden.all_ready()]},
    events=[
        *golden.queued_events("sample", "b7"),
        *golden.started_events("sample", "b7", "b7-cq"),
        ("Job sample", "Normal", "SuccessfulCreate", COMBINED, "", ""),
        *golden.finished_events("sample", "b7"),
    ],
)


async def test_a_job_starts_with_the_pods_that_fit(fleet: Fleet) -> None:
    here = await whole.start(fleet, "b7")
    await here.create(flavor())
    async with here:
        await here.create(cluster_queue("b7-cq"), local_queue("user-queue", "b7-cq"))
        least = {"kueue.x-k8s.io/job-min-parallelism": "2"}
        sample = golden.job("sample", "user-queue", "1", "b7", pods=10, runs="2", annotations=least)
        await here.create(sample)
        await here.passes(seconds=12)

    RECORDED.compare(here.seen)
    assert len(here.seen.stories("Pod", "sample-*")) == 10
    # The same workload in the old version.
    [found] = (await here.client.list(OLD_WORKLOAD, "b7")).items
    assert found["apiVersion"] == "kueue.x-k8s.io/v1beta1"
    assert found["status"]["reclaimablePods"] == [{"name": "main", "count": 2}]
    [assigned] = found["status"]["admission"]["podSetAssignments"]
    assert (assigned["count"], assigned["resourceUsage"]) == (4, {"cpu": "4"})
    assert {by[0] for by in owned(found)} == {
        "kueue-job-controller-PodsReady",
        "kueue-reclaimable-pods",
        "kueue-admission",
        "kueue",
    }
