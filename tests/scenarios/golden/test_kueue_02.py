"""One Job runs, one waits until it is done, one asks for more than there will ever be, and one for
a resource that the queue does not know.
"""

import pytest
from tests.support import golden, whole
from tests.support.golden import Maybe
from tests.support.kueue import cluster_queue, flavor, local_queue

from fleetqueue.testing import Fleet

pytestmark = [pytest.mark.rule("kueue 5.9"), pytest.mark.rule("kueue 4.4")]

HERE = ("b2-cq", "user-queue")
NOT_NOW = (
    "couldn't assign flavors to pod set main: "
    "insufficient unused quota for cpu in flavor default, 2 more needed"
)
NEVER = (
    "couldn't assign flavors to pod set main: insufficient quota for cpu in flavor default, "
    "previously considered podsets requests (0) + current podset request (5) > maximum capacity (4)"
)
UNKNOWN = (
    "couldn't assign flavors to pod set main: resource example.com/gpu unavailable in ClusterQueue"
)
BOTH = [
    "0 wait, 0 hold 0, 0 admitted 0",
    Maybe("0 wait, 1 hold 3, 1 admitted 3"),
    "1 wait, 1 hold 3, 1 admitted 3",
    "2 wait, 1 hold 3, 1 admitted 3",
    "3 wait, 1 hold 3, 1 admitted 3",
    Maybe("3 wait, 0 hold 0, 0 admitted 0"),
    Maybe("2 wait, 0 hold 0, 0 admitted 0"),
    "2 wait, 1 hold 3, 1 admitted 3",
    "2 wait, 0 hold 0, 0 admitted 0",
]


def asks_for_gpu(template: str) -> dict[str, str]:
    container = f"{template}.spec.containers[c].resources"
    return {f"{container}.{part}.example.com/gpu": "1" for part in ("limits", "requests")}


RECORDED = golden.Recording(
    stories={
        "ClusterQueue b2-cq": [golden.queue(), golden.admits()],
        "LocalQueue user-queue": [
            golden.local("b2-cq"),
            Maybe(golden.submits_not()),
            golden.submits(),
        ],
        **{
            f"Job {name}": [
                golden.job_made(name, "user-queue", "3"),
                golden.SUSPENDED,
                *golden.started(name, *HERE),
                *golden.COMPLETED,
            ]
            for name in ("first", "second")
        },
        "Job too-big": [golden.job_made("too-big", "user-queue", "5"), golden.SUSPENDED],
        "Job uncovered": [
            golden.job_made("uncovered", "user-queue", "1", facts=asks_for_gpu("spec.template")),
            golden.SUSPENDED,
        ],
        "Workload job-first-*": [
            golden.workload_made("first", "user-queue", "3"),
            golden.admitted("b2-cq", "3"),
            golden.FINISHED,
            golden.LET_GO,
        ],
        "Workload job-second-*": [
            golden.workload_made("second", "user-queue", "3"),
            golden.waits("WaitingForQuota", NOT_NOW, cpu="3"),
            golden.admitted("b2-cq", "3", **golden.WAITED),
            golden.FINISHED,
            golden.LET_GO,
        ],
        "Workload job-too-big-*": [
            golden.workload_made("too-big", "user-queue", "5"),
            golden.waits("ExceedsMaxQuota", NEVER, cpu="5"),
        ],
        "Workload job-uncovered-*": [
            golden.workload_made(
                "uncovered", "user-queue", "1", **asks_for_gpu("spec.podSets[main].template")
            ),
            golden.waits("NoMatchingFlavor", UNKNOWN, **{"cpu": "1", "example.com/gpu": "1"}),
        ],
        **{
            f"Pod {name}-*": [golden.pod(name, *HERE), *golden.RUNS, *golden.SUCCEEDS]
            for name in ("first", "second")
        },
    },
    counts={"ClusterQueue b2-cq": BOTH, "LocalQueue user-queue": BOTH},
    ready={
        "Workload job-first-*": [golden.not_started(), golden.all_ready()],
        "Workload job-second-*": [golden.not_started(), golden.all_ready()],
        "Workload job-too-big-*": [golden.not_started()],
        "Workload job-uncovered-*": [golden.not_started()],
    },
    events=[
        *(
            event
            for name in ("first", "second")
            for event in (
                *golden.queued_events(name, "b2"),
                *golden.started_events(name, "b2", "b2-cq"),
                *golden.finished_events(name, "b2"),
            )
        ),
        *golden.queued_events("too-big", "b2"),
        *golden.queued_events("uncovered", "b2"),
        golden.on_workload("second", "WaitingForQuota", NOT_NOW, "Warning"),
        golden.on_workload("too-big", "ExceedsMaxQuota", NEVER, "Warning"),
        golden.on_workload("uncovered", "NoMatchingFlavor", UNKNOWN, "Warning"),
    ],
)


async def test_jobs_wait_for_quota_each_with_its_reason(fleet: Fleet) -> None:
    here = await whole.start(fleet, "b2")
    await here.create(flavor())
    async with here:
        await here.create(cluster_queue("b2-cq"), local_queue("user-queue", "b2-cq"))
        await here.create(golden.job("first", "user-queue", "3", "b2", runs="6"))
        await here.create(golden.job("second", "user-queue", "3", "b2", runs="2"))
        await here.passes(seconds=1.1)
        await here.create(golden.job("too-big", "user-queue", "5", "b2"))
        await here.passes(seconds=1.1)
        gpu = {"example.com/gpu": "1"}
        both = {"requests": {"cpu": "1", **gpu}, "limits": gpu}
        await here.create(golden.job("uncovered", "user-queue", "1", "b2", resources=both))
        await here.passes(seconds=12)

    RECORDED.compare(here.seen)
