"""A whole cluster in virtual time: simulated nodes, and the operators that a scenario needs."""

from collections.abc import Iterable
from typing import Any

from tests.support import apps, operated

from fleetqueue.kube.calls import PatchType
from fleetqueue.kube.cluster import Cluster
from fleetqueue.kube.frame import Operator
from fleetqueue.kube.resources import Object, Resource
from fleetqueue.kube.webhook_rules import Webhook
from fleetqueue.runtime.binder import Binder
from fleetqueue.runtime.kinds import POD
from fleetqueue.runtime.machine import Machine
from fleetqueue.runtime.node_keeper import NodeKeeper
from fleetqueue.runtime.node_lifecycle import NodeLifecycle
from fleetqueue.runtime.nodes import NodeSpec, Site
from fleetqueue.runtime.simulated import SimulatedPods
from fleetqueue.testing import Fleet, FleetCluster

SITE = Site(Machine("box", 4, 2**33, 2**36))
NODE_SPEC = NodeSpec("sim", mode="simulated")


class World:
    """The cluster as a user sees it. What a queue would do, a scenario does by the API itself."""

    def __init__(self, fleet: Fleet, cluster: FleetCluster) -> None:
        self.fleet = fleet
        self.cluster = cluster
        self.client = cluster.client

    async def create(self, obj: Object) -> Object:
        return await operated.create(self.fleet, self.cluster, obj)

    async def get(self, kind: Resource, name: str) -> Object:
        return await operated.get(self.cluster, kind, name)

    async def names(self, kind: Resource) -> list[str]:
        return await operated.names(self.cluster, kind)

    async def change(self, kind: Resource, name: str, **spec: Any) -> None:
        await operated.change(self.fleet, self.cluster, kind, name, {"spec": spec})

    async def write_status(self, kind: Resource, name: str, status: Object) -> None:
        await self.client.patch(kind, name, {"status": status}, "default", subresource="status")
        await self.fleet.settle()

    async def conditions(self, kind: Resource, name: str) -> dict[str, tuple[str, str, str]]:
        return operated.conditions(await self.get(kind, name))

    async def events(self, kind: str) -> list[tuple[str, str]]:
        await self.fleet.passes(seconds=1)
        return await apps.events(self.client, kind)

    async def passes(self, **span: float) -> None:
        await self.fleet.passes(**span)
        await self.fleet.settle()

    # Pods

    async def pods(self, phase: str = "") -> list[Object]:
        found = await apps.pods(self.client)
        return [pod for pod in found if phase in ("", pod["status"].get("phase"))]

    async def pod(self, name: str) -> Object:
        return await self.get(POD, name)

    async def ungate(self, *names: str, gates: Iterable[str] = ()) -> None:
        """Takes these gates away, or all of them."""
        for name in names:
            present = (await self.pod(name))["spec"].get("schedulingGates") or ()
            left = [gate for gate in present if gates and gate["name"] not in gates]
            patch = {"spec": {"schedulingGates": left or None}}
            await self.client.patch(POD, name, patch, "default")
        await self.fleet.settle()

    async def release(self, name: str) -> None:
        """Takes the finalizers of a pod away."""
        await self.client.patch(POD, name, {"metadata": {"finalizers": None}}, "default")
        await self.fleet.settle()

    async def delete(self, kind: Resource, name: str, **options: Any) -> None:
        await self.client.delete(kind, name, "default", **options)
        await self.fleet.settle()

    async def mark(self, pod: str, type: str, reason: str, message: str) -> None:
        """Adds a condition to a pod, as others than its node do."""
        condition = {"type": type, "status": "True", "reason": reason, "message": message}
        await self.client.patch(
            POD,
            pod,
            {"status": {"conditions": [condition]}},
            "default",
            type=PatchType.STRATEGIC,
            subresource="status",
        )
        await self.fleet.settle()


async def start(
    fleet: Fleet,
    *operators: Operator,
    groups: Iterable[str] = (),
    webhooks: Iterable[Webhook] = (),
    nodes: tuple[NodeSpec, ...] = (NODE_SPEC,),
    name: str = "one",
) -> World:
    cluster = await operated.start(fleet, *operators, groups=groups, webhooks=webhooks, name=name)
    keepers: list[NodeKeeper] = []

    def keeper(made: Cluster) -> NodeKeeper:
        keepers.append(NodeKeeper(made, nodes, SITE))
        return keepers[-1]

    for make in (Binder, SimulatedPods, keeper, NodeLifecycle):
        fleet.run(make, on=cluster)
    await keepers[0].register()
    await fleet.settle()
    return World(fleet, cluster)


def template(*, name: str = "main", run_seconds: str = "never", **more: Any) -> Object:
    """For pods that run that long; `labels`, `cpu` and parts of its spec can be said."""
    container: Object = {"name": name, "image": "busybox"}
    if cpu := more.pop("cpu", ""):
        container["resources"] = {"requests": {"cpu": cpu}}
    notes = {"fleetqueue.io/sim-run-seconds": run_seconds, **more.pop("annotations", {})}
    metadata: Object = {"annotations": notes}
    if labels := more.pop("labels", None):
        metadata["labels"] = labels
    return {"metadata": metadata, "spec": {"containers": [container], **more}}


def gates_of(pod: Object) -> list[str]:
    return [gate["name"] for gate in pod["spec"].get("schedulingGates") or ()]


def scheduled(pod: Object) -> tuple[str, str, str]:
    return operated.conditions(pod).get("PodScheduled", ("", "", ""))
