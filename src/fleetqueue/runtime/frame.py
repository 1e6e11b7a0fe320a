"""One frame for all controllers of a cluster: an operator declares what it owns, and decides; the
frame fetches, asks it, and writes.

    OPERATOR = Operator("replicaset-controller", REPLICA_SET, decide, owns=(POD,))
"""

import asyncio
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from itertools import groupby
from typing import Any, TypeAlias

from fleetqueue.api.meta import Key
from fleetqueue.kube.calls import DeleteOptions
from fleetqueue.kube.cluster import Cluster
from fleetqueue.kube.controller import DONE, Controller, Result, Watch, owned
from fleetqueue.kube.errors import Conflict, KubeError, NotFound
from fleetqueue.kube.resources import Object, Resource, key_of, uid_of
from fleetqueue.runtime.plan import (
    Apply,
    Create,
    Delete,
    Look,
    Note,
    Patch,
    Plan,
    Status,
    Step,
    controller_uid,
    is_deleting,
)

TOGETHER_MAX = 100
"""Creations and deletions under way at once for one parent."""
_CONTROLLER = "controller"
_ORPHANS = "orphans of "

Decide: TypeAlias = Callable[[Look], Plan]


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
    manager: str = ""
    """The field manager of its writes; its name where nothing is said."""
    managed_by: tuple[str, ...] = ()
    """Where the parent names its controller; one that names another is not touched at all."""
    own_name: str = ""
    """What a parent of ours says there."""
    decides_deletion: bool = False
    """Whether a parent that is being deleted is still looked at."""
    refused: Callable[[Look, Step, KubeError], Plan] | None = None
    """What a refused creation means; the error is raised again after that plan is done."""
    workers: int = 4


class Framed(Controller[Any]):
    """Runs one operator."""

    operator: Operator

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._source = Caches(cluster)
        self.workers = self.operator.workers
        self.watches = (
            *(owned(kind, self.operator.kind) for kind in self.operator.owns),
            *self.operator.reads,
        )
        for kind in self.operator.owns:
            cluster.informer(kind, indexes={_CONTROLLER: _controllers})

    @property
    def name(self) -> str:
        return self.operator.name

    async def reconcile(self, parent: Object, /) -> Result:
        if not is_ours(self.operator, parent):
            return DONE
        if is_deleting(parent) and not self.operator.decides_deletion:
            return DONE
        look = Look(parent, self._cluster.clock.now(), self._source)
        plan = self.operator.decide(look)
        await self._do(look, plan)
        return DONE if plan.after is None else Result(timedelta(seconds=plan.after))

    async def _do(self, look: Look, plan: Plan) -> None:
        for _, group in groupby(plan.steps, key=_batch):
            steps = list(group)
            if isinstance(steps[0], Create | Delete):
                await self._do_together(look, steps)
            else:
                for step in steps:
                    await self._do_one(look, step)

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
                resource = await self._resource(obj)
                key = key_of(obj)
                await self._cluster.patch(
                    resource, key.name, patch, key.namespace,
                    type=kind, subresource=subresource, field_manager=self._manager,
                )  # fmt: skip
            case Apply(obj, manager):
                await self._cluster.apply(obj, force=True, field_manager=manager)
            case Delete():
                await self._delete(step)
            case Status(status):
                await self._write_status(look.parent, status)
            case Note(reason, message, kind, about):
                self._cluster.events.record(
                    about or look.parent, kind, reason, message, component=self.operator.name
                )

    async def _create(self, look: Look, obj: Object) -> None:
        if look.namespace and not obj["metadata"].get("namespace"):
            obj = {**obj, "metadata": {**obj["metadata"], "namespace": look.namespace}}
        await self._cluster.create(obj, field_manager=self._manager)

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
        written = await self._cluster.client.update(
            {**newest, "status": status},
            subresource="status",
            resource=self.operator.kind,
            field_manager=self._manager,
        )
        self._cluster.accept(written)

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

    def controlled(self, kind: Resource, uid: str) -> Sequence[Object]:
        return self._cluster.cached_by(kind, _CONTROLLER, uid)

    def orphans(self, kind: Resource, namespace: str) -> Sequence[Object]:
        return self._cluster.cached_by(kind, _CONTROLLER, f"{_ORPHANS}{namespace}")


def by_name(kind: Resource, parents: Callable[[Object], Iterable[Key]]) -> Watch:
    """A kind that the decision reads; `parents` says whom an object of it wakes."""
    return Watch(kind, wakes=parents)


def nobody(kind: Resource) -> Watch:
    """A kind that the decision reads but whose changes wake nobody."""
    return Watch(kind, wakes=lambda _: ())


def _controllers(obj: Object) -> Iterable[Hashable]:
    return (controller_uid(obj) or f"{_ORPHANS}{key_of(obj).namespace}",)


def _where(obj: Object) -> tuple[str, str]:
    key = key_of(obj)
    return key.namespace, key.name


def _batch(step: Step) -> type[Any]:
    return type(step)
