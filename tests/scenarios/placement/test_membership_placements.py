"""Members come and go while something is placed on them."""

import pytest
from tests.support import placing

from fleetqueue.fleet import kinds
from fleetqueue.fleet.decide import conditions
from fleetqueue.kube.resources import CONFIG_MAPS, NAMESPACES, Object
from fleetqueue.testing import Fleet, config_map, namespace

pytestmark = pytest.mark.rule("kubefleet 12.2")
SCHEDULED, AVAILABLE = "ClusterResourcePlacementScheduled", "ClusterResourcePlacementAvailable"


def placement(**spec: object) -> Object:
    selector = {"group": "", "version": "v1", "kind": "Namespace", "name": "web"}
    return {
        "apiVersion": kinds.CLUSTER_SCOPE.placement.api_version,
        "kind": "ClusterResourcePlacement",
        "metadata": {"name": "web"},
        "spec": {"resourceSelectors": [selector], "policy": {"placementType": "PickAll"}, **spec},
    }


async def chosen(world: placing.World) -> list[str]:
    found = await world.hub.get(kinds.CLUSTER_SCOPE.placement, "web")
    assert conditions.status_of(found["status"]["conditions"], SCHEDULED) == "True"
    return [each["clusterName"] for each in found["status"].get("placementStatuses") or ()]


async def placed(fleet: Fleet) -> placing.World:
    world = await placing.start(fleet)
    await world.hub.create(namespace("web"), config_map("settings", namespace="web"))
    await world.hub.create(placement())
    await world.passes(seconds=10)
    assert await chosen(world) == list(placing.MEMBERS)
    return world


async def uids(world: placing.World) -> list[str]:
    found = [await side.get(CONFIG_MAPS, "settings", "web") for side in world.members.values()]
    return [each["metadata"]["uid"] for each in found]


@pytest.mark.rule("MC-13", "IMC-2")
async def test_all_members_leave_and_join_again(fleet: Fleet) -> None:
    world = await placed(fleet)
    before = await uids(world)

    for name in placing.MEMBERS:
        await world.hub.client.delete(kinds.MEMBER_CLUSTER, name)
    await world.passes(seconds=30)
    assert await world.hub.all(kinds.MEMBER_CLUSTER) == []
    assert await chosen(world) == []
    assert await uids(world) == before

    for name in placing.MEMBERS:
        await world.hub.create(placing.member_cluster(name))
    await world.passes(seconds=60)
    assert await chosen(world) == list(placing.MEMBERS)
    assert await uids(world) == before
    found = await world.hub.get(kinds.CLUSTER_SCOPE.placement, "web")
    assert conditions.status_of(found["status"]["conditions"], AVAILABLE) == "True"

    await world.hub.client.delete(kinds.CLUSTER_SCOPE.placement, "web")
    await world.passes(seconds=30)
    for side in world.members.values():
        assert await side.find(NAMESPACES, "web") is None


@pytest.mark.rule("MC-11")
async def test_a_dead_member_with_works_is_let_go(fleet: Fleet) -> None:
    world = await placed(fleet)
    agent = fleet._runs[-1]
    assert agent.task is not None
    agent.task.cancel()
    last = placing.MEMBERS[-1]

    await world.hub.client.delete(kinds.MEMBER_CLUSTER, last)
    await fleet.passes(minutes=16)

    assert await world.hub.find(kinds.MEMBER_CLUSTER, last) is None
    assert await world.hub.find(NAMESPACES, f"fleet-member-{last}") is None
    assert await chosen(world) == list(placing.MEMBERS[:-1])
