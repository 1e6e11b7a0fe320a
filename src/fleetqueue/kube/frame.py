"""One frame for all controllers of a cluster: an operator declares what it owns, and decides; the
frame fetches, asks it, and writes.

    OPERATOR = Operator("replicaset-controller", REPLICA_SET, decide, owns=(POD,))
"""

import asyncio
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from itertools import groupby
from typing import Any, Protocol, TypeAlias

from fleetqueue.api.meta import Key
from fleetqueue.api.owners import controller_uid
from fleetqueue.kube.calls import DeleteOptions
from fleetqueue.kube.cluster import Cluster
from fleetqueue.kube.controller import DONE, Controller, Result, Watch, owned
from fleetqueue.kube.errors import Conflict, KubeError, NotFound, UnknownKind
from fleetqueue.kube.finalizers import is_deleting
from fleetqueue.kube.ownership import Ownership
from fleetqueue.kube.plan import (
    Apply,
    Create,
    Delete,
    Look,
    Note,
    Order,
    Patch,
    Plan,
    Status,
    Step,
    title,
)
from fleetqueue.kube.resources import Object, Resource, key_of, uid_of
from fleetqueue.kube.sources import Index, Source, owner_name, owner_names

TOGETHER_MAX = 100
"""Creations and deletions under way at once for one parent."""
_CONTROLLER = "controller"
_OWNER = "owner by name"
_ORPHANS = "orphans of"
CLIMB_MAX = 12
"""More objects above a parent are not looked at; whoever climbs so high makes a mistake."""

Decide: TypeAlias = Callable[[Look], Plan]


@dataclass(frozen=True, slots=True)
class Follow:
    """A kind that the decision reads; whom an object of it wakes depends on others."""

    kind: Resource
    parents: Callable[[Source, Object], Iterable[Key]]
    when: Callable[[Object | None, Object | None], bool] | None = None
    """Given what was and what is; False: this change wakes nobody."""
    after: float | Callable[[Key], float] = 0.0
    """How many seconds later they wake, so that what changes meanwhile is taken in together."""


class Outside(Protocol):
    """A system beside the cluster that an operator asks before it decides, and gives orders to."""

    async def observe(self, look: Look, /) -> Mapping[str, Any]:
        """What the decision finds in `look.observed`; a failure is told there, not raised."""

    async def carry_out(self, look: Look, what: Any, /) -> Plan:
        """Does what an `Order` says, and tells what follows from that, such as events."""


@dataclass(frozen=True, slots=True)
class Operator:
    """One controller as a declaration."""

    name: str
    """The component that its events name."""
    kind: Resource
    decide: Decide
    owns: tuple[Resource, ...] = ()
    """Kinds whose objects wake the parent that controls them."""
    reads: tuple[Watch, ...] = ()
    """Other kinds that the decision looks at, and which parents each object wakes."""
    follows: tuple[Follow, ...] = ()
    """The same where that takes a look at the parents, as with selectors."""
    indexes: tuple[Index, ...] = ()
    """How else its decision finds objects, of kinds that it owns, reads or follows."""
    manager: str = ""
    """The field manager of its writes; its name where nothing is said."""
    managed_by: tuple[str, ...] = ()
    """Where the parent names its controller; one that names another is not touched at all."""
    own_name: str = ""
    """What a parent of ours says there."""
    decides_deletion: bool = False
    """Whether a parent that is being deleted is still looked at."""
    created: Callable[[Look, Object], Plan] | None = None
    """What follows a creation, given the object as the server made it: an event with its name."""
    refused: Callable[[Look, Step, KubeError], Plan] | None = None
    """What it means that a creation, deletion or apply is refused; the error is raised again after
    that plan is done.
    """
    complete: Callable[[Object], Object] | None = None
    """Adds to an object about to be created what no decision can know, such as fresh keys."""
    outside: Outside | None = None
    """What is asked before each decision, and carries out its `Order`s."""
    fetches: Callable[[Object], Iterable[Object]] | None = None
    """Objects of any kind that the decision needs, by kind and name; those that are there are in
    `look.observed`, under their `title`.
    """
    climbs: Callable[[Object], Object | None] | None = None
    """Given an object, the one above it that the decision needs, by kind and name; asked for that
    one in turn. They are in `look.observed` like those of `fetches`.
    """
    gone: Decide | None = None
    """What is left to do when a parent is no more; the look's parent has its names alone, and
    `look.left` finds what still says that it belonged to it.
    """
    rest: Callable[[Look], float] | None = None
    """How many seconds a parent is left alone after a look, so that changes of many children are
    taken in together.
    """
    skips: Callable[[Object], bool] | None = None
    """Given a parent: whether no decision would ever be made about it as it is."""
    is_urgent: Callable[[Object], bool] | None = None
    """Given a parent or an object that it owns, which changed: whether the parent goes before
    others.
    """
    tells_action: bool = False
    """Whether its events have the form of events.k8s.io, with their reason as the action."""
    workers: int = 4
    ordinary_workers: int | None = None
    """So many of them, at most, are at what is not urgent."""


class Framed(Controller[Any]):
    """Runs one operator."""

    operator: Operator

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._source = Caches(cluster)
        self._rests_until: dict[Key, datetime] = {}
        self._said: dict[Key, Object] = {}
        """By parent, the status written last."""
        self._ownership = Ownership(cluster)
        self.workers = self.operator.workers
        self.ordinary_workers = self.operator.ordinary_workers
        self.watches = (
            *(
                owned(kind, self.operator.kind, self.operator.is_urgent)
                for kind in self.operator.owns
            ),
            *self.operator.reads,
            *(_watch_of(each, self._source) for each in self.operator.follows),
        )
        indexes = {_CONTROLLER: _controllers}
        if self.operator.gone is not None:
            indexes[_OWNER] = _owners
        for kind in self.operator.owns:
            cluster.informer(kind, indexes=indexes)
        for index in self.operator.indexes:
            cluster.informer(index.kind, indexes={index.name: index.values})

    @property
    def name(self) -> str:
        return self.operator.name

    def wanted(self, old: Object | None, new: Object | None, /) -> bool:
        skips = self.operator.skips
        if skips is None or new is None or not skips(new):
            return True
        return old is not None and not skips(old)

    def is_urgent(self, parent: Object, /) -> bool:
        return self.operator.is_urgent is not None and self.operator.is_urgent(parent)

    async def reconcile(self, parent: Object, /) -> Result:
        if not is_ours(self.operator, parent):
            return DONE
        if is_deleting(parent) and not self.operator.decides_deletion:
            return DONE
        look = Look(parent, self._cluster.clock.now(), self._source)
        until = self._rests_until.get(key_of(parent))
        if until is not None and look.now < until:
            return Result(until - look.now)
        if self.operator.outside is not None:
            look = replace(look, observed=await self.operator.outside.observe(look))
        if self.operator.fetches is not None:
            found = await self._fetch(look, self.operator.fetches(parent))
            look = replace(look, observed={**look.observed, **found})
        if self.operator.climbs is not None:
            look = replace(look, observed={**look.observed, **await self._climb(look)})
        plan = self.operator.decide(look)
        await self._do(look, plan)
        self._rest(look)
        return DONE if plan.after is None else Result(timedelta(seconds=plan.after))

    async def _fetch(self, look: Look, wanted: Iterable[Object]) -> dict[str, Object]:
        found = {}
        for stub in wanted:
            obj = await self._fetch_one(look, stub)
            if obj is not None:
                found[title(stub)] = obj
        return found

    async def _climb(self, look: Look) -> dict[str, Object]:
        assert self.operator.climbs is not None
        found: dict[str, Object] = {}
        below = look.parent
        for _ in range(CLIMB_MAX):
            stub = self.operator.climbs(below)
            above = None if stub is None else await self._fetch_one(look, stub, from_cache=True)
            if stub is None or above is None or title(stub) in found:
                break
            found[title(stub)] = below = above
        return found

    async def _fetch_one(
        self, look: Look, stub: Object, *, from_cache: bool = False
    ) -> Object | None:
        """From a cache only where another controller follows that kind anyway."""
        try:
            resource = await self._resource(stub)
            namespace = look.namespace if resource.namespaced else ""
            name = str(stub["metadata"]["name"])
            if from_cache and self._cluster.follows(resource):
                return self._cluster.cached(resource, name, namespace)
            return dict(await self._cluster.client.get(resource, name, namespace))
        except (NotFound, UnknownKind):
            return None

    async def gone(self, key: Key, /) -> Result:
        self._rests_until.pop(key, None)
        self._said.pop(key, None)
        if self.operator.gone is None:
            return DONE
        kind = self.operator.kind
        names = {"name": key.name, "namespace": key.namespace}
        stub = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": names}
        look = Look(stub, self._cluster.clock.now(), self._source)
        plan = self.operator.gone(look)
        await self._do(look, plan)
        return DONE if plan.after is None else Result(timedelta(seconds=plan.after))

    def _rest(self, look: Look) -> None:
        seconds = self.operator.rest(look) if self.operator.rest is not None else 0.0
        if seconds > 0:
            self._rests_until[key_of(look.parent)] = look.now + timedelta(seconds=seconds)

    async def _do(self, look: Look, plan: Plan) -> None:
        for _, group in groupby(plan.steps, key=_batch):
            steps = list(group)
            if isinstance(steps[0], Create | Delete):
                await self._do_together(look, steps)
            else:
                for step in steps:
                    await self._do_alone(look, step)

    async def _do_alone(self, look: Look, step: Step) -> None:
        try:
            await self._do_one(look, step)
        except KubeError as error:
            if isinstance(step, Apply) and self.operator.refused is not None:
                await self._do(look, self.operator.refused(look, step, error))
            raise

    async def _do_together(self, look: Look, steps: Sequence[Step]) -> None:
        """In growing batches, so that a refusal that meets all is asked for once or twice."""
        at, size = 0, 1
        while at < len(steps):
            batch = steps[at : at + size]
            done = await asyncio.gather(
                *(self._do_one(look, step) for step in batch), return_exceptions=True
            )
            for step, error in zip(batch, done, strict=True):
                if isinstance(error, KubeError) and self.operator.refused is not None:
                    await self._do(look, self.operator.refused(look, step, error))
                if isinstance(error, BaseException):
                    raise error
            at, size = at + size, min(size * 2, TOGETHER_MAX)

    async def _do_one(self, look: Look, step: Step) -> None:
        match step:
            case Create(obj):
                await self._create(look, obj)
            case Patch(obj, patch, subresource, kind):
                await self._ownership.check_added(obj, patch)
                resource = await self._resource(obj)
                key = key_of(obj)
                await self._cluster.patch(
                    resource, key.name, patch, key.namespace,
                    type=kind, subresource=subresource, field_manager=self._manager,
                )  # fmt: skip
            case Apply(obj, manager, subresource):
                if subresource or await self._ownership.may_stay(obj):
                    applied = await self._cluster.apply(
                        obj, force=True, field_manager=manager, subresource=subresource
                    )
                    if not subresource:
                        self._ownership.applied(applied)
            case Delete():
                await self._delete(step)
            case Status(status):
                await self._write_status(look.parent, status)
            case Note(reason, message, kind, about):
                self._cluster.events.record(
                    about or look.parent, kind, reason, message,
                    component=self.operator.name,
                    action=reason if self.operator.tells_action else "",
                )  # fmt: skip
            case Order(what) if self.operator.outside is not None:
                await self._do(look, await self.operator.outside.carry_out(look, what))

    async def _create(self, look: Look, obj: Object) -> None:
        home, resource = obj["metadata"].get("namespace"), await self._resource(obj)
        if home and not resource.namespaced:
            raise UnknownKind(f"{resource} are in no namespace: none can be made in {home}")
        if look.namespace and not home and resource.namespaced:
            obj = {**obj, "metadata": {**obj["metadata"], "namespace": look.namespace}}
        if self.operator.complete is not None:
            obj = self.operator.complete(obj)
        if not await self._ownership.has_owner(obj):
            return
        made = await self._cluster.create(obj, field_manager=self._manager)
        if self.operator.created is not None:
            await self._do(look, self.operator.created(look, made))

    async def _delete(self, step: Delete) -> None:
        key = key_of(step.obj)
        options: DeleteOptions = {"propagation": step.propagation, "uid": uid_of(step.obj)}
        if step.grace_seconds is not None:
            options["grace_period_seconds"] = step.grace_seconds
        resource = await self._resource(step.obj)
        try:
            await self._cluster.delete(resource, key.name, key.namespace, **options)
        except (NotFound, Conflict):
            # Gone already, or another object has the name by now.
            return

    async def _write_status(self, parent: Object, status: Object) -> None:
        newest = self._source.get(self.operator.kind, *_where(parent)) or parent
        if (newest.get("status") or {}) == status or uid_of(newest) != uid_of(parent):
            return
        if self._is_outdated(parent, newest):
            raise Conflict({"message": "the object changed while its status was worked out"})
        written = await self._cluster.client.update(
            {**newest, "status": status},
            subresource="status",
            resource=self.operator.kind,
            field_manager=self._manager,
        )
        self._said[key_of(parent)] = written.get("status") or {}
        self._cluster.accept(written)

    def _is_outdated(self, parent: Object, newest: Object) -> bool:
        """Whether somebody else wrote what the decision has not seen; other metadata aside."""
        now, seen = newest.get("status") or {}, parent.get("status") or {}
        if now not in (seen, self._said.get(key_of(parent))):
            return True
        was = parent["metadata"].get("generation")
        return bool(newest["metadata"].get("generation") != was)

    async def _resource(self, obj: Object) -> Resource:
        return await self._cluster.client.discovery.resource_of(obj)

    @property
    def _manager(self) -> str:
        return self.operator.manager or self.operator.name


def controller_of(operator: Operator) -> type[Framed]:
    """A controller class that runs the operator; a manager is given an instance of it."""
    members = {"operator": operator, "kind": operator.kind, "__doc__": operator.name}
    return type(f"Framed{operator.kind.kind}", (Framed,), members)


def is_ours(operator: Operator, parent: Object) -> bool:
    """Whether the parent leaves itself to this operator, by saying so or by saying nothing."""
    if not operator.managed_by:
        return True
    value: Any = parent
    for name in operator.managed_by:
        value = value.get(name) if isinstance(value, dict) else None
    return value in (None, "", operator.own_name)


class Caches:
    """A look's source: the caches of a cluster."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def get(self, kind: Resource, namespace: str, name: str) -> Object | None:
        return self._cluster.cached(kind, name, namespace)

    def all(self, kind: Resource, namespace: str) -> Sequence[Object]:
        return self._cluster.cached_all(kind, namespace)

    def controlled(self, kind: Resource, uid: str, namespace: str) -> Sequence[Object]:
        found = self._cluster.cached_by(kind, _CONTROLLER, uid)
        if not namespace:
            return found
        return [obj for obj in found if obj["metadata"].get("namespace") == namespace]

    def orphans(self, kind: Resource, namespace: str) -> Sequence[Object]:
        return self._cluster.cached_by(kind, _CONTROLLER, (_ORPHANS, namespace))

    def left(self, kind: Resource, owner: Object) -> Sequence[Object]:
        return self._cluster.cached_by(kind, _OWNER, owner_name(owner))

    def found(self, index: Index, value: Hashable) -> Sequence[Object]:
        return self._cluster.cached_by(index.kind, index.name, value)


def by_name(kind: Resource, parents: Callable[[Object], Iterable[Key]]) -> Watch:
    """A kind that the decision reads; `parents` says whom an object of it wakes."""
    return Watch(kind, wakes=parents)


def nobody(kind: Resource) -> Watch:
    """A kind that the decision reads but whose changes wake nobody."""
    return Watch(kind, wakes=lambda _: ())


def _controllers(obj: Object) -> Iterable[Hashable]:
    # No uid that anybody writes is a pair.
    return (controller_uid(obj) or (_ORPHANS, key_of(obj).namespace),)


def _owners(obj: Object) -> Iterable[Hashable]:
    return (owner_names(obj),)


def _where(obj: Object) -> tuple[str, str]:
    key = key_of(obj)
    return key.namespace, key.name


def _batch(step: Step) -> type[Any]:
    return type(step)


def _watch_of(follow: Follow, source: Source) -> Watch:
    wakes = partial(follow.parents, source)
    return Watch(follow.kind, wakes=wakes, when=follow.when, after=follow.after)
