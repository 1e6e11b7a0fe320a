"""Takes a placement from its selectors to its snapshots, and tells how far the rest has come."""

from collections.abc import Callable, Iterable
from datetime import timedelta
from typing import Any

from fleetqueue.api.fleet import labels
from fleetqueue.api.meta import Key
from fleetqueue.errors import UserError
from fleetqueue.fleet import kinds
from fleetqueue.fleet.decide import selection, snapshots, status
from fleetqueue.fleet.decide import status_texts as texts
from fleetqueue.fleet.decide.selection import Selected
from fleetqueue.fleet.decide.status_clusters import Facts
from fleetqueue.fleet.hub import (
    marking,
    placement_metrics,
    placement_status,
    snapshot_lookup,
    snapshotting,
)
from fleetqueue.fleet.hub.both_scopes import belonging
from fleetqueue.fleet.hub.change_detection import Audience, ChangeDetection
from fleetqueue.fleet.hub.placement_status import Reporter
from fleetqueue.fleet.hub.selecting import NotFollowed, Selector
from fleetqueue.fleet.hub.selecting_memory import Selections
from fleetqueue.fleet.kinds import Scope
from fleetqueue.fleet.settings import HubSettings
from fleetqueue.kube import finalizers
from fleetqueue.kube.controller import Controller, Result, Watch
from fleetqueue.kube.errors import KubeError, NotFound
from fleetqueue.kube.manager import Manager
from fleetqueue.kube.resources import Object, key_of
from fleetqueue.kube.workqueue import WorkQueue
from fleetqueue.metrics.registry import Metrics

WORKERS = 4
"""Few: a status that waits for its turn tells of all that happened meanwhile, in one write."""
NOT_FOLLOWED_SECONDS = 30.0
DISPATCHED = "JobDispatchedByMultiKueue"


class PlacementController(Controller[Any]):
    """Of one scope; woken by its placements, by what they select, and by bindings and snapshots."""

    workers = WORKERS

    def __init__(
        self, scope: Scope, selector: Selector, settings: HubSettings, metrics: Metrics
    ) -> None:
        self.kind = scope.placement  # type: ignore[misc]
        self.scope = scope
        self._steps = settings.steps(selector.cluster.clock)
        self.reporter = Reporter(selector.cluster, scope, in_steps=not settings.is_job_aware)
        self._cluster = selector.cluster
        self._selector = selector
        self._settings = settings
        self._metrics = metrics
        self.selections = Selections()
        self._warned: dict[Key, frozenset[str]] = {}
        """By placement: the uids of jobs that somebody was warned of."""
        snapshot_lookup.follow(self._cluster, scope)
        self.watches = (
            belonging(scope.policy_snapshot, _is_news),
            belonging(scope.resource_snapshot, _is_lost),
            belonging(scope.binding, _is_other),
        )
        if not scope.is_namespaced:
            copies = Watch(kinds.PLACEMENT_STATUS, wakes=_namesakes, when=_is_lost)
            self.watches = (*self.watches, copies)

    @property
    def name(self) -> str:
        return f"{self.scope.placement.kind}Controller"

    def wanted(self, old: Object | None, new: Object | None, /) -> bool:
        if old is None or new is None or _outline(old) != _outline(new):
            return True
        return old.get("status") != new.get("status") and not self.reporter.is_own(new)

    async def gone(self, key: Key, /) -> Result:
        self.selections.drop(key)
        self._warned.pop(key, None)
        self.reporter.forget(key)
        return Result()

    async def reconcile(self, placement: Object, /) -> Result:
        clock = self._cluster.clock
        begun = clock.monotonic()
        try:
            return await self._reconcile(placement)
        finally:
            name = placement_metrics.NAMES[self.scope.placement.kind]
            self._metrics.observe(placement_metrics.TIME, clock.monotonic() - begun, name)

    async def _reconcile(self, placement: Object) -> Result:
        if finalizers.is_deleting(placement):
            await self._clean_up(placement)
            return Result()
        placement = await self._ensure_finalizer(placement)
        try:
            self._check_namespace(placement)
            selected = await self._select(placement)
        except NotFollowed:
            return Result(timedelta(seconds=NOT_FOLLOWED_SECONDS))
        except KubeError:
            raise
        except UserError as error:
            await self._refuse(placement, str(error))
            return self._later()
        policy = await snapshotting.ensure_policy(self._cluster, self.scope, placement)
        return await self._take_and_report(placement, selected, policy)

    async def _refuse(self, placement: Object, text: str) -> None:
        now = self._cluster.clock.now()
        told = status.invalid(placement, text, now)
        await self.reporter.write(placement, told)
        self.reporter.measure(Facts(placement, policy={}, bindings=(), now=now), told)

    async def _take_and_report(
        self, placement: Object, selected: Selected, policy: Object
    ) -> Result:
        if is_external(placement):
            facts = self._facts(placement, policy, is_external=True)
            told = status.told(facts, selected.identities, self._held_by(key_of(placement)))
            return self._later(await self.reporter.report(facts, told))
        taken = await snapshotting.ensure_snapshot(
            self._cluster, self.scope, placement, selected, self._settings
        )
        facts = self._facts(placement, policy, master=taken.master, index=str(taken.index))
        identities = selected.identities
        if taken.wait_seconds:
            identities = _identities(snapshots.manifests_of(taken.group))
        waits = await self.reporter.report(facts, status.told(facts, identities, lambda _: ()))
        return self._later(taken.wait_seconds, waits)

    def _facts(self, placement: Object, policy: Object, **more: Any) -> Facts:
        key = key_of(placement)
        return Facts(
            placement,
            policy,
            snapshot_lookup.bindings(self._cluster, self.scope, key.namespace, key.name),
            self._cluster.clock.now(),
            is_job_aware=self._selector.is_job_aware(placement),
            **more,
        )

    def _later(self, *seconds: float) -> Result:
        """After the shortest of these that is more than nothing."""
        wanted = [each for each in seconds if each]
        return Result(timedelta(seconds=min(wanted, default=self._settings.resync_seconds)))

    async def _select(self, placement: Object) -> Selected:
        key, said = key_of(placement), _outline(placement)
        known = self.selections.known(key, said)
        if known is not None:
            return known
        self.selections.begin(key)
        try:
            found = await self._selector.select(self.scope, placement)
        except KubeError:
            raise
        except UserError as error:
            raise UserError(status.refusal(str(error))) from None
        if self._settings.enable_workload and selection.is_placing(placement):
            await marking.mark(self._cluster, found.unmarked)
        self.selections.keep(key, said, found)
        self._warn(placement, found)
        return found

    def _warn(self, placement: Object, found: Selected) -> None:
        key = key_of(placement)
        warned = self._warned.get(key, frozenset())
        for job in found.dispatched:
            if job["metadata"].get("uid") not in warned:
                name = selection.display_name(job)
                text = f"{job['kind']} {name} is sent to a cluster by MultiKueue and not placed"
                self.reporter.note(placement, DISPATCHED, text, is_bad=True)
        self._warned[key] = frozenset(job["metadata"].get("uid") for job in found.dispatched)

    def _check_namespace(self, placement: Object) -> None:
        """A placement whose status is copied to a namespace stays with that namespace."""
        if not placement_status.is_accessible(placement):
            return
        wanted = placement_status.selected_namespace(placement)
        if not any(selection.is_namespace(each) for each in placement["spec"]["resourceSelectors"]):
            raise UserError(
                "NamespaceAccessible ClusterResourcePlacement doesn't specify a resource selector"
                " which selects a namespace"
            )
        picked = placement_status.listed_namespace(placement.get("status"))
        if not picked:
            copies = self.reporter.copies(placement)
            picked = copies[0]["metadata"]["namespace"] if copies else ""
        if wanted and picked and wanted != picked:
            raise UserError(
                f"namespace resource selector is choosing a different namespace '{wanted}' from"
                f" what was originally picked '{picked}'. This is not allowed for"
                " NamespaceAccessible ClusterResourcePlacement"
            )

    def _held_by(self, key: Key) -> Callable[[str], list[Object]]:
        def held(index: str) -> list[Object]:
            return _identities(
                snapshot_lookup.manifests(
                    self._cluster, self.scope, key.namespace, key.name, int(index)
                )
            )

        return held

    async def _ensure_finalizer(self, placement: Object) -> Object:
        patch = finalizers.added(placement, labels.PLACEMENT_FINALIZER)
        if patch is None:
            return placement
        if placement["spec"].get("strategy") is None:
            # The first write stores what the schema fills into a strategy.
            patch["spec"] = {"strategy": {"type": "RollingUpdate"}}
        if not self._steps.take():
            # The scheduler's as well, which it would add a moment later.
            held = patch["metadata"]["finalizers"]
            patch["metadata"]["finalizers"] = [*dict.fromkeys([*held, labels.SCHEDULER_FINALIZER])]
        return await self._patch(placement, patch)

    async def _clean_up(self, placement: Object) -> None:
        patch = finalizers.removed(placement, labels.PLACEMENT_FINALIZER)
        if patch is None:
            return
        await snapshotting.delete_snapshots(self._cluster, self.scope, placement)
        try:
            await self._patch(placement, patch)
        except NotFound:
            return
        self.reporter.note(placement, *texts.CLEANED_UP)

    async def _patch(self, placement: Object, patch: Object) -> Object:
        key = key_of(placement)
        done: Object = await self._cluster.patch(
            self.scope.placement, key.name, patch, key.namespace,
            field_manager=labels.PLACEMENT_MANAGER,
        )  # fmt: skip
        return done


def install(manager: Manager, settings: HubSettings, metrics: Metrics) -> None:
    """The controllers of both scopes, and what tells them of changes."""
    selector = Selector(manager.cluster, settings)
    scopes = kinds.SCOPES if settings.enable_resource_placement else (kinds.CLUSTER_SCOPE,)
    detection = ChangeDetection(selector)
    for scope in scopes:
        controller = PlacementController(scope, selector, settings, metrics)
        loop = manager.add(controller)
        name = placement_metrics.NAMES[scope.placement.kind]
        metrics.sources.append(placement_metrics.LoopReadings(name, loop))
        audience = Audience(_waker(controller, loop.queue))
        detection.audiences.append(audience)
        manager.cluster.informer(scope.placement).listen(audience.placement_changed)
        metrics.sources.append(controller.reporter.readings)
    manager.add_task(
        "selected kinds", detection.run, needs_leader=True, is_busy=lambda: detection.is_busy
    )


def is_external(placement: Object) -> bool:
    """Whether update runs decide when the clusters get what."""
    return (placement["spec"].get("strategy") or {}).get("type") == "External"


def _waker(controller: PlacementController, queue: WorkQueue[Key]) -> Callable[[Key], None]:
    def wake(key: Key) -> None:
        controller.selections.changed(key)
        queue.add(key)

    return wake


def _identities(manifests: Iterable[Object]) -> list[Object]:
    return [selection.identity(each) for each in manifests]


def _namesakes(copy: Object) -> list[Key]:
    return [Key("", key_of(copy).name)]


def _is_news(old: Object | None, new: Object | None) -> bool:
    """Of policy snapshots: the scheduler has spoken, or it is lost."""
    return old is not None and (new is None or _told(old) != _told(new))


def _is_lost(old: Object | None, new: Object | None) -> bool:
    return old is not None and new is None


def _is_other(old: Object | None, new: Object | None) -> bool:
    """Of bindings: what a status is told from has changed."""
    if old is None and new is not None:
        return bool(new.get("status") or new["spec"].get("resourceSnapshotName"))
    return old is None or new is None or _told(old) != _told(new)


def _told(obj: Object) -> tuple[Any, ...]:
    metadata = obj["metadata"]
    is_deleting = bool(metadata.get("deletionTimestamp"))
    return metadata.get("generation"), is_deleting, obj.get("spec"), obj.get("status")


def _outline(placement: Object) -> tuple[Any, ...]:
    """What a placement says that concerns us, its status aside."""
    metadata = placement["metadata"]
    has_finalizer = labels.PLACEMENT_FINALIZER in (metadata.get("finalizers") or ())
    aware = (metadata.get("annotations") or {}).get(labels.KUEUE_AWARE)
    is_deleting = bool(metadata.get("deletionTimestamp"))
    return metadata.get("generation"), is_deleting, has_finalizer, aware
