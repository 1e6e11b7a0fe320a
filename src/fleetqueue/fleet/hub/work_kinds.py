"""Knows of the kinds that are delivered whether their objects live in namespaces, as the hub's API
server tells it.
"""

from collections.abc import Iterable, Mapping

from fleetqueue.fleet.decide import deliveries, envelopes
from fleetqueue.fleet.decide.deliveries import Delivery
from fleetqueue.kube.cluster import Cluster
from fleetqueue.kube.errors import UnknownKind

Named = tuple[str, str]
"""apiVersion and kind."""


class KnownKinds:
    """Asks the server only about what is checked: envelopes, and placements of a namespace."""

    def __init__(self, cluster: Cluster) -> None:
        self._discovery = cluster.client.discovery

    async def of(self, delivered: Iterable[Delivery], home: str) -> envelopes.IsNamespaced:
        """`home`: the namespace of the placement, or ""."""
        found: dict[Named, bool] = {}
        for name in deliveries.checked_kinds(delivered, home):
            try:
                resource = await self._discovery.resource(*name)
            except UnknownKind:
                continue
            found[name] = resource.namespaced
        return Told(found)


class Told:
    """What the server said."""

    def __init__(self, found: Mapping[Named, bool]) -> None:
        self._found = found

    def __call__(self, api_version: str, kind: str) -> bool | None:
        return self._found.get((api_version, kind))
