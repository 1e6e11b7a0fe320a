"""An External dispatcher that writes under the name of admission, with all that is its, and one
that writes the names alone under a name of its own.

Kueue cannot write down a worker where the names are somebody else's; here it can (IMP-5).
"""

from typing import Any

import pytest
from tests.support import golden
from tests.support import golden_dispatch as dispatch
from tests.support import golden_owners as owners
from tests.support.dispatching import Side
from tests.support.golden import Maybe
from tests.support.golden_dispatch import Sent, nominated
from tests.support.recorder import owned

from fleetqueue.api.kueue import admission_status as status_of
from fleetqueue.kube.resources import Object
from fleetqueue.multikueue import kinds
from fleetqueue.testing import Fleet

pytestmark = [
    pytest.mark.rule("DISP-31"),
    pytest.mark.rule("DISP-32"),
    pytest.mark.rule("IMP-5"),
    pytest.mark.rule("WLF-1"),
    pytest.mark.rule("WLF-2"),
    pytest.mark.rule("FLOW-65"),
]

CONFIG = "multiKueue: {dispatcherName: example.com/dispatcher}\n"
SAMPLE, SECOND = Sent("sample", "mk9"), Sent("second", "mk9")


def on_worker(sent: Sent) -> golden.Recording:
    return golden.Recording(
        stories={
            f"Workload {sent.workload}": sent.runs(),
            f"Job {sent.name}": [*sent.mirror(), *sent.mirror_started()],
            f"Pod {sent.name}-*": sent.pod(),
        },
        ready={f"Workload {sent.workload}": dispatch.READY},
        events=sent.run_events(),
    )


RECORDED = {
    "manager": golden.Recording(
        stories={
            "Job sample": [SAMPLE.job(), dispatch.MAY_BE_SUSPENDED, *SAMPLE.started()],
            "Job second": [SECOND.job(), dispatch.MAY_BE_SUSPENDED, *SECOND.started()],
            "Workload job-sample-*": [
                SAMPLE.made(),
                *SAMPLE.queued("worker2"),
                *SAMPLE.claimed("worker2"),
                {"clusterName": None},
                nominated("worker1"),
            ],
            "Workload job-second-*": [
                SECOND.made(),
                *SECOND.queued("worker1"),
                *SECOND.claimed_from_others("worker1"),
                # The last input takes the worker away and nominates it: it is written down again.
                {"clusterName": None, **nominated("worker1")},
                {"clusterName": "worker1", "nominatedClusterNames": []},
                Maybe({"nominatedClusterNames": None}),
            ],
        },
        ready={f"Workload {sent.workload}": dispatch.READY for sent in (SAMPLE, SECOND)},
        tracks={
            f"Job {sent.name} {fact}": values
            for sent in (SAMPLE, SECOND)
            for fact, values in {"active": [1], "ready": [Maybe(0), 1]}.items()
        },
        events=[
            *SAMPLE.queued_events(),
            *SAMPLE.claimed_events("worker2"),
            *SECOND.queued_events(),
            *SECOND.claimed_events("worker1"),
        ],
    ),
    "worker1": on_worker(SECOND),
    "worker2": on_worker(SAMPLE),
}
FIELDS = {
    owners.READINESS: {owners.UID, *owners.conditions("PodsReady")},
    (dispatch.OTHER, "Update", "status"): {"status.nominatedClusterNames"},
    owners.MAKER: {
        *owners.MADE,
        *owners.under("metadata.finalizers"),
        'metadata.finalizers."kueue.x-k8s.io/resource-in-use"',
        *owners.spec(),
    },
}


async def test_a_dispatcher_may_write_as_admission_or_as_itself(fleet: Fleet) -> None:
    async with await dispatch.start(fleet, "mk9", config=CONFIG) as world:
        here = world.manager
        await here.create(golden.job("sample", "user-queue", "1", "mk9"))
        await world.passes(seconds=2)
        [sample] = await here.workloads()
        await apply_all(here, sample, nominatedClusterNames=["worker2"])
        await world.passes(seconds=3)
        assert await dispatch.refusal(here, sample, clusterName="worker1") == dispatch.IMMUTABLE
        await dispatch.say(here, sample, clusterName=None)
        await dispatch.say(here, sample, nominatedClusterNames=["worker1"])
        both = {"clusterName": "worker2", "nominatedClusterNames": ["worker2"]}
        assert await dispatch.refusal(here, sample, **both) == dispatch.EXCLUSIVE

        await here.create(golden.job("second", "user-queue", "1", "mk9"))
        await world.passes(seconds=2)
        [second] = [each for each in await here.workloads() if _is_of(each, "second")]
        await dispatch.say(here, second, nominatedClusterNames=["worker1"])
        await world.passes(seconds=3)
        both = {"clusterName": "worker1", "nominatedClusterNames": ["worker1", "worker2"]}
        assert await dispatch.refusal(here, second, **both) == dispatch.EXCLUSIVE
        await dispatch.say(here, second, clusterName=None, nominatedClusterNames=["worker1"])
        await world.passes(seconds=3)

    dispatch.compare(world, RECORDED)
    name = sample["metadata"]["name"]
    found = owned(await here.get(kinds.WORKLOAD, name))
    assert {by: found[by] for by in FIELDS} == FIELDS
    assert "status.clusterName" not in found[owners.ADMISSION]


def _is_of(workload: Object, job: str) -> bool:
    return bool(workload["metadata"]["ownerReferences"][0]["name"] == job)


async def apply_all(side: Side, workload: Object, **status: Any) -> None:
    """All that admission owns, and this."""
    body = status_of.admission_patch(workload, **status)
    del body["metadata"]["resourceVersion"]
    await side.client.apply(body, subresource="status", field_manager=status_of.MANAGER)
    await side.fleet.settle()
