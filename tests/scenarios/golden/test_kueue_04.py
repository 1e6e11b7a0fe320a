"""Two teams share a cohort: one borrows what the other does not use, and gives it back."""

import pytest
from tests.support import golden, whole
from tests.support.golden import Maybe
from tests.support.kueue import cluster_queue, flavor, local_queue

from fleetqueue.testing import Fleet

pytestmark = [pytest.mark.rule("kueue 7.1"), pytest.mark.rule("kueue 6.5")]

WHY = (
    "Preempted to accommodate a workload (UID: <uid>, JobUID: <uid>) due to reclamation within the "
    "cohort; preemptor path: /b4-cohort/b4-team-b; preemptee path: /b4-cohort/b4-team-a"
)
FULL = (
    "couldn't assign flavors to pod set main: "
    "insufficient unused quota for cpu in flavor default, 2 more needed"
)
PENDING = f"{FULL}. Pending the preemption of 1 workload(s)"
OVERTAKEN = "Workload no longer fits after processing another workload"
PRIORITIES = (
    "preemptor effective priority: 0 (base: 0, boost: 0); "
    "preemptee effective priority: 0 (base: 0, boost: 0)"
)
A, B = ("b4-team-a", "team-a"), ("b4-team-b", "team-b")
NOTHING = "0 wait, 0 hold 0, 0 admitted 0"
RECORDED = golden.Recording(
    stories={
        "ClusterQueue b4-team-a": [golden.queue(cohortName="b4-cohort"), golden.admits()],
        "ClusterQueue b4-team-b": [
            golden.queue(cohortName="b4-cohort", preemption__reclaimWithinCohort="Any"),
            golden.admits(),
        ],
        "LocalQueue team-a": [golden.local("b4-team-a"), golden.submits()],
        "LocalQueue team-b": [
            golden.local("b4-team-b"),
            Maybe(golden.submits_not()),
            golden.submits(),
        ],
        "Job a1": [
            golden.job_made("a1", "team-a", "3"),
            golden.SUSPENDED,
            *golden.started("a1", *A),
        ],
        "Job a2": [
            golden.job_made("a2", "team-a", "3"),
            golden.SUSPENDED,
            *golden.started("a2", *A),
            *golden.stopped("a2"),
        ],
        "Job b1": [
            golden.job_made("b1", "team-b", "4"),
            golden.SUSPENDED,
            *golden.started("b1", *B),
        ],
        "Workload job-a1-*": [
            golden.workload_made("a1", "team-a", "3"),
            golden.admitted("b4-team-a", "3"),
        ],
        "Workload job-a2-*": [
            golden.workload_made("a2", "team-a", "3"),
            golden.admitted("b4-team-a", "3"),
            golden.evicted("Preempted", WHY, Preempted=f"True InCohortReclamation: {WHY}"),
            golden.released("Preempted", WHY, seconds=1),
            {
                **golden.no_quota("WaitingForQuota", OVERTAKEN),
                "resourceRequests[main].resources.cpu": "3",
            },
            golden.no_quota("WaitingForQuota", FULL),
        ],
        "Workload job-b1-*": [
            golden.workload_made("b1", "team-b", "4"),
            golden.waits("WaitingForPreemptedWorkloads", PENDING, cpu="4"),
            golden.admitted("b4-team-b", "4", **golden.WAITED),
        ],
        "Pod a1-*": [golden.pod("a1", *A), *golden.RUNS],
        "Pod a2-*": [golden.pod("a2", *A), *golden.RUNS, *golden.GOES],
        "Pod b1-*": [golden.pod("b1", *B), *golden.RUNS],
    },
    counts={
        "ClusterQueue b4-team-a": [
            NOTHING,
            Maybe("0 wait, 1 hold 3, 1 admitted 3"),
            "0 wait, 2 hold 6 (2 borrowed), 2 admitted 6 (2 borrowed)",
            "1 wait, 1 hold 3, 1 admitted 3",
        ],
        "LocalQueue team-a": [
            NOTHING,
            Maybe("0 wait, 1 hold 3, 1 admitted 3"),
            "0 wait, 2 hold 6, 2 admitted 6",
            "1 wait, 1 hold 3, 1 admitted 3",
        ],
        "ClusterQueue b4-team-b": [NOTHING, "0 wait, 1 hold 4, 1 admitted 4"],
        "LocalQueue team-b": [NOTHING, "0 wait, 1 hold 4, 1 admitted 4"],
    },
    ready={
        "Workload job-a1-*": [golden.not_started(), golden.all_ready()],
        "Workload job-a2-*": [
            golden.not_started(),
            golden.all_ready(),
            golden.recovers(),
            golden.not_started(),
            *golden.STALE,
        ],
        "Workload job-b1-*": [golden.not_started(), golden.all_ready()],
    },
    events=[
        *(event for name in ("a1", "a2", "b1") for event in golden.queued_events(name, "b4")),
        *golden.started_events("a1", "b4", "b4-team-a"),
        *golden.started_events(
            "a2", "b4", "b4-team-a", "; Flavors considered: main: default(Fit;borrow=1)"
        ),
        *golden.stopped_events("a2", WHY),
        *golden.started_events("b1", "b4", "b4-team-b"),
        golden.on_workload("b1", "WaitingForPreemptedWorkloads", PENDING, "Warning"),
        golden.on_workload(
            "b1",
            "PreemptedWorkload",
            f"Preempted workload b4/job-a2-* (UID: <uid>) in ClusterQueue b4-team-a; {PRIORITIES}",
        ),
        golden.on_workload("a2", "EvictedDueToPreempted", WHY),
        golden.on_workload("a2", "Preempted", f"{WHY}; {PRIORITIES}"),
        golden.on_workload("a2", "WaitingForQuota", OVERTAKEN, "Warning"),
        golden.on_workload("a2", "WaitingForQuota", FULL, "Warning"),
    ],
)


async def test_what_was_lent_is_reclaimed(fleet: Fleet) -> None:
    here = await whole.start(fleet, "b4")
    await here.create(flavor())
    async with here:
        reclaims = {"reclaimWithinCohort": "Any"}
        await here.create(
            cluster_queue("b4-team-a", cohortName="b4-cohort"),
            cluster_queue("b4-team-b", cohortName="b4-cohort", preemption=reclaims),
            local_queue("team-a", "b4-team-a"),
            local_queue("team-b", "b4-team-b"),
        )
        await here.create(golden.job("a1", "team-a", "3", "b4"))
        await here.passes(seconds=1.1)
        await here.create(golden.job("a2", "team-a", "3", "b4"))
        await here.passes(seconds=1.1)
        await here.create(golden.job("b1", "team-b", "4", "b4"))
        await here.passes(seconds=3)

    RECORDED.compare(here.seen)
