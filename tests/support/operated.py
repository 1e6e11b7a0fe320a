"""Clusters that serve the kinds of operators and ask the operators' webhook, for scenarios."""

from collections.abc import Iterable
from functools import cache

from fleetqueue.api.crds import all_crds
from fleetqueue.embedded.webhooks import DeclaredHook
from fleetqueue.kube.frame import Operator, controller_of
from fleetqueue.kube.resources import Object, Resource
from fleetqueue.kube.webhook_rules import Webhook
from fleetqueue.runtime.kinds import POD
from fleetqueue.testing import Fleet, FleetCluster


async def start(
    fleet: Fleet,
    *operators: Operator,
    groups: Iterable[str],
    webhooks: Iterable[Webhook] = (),
    name: str = "one",
) -> FleetCluster:
    cluster = await fleet.add_cluster(name)
    for crd in _crds(*groups):
        await cluster.client.create(crd)
    await fleet.settle()
    instance = cluster.instance
    for webhook in webhooks:
        instance.core.hooks.add(DeclaredHook(webhook, instance.core, instance.gate))
    for operator in operators:
        fleet.run(controller_of(operator), on=cluster)
    return cluster


@cache
def _crds(*groups: str) -> list[Object]:
    """Built once, for they are large."""
    return [crd for crd in all_crds() if crd["spec"]["group"] in groups]


async def create(fleet: Fleet, cluster: FleetCluster, obj: Object) -> Object:
    """An object as a test's table has it; what only a server sets is left out."""
    told = {"uid", "creationTimestamp", "generation"}
    metadata = {key: value for key, value in obj["metadata"].items() if key not in told}
    made = await cluster.client.create({**obj, "metadata": metadata})
    await fleet.settle()
    return dict(made)


async def get(cluster: FleetCluster, kind: Resource, name: str) -> Object:
    return dict(await cluster.client.get(kind, name, "default" if kind.namespaced else ""))


async def names(cluster: FleetCluster, kind: Resource) -> list[str]:
    found = (await cluster.client.list(kind, "default")).items
    return sorted(str(each["metadata"]["name"]) for each in found)


async def change(
    fleet: Fleet, cluster: FleetCluster, kind: Resource, name: str, patch: Object
) -> None:
    await cluster.client.patch(kind, name, patch, "default")
    await fleet.settle()


async def remove_ended_pods(fleet: Fleet, cluster: FleetCluster) -> None:
    """A kubelet's part: pods that were asked to go are gone."""
    for pod in (await cluster.client.list(POD, "default")).items:
        if pod["metadata"].get("deletionTimestamp"):
            name = pod["metadata"]["name"]
            await cluster.client.delete(POD, name, "default", grace_period_seconds=0)
    await fleet.settle()


def conditions(obj: Object) -> dict[str, tuple[str, str, str]]:
    found = (obj.get("status") or {}).get("conditions") or ()
    return {
        each["type"]: (each["status"], each.get("reason", ""), each.get("message", ""))
        for each in found
    }
