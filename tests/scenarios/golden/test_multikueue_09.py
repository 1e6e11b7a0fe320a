"""An External dispatcher that writes under a name of its own: what it may write, and when.

Kueue cannot take names away that somebody else owns, so it never writes down who has the Job, which
runs on the worker all the same. Here the names of others go when the worker is written down
(IMP-5); from then on the answers are those of a workload that has its worker.
"""

from typing import Any

import pytest
from tests.support import golden
from tests.support import golden_dispatch as dispatch
from tests.support import golden_owners as owners
from tests.support.dispatching import Side
from tests.support.golden import Maybe
from tests.support.golden_dispatch import GONE, Sent, nominated
from tests.support.recorder import owned

from fleetqueue.kube.errors import Forbidden
from fleetqueue.testing import Fleet

pytestmark = [
    pytest.mark.rule("DISP-30"),
    pytest.mark.rule("DISP-32"),
    pytest.mark.rule("DISP-34"),
    pytest.mark.rule("DISP-35"),
    pytest.mark.rule("IMP-5"),
    pytest.mark.rule("WLF-1"),
    pytest.mark.rule("WLF-2"),
    pytest.mark.rule("WLF-3"),
]

CONFIG = "multiKueue: {dispatcherName: example.com/dispatcher}\n"
SAMPLE = Sent("sample", "a9")
RECORDED = {
    "manager": golden.Recording(
        stories={
            "Job sample": [SAMPLE.job(), dispatch.MAY_BE_SUSPENDED, *SAMPLE.started()],
            "Workload job-sample-*": [
                SAMPLE.made(),
                *SAMPLE.queued("worker1", "worker1"),
                nominated("no-such-cluster"),
                nominated("worker2"),
                *SAMPLE.claimed_from_others("worker2"),
                {"clusterName": None},
                nominated("worker1"),
            ],
        },
        ready={"Workload job-sample-*": dispatch.READY},
        tracks={"Job sample active": [1], "Job sample ready": [Maybe(0), 1]},
        events=[*SAMPLE.queued_events(), *SAMPLE.claimed_events("worker2")],
    ),
    "worker1": golden.Recording(
        stories={"Workload job-sample-*": [SAMPLE.copy(), SAMPLE.admitted(), GONE]},
        events=SAMPLE.lost_events(),
    ),
    "worker2": golden.Recording(
        stories={
            "Workload job-sample-*": SAMPLE.runs(),
            "Job sample": [*SAMPLE.mirror(), *SAMPLE.mirror_started()],
            "Pod sample-*": SAMPLE.pod(),
        },
        ready={"Workload job-sample-*": dispatch.READY},
        events=SAMPLE.run_events(),
    ),
}


async def test_names_that_somebody_else_owns_do_not_keep_a_job_waiting(fleet: Fleet) -> None:
    # Changes on workers are gathered for a second, as in Kueue: the first name is replaced before
    # anybody sees that its worker admitted the workload.
    async with await dispatch.start(
        fleet, "a9", config=CONFIG, settings={"batch_seconds": 1.0}
    ) as world:
        here = world.manager
        await here.create(golden.job("sample", "user-queue", "1", "a9"))
        await world.passes(seconds=3)
        assert (await here.workload())["status"].get("nominatedClusterNames") is None
        with pytest.raises(Forbidden) as refused:
            await apply(here, clusterName="worker1")
        assert str(refused.value) == NOT_NOMINATED
        await apply(here, nominatedClusterNames=["worker1", "worker1"])
        await world.passes(seconds=0.1)
        await apply(here, nominatedClusterNames=["no-such-cluster"])
        await world.passes(seconds=3)
        await apply(here, nominatedClusterNames=["worker2"])
        await world.passes(seconds=5)
        # Kueue, where the names are still there: "clusterName and nominatedClusterNames are
        # mutually exclusive".
        workload = await here.workload()
        assert await dispatch.refusal(here, workload, clusterName="worker1") == dispatch.IMMUTABLE
        await dispatch.say(here, workload, clusterName=None)
        await dispatch.say(here, workload, nominatedClusterNames=["worker1"])
        both = {"clusterName": "worker2", "nominatedClusterNames": ["worker2"]}
        assert await dispatch.refusal(here, workload, **both) == dispatch.EXCLUSIVE
        await world.passes(seconds=3)

    dispatch.compare(world, RECORDED)
    [workload] = await here.workloads()
    found = owned(workload)
    assert found[dispatch.OTHER, "Update", "status"] == {"status.nominatedClusterNames"}
    assert "status.nominatedClusterNames" not in found[owners.ADMISSION]


NOT_NOMINATED = (
    'admission webhook "vworkload.kb.io" denied the request: status.clusterName: '
    'Invalid value: "worker1": when setting clusterName it must be one of the nominatedClusterNames'
)


async def apply(side: Side, **status: Any) -> None:
    known = await side.workload()
    metadata = {name: known["metadata"][name] for name in ("name", "namespace")}
    body = {"apiVersion": known["apiVersion"], "kind": known["kind"], "metadata": metadata}
    await side.client.apply(
        {**body, "status": status}, subresource="status", field_manager=dispatch.OTHER
    )
    await side.fleet.settle()
