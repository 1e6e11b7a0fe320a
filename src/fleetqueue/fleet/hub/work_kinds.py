"""Knows of the kinds in envelopes whether their objects live in namespaces, as the hub's API server
tells it.
"""

from collections.abc import Iterable, Mapping

from fleetqueue.fleet.decide import envelopes, snapshots
from fleetqueue.kube.cluster import Cluster
from fleetqueue.kube.errors import UnknownKind
from fleetqueue.kube.resources import Object

Named = tuple[str, str]
"""apiVersion and kind."""


class KnownKinds:
    """Asks the server only where an envelope is delivered."""

    def __init__(self, cluster: Cluster) -> None:
        self._discovery = cluster.client.discovery

    async def of(self, group: Iterable[Object]) -> envelopes.IsNamespaced:
        """About the kinds that are wrapped in these snapshots."""
        found: dict[Named, bool] = {}
        for name in _wrapped(group):
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


def _wrapped(group: Iterable[Object]) -> Iterable[Named]:
    contents = (
        inner
        for manifest in snapshots.manifests_of(group)
        for inner in envelopes.contents(manifest)
    )
    return dict.fromkeys(
        (str(each.get("apiVersion") or ""), str(each.get("kind") or "")) for each in contents
    )
