"""Output equal to KubeFleet's: nothing on a member, nor on the way there, has a mark of ours."""

import json
from collections.abc import AsyncIterator

import pytest
from tests.support import guided
from tests.support import placement_guide as guide
from tests.support.guided import SPACE, Guided
from tests.support.placing import MEMBERS

from fleetqueue.api.fleet import labels
from fleetqueue.fleet import kinds
from fleetqueue.kube.resources import NAMESPACES, Object, Resource
from fleetqueue.runtime.kinds import JOB
from fleetqueue.testing import Fleet

LOCAL_QUEUES = Resource("kueue.x-k8s.io", "v1beta2", "localqueues", "LocalQueue")
QUEUES = Resource("kueue.x-k8s.io", "v1beta2", "clusterqueues", "ClusterQueue", namespaced=False)
OURS = "fleetqueue.io/"


@pytest.mark.rule("G-8", "G-9", "SEL-20")
async def test_members_see_no_mark_of_ours(fleet: Fleet) -> None:
    world = await guided.start(fleet, is_job_aware=False)
    await world.type(*guide.STEPS, guide.CLUSTER_PLACEMENT, guide.LOCAL_QUEUE)
    await world.type(guide.JOBS)
    early = await world.hub.client.get(JOB, "mock-workload", SPACE)
    assert labels.PLACED in early["metadata"]["annotations"], "the hub itself must know"
    await world.place()

    seen = [obj async for obj in delivered(world)]
    assert {obj["kind"] for obj in seen} >= {"Job", "LocalQueue", "Namespace", "Work"}
    for obj in seen:
        assert OURS not in told(obj), obj["metadata"]["name"]


async def delivered(world: Guided) -> AsyncIterator[Object]:
    for name in MEMBERS:
        side = world.world.members[name]
        for kind in (JOB, LOCAL_QUEUES):
            for obj in await side.all(kind, SPACE):
                yield obj
        yield await side.get(NAMESPACES, SPACE)
        for kind in (QUEUES, kinds.APPLIED_WORK):
            for obj in await side.all(kind):
                yield obj
        for obj in await world.hub.all(kinds.WORK, f"fleet-member-{name}"):
            yield obj


def told(obj: Object) -> str:
    """All of it but what the test itself adds, how long simulated pods run."""
    return json.dumps(obj).replace(guided.RUNS, "")
