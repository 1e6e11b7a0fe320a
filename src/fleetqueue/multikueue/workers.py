"""Worker clusters as dispatching sees them: what is known of each, and how to write there."""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Protocol

from fleetqueue.api.meta import Key
from fleetqueue.kube.calls import PatchType, Propagation
from fleetqueue.kube.resources import Object, Resource

RemoteChange = Callable[[str, Resource, Object], None]
"""Told of an object with our origin that appeared, changed or went: worker, kind, object."""
StateChange = Callable[[str], None]
"""Told of a worker that was connected, lost or forgotten; not of one that stays lost."""


class Worker(Protocol):
    """One MultiKueueCluster. Reading is from caches of the objects with our origin; each write
    goes into them at once. A write has a deadline, and raises KubeError.
    """

    @property
    def name(self) -> str: ...

    @property
    def is_connected(self) -> bool: ...

    @property
    def lost_since(self) -> datetime | None:
        """Since when it is not connected; None while it is."""

    def copy(self, key: Key) -> Object | None:
        """The remote Workload."""

    def copies(self) -> Sequence[Object]: ...

    def mirror(self, kind: Resource, key: Key) -> Object | None: ...

    def mirrors(self, kind: Resource) -> Sequence[Object]: ...

    def mirrors_of(self, kind: Resource, workload: Key) -> Sequence[Object]:
        """The mirrors that belong to a Workload, by an index over what each of them wakes."""

    def follows(self, kind: Resource) -> bool:
        """Whether jobs of that kind can be sent there."""

    def queues(self, kind: Resource, namespace: str = "") -> Sequence[Object] | None:
        """Its ClusterQueues or LocalQueues, all or those of a namespace; None where they are not
        followed.
        """

    def queue(self, kind: Resource, key: Key) -> Object | None:
        """One of them."""

    async def read(self, kind: Resource, key: Key) -> Object | None:
        """From the server, whatever its origin."""

    async def create(self, obj: Object) -> Object: ...

    async def patch(
        self,
        kind: Resource,
        key: Key,
        patch: Any,
        *,
        subresource: str = "",
        type: PatchType = PatchType.MERGE,
        manager: str = "",
    ) -> Object:
        """An apply is by force; `manager` is the field manager, ours where nothing is said."""

    async def delete(self, obj: Object, kind: Resource, propagation: Propagation | None) -> None:
        """Just this object, by its uid; that it is gone already is fine."""


class Workers(Protocol):
    """All workers that MultiKueueClusters name."""

    @property
    def started_at(self) -> datetime:
        """When they began to be connected: what was before that is not known."""

    def get(self, name: str) -> Worker | None:
        """None: no such MultiKueueCluster is known."""

    def all(self) -> Iterable[Worker]: ...

    def lost_since(self, name: str) -> datetime | None:
        """Also of a worker whose MultiKueueCluster was deleted: when that was."""

    def listen(self, on_change: RemoteChange, on_state: StateChange) -> None: ...


Farewell = Callable[[Worker, Resource, Sequence[Object]], Awaitable[None]]
"""Told of the mirrors of a finished job before they are deleted: worker, kind, mirrors. It must not
take long, nor fail."""


async def nothing_to_keep(worker: Worker, kind: Resource, mirrors: Sequence[Object]) -> None:
    """What ran on a worker leaves nothing but its status."""


KindsFollowed = Mapping[Resource, Callable[[Object], Iterable[Key]]]
"""The kinds of jobs that are followed on every worker, and which local Workloads a mirror of each
belongs to."""
