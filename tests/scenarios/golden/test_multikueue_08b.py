"""The Incremental dispatcher, one worker at a time: the first has no quota, and the second, which
has room, is not asked before the round is over.
"""

import pytest
from tests.support import golden
from tests.support import golden_dispatch as dispatch
from tests.support.golden_dispatch import Sent

from fleetqueue.testing import Fleet

pytestmark = [pytest.mark.rule("DISP-22"), pytest.mark.rule("DISP-23")]

CONFIG = """
multiKueue:
  dispatcherName: kueue.x-k8s.io/multikueue-dispatcher-incremental
  incrementalDispatcherConfig: {stepSize: 1}
"""
SAMPLE = Sent("sample", "mk8")
RECORDED = {
    "manager": golden.Recording(
        stories={
            "Job sample": [SAMPLE.job()],
            "Workload job-sample-*": [SAMPLE.made(), *SAMPLE.queued("worker1")],
        },
        ready={"Workload job-sample-*": [golden.not_started()]},
        events=SAMPLE.queued_events(),
    ),
    "worker1": golden.Recording(
        stories={"Workload job-sample-*": SAMPLE.never_admitted()[:-1]},
        events=[SAMPLE.never_admitted_event()],
    ),
}


async def test_a_round_asks_one_worker_and_waits_for_it(fleet: Fleet) -> None:
    quota = {"worker1": "0"}
    async with await dispatch.start(fleet, "mk8", quota=quota, config=CONFIG) as world:
        await world.manager.create(golden.job("sample", "user-queue", "1", "mk8"))
        await world.passes(seconds=10)

    dispatch.compare(world, RECORDED)
