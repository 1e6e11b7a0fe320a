"""Writes the Works that bindings need into the namespaces of their members, and tells on each
binding what the members make of them.
"""

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from fleetqueue.api.fleet import labels
from fleetqueue.api.fleet.binding import BindingState
from fleetqueue.api.fleet.conditions import PlacementAspect
from fleetqueue.api.meta import Key
from fleetqueue.fleet import kinds
from fleetqueue.fleet.decide import (
    back_reporting,
    binding_status,
    bindings,
    deliveries,
    rollout,
    snapshots,
    works,
)
from fleetqueue.fleet.decide.binding_status import Sync
from fleetqueue.fleet.decide.confinement import OutOfNamespace
from fleetqueue.fleet.decide.delivery.plans import is_job_aware
from fleetqueue.fleet.decide.envelopes import BadEnvelope
from fleetqueue.fleet.decide.overrides import OverrideFailed, Overrides
from fleetqueue.fleet.hub import override_lookup, snapshot_lookup
from fleetqueue.fleet.hub.back_reporting import BackReporter
from fleetqueue.fleet.hub.pacing import Turns
from fleetqueue.fleet.hub.work_kinds import KnownKinds
from fleetqueue.fleet.hub.work_writer import WorkWriter
from fleetqueue.fleet.kinds import SCOPES, Scope
from fleetqueue.fleet.settings import HubSettings
from fleetqueue.kube import finalizers
from fleetqueue.kube.calls import PatchType
from fleetqueue.kube.cluster import Cluster
from fleetqueue.kube.controller import DONE, Controller, Result, Watch
from fleetqueue.kube.errors import BadRequest, Forbidden, Invalid, KubeError, TooLarge
from fleetqueue.kube.manager import Manager
from fleetqueue.kube.resources import Object, Resource, key_of
from fleetqueue.metrics.registry import Metrics

WORKERS = 8
BINDING = "binding"
"""The index of Works: namespace and name of the binding that they belong to."""
GONE_WAIT = timedelta(seconds=30)
"""Between looks at Works of a binding that is being deleted."""
AGAIN_WAIT = timedelta(seconds=1)
"""Where something has to come or to go first."""
REPORT_WAIT = timedelta(seconds=30)
"""Until a status is brought back that could not be written to its original."""
NAME_WAIT = timedelta(seconds=2)
COMPONENT = "work-generator"


def install(manager: Manager, settings: HubSettings, metrics: Metrics) -> None:
    for scope in SCOPES:
        if scope.is_namespaced and not settings.enable_resource_placement:
            continue
        manager.add(generator_of(scope)(manager.cluster, settings))


def generator_of(scope: Scope) -> type["WorkGenerator"]:
    """The controller class for the bindings of a scope."""
    members = {"scope": scope, "kind": scope.binding, "__doc__": scope.binding.kind}
    return type(f"WorkGenerator{scope.binding.kind}", (WorkGenerator,), members)


class Missing(Exception):
    """Something that a binding names is no more; the text says what."""


@dataclass(frozen=True, slots=True)
class Delivered:
    """How a pass over the Works went."""

    sync: Sync
    works: Sequence[Object] = ()
    after: timedelta | None = None
    error: KubeError | None = None


class WorkGenerator(Controller[Any]):
    """Woken by a binding, by its Works, and by what its placement says about them."""

    scope: Scope
    workers = WORKERS

    def __init__(self, cluster: Cluster, settings: HubSettings) -> None:
        self._cluster = cluster
        self._kinds = KnownKinds(cluster)
        self._writer = WorkWriter(cluster)
        self._turns = Turns(cluster.clock)
        self._told: set[Key] = set()
        """Bindings that have spoken of their Works as these are now."""
        self._reporter = BackReporter(cluster)
        self._settings = settings
        snapshot_lookup.follow(cluster, self.scope)
        override_lookup.follow(cluster)
        cluster.informer(kinds.WORK, indexes={BINDING: _bindings_of_work})
        cluster.informer(kinds.MEMBER_CLUSTER)
        self.watches = (
            Watch(kinds.WORK, wakes=self._binding_of, when=_says_otherwise),
            Watch(self.scope.placement, wakes=self._bindings_of, when=_asks_otherwise),
        )

    def wanted(self, old: Object | None, new: Object | None, /) -> bool:
        """Its own words about a binding are no news, except where each of them is a step."""
        if old is None or new is None or self._wording(self._placement(new)).announces:
            return True
        return bool(_asked(old) != _asked(new))

    async def reconcile(self, binding: Object, /) -> Result:
        if bindings.is_deleting(binding):
            return await self._remove(binding)
        existing = self._existing(binding)
        state = bindings.state(binding)
        is_leaving = state == BindingState.UNSCHEDULED and bool(existing)
        if state != BindingState.BOUND and not is_leaving:
            return DONE
        binding = await self._held(binding)
        if is_leaving:
            delivered = Delivered(binding_status.remembered(binding), existing)
        elif not _has_started(binding):
            return DONE
        else:
            member = self._cluster.cached(kinds.MEMBER_CLUSTER, bindings.target_cluster(binding))
            if member is None:
                return DONE
            made = await self._deliver(binding, member, existing)
            if made is None:
                return Result(AGAIN_WAIT)
            delivered = made
        waits = await self._tell(binding, delivered)
        if delivered.error is not None:
            raise delivered.error
        return Result(delivered.after or waits)

    async def gone(self, key: Key, /) -> Result:
        self._turns.give_back(key)
        self._told.discard(key)
        return DONE

    # Deletion

    async def _remove(self, binding: Object) -> Result:
        existing = self._existing(binding)
        if existing:
            await self._writer.delete(existing, abandons=_is_going(self._placement(binding)))
            if self._existing(binding):
                return Result(GONE_WAIT)
        patch = finalizers.removed(binding, labels.WORK_FINALIZER)
        if patch is not None:
            await self._patch(binding, patch)
        return DONE

    async def _held(self, binding: Object) -> Object:
        """The binding with the finalizer that keeps it until its Works are gone."""
        joining = finalizers.joining(binding, labels.WORK_FINALIZER)
        return binding if joining is None else await self._patch(binding, *joining)

    async def _patch(
        self, binding: Object, patch: Any, type: PatchType = PatchType.MERGE
    ) -> Object:
        key, kind = key_of(binding), self.scope.binding
        return dict(await self._cluster.patch(kind, key.name, patch, key.namespace, type=type))

    # Delivery

    async def _deliver(
        self, binding: Object, member: Object, existing: Sequence[Object]
    ) -> Delivered | None:
        """None: the snapshot that the binding names is not whole yet, or its member is about to be
        gone.
        """
        options = works.options_of(self._placement(binding))
        try:
            group = self._shards(binding)
            if not snapshots.is_complete(group):
                return None
            delivered = deliveries.overridden(group, self._overrides(binding, member))
            known = await self._kinds.of(delivered, key_of(binding).namespace)
            wanted = works.wanted(binding, delivered, options, known)
        except Missing as missing:
            if not works.is_synchronized(binding, existing):
                return Delivered(Sync(problem=str(missing)), existing)
            wanted = [works.with_strategy(each, binding, options) for each in existing]
        except OverrideFailed as failure:
            return Delivered(Sync(override_problem=str(failure)), existing)
        except (BadEnvelope, OutOfNamespace) as failure:
            return Delivered(Sync(problem=str(failure)), existing)
        return await self._write(binding, existing, wanted)

    async def _write(
        self, binding: Object, existing: Sequence[Object], wanted: Sequence[Object]
    ) -> Delivered | None:
        self._warn_of_duplicates(binding, existing)
        namesakes = list(self._namesakes(existing, wanted))
        if taken := works.of_others(binding, namesakes):
            text = f'works.{kinds.WORK.group} "{taken}" already exists, for another placement'
            return Delivered(Sync(problem=text), existing, GONE_WAIT)
        changes = works.compared([*existing, *namesakes], wanted)
        abandons = _is_going(self._placement(binding))
        try:
            has_changed = await self._writer.write(changes, abandons=abandons)
        except (BadRequest, Invalid, TooLarge) as refusal:
            return Delivered(Sync(problem=str(refusal)), existing)
        except KubeError as error:
            if _is_namespace_ending(error):
                return None
            return Delivered(Sync(problem=str(error)), existing, error=error)
        names = {key_of(each).name for each in wanted}
        present = [each for each in self._existing(binding) if key_of(each).name in names]
        staying = {key_of(each).name for each in present if not finalizers.is_deleting(each)}
        sync = Sync(has_changed=has_changed, awaited=frozenset(names - staying))
        return Delivered(sync, present, NAME_WAIT if changes.awaited else None)

    def _shards(self, binding: Object) -> list[Object]:
        name, key = bindings.resource_snapshot(binding), key_of(binding)
        master = self._cluster.cached(self.scope.resource_snapshot, name, key.namespace)
        if master is None:
            raise Missing(f"the master resource snapshot {name} is not found")
        placement, index = snapshots.placement_of(binding), snapshots.index_of(master)
        return snapshot_lookup.shards(self._cluster, self.scope, key.namespace, placement, index)

    def _overrides(self, binding: Object, member: Object) -> Overrides:
        spec = binding["spec"]
        wide = kinds.CLUSTER_OVERRIDE_SNAPSHOT
        narrow = kinds.OVERRIDE_SNAPSHOT
        return Overrides(
            member,
            [self._snapshot(wide, name) for name in
             spec.get("clusterResourceOverrideSnapshots") or ()],
            [self._snapshot(narrow, each["name"], each["namespace"]) for each in
             spec.get("resourceOverrideSnapshots") or ()],
        )  # fmt: skip

    def _snapshot(self, kind: Resource, name: str, namespace: str = "") -> Object:
        found = self._cluster.cached(kind, name, namespace)
        if found is None:
            raise Missing(f"the {kind.kind} {name} is not found")
        return found

    def _namesakes(self, existing: Sequence[Object], wanted: Sequence[Object]) -> Iterable[Object]:
        """Works that have a name which is needed, and another parent."""
        ours = {key_of(each) for each in existing}
        for key in (key_of(each) for each in wanted):
            if key not in ours:
                found = self._cluster.cached(kinds.WORK, key.name, key.namespace)
                if found is not None:
                    yield found

    def _warn_of_duplicates(self, binding: Object, existing: Sequence[Object]) -> None:
        for found in works.duplicates(existing):
            names = ", ".join(sorted(key_of(each).name for each in found))
            text = f"Several works carry the contents of one envelope: {names}"
            self._cluster.events.record(
                binding, "Warning", "DuplicateEnvelopeWorks", text, component=COMPONENT
            )

    async def _tell(self, binding: Object, delivered: Delivered) -> timedelta | None:
        """How long until there is more to say, or its turn comes; None where all is said."""
        placement, found, key = self._placement(binding), delivered.works, key_of(binding)
        if delivered.sync.has_changed or delivered.error is not None:
            self._told.discard(key)
        back = await self._reporter.report(placement, binding, found)
        now = self._cluster.clock.now()
        sync = replace(delivered.sync, back_report=back, is_same=key in self._told)
        begun = _with_start(binding, now)
        told = binding_status.status(begun, sync, found, now, self._wording(placement))
        has_failed = back is not None and back.reason == back_reporting.FAILED
        after = REPORT_WAIT if has_failed else None
        if told == (binding.get("status") or {}):
            self._turns.give_back(key)
            self._told.add(key)
            return after
        if binding_status.is_under_way(told) and (seconds := self._turns.wait(key)):
            return timedelta(seconds=seconds)
        self._turns.give_back(key)
        written = await self._cluster.client.update(
            {**binding, "status": told}, subresource="status", resource=self.scope.binding
        )
        self._cluster.accept(written)
        self._told.add(key)
        return after

    # What belongs together

    def _existing(self, binding: Object) -> list[Object]:
        key = key_of(binding)
        return self._cluster.cached_by(kinds.WORK, BINDING, (key.namespace, key.name))

    def _placement(self, binding: Object) -> Object | None:
        name, namespace = snapshots.placement_of(binding), key_of(binding).namespace
        return self._cluster.cached(self.scope.placement, name, namespace)

    def _wording(self, placement: Object | None) -> binding_status.Wording:
        is_better = self._settings.is_job_aware
        if placement is not None:
            is_better = is_job_aware(placement, is_better)
        return binding_status.PLAIN if is_better else binding_status.COMPATIBLE

    def _binding_of(self, work: Object) -> Iterable[Key]:
        for namespace, name in _bindings_of_work(work):
            if bool(namespace) == self.scope.is_namespaced:
                yield Key(namespace, name)

    def _bindings_of(self, placement: Object) -> Iterable[Key]:
        key = key_of(placement)
        found = snapshot_lookup.bindings(self._cluster, self.scope, key.namespace, key.name)
        return [key_of(each) for each in found]


def _is_going(placement: Object | None) -> bool:
    return placement is None or finalizers.is_deleting(placement)


def _has_started(binding: Object) -> bool:
    """Whether the roll-out has spoken of the binding as it is now."""
    said = bindings.condition(binding, PlacementAspect.ROLLOUT_STARTED)
    return said is not None or bindings.is_rolled_out(binding)


def _with_start(binding: Object, now: datetime) -> Object:
    """With the word on the roll-out that is left to who writes the status first."""
    if not bindings.is_rolled_out(binding):
        return binding
    said = rollout.conditions_with(binding, rollout.STARTED, now)
    return {**binding, "status": {**(binding.get("status") or {}), "conditions": said}}


def _is_namespace_ending(error: KubeError) -> bool:
    if not isinstance(error, Forbidden):
        return False
    return any(cause.get("reason") == "NamespaceTerminating" for cause in error.causes)


def _bindings_of_work(work: Any) -> Iterable[tuple[str, str]]:
    name = snapshots.label(work, labels.PARENT_BINDING)
    return [(snapshots.label(work, labels.PARENT_PLACEMENT_NAMESPACE), name)] if name else []


def _asked(binding: Object) -> Any:
    metadata = binding["metadata"]
    told = bindings.condition(binding, PlacementAspect.ROLLOUT_STARTED)
    is_told = None if told is None else told["status"]
    names = ("generation", "deletionTimestamp", "finalizers", "labels")
    return [metadata.get(name) for name in names], is_told


def _says_otherwise(old: Object | None, new: Object | None) -> bool:
    """Whether a change of a Work concerns its binding; finalizers and the like do not."""
    if old is None or new is None:
        return True
    fields: tuple[Callable[[Object], Hashable | Any], ...] = (
        lambda work: work["metadata"].get("generation"),
        lambda work: work["metadata"].get("labels"),
        lambda work: work["metadata"].get("annotations"),
        lambda work: work["metadata"].get("deletionTimestamp"),
        lambda work: work.get("status"),
    )
    return any(each(old) != each(new) for each in fields)


def _asks_otherwise(old: Object | None, new: Object | None) -> bool:
    if old is None or new is None:
        return False
    return works.options_of(old) != works.options_of(new)
