"""A hub and its members, each an API server of its own, with the controllers of placement on the
hub and an agent per member, all in virtual time.

    async with Fleet() as fleet:
        world = await placing.start(fleet)
        await world.hub.client.create(placement("web"))
        await world.settle()
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import cache
from random import Random
from typing import Any

from fleetqueue.api.crds import all_crds
from fleetqueue.apiserver import installing
from fleetqueue.fleet import kinds
from fleetqueue.fleet.hub import parts as hub_parts
from fleetqueue.fleet.member import parts as member_parts
from fleetqueue.fleet.settings import HubSettings, MemberSettings
from fleetqueue.kube.cluster import Cluster
from fleetqueue.kube.errors import NotFound
from fleetqueue.kube.manager import Manager
from fleetqueue.kube.resources import EVENTS, Object, Resource
from fleetqueue.metrics.registry import Metrics
from fleetqueue.testing import Fleet, FleetCluster, namespace

MEMBERS = ("cluster-1", "cluster-2", "cluster-3")
IMMEDIATE = HubSettings(snapshot_interval_seconds=0.0, collection_seconds=0.0)
"""Changes are taken up at once, as in the suites that compare with KubeFleet."""
BUSY = replace(IMMEDIATE, steps_at_once=0)
"""What belongs together is written together from the first on."""
GROUPS = ("cluster.kubernetes-fleet.io", "placement.kubernetes-fleet.io", "multicluster.x-k8s.io")


class Side:
    """One cluster, with what a test asks of it most."""

    def __init__(self, cluster: FleetCluster) -> None:
        self.cluster = cluster
        self.client = cluster.client
        self.name = cluster.name
        self.metrics = Metrics()
        self.restart: Callable[[], Any] | None = None
        """What runs for this cluster starts again, as after a crash."""

    async def create(self, *objs: Object) -> Object:
        made: Object = {}
        for obj in objs:
            made = await self.client.create(obj)
        return made

    async def get(self, kind: Resource, name: str, namespace: str = "") -> Object:
        return dict(await self.client.get(kind, name, namespace))

    async def find(self, kind: Resource, name: str, namespace: str = "") -> Object | None:
        try:
            return await self.get(kind, name, namespace)
        except NotFound:
            return None

    async def all(self, kind: Resource, namespace: str = "") -> list[Object]:
        return list((await self.client.list(kind, namespace)).items)

    async def events(self, name: str) -> list[tuple[str, str, str]]:
        """Type, reason and message of the events about an object, oldest first."""
        found = (await self.client.list(EVENTS, "")).items
        about = [each for each in found if each["involvedObject"]["name"] == name]
        # By arrival: in virtual time many happen at one moment.
        about.sort(key=lambda each: int(each["metadata"]["resourceVersion"]))
        return [(each["type"], each["reason"], each["message"]) for each in about]


class World:
    """The hub, and its members by name."""

    def __init__(self, fleet: Fleet, hub_side: Side, members: Mapping[str, Side]) -> None:
        self.fleet = fleet
        self.hub = hub_side
        self.members = dict(members)

    async def settle(self) -> None:
        await self.fleet.settle()

    async def passes(self, **span: float) -> None:
        await self.fleet.passes(**span)
        await self.fleet.settle()

    def run_hub(self, settings: HubSettings) -> None:
        def install(manager: Manager) -> None:
            hub_parts.install(manager, settings, self.hub.metrics)

        self.hub.restart = self.fleet.run_all(install, self.hub.cluster)

    def run_member(self, name: str, settings: MemberSettings | None = None) -> None:
        """Its agent: what it does on the hub and on the member starts and dies together."""
        side = self.members[name]
        told = replace(settings, name=name) if settings else MemberSettings(name)

        def install(manager: Manager) -> None:
            source = Random(f"{self.fleet.seed}/{name}")
            client = side.cluster.connect("work-api-agent")
            own = Cluster(client, clock=side.cluster.clock, random=source, name=name)
            member_parts.install(manager, own, told, side.metrics)

        side.restart = self.fleet.run_all(install, self.hub.cluster)

    async def add_member(self, name: str, settings: MemberSettings | None = None) -> Side:
        side = self.members[name] = Side(await self.fleet.add_cluster(name))
        await _install_crds(side)
        self.run_member(name, settings)
        return side


async def start(
    fleet: Fleet,
    *,
    members: Iterable[str] = MEMBERS,
    settings: HubSettings = IMMEDIATE,
    agent: MemberSettings | None = None,
    joined: bool = True,
) -> World:
    """`joined`: each member has a MemberCluster, and all is at rest when this returns."""
    hub_side = Side(await fleet.add_cluster("hub"))
    await _install_crds(hub_side)
    await hub_side.create(namespace(kinds.SYSTEM_NAMESPACE))
    world = World(fleet, hub_side, {})
    world.run_hub(settings)
    for name in members:
        await world.add_member(name, agent)
        if joined:
            await hub_side.create(member_cluster(name))
    await world.settle()
    return world


def member_cluster(name: str, *, labels: Mapping[str, str] | None = None, **spec: Any) -> Object:
    identity = {"kind": "ServiceAccount", "name": f"fleet-member-agent-{name}"}
    return {
        "apiVersion": kinds.MEMBER_CLUSTER.api_version,
        "kind": "MemberCluster",
        "metadata": {"name": name, "labels": dict(labels or {})},
        "spec": {
            "identity": {**identity, "namespace": kinds.SYSTEM_NAMESPACE},
            "heartbeatPeriodSeconds": 15,
            **spec,
        },
    }


@cache
def fleet_crds() -> list[Object]:
    """Those of a hub and of members alike; not to be changed."""
    return [crd for crd in all_crds() if crd["spec"]["group"] in GROUPS]


async def _install_crds(side: Side) -> None:
    """As a start does it, without asking the server to judge what it judged before."""
    await installing.install(side.cluster.instance.core, fleet_crds())
