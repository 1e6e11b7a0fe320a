"""Rolls the objects of placements out in stages, as update runs say: reads what is around a run,
asks what to do, does it, and writes down how far it came.
"""

import asyncio
from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Any

from fleetqueue.api.fleet import defaults, labels
from fleetqueue.api.fleet.conditions import PlacementAspect
from fleetqueue.api.fleet.text import client_error
from fleetqueue.api.fleet.update_run import UpdateRunState
from fleetqueue.api.meta import Key
from fleetqueue.api.patches import create_merge_patch
from fleetqueue.errors import UserError
from fleetqueue.fleet.decide import bindings, conditions, snapshots
from fleetqueue.fleet.decide.overrides import Applicable
from fleetqueue.fleet.decide.update_runs import beginning, marks, validity
from fleetqueue.fleet.decide.update_runs.beginning import Failed
from fleetqueue.fleet.decide.update_runs.execution import Bind, Move, Pass
from fleetqueue.fleet.decide.update_runs.marks import Pen
from fleetqueue.fleet.decide.update_runs.scene import Ground, Scene
from fleetqueue.fleet.decide.update_runs.stages import Invalid
from fleetqueue.fleet.hub import approvals, override_lookup, snapshot_lookup, snapshotting
from fleetqueue.fleet.hub.approvals import Approvals
from fleetqueue.fleet.hub.selecting import Selector
from fleetqueue.fleet.hub.snapshotting import Taken
from fleetqueue.fleet.hub.update_run_metrics import RunMetrics
from fleetqueue.fleet.hub.update_run_scenes import Scenes
from fleetqueue.fleet.kinds import SCOPES, Scope
from fleetqueue.fleet.settings import HubSettings
from fleetqueue.kube import finalizers
from fleetqueue.kube.cluster import Cluster
from fleetqueue.kube.controller import DONE, Controller, Result, Watch
from fleetqueue.kube.errors import KubeError, NotFound
from fleetqueue.kube.manager import Manager
from fleetqueue.kube.resources import Object, key_of, uid_of
from fleetqueue.metrics.registry import Metrics

WORKERS = 4
PLACEMENT = "placement of update run"
"""The index: namespace and name of the placement of a run that is not over."""


def install(manager: Manager, settings: HubSettings, metrics: Metrics) -> None:
    if not settings.enable_update_runs:
        return
    for scope in SCOPES:
        if scope.is_namespaced and not settings.enable_resource_placement:
            continue
        manager.add(controller_of(scope)(manager.cluster, settings, metrics))


def controller_of(scope: Scope) -> type["UpdateRuns"]:
    """The controller class for the runs of a scope."""
    members = {"scope": scope, "kind": scope.update_run, "__doc__": scope.update_run.kind}
    return type(f"UpdateRuns{scope.update_run.kind}", (UpdateRuns,), members)


class UpdateRuns(Controller[Any]):
    """Woken by a run, by its approval requests, and by its placement with policies and bindings."""

    scope: Scope
    workers = WORKERS

    def __init__(self, cluster: Cluster, settings: HubSettings, metrics: Metrics) -> None:
        self._cluster = cluster
        self._settings = settings
        self._selector = Selector(cluster, settings)
        self._taking = asyncio.Lock()
        """Of two runs that begin together one makes the snapshot, and the other finds it."""
        self._metrics = RunMetrics(metrics)
        self._approvals = Approvals(cluster, self.scope, self._metrics)
        self._scenes = Scenes(cluster, self.scope)
        override_lookup.follow(cluster)
        cluster.informer(self.scope.update_run, indexes={PLACEMENT: _placements})
        self.watches = (
            Watch(self.scope.approval_request, wakes=approvals.run_of),
            Watch(self.scope.binding, wakes=self._runs_of, when=_concerns_runs),
            Watch(self.scope.placement, wakes=self._runs_for, when=_asks_otherwise),
            Watch(self.scope.policy_snapshot, wakes=self._runs_of, when=_tells_otherwise),
        )

    async def reconcile(self, run: Object, /) -> Result:
        if finalizers.is_deleting(run):
            return await self._remove(run)
        run = await self._held(run)
        status = run.get("status") or {}
        self._metrics.tell(run, self._cluster.clock.now())
        if marks.is_final(status):
            return DONE
        if not marks.is_true(status, marks.INITIALIZED):
            return await self._begin(run)
        if run["spec"].get("state") in (None, UpdateRunState.INITIALIZE):
            return DONE
        return await self._go_on(run)

    async def gone(self, key: Key, /) -> Result:
        self._metrics.forget(key)
        return DONE

    # Its beginning and end

    async def _held(self, run: Object) -> Object:
        """With its finalizer, and with a snapshot index that is at least empty."""
        patch = finalizers.added(run, labels.UPDATE_RUN_FINALIZER)
        if patch is None:
            return run
        if "resourceSnapshotIndex" not in run["spec"]:
            patch["spec"] = {"resourceSnapshotIndex": ""}
        return await self._patch(run, patch)

    async def _remove(self, run: Object) -> Result:
        if not await self._approvals.remove(run):
            return DONE
        patch = finalizers.removed(run, labels.UPDATE_RUN_FINALIZER)
        if patch is not None:
            await self._patch(run, patch)
        return DONE

    async def _begin(self, run: Object) -> Result:
        pen = Pen(int(run["metadata"].get("generation") or 0), self._cluster.clock.now())
        try:
            try:
                scene = self._scenes.cached(run)
                draft = beginning.drafted(scene, self._scenes.labels(scene))
            except Failed:
                scene = await self._scenes.live(run)
                draft = beginning.drafted(scene, self._scenes.labels(scene))
            taken = await self._objects(scene, draft)
            if taken.wait_seconds > 0:
                return Result(timedelta(seconds=taken.wait_seconds))
            found = self._overrides(scene, draft, taken)
            status = beginning.completed(draft, taken.index, found, pen)
        except Failed as failure:
            status = beginning.failed(failure, pen)
        await self._write(run, status)
        return DONE

    async def _objects(self, scene: Scene, status: Object) -> Taken:
        """The snapshot that the run delivers. Raises Failed."""
        try:
            index = beginning.asked_index(scene.run)
            if index is None:
                return await self._fresh(scene)
            group = snapshot_lookup.shards(
                self._cluster, self.scope, scene.namespace, scene.placement_name, index
            )
            if not snapshots.is_complete(group):
                raise beginning.no_snapshot(scene, index)
            return Taken(index, key_of(group[0]).name, group)
        except Invalid as invalid:
            raise Failed(status, str(invalid)) from None

    async def _fresh(self, scene: Scene) -> Taken:
        assert scene.placement is not None
        placement = defaults.defaulted(scene.placement)
        async with self._taking:
            try:
                selected = await self._selector.select(self.scope, placement)
            except KubeError:
                raise
            except UserError as error:
                raise Invalid(client_error(str(error))) from None
            return await snapshotting.ensure_snapshot(
                self._cluster, self.scope, placement, selected, self._settings
            )

    def _overrides(self, scene: Scene, status: Object, taken: Taken) -> Mapping[str, Applicable]:
        found = override_lookup.candidates(
            self._cluster,
            scene.namespace,
            scene.placement_name,
            snapshots.manifests_of(taken.group),
        )
        names = (
            str(each["clusterName"])
            for stage in status["stagesStatus"]
            for each in stage["clusters"]
        )
        return {name: found.on(self._scenes.member(name)) for name in names}

    # Its way

    async def _go_on(self, run: Object) -> Result:
        move = self._moved(self._scenes.cached(run))
        if marks.has_failed(move.status):
            move = self._moved(await self._scenes.live(run))
        await self._carry_out(run, move)
        return DONE if move.after is None else Result(timedelta(seconds=move.after))

    def _moved(self, scene: Scene) -> Move:
        run, now = scene.run, self._cluster.clock.now()
        try:
            ground = validity.checked(scene, run["status"])
        except Invalid as invalid:
            return Pass(run, Ground(), {}, now).fails(str(invalid))
        look = Pass(run, ground, self._approvals.of(run), now)
        is_stopping = run["spec"].get("state") == UpdateRunState.STOP
        return look.stops() if is_stopping else look.goes_on()

    async def _carry_out(self, run: Object, move: Move) -> None:
        for each in move.bind:
            await self._bind(each)
        for request in move.request:
            await self._approvals.make(run, request)
        for request in move.accept:
            await self._approvals.accept(run, request)
        for binding in move.delete:
            await self._delete(binding)
        await self._write(run, move.status)
        self._metrics.updated(run, move.updated_seconds)

    async def _bind(self, order: Bind) -> None:
        binding, key = order.binding, key_of(order.binding)
        patch = create_merge_patch(binding["spec"], order.spec)
        if patch:
            version = {"resourceVersion": binding["metadata"]["resourceVersion"]}
            binding = await self._cluster.patch(
                self.scope.binding, key.name, {"metadata": version, "spec": patch}, key.namespace,
                field_manager=labels.UPDATE_RUN_MANAGER,
            )  # fmt: skip
        status = binding.get("status") or {}
        told = conditions.make(
            PlacementAspect.ROLLOUT_STARTED,
            conditions.TRUE,
            "RolloutStarted",
            order.message,
            generation=int(binding["metadata"].get("generation") or 0),
            now=self._cluster.clock.now(),
        )
        written = await self._cluster.client.update(
            {**binding, "status": {**status, "conditions": conditions.put(
                status.get("conditions"), told)}},
            subresource="status", resource=self.scope.binding,
            field_manager=labels.UPDATE_RUN_MANAGER,
        )  # fmt: skip
        self._cluster.accept(written)

    async def _delete(self, binding: Object) -> None:
        key = key_of(binding)
        try:
            await self._cluster.delete(
                self.scope.binding, key.name, key.namespace, uid=uid_of(binding)
            )
        except NotFound:
            return

    async def _write(self, run: Object, status: Object) -> None:
        if status == run.get("status"):
            return
        written = await self._cluster.client.update(
            {**run, "status": status},
            subresource="status",
            resource=self.scope.update_run,
            field_manager=labels.UPDATE_RUN_MANAGER,
        )
        self._cluster.accept(written)

    async def _patch(self, run: Object, patch: Object) -> Object:
        key = key_of(run)
        done: Object = await self._cluster.patch(
            self.scope.update_run, key.name, patch, key.namespace,
            field_manager=labels.UPDATE_RUN_MANAGER,
        )  # fmt: skip
        return done

    def _runs_of(self, part: Object) -> Iterable[Key]:
        """By what belongs to a placement."""
        return self._runs_on(key_of(part).namespace, snapshots.placement_of(part))

    def _runs_for(self, placement: Object) -> Iterable[Key]:
        return self._runs_on(key_of(placement).namespace, key_of(placement).name)

    def _runs_on(self, namespace: str, placement: str) -> Iterable[Key]:
        found = self._cluster.cached_by(self.scope.update_run, PLACEMENT, (namespace, placement))
        return [key_of(each) for each in found]


def _placements(run: Any) -> Iterable[tuple[str, str]]:
    if marks.is_final(run.get("status") or {}):
        return []
    return [(key_of(run).namespace, str(run["spec"].get("placementName") or ""))]


def _asks_otherwise(old: Object | None, new: Object | None) -> bool:
    """Of a placement: a run that has begun may no longer be what it asks for."""
    if old is None or new is None:
        return new is None
    return bool(old["metadata"].get("generation") != new["metadata"].get("generation"))


def _tells_otherwise(old: Object | None, new: Object | None) -> bool:
    """Of a policy: another number of clusters may be wanted, with no binding that changes."""
    if old is None or new is None or not snapshots.is_latest(new):
        return False
    return bool(old["metadata"].get("annotations") != new["metadata"].get("annotations"))


def _concerns_runs(old: Object | None, new: Object | None) -> bool:
    if old is None or new is None:
        return True
    return bool(_said(old) != _said(new))


def _said(binding: Object) -> Any:
    told = [
        bindings.condition(binding, aspect)
        for aspect in (
            PlacementAspect.ROLLOUT_STARTED,
            PlacementAspect.AVAILABLE,
            PlacementAspect.DIFF_REPORTED,
        )
    ]
    return binding["metadata"].get("generation"), bindings.is_deleting(binding), told
