"""Keeps the proxy of Services in step with the Services and the endpoints behind them."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from fleetqueue.kube.cluster import Cluster
from fleetqueue.runtime.kinds import ENDPOINT_SLICE, SERVICE
from fleetqueue.runtime.listening import Place
from fleetqueue.runtime.service_proxy import ServiceProxy, plan_listeners


class ServiceKeeper:
    """Follows both kinds; several changes that come together are one update."""

    def __init__(
        self,
        cluster: Cluster,
        nodes: Sequence[str],
        api: Place,
        place_of: Callable[[str, int], Place] = lambda address, port: (address, port),
    ) -> None:
        """`place_of` says where a pod listens that is looked for at an address and port."""
        self._cluster = cluster
        self._nodes = nodes
        self._api = api
        """Where the API server is: no pod is behind its Service."""
        self._changed = asyncio.Event()
        self.proxy = ServiceProxy(place_of)
        for kind in (SERVICE, ENDPOINT_SLICE):
            cluster.informer(kind).listen(self._wake)

    def _wake(self, old: Any, new: Any) -> None:
        self._changed.set()

    async def run(self) -> None:
        """Until it is cancelled; for a manager."""
        try:
            while True:
                await self._changed.wait()
                self._changed.clear()
                await self.proxy.update(self._listeners())
        finally:
            await self.proxy.close()

    def _listeners(self) -> dict[Place, list[Place]]:
        services = self._cluster.cached_all(SERVICE)
        slices = self._cluster.cached_all(ENDPOINT_SLICE)
        wanted = plan_listeners(services, slices, self._nodes)
        api = self._cluster.cached(SERVICE, "kubernetes", "default")
        for port in (api or {}).get("spec", {}).get("ports") or ():
            assert api is not None
            wanted[api["spec"]["clusterIP"], port["port"]] = [self._api]
        return wanted
