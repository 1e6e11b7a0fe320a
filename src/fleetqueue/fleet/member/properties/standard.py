"""The provider of fleetqueue: nodes and pods are counted as they come and go, so that a collection
costs nothing and news are told soon; with the version and address of the API server, the state of
its queues, and costs where nodes tell them.
"""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from fleetqueue.api.fleet import properties
from fleetqueue.api.kueue import v1beta2
from fleetqueue.fleet.decide import properties as decide
from fleetqueue.fleet.decide.properties import Collected, Remark, Totals
from fleetqueue.fleet.member.properties.fallback import NODES
from fleetqueue.fleet.member.properties.provider import Site
from fleetqueue.kube.errors import NotFound, UnknownKind
from fleetqueue.kube.resources import NAMESPACES, PODS, Object, Resource, resource_of
from fleetqueue.kube.transport import Call

CLUSTER_QUEUES = resource_of(v1beta2.ClusterQueue)
VERSION_HOLDS_FOR = timedelta(minutes=15)


class Standard:
    """One for each member agent."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self.cluster = site.cluster
        self._taken: Totals = {}
        self._version = ""
        self._version_at: datetime | None = None

    async def start(self) -> None:
        follows = [(NODES, self._node_changed), (PODS, self._pod_changed)]
        if self.site.settings.collects_namespaces:
            follows.append((NAMESPACES, self._node_changed))
        for kind, listener in follows:
            await self._follow(kind, listener)

    async def collect(self) -> Collected:
        nodes = self.cluster.cached_all(NODES)
        values, remarks = self.node_values(nodes)
        values |= await self._server_values()
        values |= await self._queue_values()
        namespaces = None
        if self.site.settings.collects_namespaces:
            namespaces, remark = decide.namespaces(self.cluster.cached_all(NAMESPACES))
            remarks = [*remarks, remark]
        return Collected(values, self._usage(nodes), remarks, namespaces)

    def node_values(self, nodes: list[Object]) -> tuple[dict[str, str], list[Remark]]:
        """What follows from the nodes alone; costs where any node has a price."""
        values = {properties.NODE_COUNT: str(len(nodes))}
        prices = self.site.settings.prices
        if all(decide.price_of(node, prices) is None for node in nodes):
            return values, []
        costs = decide.costs(nodes, prices)
        return {**values, **costs.values}, [costs.remark]

    async def _follow(self, kind: Resource, listener: Callable[[Any, Any], None]) -> None:
        informer = self.cluster.informer(kind)
        informer.listen(listener)
        await informer.wait_synced()

    def _node_changed(self, old: Object | None, new: Object | None) -> None:
        self.site.changed()

    def _pod_changed(self, old: Object | None, new: Object | None) -> None:
        before, after = decide.pod_totals(old), decide.pod_totals(new)
        if before == after:
            return
        decide.add(self._taken, after)
        decide.add(self._taken, {name: -amount for name, amount in before.items()})
        self.site.changed()

    def _usage(self, nodes: list[Object]) -> Object:
        capacity = decide.over_nodes(nodes, "capacity")
        usage = decide.usage(capacity, decide.over_nodes(nodes, "allocatable"), self._taken)
        if not self.site.settings.reports_available:
            del usage["available"]
        return usage

    async def _server_values(self) -> dict[str, str]:
        settings = self.site.settings
        values = {properties.KUBERNETES_VERSION: await self._server_version()}
        values[properties.ENTRY_POINT] = settings.server_url
        values[properties.CERTIFICATE_AUTHORITY] = settings.certificate_authority
        return {name: value for name, value in values.items() if value}

    async def _server_version(self) -> str:
        now = self.cluster.clock.now()
        if self._version_at is None or now - self._version_at >= VERSION_HOLDS_FOR:
            answer = await self.cluster.client.call(Call("GET", "/version"))
            self._version = str(answer.payload.decoded().get("gitVersion") or "")
            self._version_at = now
        return self._version

    async def _queue_values(self) -> dict[str, str]:
        """Nothing where the member has no queues of ours or of Kueue, or as KubeFleet tells it."""
        if not self.site.settings.is_job_aware:
            return {}
        try:
            found = await self.cluster.client.list(CLUSTER_QUEUES)
        except (NotFound, UnknownKind):
            return {}
        return decide.queue_values(found.items)
