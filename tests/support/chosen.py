"""A hub whose members a test plays: it says how they are, and how the delivery to them goes."""

from collections.abc import Mapping
from typing import Any

from tests.support.placed import DONE
from tests.support.placing import World, member_cluster

from fleetqueue.api.times import format_time
from fleetqueue.fleet import kinds
from fleetqueue.fleet.kinds import CLUSTER_SCOPE, Scope
from fleetqueue.kube.resources import Object

Step = tuple[str, str, str]


class Stage:
    """What a test does and sees on a hub without agents."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.hub = world.hub

    @property
    def now(self) -> str:
        return format_time(self.world.fleet.clock.now())

    async def join(
        self, name: str, cluster_labels: Mapping[str, str] | None = None, **spec: Any
    ) -> None:
        """A member that is well."""
        await self.hub.create(member_cluster(name, labels=cluster_labels, **spec))
        await self.beat(name)

    async def beat(self, name: str, *, joined: str = "True", **status: Any) -> None:
        """A heartbeat, with whatever else the member reports."""
        told = [self._condition("Joined", joined), self._condition("Healthy", "True")]
        agent = {"type": "MemberAgent", "conditions": told, "lastReceivedHeartbeat": self.now}
        await self.report(name, agentStatus=[agent], **status)

    async def report(self, name: str, **status: Any) -> None:
        await self.hub.client.patch(
            kinds.MEMBER_CLUSTER, name, {"status": status}, subresource="status"
        )

    async def change(self, name: str, **fields: Any) -> None:
        await self.hub.client.patch(kinds.MEMBER_CLUSTER, name, fields)

    async def leave(self, name: str) -> None:
        await self.hub.client.delete(kinds.MEMBER_CLUSTER, name)

    async def policy(self, name: str, scope: Scope = CLUSTER_SCOPE, namespace: str = "") -> Object:
        """The latest policy snapshot of a placement."""
        key = "kubernetes-fleet.io/is-latest-snapshot"
        for each in await self.hub.all(scope.policy_snapshot, namespace):
            told = each["metadata"]["labels"]
            if told["kubernetes-fleet.io/parent-CRP"] == name and told[key] == "true":
                return each
        raise AssertionError(f"no policy of {name}")

    async def bindings(
        self, name: str, scope: Scope = CLUSTER_SCOPE, namespace: str = ""
    ) -> dict[str, Object]:
        """By cluster; those on their way out aside."""
        return {
            each["spec"]["targetCluster"]: each
            for each in await self.hub.all(scope.binding, namespace)
            if each["metadata"]["labels"]["kubernetes-fleet.io/parent-CRP"] == name
            and "deletionTimestamp" not in each["metadata"]
        }

    async def states(
        self, name: str, scope: Scope = CLUSTER_SCOPE, namespace: str = ""
    ) -> dict[str, str]:
        found = await self.bindings(name, scope, namespace)
        return {cluster: found[cluster]["spec"]["state"] for cluster in sorted(found)}

    async def deliver(self, name: str, cluster: str, *steps: Step, scope: Scope = CLUSTER_SCOPE,
                      namespace: str = "") -> None:  # fmt: skip
        """As the generator of works and the member would: what the binding says becomes true."""
        binding = (await self.bindings(name, scope, namespace))[cluster]
        generation = binding["metadata"]["generation"]
        known = {each["type"]: each for each in (binding.get("status") or {}).get("conditions", ())}
        for type, status, reason in steps or DONE[1:]:
            told = self._condition(type, status, reason) | {"observedGeneration": generation}
            known[type] = told
        await self.hub.client.patch(
            scope.binding,
            binding["metadata"]["name"],
            {"status": {"conditions": list(known.values())}},
            namespace,
            subresource="status",
        )

    def _condition(self, type: str, status: str, reason: str = "") -> Object:
        return {
            "type": type,
            "status": status,
            "reason": reason or type,
            "message": "",
            "observedGeneration": 1,
            "lastTransitionTime": self.now,
        }


def decided(policy: Object) -> dict[str, bool]:
    """Which clusters a policy snapshot names, and whether they are selected."""
    told = (policy.get("status") or {}).get("targetClusters") or ()
    return {each["clusterName"]: each["selected"] for each in told}
