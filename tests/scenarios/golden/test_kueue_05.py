"""The same three Jobs in a StrictFIFO and in a BestEffortFIFO queue: only the latter lets a small
one pass the one that does not fit.
"""

import pytest
from tests.support import golden, whole
from tests.support.golden import Maybe, Recording
from tests.support.kueue import cluster_queue, flavor, local_queue

from fleetqueue.testing import Fleet

pytestmark = [pytest.mark.rule("kueue 4.3"), pytest.mark.rule("kueue 4.4")]

FULL = (
    "couldn't assign flavors to pod set main: "
    "insufficient unused quota for cpu in flavor default, 1 more needed"
)
NOTHING, ONE = "0 wait, 0 hold 0, 0 admitted 0", "0 wait, 1 hold 3, 1 admitted 3"
WAITING = "1 wait, 1 hold 3, 1 admitted 3"
COUNTS = {
    "strict": [NOTHING, Maybe(ONE), Maybe(WAITING), "2 wait, 1 hold 3, 1 admitted 3"],
    "besteffort": [NOTHING, Maybe(ONE), Maybe(WAITING), "1 wait, 2 hold 4, 2 admitted 4"],
}
SIZES = {"1": "3", "2": "2", "3": "1"}
RUN = ("strict-1", "besteffort-1", "besteffort-3")
KINDS = ("strict", "besteffort")


def of_job(kind: str, number: str) -> dict[str, list[golden.Told]]:
    name, here = f"{kind}-{number}", (f"b5-{kind}", kind)
    cpu = SIZES[number]
    job: list[golden.Told] = [golden.job_made(name, kind, cpu), golden.SUSPENDED]
    workload: list[golden.Told] = [golden.workload_made(name, kind, cpu)]
    told = {f"Job {name}": job, f"Workload job-{name}-*": workload}
    if name in RUN:
        job += golden.started(name, *here)
        workload.append(golden.admitted(f"b5-{kind}", cpu))
        told[f"Pod {name}-*"] = [golden.pod(name, *here), *golden.RUNS]
    elif number == "2":
        workload.append(golden.waits("WaitingForQuota", FULL, cpu=cpu))
    return told


def events(kind: str, number: str) -> list[golden.Event]:
    name = f"{kind}-{number}"
    told = golden.queued_events(name, "b5")
    if name in RUN:
        told += golden.started_events(name, "b5", f"b5-{kind}")
    elif number == "2":
        told.append(golden.on_workload(name, "WaitingForQuota", FULL, "Warning"))
    return told


EACH = [(kind, number) for kind in KINDS for number in SIZES]
RECORDED = Recording(
    stories={
        "ClusterQueue b5-strict": [golden.queue(queueingStrategy="StrictFIFO"), golden.admits()],
        "ClusterQueue b5-besteffort": [golden.queue(), golden.admits()],
        **{
            f"LocalQueue {kind}": [
                golden.local(f"b5-{kind}"),
                Maybe(golden.submits_not()),
                golden.submits(),
            ]
            for kind in KINDS
        },
        **{title: told for each in EACH for title, told in of_job(*each).items()},
    },
    counts={
        f"{queue}{kind}": COUNTS[kind]
        for kind in KINDS
        for queue in ("ClusterQueue b5-", "LocalQueue ")
    },
    ready={
        f"Workload job-{kind}-{number}-*": [golden.not_started()]
        + [golden.all_ready()] * (f"{kind}-{number}" in RUN)
        for kind, number in EACH
    },
    events=[event for each in EACH for event in events(*each)],
)


async def test_only_best_effort_lets_a_small_job_pass(fleet: Fleet) -> None:
    here = await whole.start(fleet, "b5")
    await here.create(flavor())
    async with here:
        await here.create(
            cluster_queue("b5-strict", queueingStrategy="StrictFIFO"),
            cluster_queue("b5-besteffort", queueingStrategy="BestEffortFIFO"),
            local_queue("strict", "b5-strict"),
            local_queue("besteffort", "b5-besteffort"),
        )
        for kind, number in EACH:
            await here.create(golden.job(f"{kind}-{number}", kind, SIZES[number], "b5"))
        await here.passes(seconds=3)

    RECORDED.compare(here.seen)
