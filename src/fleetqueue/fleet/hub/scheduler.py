"""Chooses clusters for placements: runs a cycle for each that asks, and writes what comes of it."""

from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import Any

from fleetqueue.api.fleet import labels
from fleetqueue.api.meta import Key
from fleetqueue.fleet import kinds
from fleetqueue.fleet.decide.scheduling import binding_changes, cycle
from fleetqueue.fleet.decide.scheduling.cluster_properties import UnusablePolicy
from fleetqueue.fleet.decide.scheduling.cycle import Outcome
from fleetqueue.fleet.decide.scheduling.situation import Situation
from fleetqueue.fleet.hub import scheduler_triggers, snapshot_lookup
from fleetqueue.fleet.hub.both_scopes import PlacementController, scopes_of, together
from fleetqueue.fleet.kinds import Scope
from fleetqueue.fleet.settings import HubSettings
from fleetqueue.kube import finalizers
from fleetqueue.kube.calls import PatchType
from fleetqueue.kube.cluster import Cluster
from fleetqueue.kube.controller import DONE, GiveUp, Result, Watch
from fleetqueue.kube.errors import NotFound
from fleetqueue.kube.manager import Manager
from fleetqueue.kube.resources import Object, Resource, key_of, uid_of
from fleetqueue.metrics.registry import Metrics, Reading

AT_ONCE = Result(timedelta(0))
DURATION, WORKERS = "scheduling_cycle_duration_milliseconds", "scheduling_active_workers"


def install(manager: Manager, settings: HubSettings, metrics: Metrics) -> None:
    scopes = scopes_of(settings)
    loop = manager.add(Scheduler(manager.cluster, scopes, settings, metrics))
    scheduler_triggers.listen(manager.cluster, scopes, loop.queue.add)

    def workers() -> Iterable[Reading]:
        yield WORKERS, (), float(loop.queue.at_work)

    metrics.sources.append(workers)


class Scheduler(PlacementController):
    """Woken by policies, by bindings that go, by placements that go, and by members."""

    workers = 8

    def __init__(
        self, cluster: Cluster, scopes: Sequence[Scope], settings: HubSettings, metrics: Metrics
    ) -> None:
        super().__init__(cluster, scopes)
        self._steps = settings.steps(cluster.clock)
        self._metrics = metrics

    @property
    def name(self) -> str:
        return "scheduler"

    def wanted(self, old: Object | None, new: Object | None, /) -> bool:
        return new is not None and finalizers.is_deleting(new)

    def watches_of(self, scope: Scope) -> Sequence[Watch]:
        return scheduler_triggers.watches(self.cluster, scope)

    async def look(self, scope: Scope, placement: Object) -> Result:
        key = key_of(placement)
        if finalizers.is_deleting(placement):
            await self._let_go(scope, key)
            await self._patch(
                scope.placement,
                placement,
                finalizers.removed(placement, labels.SCHEDULER_FINALIZER),
            )
            return DONE
        snapshot = snapshot_lookup.latest_policy(self.cluster, scope, key.namespace, key.name)
        if snapshot is None or finalizers.is_deleting(snapshot):
            return DONE
        return await self._measured(scope, placement, snapshot)

    async def look_after(self, scope: Scope, key: Key) -> Result:
        await self._let_go(scope, key)
        return DONE

    async def _measured(self, scope: Scope, placement: Object, snapshot: Object) -> Result:
        started = self.cluster.clock.monotonic()
        is_failed, result = True, DONE
        try:
            result = await self._schedule(scope, placement, snapshot)
            is_failed = False
        except UnusablePolicy as error:
            raise GiveUp(str(error)) from error
        finally:
            told = (str(is_failed).lower(), str(result is AT_ONCE).lower())
            passed = self.cluster.clock.monotonic() - started
            self._metrics.observe(DURATION, passed * 1000, *told)
        return result

    async def _schedule(self, scope: Scope, placement: Object, snapshot: Object) -> Result:
        joining = finalizers.joining(placement, labels.SCHEDULER_FINALIZER)
        if joining is not None:
            await self._patch(scope.placement, placement, *joining)
        key = key_of(placement)
        situation = Situation(
            snapshot,
            self.cluster.cached_all(kinds.MEMBER_CLUSTER),
            snapshot_lookup.bindings(self.cluster, scope, key.namespace, key.name),
            self.cluster.clock.now(),
            key.namespace,
        )
        outcome = cycle.run(situation)
        await self._write_bindings(scope, placement, situation, outcome)
        if outcome.status is not None:
            await self._write_status(scope, snapshot, outcome.status)
        return AT_ONCE if outcome.again else DONE

    async def _write_bindings(
        self, scope: Scope, placement: Object, situation: Situation, outcome: Outcome
    ) -> None:
        kind, policy = scope.binding, situation.policy_name
        released = [
            (each, finalizers.removed(each, labels.BINDING_FINALIZER)) for each in outcome.released
        ]
        given_up = [(each, binding_changes.unscheduling(each)) for each in outcome.unscheduled]
        again = [
            (each, binding_changes.picking_again(each, policy, decision))
            for each, decision in outcome.patched
        ]
        await together(
            *(self._patch(kind, each, patch) for each, patch in (*released, *given_up, *again)),
            *(self._create(scope, placement, situation, each) for each in outcome.created),
        )

    async def _create(
        self, scope: Scope, placement: Object, situation: Situation, decision: Object
    ) -> None:
        cluster = str(decision["clusterName"])
        suffix = binding_changes.suffix_for(placement, cluster, situation.bindings)
        await self.cluster.create(
            binding_changes.new_binding(
                scope.binding.api_version,
                scope.binding.kind,
                placement,
                situation.policy_name,
                decision,
                suffix,
                in_steps=self._steps.take(),
            )
        )

    async def _write_status(self, scope: Scope, snapshot: Object, status: Object) -> None:
        key = key_of(snapshot)
        whole = {"targetClusters": None, **status}
        await self.cluster.patch(
            scope.policy_snapshot, key.name, {"status": whole}, key.namespace, subresource="status"
        )

    async def _let_go(self, scope: Scope, key: Key) -> None:
        """All bindings of a placement that is no more, or about to be."""
        found = snapshot_lookup.bindings(self.cluster, scope, key.namespace, key.name)
        await together(*(self._remove(scope, each) for each in found))

    async def _remove(self, scope: Scope, binding: Object) -> None:
        patch = finalizers.removed(binding, labels.BINDING_FINALIZER)
        await self._patch(scope.binding, binding, patch)
        if not finalizers.is_deleting(binding):
            key = key_of(binding)
            try:
                await self.cluster.delete(
                    scope.binding, key.name, key.namespace, uid=uid_of(binding)
                )
            except NotFound:
                return

    async def _patch(
        self, kind: Resource, obj: Object, patch: Any, type: PatchType = PatchType.MERGE
    ) -> None:
        if patch is None:
            return
        key = key_of(obj)
        try:
            await self.cluster.patch(kind, key.name, patch, key.namespace, type=type)
        except NotFound:
            return
