"""Jobs that come faster than one could look: two hundred of them, five each second, each with a
placement of its own. The test itself plays the members' queues: what arrives takes room for a
while, and ends.
"""

from collections import Counter
from typing import Any

import pytest
from tests.support import placement_guide as guide
from tests.support import placing
from tests.support.guided import RP, SPACE
from tests.support.placing import MEMBERS, Side, World

from fleetqueue.fleet.settings import MemberSettings
from fleetqueue.kube.resources import Object
from fleetqueue.runtime.kinds import JOB, NODE, POD
from fleetqueue.testing import Fleet, namespace

pytestmark = pytest.mark.rule("G-10")
COUNT, EACH_SECONDS = 200, 0.2
DECIDED_AFTER, DONE_AFTER = 5, 25
"""So many jobs later: a second, and five."""
NOWHERE = (7, 90, 150)
"""They want a cluster that there is not."""
NOTHING = (40, 41)
"""They select a job that there is not."""
AGENT = MemberSettings("", provider="fleetqueue")
ROOM = {"cpu": "16", "memory": "64Gi", "pods": "110"}
TAKEN = {"cpu": "1", "memory": "4Gi"}
COMPLETE = {
    "startTime": "2026-01-01T00:00:00Z",
    "completionTime": "2026-01-01T00:01:00Z",
    "succeeded": 1,
    "uncountedTerminatedPods": {},
    "conditions": [
        {"type": "SuccessCriteriaMet", "status": "True"},
        {"type": "Complete", "status": "True"},
    ],
}


async def test_each_of_two_hundred_jobs_is_decided_on_at_once_and_for_itself(fleet: Fleet) -> None:
    world = await placing.start(fleet, agent=AGENT)
    for side in (world.hub, *world.members.values()):
        await side.create(namespace(SPACE))
    for side in world.members.values():
        await side.create({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node"}})
        await side.client.patch(NODE, "node", {"status": {"capacity": ROOM, "allocatable": ROOM}},
                                subresource="status")  # fmt: skip
    await world.passes(seconds=20)
    chosen = await submit_all(world)

    unmet = [number for number, cluster in enumerate(chosen) if not cluster]
    assert unmet == list(NOWHERE), "nobody waits for one that fails"
    counts = Counter(cluster for cluster in chosen if cluster)
    assert set(counts) == set(MEMBERS)
    assert max(counts.values()) - min(counts.values()) <= COUNT // 10, counts

    await world.passes(seconds=20)
    for number, cluster in enumerate(chosen):
        found = await world.hub.get(RP, name_of(number), SPACE)
        assert cluster == cluster_of(found), "what was decided stays"
        assert bool(guide.untrue(found["status"])) is (number in NOWHERE)
        assert bool(found["status"].get("selectedResources")) is (number not in NOTHING)
    arrived = [len(await side.all(JOB, SPACE)) for side in world.members.values()]
    assert sum(arrived) == COUNT - len(NOWHERE) - len(NOTHING)


async def submit_all(world: World) -> list[str]:
    """The cluster of each job as it was a second after it came; "": none."""
    chosen: list[str] = []
    for number, (job, placement) in enumerate(guide.submissions(COUNT)):
        if number in NOWHERE:
            placement["spec"]["policy"] = {"placementType": "PickFixed", "clusterNames": ["no"]}
        if number in NOTHING:
            placement["spec"]["resourceSelectors"][0]["name"] = "missing"
        await world.hub.create(job, placement)
        await world.fleet.passes(seconds=EACH_SECONDS)
        await look_back(world, chosen, number)
    for number in range(COUNT, COUNT + DONE_AFTER):
        await world.fleet.passes(seconds=EACH_SECONDS)
        await look_back(world, chosen, number)
    return chosen


async def look_back(world: World, chosen: list[str], number: int) -> None:
    """One that came a second ago is decided on, and takes room; an older one ends."""
    if DECIDED_AFTER <= number < COUNT + DECIDED_AFTER:
        decided = await decision(world, number - DECIDED_AFTER)
        chosen.append(decided)
        if decided and number - DECIDED_AFTER not in NOTHING:
            await run(world.members[decided], number - DECIDED_AFTER)
    if number >= DONE_AFTER:
        done = number - DONE_AFTER
        if chosen[done] and done not in NOTHING:
            await end(world.members[chosen[done]], done)


async def decision(world: World, number: int) -> str:
    found = await world.hub.get(RP, name_of(number), SPACE)
    types = {each["type"] for each in (found.get("status") or {}).get("conditions") or ()}
    assert "ResourcePlacementScheduled" in types, f"{number} waits"
    return cluster_of(found)


async def run(side: Side, number: int) -> None:
    assert await side.find(JOB, f"job-{number:03}", SPACE), f"{number} has not arrived"
    container: dict[str, Any] = {"name": "c", "image": "i", "resources": {"requests": TAKEN}}
    await side.create(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": f"job-{number:03}", "namespace": SPACE},
            "spec": {"nodeName": "node", "containers": [container]},
        }
    )


async def end(side: Side, number: int) -> None:
    name = f"job-{number:03}"
    await side.client.delete(POD, name, SPACE, grace_period_seconds=0)
    await side.client.patch(JOB, name, {"status": COMPLETE}, SPACE, subresource="status")


def name_of(number: int) -> str:
    return f"job-{number:03}-placement"


def cluster_of(placement: Object) -> str:
    entries = (placement.get("status") or {}).get("placementStatuses") or ()
    return next((str(each["clusterName"]) for each in entries if each.get("clusterName")), "")
