"""Brings the bindings of a placement to its latest resources, a few at a time, as its strategy
says; placements that leave this to update runs are not touched.
"""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from fleetqueue.api.fleet import defaults
from fleetqueue.api.fleet.conditions import PlacementAspect
from fleetqueue.api.fleet.override import PlacementScope
from fleetqueue.api.fleet.strategy import RolloutStrategyType
from fleetqueue.api.meta import Key
from fleetqueue.fleet import kinds
from fleetqueue.fleet.decide import bindings, overrides, rollout, rollout_changes, snapshots
from fleetqueue.fleet.decide.overrides import NONE, Candidates
from fleetqueue.fleet.hub import override_lookup, snapshot_lookup
from fleetqueue.fleet.hub.both_scopes import PlacementController, belonging, scopes_of, together
from fleetqueue.fleet.kinds import Scope
from fleetqueue.fleet.settings import HubSettings
from fleetqueue.kube import finalizers
from fleetqueue.kube.cluster import Cluster
from fleetqueue.kube.controller import DONE, Result, Watch
from fleetqueue.kube.errors import NotFound
from fleetqueue.kube.manager import Manager
from fleetqueue.kube.resources import Object, key_of, uid_of
from fleetqueue.metrics.registry import Metrics


def install(manager: Manager, settings: HubSettings, metrics: Metrics) -> None:
    manager.add(RolloutController(manager.cluster, scopes_of(settings), settings))


class RolloutController(PlacementController):
    """Woken by resources, overrides, strategies, and by bindings that get ready, fail or go."""

    workers = 8

    def __init__(self, cluster: Cluster, scopes: Sequence[Scope], settings: HubSettings) -> None:
        super().__init__(cluster, scopes)
        self._steps = settings.steps(cluster.clock)
        override_lookup.follow(cluster)
        cluster.informer(kinds.MEMBER_CLUSTER)
        self.watches = (
            *self.watches,
            Watch(kinds.CLUSTER_OVERRIDE_SNAPSHOT, _placement_of, when=_is_other),
            Watch(kinds.OVERRIDE_SNAPSHOT, _placement_of, when=_is_other),
        )

    @property
    def name(self) -> str:
        return "rollout"

    def wanted(self, old: Object | None, new: Object | None, /) -> bool:
        return old is not None and new is not None and _asked(old) != _asked(new)

    def watches_of(self, scope: Scope) -> Sequence[Watch]:
        return (
            belonging(scope.resource_snapshot, _is_other),
            belonging(scope.binding, _matters),
        )

    async def look(self, scope: Scope, placement: Object) -> Result:
        whole = defaults.defaulted({"metadata": placement["metadata"], "spec": placement["spec"]})
        strategy = whole["spec"]["strategy"]
        if finalizers.is_deleting(placement) or strategy["type"] == RolloutStrategyType.EXTERNAL:
            return DONE
        await self._spread_strategy(scope, placement, strategy["applyStrategy"])
        wanted = self._latest(scope, placement)
        if wanted is None:
            return DONE
        return await self._roll_out(scope, whole, wanted)

    async def _spread_strategy(self, scope: Scope, placement: Object, wanted: Object) -> None:
        """How things are applied changes everywhere at once. A binding that comes meanwhile must
        not be rolled out before it has it too.
        """
        while changes := [
            (each, patch)
            for each in self._bindings(scope, placement)
            if not bindings.is_deleting(each)
            and (patch := rollout_changes.apply_strategy_patch(each, wanted)) is not None
        ]:
            await together(*(self._patch(scope, each, patch) for each, patch in changes))

    def _latest(self, scope: Scope, placement: Object) -> "_Latest | None":
        """What the bindings should deliver; None while that is not complete."""
        where = key_of(placement)
        place = (self.cluster, scope, where.namespace, where.name)
        master = snapshot_lookup.latest_master(*place)
        if master is None:
            return None
        group = snapshot_lookup.shards(*place, snapshots.index_of(master))
        if not snapshots.is_complete(group):
            return None
        manifests = snapshots.manifests_of(group)
        candidates = override_lookup.candidates(
            self.cluster, where.namespace, where.name, manifests
        )
        return _Latest(self.cluster, key_of(master).name, candidates)

    async def _roll_out(self, scope: Scope, placement: Object, latest: "_Latest") -> Result:
        found = self._bindings(scope, placement)
        now = self.cluster.clock.now()
        limits = rollout.limits_of(placement, found)
        plan = rollout.plan(found, limits, latest.is_delivered, now)
        await together(
            *(self._remove(scope, each) for each in plan.removed),
            *(self._change(scope, each, latest.delivery(each)) for each in plan.changed),
            *(self._tell(scope, each, rollout.BLOCKED) for each in plan.blocked),
            *(
                self._tell(scope, each, rollout.STARTED)
                for each in plan.current
                if not bindings.is_rolled_out(each)
            ),
        )
        return DONE if plan.seconds is None else Result(timedelta(seconds=plan.seconds))

    async def _change(self, scope: Scope, binding: Object, wanted: Object) -> None:
        in_steps = self._steps.take()
        patch = rollout_changes.delivery_patch(binding, wanted, in_steps=in_steps)
        changed = await self._patch(scope, binding, patch)
        if in_steps:
            # Nobody else says anything of a binding that has just changed before this is said.
            await self._tell(scope, changed, rollout.STARTED, is_first=True)

    async def _tell(
        self,
        scope: Scope,
        binding: Object,
        told: tuple[str, str, str],
        *,
        is_first: bool = False,
    ) -> None:
        said = rollout.conditions_with(binding, told, self.cluster.clock.now())
        if said is not None:
            metadata = bindings.locked(binding)
            if is_first:
                del metadata["resourceVersion"]
            patch = {"metadata": metadata, "status": {"conditions": said}}
            await self._patch(scope, binding, patch, subresource="status")

    async def _remove(self, scope: Scope, binding: Object) -> None:
        key = key_of(binding)
        try:
            await self.cluster.delete(scope.binding, key.name, key.namespace, uid=uid_of(binding))
        except NotFound:
            return

    async def _patch(
        self, scope: Scope, binding: Object, patch: Object, *, subresource: str = ""
    ) -> Any:
        key = key_of(binding)
        return await self.cluster.patch(
            scope.binding, key.name, patch, key.namespace, subresource=subresource
        )

    def _bindings(self, scope: Scope, placement: Object) -> list[Object]:
        where = key_of(placement)
        return snapshot_lookup.bindings(self.cluster, scope, where.namespace, where.name)


class _Latest:
    """What the bindings of a placement should deliver, each with the overrides of its cluster."""

    def __init__(self, cluster: Cluster, snapshot: str, candidates: Candidates) -> None:
        self._cluster = cluster
        self._snapshot = snapshot
        self._candidates = candidates

    def delivery(self, binding: Object) -> Object:
        member = self._cluster.cached(kinds.MEMBER_CLUSTER, bindings.target_cluster(binding))
        found = NONE if member is None else self._candidates.on(member)
        return rollout_changes.delivery(self._snapshot, found.binding_fields)

    def is_delivered(self, binding: Object) -> bool:
        return rollout_changes.is_delivered(binding, self.delivery(binding))


def _asked(placement: Object) -> tuple[Any, Any, bool]:
    spec = placement["spec"]
    return spec.get("strategy"), spec.get("policy"), finalizers.is_deleting(placement)


def _placement_of(override_snapshot: Object) -> list[Key]:
    """Overrides for all placements wake none: they are met when something else changes."""
    named = overrides.placement_reference(override_snapshot["spec"].get("overrideSpec") or {})
    if named is None:
        return []
    scope, name = named
    is_namespaced = scope == PlacementScope.NAMESPACED
    return [Key(key_of(override_snapshot).namespace if is_namespaced else "", name)]


def _is_other(old: Object | None, new: Object | None) -> bool:
    """Of a snapshot: it came, went, or is marked otherwise; else snapshots do not change."""
    if old is None or new is None:
        return True
    return bool(old["metadata"].get("labels") != new["metadata"].get("labels"))


def _matters(old: Object | None, new: Object | None) -> bool:
    return old is None or new is None or _standing(old) != _standing(new)


def _standing(binding: Object) -> tuple[Any, ...]:
    """All of a binding that the plan rests on."""
    aspects = (PlacementAspect.AVAILABLE, PlacementAspect.DIFF_REPORTED)
    told = [bindings.condition(binding, each) for each in aspects]
    return (
        binding["metadata"].get("generation"),
        bindings.is_deleting(binding),
        bindings.has_failed(binding),
        *(
            each and (each["status"], each.get("reason"), each["lastTransitionTime"])
            for each in told
        ),
    )
