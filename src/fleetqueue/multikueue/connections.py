"""All workers that MultiKueueClusters name, and what is put into a manager so that they are
connected, watched and kept clean.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime

from fleetqueue.kube.cluster import Cluster
from fleetqueue.kube.errors import KubeError
from fleetqueue.kube.frame import controller_of
from fleetqueue.kube.manager import Manager
from fleetqueue.kube.resources import NAMESPACES, Object, Resource, uid_of
from fleetqueue.metrics.registry import Reading
from fleetqueue.multikueue import garbage, kinds
from fleetqueue.multikueue.connection import Connection, Listeners
from fleetqueue.multikueue.controllers import check
from fleetqueue.multikueue.controllers.cluster import ClusterController
from fleetqueue.multikueue.session import SYSTEM_NAMESPACE, Connect, Surroundings
from fleetqueue.multikueue.settings import DispatchSettings
from fleetqueue.multikueue.workers import KindsFollowed, RemoteChange, StateChange

log = logging.getLogger(__name__)


def serves_no_profiles(kind: Resource) -> bool:
    return kind != kinds.CLUSTER_PROFILE


def install_connections(
    manager: Manager,
    settings: DispatchSettings,
    followed: KindsFollowed,
    connect: Connect,
    *,
    is_served: Callable[[Resource], bool] = serves_no_profiles,
    follows_queues: bool = False,
) -> "Connections":
    """`is_served`: which kinds the manager's server has; `follows_queues`: whether somebody wants
    to know the queues of the workers.
    """
    cluster = manager.cluster
    around = Surroundings(
        settings=settings,
        followed=followed,
        connect=connect,
        clock=cluster.clock,
        random=cluster.random,
        own_uid=OwnIdentity(cluster).uid,
        follows_queues=follows_queues or settings.gates.quota_automation,
    )
    made = Connections(around)
    controller = ClusterController(
        cluster, settings, made, has_profiles=_has_profiles(settings, is_served)
    )
    controller.woken_by(manager.add(controller).queue)
    made.listen(lambda name, kind, obj: None, controller.wake)
    made.on_failed = controller.wake
    for operator in check.operators():
        manager.add(controller_of(operator)(cluster))
    manager.add_task(
        "worker connections", made.run, needs_leader=True, is_busy=lambda: made.is_busy
    )
    manager.add_task("kubeconfig files", controller.files.run, needs_leader=True)
    cluster.informer(kinds.WORKLOAD)
    collector = garbage.Collector(cluster, settings, followed, made)
    manager.add_task("worker garbage", collector.run, needs_leader=True)
    return made


class Connections:
    """The Workers."""

    def __init__(self, around: Surroundings) -> None:
        self._around = around
        self.started_at = around.clock.now()
        """A standby begins when it takes over."""
        self._connections: dict[str, Connection] = {}
        self._deleted_at: dict[str, datetime] = {}
        self._closing: set[asyncio.Task[None]] = set()
        self._on_change: list[RemoteChange] = []
        self._on_state: list[StateChange] = []
        self.on_failed: Callable[[str], None] = lambda name: None
        """Told of a worker to which another attempt to connect has failed."""

    def get(self, name: str) -> Connection | None:
        return self._connections.get(name)

    def all(self) -> Iterable[Connection]:
        return list(self._connections.values())

    def lost_since(self, name: str) -> datetime | None:
        """Of a worker that is not known any more since a restart: when that was."""
        found = self._connections.get(name)
        if found is not None:
            return found.lost_since
        return self._deleted_at.get(name, self.started_at)

    def listen(self, on_change: RemoteChange, on_state: StateChange) -> None:
        self._on_change.append(on_change)
        self._on_state.append(on_state)

    def obtain(self, name: str) -> Connection:
        """The connection of that name; a new one has to be told how to get there."""
        found = self._connections.get(name)
        if found is None:
            tell = Listeners(self._changed, self._state, lambda name: self.on_failed(name))
            found = Connection(name, self._around, tell)
            self._connections[name] = found
            self._deleted_at.pop(name, None)
        return found

    def forget(self, name: str) -> None:
        found = self._connections.pop(name, None)
        if found is None:
            return
        self._deleted_at[name] = found.lost_since or self._around.clock.now()
        closing = asyncio.get_running_loop().create_task(found.close())
        self._closing.add(closing)
        closing.add_done_callback(self._closing.discard)
        self._state(name)

    @property
    def is_busy(self) -> bool:
        return bool(self._closing) or any(each.is_busy for each in self._connections.values())

    def readings(self) -> Iterator[Reading]:
        """For the metrics."""
        for name, connection in self._connections.items():
            yield "fleetqueue_worker_connected", (name,), float(connection.is_connected)
            for kind in connection.missing if connection.is_connected else ():
                yield "fleetqueue_worker_missing_kind", (name, str(kind)), 1.0

    async def run(self) -> None:
        """Holds the connections until it is cancelled."""
        self.started_at = self._around.clock.now()
        try:
            await asyncio.Event().wait()
        finally:
            ends = [each.close() for each in self._connections.values()]
            await asyncio.gather(*ends, *self._closing, return_exceptions=True)

    def _changed(self, name: str, kind: Resource, obj: Object) -> None:
        for tell in self._on_change:
            tell(name, kind, obj)

    def _state(self, name: str) -> None:
        """One listener's bug must not cost the connection."""
        for tell in self._on_state:
            try:
                tell(name)
            except Exception:
                log.exception("a listener failed: worker=%s", name)


class OwnIdentity:
    """What tells the manager's own cluster from all others."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._uid = ""

    async def uid(self) -> str:
        """Asked until it is known; "" where it cannot be read."""
        if not self._uid:
            try:
                found = await self._cluster.client.get(NAMESPACES, SYSTEM_NAMESPACE)
            except KubeError:
                return ""
            self._uid = uid_of(found)
        return self._uid


def _has_profiles(settings: DispatchSettings, is_served: Callable[[Resource], bool]) -> bool:
    return settings.gates.cluster_profiles and is_served(kinds.CLUSTER_PROFILE)
