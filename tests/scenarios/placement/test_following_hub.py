"""A cluster becomes a member as soon as a Secret names a hub, and is one as long as it does."""

import base64
from random import Random

import pytest
from tests.support import placing

from fleetqueue.fleet import access, kinds
from fleetqueue.fleet.access import HubAccess
from fleetqueue.fleet.decide import conditions
from fleetqueue.fleet.member.following_hub import HubFollower
from fleetqueue.fleet.settings import MemberSettings
from fleetqueue.kube.client import Client
from fleetqueue.kube.cluster import Cluster
from fleetqueue.kube.kubeconfig import Access
from fleetqueue.kube.manager import Manager
from fleetqueue.kube.resources import SECRETS
from fleetqueue.metrics.registry import Metrics
from fleetqueue.testing import Fleet

ONE, TWO = "cluster-1", "cluster-2"


def kubeconfig(server: str) -> str:
    return f"""
apiVersion: v1
kind: Config
clusters: [{{name: c, cluster: {{server: "{server}"}}}}]
users: [{{name: u, user: {{token: t}}}}]
contexts: [{{name: c, context: {{cluster: c, user: u}}}}]
current-context: c
"""


async def start(fleet: Fleet, metrics: Metrics) -> tuple[placing.World, placing.Side, list[Access]]:
    """A hub that knows two members, and a cluster that is none of them yet."""
    world = await placing.start(fleet, members=[])
    for name in (ONE, TWO):
        await world.hub.create(placing.member_cluster(name))
    side = placing.Side(await fleet.add_cluster("somewhere"))
    for crd in placing.fleet_crds():
        await side.create(crd)
    await side.create(access.namespace())
    asked: list[Access] = []

    def connect(to: Access) -> Client:
        asked.append(to)
        return world.hub.cluster.connect()

    def make_member() -> Cluster:
        return Cluster(side.cluster.connect(), clock=fleet.clock, random=Random(0))

    def install(manager: Manager) -> None:
        settings = MemberSettings(name="")
        follower = HubFollower(manager.cluster, connect, make_member, settings, metrics)
        manager.add_task("member of a hub", follower.run)

    fleet.run_all(install, side.cluster)
    await world.settle()
    return world, side, asked


async def has_joined(world: placing.World, name: str) -> bool:
    member = await world.hub.get(kinds.MEMBER_CLUSTER, name)
    return conditions.status_of(member["status"]["conditions"], "Joined") == "True"


async def test_it_joins_the_hub_that_the_secret_names(fleet: Fleet) -> None:
    world, side, asked = await start(fleet, Metrics())
    assert asked == []

    await side.create(access.hub_secret(HubAccess(ONE, kubeconfig("https://hub"))))
    await world.passes(seconds=5)

    assert [to.server for to in asked] == ["https://hub"]
    assert await has_joined(world, ONE)
    assert not await has_joined(world, TWO)


async def test_it_follows_what_the_secret_says_next(fleet: Fleet) -> None:
    world, side, asked = await start(fleet, Metrics())
    await side.create(access.hub_secret(HubAccess(ONE, kubeconfig("https://hub"))))
    await world.passes(seconds=5)

    data = access.hub_secret(HubAccess(TWO, kubeconfig("https://other")))["data"]
    await side.client.patch(SECRETS, access.HUB_SECRET, {"data": data}, "fleet-system")
    await world.passes(seconds=5)
    assert [to.server for to in asked] == ["https://hub", "https://other"]
    assert await has_joined(world, TWO)

    await side.client.delete(SECRETS, access.HUB_SECRET, "fleet-system")
    await world.passes(seconds=5)
    before = await world.hub.get(kinds.MEMBER_CLUSTER, TWO)
    await world.passes(seconds=60)
    after = await world.hub.get(kinds.MEMBER_CLUSTER, TWO)
    assert before["status"]["agentStatus"] == after["status"]["agentStatus"]


async def test_agents_that_ended_leave_nothing_behind_but_their_counts(fleet: Fleet) -> None:
    metrics = Metrics()
    world, side, _ = await start(fleet, metrics)
    sources = len(metrics.sources)
    await side.create(access.hub_secret(HubAccess(ONE, kubeconfig("https://hub"))))
    await world.passes(seconds=5)
    data = access.hub_secret(HubAccess(TWO, kubeconfig("https://hub")))["data"]
    await side.client.patch(SECRETS, access.HUB_SECRET, {"data": data}, "fleet-system")
    await world.passes(seconds=5)

    assert len(metrics.sources) == sources
    told = [line for line in metrics.text().decode().splitlines() if line.startswith("join_")]
    assert told == ['join_result_counter{result="success"} 2.0']


async def test_a_secret_that_cannot_be_read_is_tried_again(fleet: Fleet) -> None:
    world, side, asked = await start(fleet, Metrics())
    broken = access.hub_secret(HubAccess(ONE, "clusters: 7"))
    await side.create(broken)
    await world.passes(seconds=20)
    assert asked == []

    good = base64.b64encode(kubeconfig("https://hub").encode()).decode()
    patch = {"data": {access.KUBECONFIG: good}}
    await side.client.patch(SECRETS, access.HUB_SECRET, patch, "fleet-system")
    await world.passes(seconds=5)
    assert await has_joined(world, ONE)


async def test_a_secret_that_names_a_program_makes_nobody_run_it(fleet: Fleet) -> None:
    world, side, asked = await start(fleet, Metrics())
    api = "client.authentication.k8s.io/v1"
    program = f"exec: {{command: x, apiVersion: {api}, interactiveMode: Never}}"
    unsafe = kubeconfig("https://hub").replace("token: t", program)

    await side.create(access.hub_secret(HubAccess(ONE, unsafe)))
    await world.passes(seconds=20)

    assert asked == []


@pytest.mark.parametrize(
    "data", [{}, {access.NAME: "!!"}, {access.NAME: "", access.KUBECONFIG: ""}]
)
def test_what_says_too_little_names_no_hub(data: dict[str, str]) -> None:
    assert access.read_hub_secret({"data": data}) is None
    assert access.read_hub_secret(None) is None
