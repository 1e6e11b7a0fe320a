"""What the dashboard sees of a cluster: objects as bytes and lines of lists, kept by informers.

Objects are kept encoded, as they will be sent: a decoded workload takes five times as much.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping
from functools import partial
from random import Random
from typing import Any, TypeAlias

import msgspec

from fleetqueue.admission.kinds import (
    CLUSTER_QUEUE,
    COHORT,
    LOCAL_QUEUE,
    RESOURCE_FLAVOR,
    WORKLOAD,
)
from fleetqueue.api.kueue import phases
from fleetqueue.api.meta import Key
from fleetqueue.base import codec
from fleetqueue.dashboard import queue_views, workload_views
from fleetqueue.dashboard.kinds import FOLLOWED
from fleetqueue.dashboard.masking import presentable
from fleetqueue.kube.client import Client
from fleetqueue.kube.informer import Informer
from fleetqueue.kube.resources import Object, Resource, key_of, uid_of, version_of

Json = dict[str, Any]


class HeldMetadata(msgspec.Struct, frozen=True, gc=False):
    """What an informer asks of any object."""

    uid: str
    resource_version: str


class Held(msgspec.Struct, frozen=True, gc=False):
    """An object as it is kept here."""

    key: Key
    metadata: HeldMetadata
    row: Json
    """Its line in lists, not to be changed."""
    data: bytes
    """All of it, encoded."""


Changed: TypeAlias = Callable[[Resource, Held | None, Held | None], None]
Troubled: TypeAlias = Callable[[Resource], None]


def hold(view: Callable[[Object], Json], obj: Object) -> Held:
    metadata = HeldMetadata(uid_of(obj), version_of(obj))
    return Held(key_of(obj), metadata, view(obj), codec.encode(presentable(obj)))


class Sight:
    """The objects of all kinds that are shown. `run` follows them."""

    def __init__(self, client: Client, random: Random) -> None:
        self.client = client
        self.random = random
        self.informers: dict[Resource, Informer[Any]] = {
            kind: Informer(
                client,
                kind,
                random=random,
                indexes=_INDEXES[kind],
                transform=partial(hold, VIEWS[kind]),
                on_problem=partial(self._troubled, kind),
            )
            for kind in FOLLOWED
        }
        self.counts: Counter[str] = Counter()
        """Workloads by phase."""
        self._encoded: dict[Key, bytes] = {}
        """Lines of workloads that somebody has looked at."""
        self._listeners: list[Changed] = []
        self._anxious: list[Troubled] = []
        for kind, informer in self.informers.items():
            informer.listen(partial(self._changed, kind))

    async def run(self) -> None:
        """Until it is cancelled."""
        async with asyncio.TaskGroup() as tasks:
            for informer in self.informers.values():
                tasks.create_task(informer.run())

    def listen(self, changed: Changed, troubled: Troubled) -> None:
        self._listeners.append(changed)
        self._anxious.append(troubled)

    def get(self, kind: Resource, name: str, namespace: str = "") -> Held | None:
        found: Held | None = self.informers[kind].get(name, namespace)
        return found

    def all(self, kind: Resource) -> list[Held]:
        return self.informers[kind].store.all()

    def by(self, kind: Resource, index: str, value: Hashable) -> list[Held]:
        return self.informers[kind].store.by_index(index, value)

    def problem(self, kinds: Iterable[Resource]) -> str:
        """Why what is known of these kinds is not what there is; "" where all is well."""
        for kind in kinds:
            if (found := self.informers[kind].problem) is not None:
                return f"{kind} cannot be followed: {found}"
        return ""

    def has_all(self, kinds: Iterable[Resource]) -> bool:
        return all(self.informers[kind].has_synced for kind in kinds)

    def cluster_queue_of(self, workload: Held) -> str:
        """Where it has quota; else where its LocalQueue would have it."""
        row = workload.row
        if row["reservedIn"]:
            return str(row["reservedIn"])
        local = self.get(LOCAL_QUEUE, row["queue"], row["namespace"])
        return "" if local is None else str(local.row["clusterQueue"])

    def workload_row(self, workload: Held) -> bytes:
        found = self._encoded.get(workload.key)
        if found is None:
            row = {**workload.row, "clusterQueue": self.cluster_queue_of(workload)}
            found = self._encoded[workload.key] = codec.encode(row)
        return found

    def workload_rows(self, workloads: Iterable[Held]) -> bytes:
        return b"[" + b",".join(map(self.workload_row, workloads)) + b"]"

    def _changed(self, kind: Resource, old: Held | None, new: Held | None) -> None:
        if kind == WORKLOAD:
            self._count(old, -1)
            self._count(new, 1)
        elif kind == LOCAL_QUEUE and _clusters(old) != _clusters(new):
            queue = (new or old or _NOBODY).key
            for workload in self.by(WORKLOAD, "queue", (queue.namespace, queue.name)):
                self._encoded.pop(workload.key, None)
        for listener in self._listeners:
            listener(kind, old, new)

    def _count(self, workload: Held | None, step: int) -> None:
        if workload is not None:
            self.counts[workload.row["phase"]] += step
            self._encoded.pop(workload.key, None)

    def _troubled(self, kind: Resource, problem: object) -> None:
        for listener in self._anxious:
            listener(kind)

    def phases(self) -> dict[str, int]:
        return {phase: self.counts[phase] for phase in phases.PHASES}


def _clusters(queue: Held | None) -> str:
    return "" if queue is None else str(queue.row["clusterQueue"])


_NOBODY = Held(Key("", ""), HeldMetadata("", ""), {}, b"")
VIEWS: Mapping[Resource, Callable[[Object], Json]] = {
    WORKLOAD: workload_views.row,
    LOCAL_QUEUE: queue_views.local_queue,
    CLUSTER_QUEUE: queue_views.cluster_queue,
    COHORT: queue_views.cohort,
    RESOURCE_FLAVOR: queue_views.resource_flavor,
}
_INDEXES: Mapping[Resource, Mapping[str, Callable[[Held], Iterable[Hashable]]]] = {
    WORKLOAD: {
        "namespace": lambda held: [held.key.namespace],
        "queue": lambda held: [(held.key.namespace, held.row["queue"])],
        "reservedIn": lambda held: [held.row["reservedIn"]],
        "phase": lambda held: [held.row["phase"]],
    },
    LOCAL_QUEUE: {
        "namespace": lambda held: [held.key.namespace],
        "clusterQueue": lambda held: [held.row["clusterQueue"]],
    },
    CLUSTER_QUEUE: {
        "cohort": lambda held: [held.row["cohort"]],
        "flavor": lambda held: held.row["flavors"],
    },
    COHORT: {"parent": lambda held: [held.row["parent"]]},
    RESOURCE_FLAVOR: {},
}
