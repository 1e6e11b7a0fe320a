"""A plain Pod goes to a worker: the local one keeps its gates, and shows what its mirror does."""

import pytest
from tests.support import golden
from tests.support import golden_dispatch as dispatch
from tests.support.golden_dispatch import GONE
from tests.support.golden_dispatch_pods import SHOWS_RUNNING, SUCCEEDED, SentPod

from fleetqueue.runtime.stages import RUN_SECONDS
from fleetqueue.testing import Fleet, named

pytestmark = [
    pytest.mark.rule("POD-1"),
    pytest.mark.rule("POD-2"),
    pytest.mark.rule("POD-3"),
    pytest.mark.rule("EVT-2"),
]

MANAGED = {"finalizers": ["kueue.x-k8s.io/managed"]}
SAMPLE = SentPod("sample", "mk6", facts=MANAGED)
FINISHED = {"Finished": "True Succeeded @1"}
RECORDED = {
    "manager": golden.Recording(
        stories={
            "Pod sample": [*SAMPLE.pod(), SHOWS_RUNNING, SUCCEEDED, golden.LET_GO],
            "Workload pod-sample-*": [
                SAMPLE.made(),
                *SAMPLE.queued(),
                *SAMPLE.claimed("worker1"),
                FINISHED,
                golden.LET_GO,
            ],
        },
        ready={"Workload pod-sample-*": dispatch.READY},
        events=[
            *SAMPLE.queued_events(),
            *SAMPLE.claimed_events("worker1"),
            *SAMPLE.finished_events(),
        ],
    ),
    "worker1": golden.Recording(
        stories={
            "Pod sample": [
                *SAMPLE.mirror(),
                SUCCEEDED,
                golden.LET_GO,
                {"deletionGracePeriodSeconds": 0, "deletionTimestamp": "<t>", "generation": 3},
                GONE,
            ],
            "Workload pod-sample-*": [*SAMPLE.runs(), FINISHED, GONE],
        },
        ready={"Workload pod-sample-*": dispatch.READY},
        events=[*SAMPLE.run_events(), *SAMPLE.finished_events()],
    ),
    "worker2": golden.Recording(
        stories={"Workload pod-sample-*": SAMPLE.lost()},
        chance=SAMPLE.lost_events(),
    ),
}


async def test_a_pod_runs_on_a_worker_and_shows_it_here(fleet: Fleet) -> None:
    container = {"name": "c", "image": "busybox", "resources": {"requests": {"cpu": "1"}}}
    pod = named(
        "Pod",
        "v1",
        "sample",
        "mk6",
        labels={golden.QUEUE_NAME: "user-queue"},
        annotations={RUN_SECONDS: "3"},
        spec={"restartPolicy": "Never", "containers": [container]},
    )
    async with await dispatch.start(fleet, "mk6", frameworks=("batch/job", "pod")) as world:
        await world.manager.create(pod)
        await world.passes(seconds=8)

    dispatch.compare(world, RECORDED)
