"""A Job of a higher priority takes the place of another on a worker; the manager has room for both,
so the other waits on the workers and gets its place back.
"""

import pytest
from tests.support import golden
from tests.support import golden_dispatch as dispatch
from tests.support.golden import Lives, Maybe
from tests.support.golden_dispatch import GONE, Sent
from tests.support.kueue import priority_class

from fleetqueue.testing import Fleet

pytestmark = [
    pytest.mark.rule("PR-5"),
    pytest.mark.rule("multikueue 3.9"),
    pytest.mark.rule("FLOW-50"),
    pytest.mark.rule("FLOW-57"),
]

CLASS = "kueue.x-k8s.io/priority-class"
LOW, HIGH = (
    Sent(
        name,
        "mk11",
        priority=golden.of_class(name, value),
        labels={f"labels.{CLASS}": name},
    )
    for name, value in (("low", 100), ("high", 1000))
)
SECONDS = 2
TOLD = dispatch.evicted_on("worker1")
PREEMPTED = (
    "Preempted to accommodate a workload (UID: <uid>, JobUID: UNKNOWN) due to prioritization in "
    "the ClusterQueue; preemptor path: /mk11-cq; preemptee path: /mk11-cq"
)
PRIORITIES = (
    "; preemptor effective priority: 1000 (base: 1000, boost: 0); "
    "preemptee effective priority: 100 (base: 100, boost: 0)"
)
PREEMPTING = f"{dispatch.NOT_NOW}. Pending the preemption of 1 workload(s)"
RECORDED = {
    "manager": golden.Recording(
        stories={
            "Job low": [
                LOW.job(),
                dispatch.MAY_BE_SUSPENDED,
                *LOW.started(),
                *LOW.put_out(),
                *LOW.started(generation=5),
            ],
            "Job high": [
                HIGH.job(),
                dispatch.MAY_BE_SUSPENDED,
                *HIGH.started(),
                dispatch.ENDED,
            ],
            "Workload job-low-*": [
                LOW.made(),
                *LOW.queued(),
                *LOW.claimed("worker1"),
                *LOW.retried(TOLD, SECONDS),
                LOW.reserved_again(LOW.retry_text(TOLD)),
                dispatch.nominated(),
                *LOW.claimed("worker1"),
            ],
            "Workload job-high-*": [
                HIGH.made(),
                *HIGH.queued(),
                *HIGH.claimed("worker1"),
                golden.FINISHED,
                golden.LET_GO,
            ],
        },
        ready={
            "Workload job-low-*": [
                *dispatch.READY,
                Maybe(golden.recovers()),
                Maybe(golden.not_started()),
                Maybe(golden.all_ready()),
            ],
            "Workload job-high-*": dispatch.READY,
        },
        tracks={
            "Job low active": [1, None, 1],
            "Job high active": [1, None],
            "Job high succeeded": [1],
        },
        events=[
            *LOW.queued_events(),
            *LOW.claimed_events("worker1"),
            LOW.told(TOLD),
            *LOW.retried_events(TOLD),
            *HIGH.queued_events(),
            *HIGH.claimed_events("worker1"),
            *HIGH.finished_events(),
        ],
    ),
    "worker1": golden.Recording(
        stories={
            "Workload job-low-*": Lives(
                [
                    [
                        *LOW.runs(),
                        {
                            **golden.evicted("Preempted", PREEMPTED),
                            "Preempted": f"True InClusterQueue: {PREEMPTED}",
                        },
                        golden.released("Preempted", PREEMPTED, SECONDS),
                        Maybe(
                            {
                                **golden.no_quota("WaitingForQuota", dispatch.NOT_NOW),
                                "resourceRequests[main].resources.cpu": "1",
                            }
                        ),
                        dispatch.OWNER_GONE,
                        GONE,
                    ],
                    [
                        LOW.copy(),
                        golden.waits("WaitingForQuota", dispatch.NOT_NOW, cpu="1"),
                        LOW.admitted(**golden.WAITED),
                        LOW.adopted(),
                    ],
                ]
            ),
            "Workload job-high-*": [
                HIGH.copy(),
                golden.waits("WaitingForPreemptedWorkloads", PREEMPTING, cpu="1"),
                HIGH.admitted(**golden.WAITED),
                HIGH.adopted(),
                golden.FINISHED,
                GONE,
            ],
            "Job low": Lives(
                [
                    [*LOW.mirror(), *LOW.mirror_started(), *LOW.mirror_stopped(), GONE],
                    [*LOW.mirror(), *LOW.mirror_started()],
                ]
            ),
            "Job high": [*HIGH.mirror(), *HIGH.mirror_started(), *golden.COMPLETED, GONE],
            "Pod low-*": Lives([[*LOW.pod(), *golden.GOES], LOW.pod()]),
            "Pod high-*": [*HIGH.pod(), *dispatch.TAKEN_ALONG],
        },
        ready={
            "Workload job-low-*": Lives(
                [
                    [*dispatch.READY, golden.recovers(), golden.not_started(), *golden.STALE],
                    dispatch.READY,
                ]
            ),
            "Workload job-high-*": dispatch.READY,
        },
        events=[
            *LOW.run_events(),
            *golden.stopped_events("low", PREEMPTED),
            golden.on_workload("low", "EvictedDueToPreempted", PREEMPTED),
            golden.on_workload("low", "Preempted", f"{PREEMPTED}{PRIORITIES}"),
            golden.on_workload("low", "WaitingForQuota", dispatch.NOT_NOW, "Warning"),
            *HIGH.run_events(),
            *golden.finished_events("high", "mk11"),
            golden.on_workload(
                "high",
                "PreemptedWorkload",
                "Preempted workload mk11/job-low-* (UID: <uid>) in ClusterQueue "
                f"mk11-cq{PRIORITIES}",
            ),
            golden.on_workload("high", "WaitingForPreemptedWorkloads", PREEMPTING, "Warning"),
        ],
    ),
    "worker2": golden.Recording(
        stories={
            "Workload job-low-*": Lives([LOW.never_admitted(), LOW.never_admitted()]),
            "Workload job-high-*": HIGH.never_admitted(),
        },
        events=[LOW.never_admitted_event(), HIGH.never_admitted_event()],
    ),
}


async def test_a_job_that_is_preempted_on_its_worker_waits_there_again(fleet: Fleet) -> None:
    quota = {"worker1": "1", "worker2": "0"}
    lower = {"withinClusterQueue": "LowerPriority"}
    async with await dispatch.start(fleet, "mk11", quota=quota, preemption=lower) as world:
        for side in (world.manager, *world.workers.values()):
            await side.create(priority_class("low", 100), priority_class("high", 1000))
        low, high = {CLASS: "low"}, {CLASS: "high"}
        await world.manager.create(golden.job("low", "user-queue", "1", "mk11", labels=low))
        await world.passes(seconds=2)
        await world.manager.create(
            golden.job("high", "user-queue", "1", "mk11", labels=high, runs="6")
        )
        await world.passes(seconds=14)

    dispatch.compare(world, RECORDED)
