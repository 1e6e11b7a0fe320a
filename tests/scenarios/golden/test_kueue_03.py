"""A Job of high priority preempts the one that fills the queue, which comes back afterwards."""

import pytest
from tests.support import golden, whole
from tests.support.golden import Maybe
from tests.support.kueue import cluster_queue, flavor, local_queue, priority_class

from fleetqueue.testing import Fleet

pytestmark = [pytest.mark.rule("kueue 7.8"), pytest.mark.rule("kueue 3.4")]

HERE = ("b3-cq", "user-queue")
CLASS = "kueue.x-k8s.io/priority-class"
WHY = (
    "Preempted to accommodate a workload (UID: <uid>, JobUID: <uid>) due to prioritization in the "
    "ClusterQueue; preemptor path: /b3-cq; preemptee path: /b3-cq"
)
FULL = (
    "couldn't assign flavors to pod set main: "
    "insufficient unused quota for cpu in flavor default, 4 more needed"
)
PENDING = f"{FULL}. Pending the preemption of 1 workload(s)"
PRIORITIES = (
    "preemptor effective priority: 1000 (base: 1000, boost: 0); "
    "preemptee effective priority: 100 (base: 100, boost: 0)"
)
COUNTS = [
    "0 wait, 0 hold 0, 0 admitted 0",
    "0 wait, 1 hold 4, 1 admitted 4",
    "1 wait, 1 hold 4, 1 admitted 4",
    Maybe("1 wait, 0 hold 0, 0 admitted 0"),
    "0 wait, 1 hold 4, 1 admitted 4",
]
RECORDED = golden.Recording(
    stories={
        "ClusterQueue b3-cq": [
            golden.queue(preemption__withinClusterQueue="LowerPriority"),
            golden.admits(),
        ],
        "LocalQueue user-queue": [
            golden.local("b3-cq"),
            Maybe(golden.submits_not()),
            golden.submits(),
        ],
        "Job low": [
            golden.job_made("low", "user-queue", "4", facts={f"labels.{CLASS}": "low"}),
            golden.SUSPENDED,
            *golden.started("low", *HERE),
            *golden.stopped("low"),
            *golden.started("low", *HERE, generation=5),
        ],
        "Job high": [
            golden.job_made("high", "user-queue", "4", facts={f"labels.{CLASS}": "high"}),
            golden.SUSPENDED,
            *golden.started("high", *HERE),
            *golden.COMPLETED,
        ],
        "Workload job-low-*": [
            golden.workload_made("low", "user-queue", "4", **golden.of_class("low", 100)),
            golden.admitted("b3-cq", "4"),
            golden.evicted("Preempted", WHY, Preempted=f"True InClusterQueue: {WHY}"),
            golden.released("Preempted", WHY, seconds=2),
            {
                **golden.no_quota("WaitingForQuota", FULL),
                "resourceRequests[main].resources.cpu": "4",
            },
            golden.admitted(
                "b3-cq",
                "4",
                Evicted=f"False QuotaReserved @1: Previously: {WHY}",
                Preempted=f"False QuotaReserved @1: Previously: {WHY}",
                **golden.WAITED,
            ),
        ],
        "Workload job-high-*": [
            golden.workload_made("high", "user-queue", "4", **golden.of_class("high", 1000)),
            golden.waits("WaitingForPreemptedWorkloads", PENDING, cpu="4"),
            golden.admitted("b3-cq", "4", **golden.WAITED),
            golden.FINISHED,
            golden.LET_GO,
        ],
        "Pod high-*": [golden.pod("high", *HERE), *golden.RUNS, *golden.SUCCEEDS],
        "Pod low-*": [golden.pod("low", *HERE), *golden.RUNS, golden.Ends(golden.GOES)],
    },
    counts={"ClusterQueue b3-cq": COUNTS, "LocalQueue user-queue": COUNTS},
    ready={
        "Workload job-low-*": [
            golden.not_started(),
            golden.all_ready(),
            golden.recovers(),
            golden.not_started(),
            *golden.STALE,
            golden.all_ready(),
        ],
        "Workload job-high-*": [golden.not_started(), golden.all_ready()],
    },
    events=[
        *golden.queued_events("low", "b3"),
        *golden.started_events("low", "b3", "b3-cq"),
        *golden.stopped_events("low", WHY),
        *golden.queued_events("high", "b3"),
        *golden.started_events("high", "b3", "b3-cq"),
        *golden.finished_events("high", "b3"),
        golden.on_workload("high", "WaitingForPreemptedWorkloads", PENDING, "Warning"),
        golden.on_workload(
            "high",
            "PreemptedWorkload",
            f"Preempted workload b3/job-low-* (UID: <uid>) in ClusterQueue b3-cq; {PRIORITIES}",
        ),
        golden.on_workload("low", "EvictedDueToPreempted", WHY),
        golden.on_workload("low", "Preempted", f"{WHY}; {PRIORITIES}"),
        golden.on_workload("low", "WaitingForQuota", FULL, "Warning"),
    ],
)


async def test_a_job_of_higher_priority_takes_the_place_of_another(fleet: Fleet) -> None:
    here = await whole.start(fleet, "b3")
    await here.create(flavor(), priority_class("low", 100), priority_class("high", 1000))
    async with here:
        preemption = {"withinClusterQueue": "LowerPriority"}
        await here.create(cluster_queue("b3-cq", preemption=preemption))
        await here.create(local_queue("user-queue", "b3-cq"))
        low, high = {CLASS: "low"}, {CLASS: "high"}
        await here.create(golden.job("low", "user-queue", "4", "b3", labels=low))
        await here.passes(seconds=2)
        await here.create(golden.job("high", "user-queue", "4", "b3", labels=high, runs="3"))
        await here.passes(seconds=8)

    RECORDED.compare(here.seen)
    assert len(here.seen.stories("Pod", "low-*")) == 2
