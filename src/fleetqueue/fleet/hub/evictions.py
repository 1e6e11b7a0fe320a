"""Takes placements off clusters where somebody asks for it, one eviction at a time, and tells each
what became of it.
"""

from collections.abc import Iterable
from typing import Any, ClassVar

from fleetqueue.api.times import parse_time
from fleetqueue.fleet import kinds
from fleetqueue.fleet.decide import evictions
from fleetqueue.fleet.hub import snapshot_lookup
from fleetqueue.fleet.settings import HubSettings
from fleetqueue.kube.cluster import Cluster
from fleetqueue.kube.controller import DONE, Controller, Result
from fleetqueue.kube.errors import NotFound
from fleetqueue.kube.manager import Manager
from fleetqueue.kube.resources import Object, Resource, key_of, uid_of
from fleetqueue.metrics.registry import Metrics, Reading

COMPLETE = "fleet_workload_eviction_complete"


def install(manager: Manager, settings: HubSettings, metrics: Metrics) -> None:
    if settings.enable_evictions:
        controller = EvictionController(manager.cluster)
        metrics.sources.append(controller.completions)
        manager.add(controller)


class EvictionController(Controller[Any]):
    """Woken by evictions alone: each is judged once, by what is there at that moment."""

    kind: ClassVar[Resource] = kinds.EVICTION

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        for kind in (kinds.EVICTION, kinds.DISRUPTION_BUDGET, kinds.CLUSTER_SCOPE.placement):
            cluster.informer(kind)
        snapshot_lookup.follow_kind(cluster, kinds.CLUSTER_SCOPE.binding)

    @property
    def name(self) -> str:
        return "evictions"

    async def reconcile(self, eviction: Object, /) -> Result:
        if evictions.is_finished(eviction):
            return DONE
        verdict = evictions.judge(self._case(eviction))
        if verdict.evicted is not None:
            await self._evict(verdict.evicted)
        patch = {"status": verdict.status}
        await self._cluster.patch(
            kinds.EVICTION, key_of(eviction).name, patch, subresource="status"
        )
        return DONE

    def completions(self) -> Iterable[Reading]:
        """By the cache: of every eviction, when it came to where it is."""
        for eviction in self._cluster.cached_all(kinds.EVICTION):
            told = evictions.completion(eviction)
            yield COMPLETE, (key_of(eviction).name, *told), _since(eviction)

    def _case(self, eviction: Object) -> evictions.Case:
        name = str(eviction["spec"]["placementName"])
        scope = kinds.CLUSTER_SCOPE
        return evictions.Case(
            eviction,
            self._cluster.cached(scope.placement, name),
            snapshot_lookup.bindings(self._cluster, scope, "", name),
            self._cluster.cached(kinds.DISRUPTION_BUDGET, name),
            self._cluster.clock.now(),
        )

    async def _evict(self, binding: Object) -> None:
        name, uid = key_of(binding).name, uid_of(binding)
        try:
            await self._cluster.delete(kinds.CLUSTER_SCOPE.binding, name, uid=uid)
        except NotFound:
            return


def _since(eviction: Object) -> float:
    known = (eviction.get("status") or {}).get("conditions") or ()
    times = [str(each["lastTransitionTime"]) for each in known]
    return parse_time(max(times, default=eviction["metadata"]["creationTimestamp"])).timestamp()
