"""The only worker cannot be reached for a while: what runs there goes on, what comes waits, and all
is well when the worker is back.
"""

import re

import pytest
from tests.support import golden
from tests.support import golden_dispatch as dispatch
from tests.support.dispatching import NOBODY
from tests.support.golden_dispatch import Sent

from fleetqueue.testing import Fleet

pytestmark = [
    pytest.mark.rule("CONN-3"),
    pytest.mark.rule("CRED-2"),
    pytest.mark.rule("AC-2"),
    pytest.mark.rule("LOST-1"),
    pytest.mark.rule("LOST-3"),
    pytest.mark.rule("HAR-14"),
]

WORKER = "lost-worker"
SAMPLE = Sent("sample", "mk4", check="lost-mk")
LATER = Sent("while-lost", "mk4", check="lost-mk")
READY = [golden.not_started(), golden.all_ready()]
RUNS = {"active": [1], "ready": [golden.Maybe(0), 1]}


def of_worker(sent: Sent) -> dict[str, list[golden.Told]]:
    return {
        f"Workload {sent.workload}": [sent.copy(), sent.admitted(), sent.adopted()],
        f"Job {sent.name}": [*sent.mirror(), *sent.mirror_started()],
        f"Pod {sent.name}-*": sent.pod(),
    }


RECORDED = {
    "manager": golden.Recording(
        stories={
            "Job sample": [SAMPLE.job(), dispatch.MAY_BE_SUSPENDED, *SAMPLE.started()],
            "Job while-lost": [LATER.job(), dispatch.MAY_BE_SUSPENDED, *LATER.started()],
            "Workload job-sample-*": [
                SAMPLE.made(),
                *SAMPLE.queued(WORKER),
                *SAMPLE.claimed(WORKER),
            ],
            "Workload job-while-lost-*": [
                LATER.made(),
                golden.check_pending("lost-mk"),
                golden.waits("Suspended", "ClusterQueue mk4-cq is inactive"),
                LATER.reserved(),
                dispatch.nominated(WORKER),
                *LATER.claimed(WORKER),
            ],
        },
        ready={"Workload job-sample-*": READY, "Workload job-while-lost-*": READY},
        tracks={
            f"Job {name} {fact}": values
            for name in ("sample", "while-lost")
            for fact, values in RUNS.items()
        },
        events=[
            event
            for sent in (SAMPLE, LATER)
            for event in (*sent.queued_events(), *sent.claimed_events(WORKER))
        ],
    ),
    WORKER: golden.Recording(
        stories={**of_worker(SAMPLE), **of_worker(LATER)},
        ready={"Workload job-sample-*": READY, "Workload job-while-lost-*": READY},
        events=[*SAMPLE.run_events(), *LATER.run_events()],
    ),
}
REFUSED = (
    'False ClientConnectionFailed @1: failed to get server groups: Get "https://127.0.0.1:1/api": '
    "dial tcp 127.0.0.1:1: connect: connection refused; connection attempts: {}, "
    "next connection attempt: <t>"
)
CONNECTED = "True Active @1: Connected"
USABLE = "True Active @1: The admission check is active"
UNUSABLE = f"False NoUsableClusters @1: Inactive clusters: [{WORKER}]"
OPEN = "True Ready @1: Can admit new workloads"
CLOSED = (
    "False AdmissionCheckInactive @1: Can't admit new workloads: "
    "references inactive AdmissionCheck(s): lost-mk."
)


async def test_a_worker_that_is_lost_and_found_again_keeps_its_job(fleet: Fleet) -> None:
    async with await dispatch.start(
        fleet, "mk4", workers=(WORKER,), order=(WORKER,), check="lost-mk"
    ) as world:
        await world.manager.create(golden.job("sample", "user-queue", "1", "mk4"))
        await world.passes(seconds=2)
        await world.write_secret(WORKER, server=NOBODY)
        await world.passes(seconds=2)
        await world.manager.create(golden.job("while-lost", "user-queue", "1", "mk4"))
        await world.passes(seconds=5)
        await world.write_secret(WORKER)
        await world.passes(seconds=5)

    dispatch.compare(world, RECORDED)
    seen = world.manager.seen
    told = [_timeless(line) for line in seen.track("MultiKueueCluster", WORKER, "Active") if line]
    assert told == [CONNECTED, REFUSED.format(1), REFUSED.format(2), CONNECTED]
    assert seen.track("AdmissionCheck", "lost-mk", "Active")[-3:] == [USABLE, UNUSABLE, USABLE]
    assert seen.track("ClusterQueue", "mk4-cq", "Active")[-3:] == [OPEN, CLOSED, OPEN]


def _timeless(line: str) -> str:
    return re.sub(r"\d{4}-\d\d-\d\dT[\d:]+Z", "<t>", line)
