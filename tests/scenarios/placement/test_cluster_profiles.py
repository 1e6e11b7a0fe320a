"""Members as tools that read the inventory of clusters see them."""

import pytest
from tests.support import placing

from fleetqueue.api.fleet import labels
from fleetqueue.fleet import kinds
from fleetqueue.fleet.hub.cluster_profiles import CLUSTER_PROFILES
from fleetqueue.fleet.settings import HubSettings, MemberSettings
from fleetqueue.kube.resources import Object
from fleetqueue.testing import Fleet

ONE = "cluster-1"
SYSTEM = "fleet-system"
TOLD = MemberSettings(
    "", provider="fleetqueue", server_url="https://m", certificate_authority="PEM"
)


async def profile_of(world: placing.World) -> Object | None:
    return await world.hub.find(CLUSTER_PROFILES, ONE, SYSTEM)


def health(profile: Object | None) -> tuple[str, str]:
    assert profile is not None
    (held,) = profile["status"]["conditions"]
    assert held["type"] == "ControlPlaneHealthy"
    return held["status"], held["reason"]


@pytest.mark.rule("CP-1", "CP-2", "CP-3")
async def test_a_member_that_joined_is_in_the_inventory(fleet: Fleet) -> None:
    world = await placing.start(fleet, members=[ONE], agent=TOLD)

    profile = await profile_of(world)
    assert profile is not None
    assert profile["metadata"]["labels"] == {"x-k8s.io/cluster-manager": "KubeFleet"}
    assert profile["spec"] == {"displayName": ONE, "clusterManager": {"name": "KubeFleet"}}
    assert profile["status"]["version"]["kubernetes"].startswith("v1.")
    (access,) = profile["status"]["accessProviders"]
    assert (access["name"], access["cluster"]["server"]) == ("KubeFleet", "https://m")
    assert health(profile) == ("True", "MemberClusterAPIServerHealthy")


@pytest.mark.rule("CP-1")
async def test_a_member_that_has_not_joined_is_not(fleet: Fleet) -> None:
    world = await placing.start(fleet, members=[])
    await world.hub.create(placing.member_cluster(ONE))
    await world.settle()

    assert await profile_of(world) is None
    member = await world.hub.get(kinds.MEMBER_CLUSTER, ONE)
    assert member["metadata"]["finalizers"] == [labels.MEMBER_CLUSTER_FINALIZER]


@pytest.mark.rule("CP-1")
async def test_a_profile_that_is_edited_or_deleted_is_made_good(fleet: Fleet) -> None:
    world = await placing.start(fleet, members=[ONE])
    patch = {"metadata": {"labels": None}, "spec": {"displayName": "another"}}
    await world.hub.client.patch(CLUSTER_PROFILES, ONE, patch, SYSTEM)
    await world.settle()
    profile = await profile_of(world)
    assert profile is not None
    assert profile["spec"]["displayName"] == ONE
    assert profile["metadata"]["labels"] == {"x-k8s.io/cluster-manager": "KubeFleet"}

    await world.hub.client.delete(CLUSTER_PROFILES, ONE, SYSTEM)
    await world.settle()
    assert health(await profile_of(world)) == ("True", "MemberClusterAPIServerHealthy")


@pytest.mark.rule("CP-1")
async def test_a_profile_goes_with_its_member(fleet: Fleet) -> None:
    world = await placing.start(fleet, members=[ONE])
    await world.hub.client.delete(kinds.MEMBER_CLUSTER, ONE)
    await world.settle()
    await world.passes(seconds=5)

    assert await profile_of(world) is None
    assert await world.hub.find(kinds.MEMBER_CLUSTER, ONE) is None


@pytest.mark.rule("CP-3")
async def test_a_member_that_falls_silent_is_told_as_lost(fleet: Fleet) -> None:
    world = await placing.start(fleet, members=[ONE])
    agent = fleet._runs[-1]
    assert agent.task is not None
    agent.task.cancel()
    await fleet.passes(seconds=50)
    assert health(await profile_of(world))[0] == "True"

    await fleet.passes(seconds=15)

    assert health(await profile_of(world)) == ("False", "MemberAgentHeartbeatLost")


@pytest.mark.rule("CP-1")
async def test_without_the_inventory_there_are_no_profiles(fleet: Fleet) -> None:
    settings = HubSettings(enable_cluster_inventory=False)
    world = await placing.start(fleet, members=[ONE], settings=settings)

    assert await profile_of(world) is None
