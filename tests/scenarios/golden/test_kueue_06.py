"""Queues that cannot admit, each with its reason, and what their Jobs are told; some of them can
once what was missing arrives.
"""

from typing import Any

import pytest
from tests.support import golden, whole
from tests.support.golden import Maybe
from tests.support.kueue import admission_check, cluster_queue, flavor, local_queue

from fleetqueue.admission import kinds
from fleetqueue.testing import Fleet

pytestmark = [
    pytest.mark.rule("kueue 3.2"),
    pytest.mark.rule("kueue 4.6"),
    pytest.mark.rule("kueue 4.7"),
]

CANNOT = "Can't admit new workloads:"
MISMATCH = "workload namespace doesn't match ClusterQueue selector"
NOTHING, ONE = "0 wait, 0 hold 0, 0 admitted 0", "0 wait, 1 hold 1, 1 admitted 1"
WAITING = "1 wait, 0 hold 0, 0 admitted 0"
CHECKS = "admissionChecksStrategy.admissionChecks"
QUEUES: dict[str, list[golden.Told]] = {
    "noflavor": [
        golden.queue(flavor="b6-missing"),
        {
            "Active": f"False FlavorNotFound @1: {CANNOT} "
            "references missing ResourceFlavor(s): b6-missing."
        },
        golden.admits(),
    ],
    "hold": [
        golden.queue(stopPolicy="Hold"),
        {"Active": f"False Stopped @1: {CANNOT} is stopped."},
        {"generation": 2, "spec.stopPolicy": "None"},
        golden.admits(2),
    ],
    "nocheck": [
        golden.queue(**{f"{CHECKS}[b6-no-such-check]": {}}),
        {
            "Active": f"False AdmissionCheckNotFound @1: {CANNOT} "
            "references missing AdmissionCheck(s): b6-no-such-check."
        },
    ],
    "ok": [golden.queue(), golden.admits()],
    "nomatch": [
        {
            key: value
            for key, value in golden.queue(namespaceSelector__matchLabels__team="x").items()
            if key != "spec.namespaceSelector"
        },
        golden.admits(),
    ],
    "inactivecheck": [
        golden.queue(**{f"{CHECKS}[b6-inactive-check]": {}}),
        {
            "Active": f"False AdmissionCheckInactive @1: {CANNOT} "
            "references inactive AdmissionCheck(s): b6-inactive-check."
        },
    ],
    "does-not-exist": [golden.queue(), golden.admits()],
}
LOCALS: dict[str, list[golden.Told]] = {
    "noflavor": [golden.local("b6-noflavor"), golden.submits_not(), golden.submits()],
    "hold": [golden.local("b6-hold"), golden.submits_not(), golden.submits()],
    "nocheck": [golden.local("b6-nocheck"), golden.submits_not()],
    "nocq": [
        golden.local("b6-does-not-exist"),
        golden.submits_not("ClusterQueueDoesNotExist"),
        Maybe(golden.submits_not()),
        golden.submits(),
    ],
    "nomatch": [golden.local("b6-nomatch"), golden.submits()],
    "inactivecheck": [golden.local("b6-inactivecheck"), golden.submits_not()],
    "lqhold": [
        golden.local("b6-ok", "Hold"),
        {"Active": "False Stopped @1: LocalQueue is stopped"},
        {"generation": 2, "spec.stopPolicy": "None"},
        golden.submits(2),
    ],
}
TOLD: dict[str, list[golden.Told]] = {
    "noflavor": [
        golden.waits("Suspended", "ClusterQueue b6-noflavor is inactive"),
        golden.SOON,
        golden.admitted("b6-noflavor", "1", flavor="b6-missing"),
    ],
    "hold": [
        golden.waits("Suspended", "ClusterQueue b6-hold is inactive"),
        golden.SOON,
        golden.admitted("b6-hold", "1"),
    ],
    "nocheck": [
        golden.check_pending("b6-no-such-check"),
        golden.waits("Suspended", "ClusterQueue b6-nocheck is inactive"),
    ],
    "nocq": [
        golden.waits("Misconfigured", "ClusterQueue b6-does-not-exist doesn't exist"),
        golden.SOON,
        golden.admitted("b6-does-not-exist", "1"),
    ],
    "nomatch": [
        # The scheduler and the workload's own controller find the same; both tell it.
        golden.Either(
            [golden.waits("Misconfigured", MISMATCH, cpu="1")],
            [
                golden.waits("Misconfigured", MISMATCH),
                {"resourceRequests[main].resources.cpu": "1"},
            ],
        )
    ],
    "inactivecheck": [
        golden.check_pending("b6-inactive-check"),
        golden.waits("Suspended", "ClusterQueue b6-inactivecheck is inactive"),
    ],
    "lqhold": [
        golden.waits("Suspended", "LocalQueue lqhold is inactive"),
        golden.SOON,
        golden.admitted("b6-ok", "1"),
    ],
    "no-such-queue": [golden.waits("Misconfigured", "LocalQueue no-such-queue doesn't exist")],
}
RUN = {"noflavor": "b6-noflavor", "hold": "b6-hold", "nocq": "b6-does-not-exist", "lqhold": "b6-ok"}


def of_job(queue: str) -> dict[str, list[golden.Told]]:
    name = f"j-{queue}"
    job: list[golden.Told] = [golden.job_made(name, queue, "1"), golden.SUSPENDED]
    if queue in RUN:
        job += golden.started(name, RUN[queue], queue)
    workload = [golden.workload_made(name, queue, "1"), *TOLD[queue]]
    return {f"Job {name}": job, f"Workload job-{name}-*": workload}


def events(queue: str) -> list[golden.Event]:
    name = f"j-{queue}"
    told = golden.queued_events(name, "b6")
    if queue in RUN:
        told += golden.started_events(name, "b6", RUN[queue])
    if queue == "nomatch":
        told.append(golden.on_workload(name, "Misconfigured", MISMATCH, "Warning"))
    return told


AGAIN = [Maybe("1 wait, 1 hold 1, 1 admitted 1"), Maybe(ONE)]
EMPTY = "0 wait, 0 hold nothing, 0 admitted nothing"
COUNTS: dict[str, list[Any]] = {
    "noflavor": [NOTHING, WAITING, ONE],
    "hold": [NOTHING, WAITING, ONE, *AGAIN],
    "nocheck": [NOTHING, WAITING],
    "nomatch": [NOTHING, WAITING],
    "inactivecheck": [NOTHING, WAITING],
}
RECORDED = golden.Recording(
    stories={
        **{f"ClusterQueue b6-{name}": told for name, told in QUEUES.items()},
        **{f"LocalQueue {name}": told for name, told in LOCALS.items()},
        **{title: told for queue in TOLD for title, told in of_job(queue).items()},
        "ResourceFlavor b6-missing": [{**golden.IN_USE, "generation": 1}],
    },
    counts={
        **{f"ClusterQueue b6-{name}": told for name, told in COUNTS.items()},
        **{f"LocalQueue {name}": told for name, told in COUNTS.items()},
        "ClusterQueue b6-ok": [NOTHING, ONE],
        "LocalQueue lqhold": [NOTHING, Maybe(WAITING), ONE],
        "ClusterQueue b6-does-not-exist": [Maybe(WAITING), ONE],
        "LocalQueue nocq": [
            EMPTY,
            "1 wait, 0 hold nothing, 0 admitted nothing",
            Maybe(WAITING),
            ONE,
        ],
    },
    ready={
        f"Workload job-j-{queue}-*": [golden.not_started(), *[golden.all_ready()] * (queue in RUN)]
        for queue in TOLD
    },
    events=[event for queue in TOLD for event in events(queue)],
)


async def test_queues_that_cannot_admit_say_why(fleet: Fleet) -> None:
    here = await whole.start(fleet, "b6")
    await here.create(flavor())
    async with here:
        await here.create(
            cluster_queue("b6-noflavor", {"b6-missing": {"cpu": "4"}}),
            cluster_queue("b6-hold", stopPolicy="Hold"),
            cluster_queue("b6-nocheck", **with_check("b6-no-such-check")),
            cluster_queue("b6-ok"),
            cluster_queue("b6-nomatch", namespaceSelector={"matchLabels": {"team": "x"}}),
            admission_check("b6-inactive-check", "example.com/none"),
            cluster_queue("b6-inactivecheck", **with_check("b6-inactive-check")),
        )
        for name in ("noflavor", "hold", "nocheck", "nomatch", "inactivecheck"):
            await here.create(local_queue(name, f"b6-{name}"))
        await here.create(local_queue("nocq", "b6-does-not-exist"))
        await here.create(local_queue("lqhold", "b6-ok", stopPolicy="Hold"))
        await here.create(*(golden.job(f"j-{queue}", queue, "1", "b6") for queue in TOLD))
        await here.passes(seconds=2)

        await here.create(flavor("b6-missing"))
        again = {"spec": {"stopPolicy": "None"}}
        await here.patch(kinds.CLUSTER_QUEUE, "b6-hold", again)
        await here.patch(kinds.LOCAL_QUEUE, "lqhold", again)
        await here.create(cluster_queue("b6-does-not-exist"))
        await here.passes(seconds=2)

    RECORDED.compare(here.seen)


def with_check(name: str) -> dict[str, Any]:
    return {"admissionChecksStrategy": {"admissionChecks": [{"name": name}]}}
