"""Reads what is around an update run: from the caches as a rule, and from the server itself before
a run is declared failed, which is for good.
"""

from collections.abc import Mapping

from fleetqueue.api.fleet import labels
from fleetqueue.fleet import kinds
from fleetqueue.fleet.decide import bindings, snapshots
from fleetqueue.fleet.decide.update_runs.scene import Scene
from fleetqueue.fleet.hub import snapshot_lookup
from fleetqueue.fleet.kinds import Scope
from fleetqueue.kube.cluster import Cluster
from fleetqueue.kube.errors import NotFound
from fleetqueue.kube.resources import Object, Resource, key_of


class Scenes:
    """Those of the runs of one scope."""

    def __init__(self, cluster: Cluster, scope: Scope) -> None:
        self._cluster = cluster
        self._scope = scope
        snapshot_lookup.follow(cluster, scope)
        for kind in (kinds.MEMBER_CLUSTER, scope.placement, scope.update_strategy):
            cluster.informer(kind)

    def cached(self, run: Object) -> Scene:
        name, namespace = str(run["spec"]["placementName"]), key_of(run).namespace
        where = (self._cluster, self._scope, namespace, name)
        return Scene(
            run,
            self._cluster.cached(self._scope.placement, name, namespace),
            snapshot_lookup.latest_policy(*where),
            snapshot_lookup.bindings(*where),
            self._cluster.cached(self._scope.update_strategy, _strategy(run), namespace),
        )

    async def live(self, run: Object) -> Scene:
        name, scope = str(run["spec"]["placementName"]), self._scope
        return Scene(
            run,
            await self._get(scope.placement, name, run),
            snapshots.latest_of(await self._of_placement(scope.policy_snapshot, run)),
            await self._of_placement(scope.binding, run),
            await self._get(scope.update_strategy, _strategy(run), run),
        )

    def member(self, name: str) -> Object:
        """One that is gone has a name, and nothing else."""
        found = self._cluster.cached(kinds.MEMBER_CLUSTER, name)
        return {"metadata": {"name": name}} if found is None else found

    def labels(self, scene: Scene) -> Mapping[str, Mapping[str, str]]:
        """By member, of all that have a binding."""
        names = {bindings.target_cluster(each) for each in scene.bindings}
        return {name: self.member(name)["metadata"].get("labels") or {} for name in names}

    async def _get(self, kind: Resource, name: str, run: Object) -> Object | None:
        try:
            return dict(await self._cluster.client.get(kind, name, key_of(run).namespace))
        except NotFound:
            return None

    async def _of_placement(self, kind: Resource, run: Object) -> list[Object]:
        selector = f"{labels.PARENT_PLACEMENT}={run['spec']['placementName']}"
        found = await self._cluster.client.list(
            kind, key_of(run).namespace, label_selector=selector
        )
        return [dict(each) for each in found.items]


def _strategy(run: Object) -> str:
    return str(run["spec"]["stagedRolloutStrategyName"])
