"""Finds the pods of this manager's jobs on the workers that have them."""

import asyncio
import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial

from fleetqueue.api.meta import Key
from fleetqueue.api.owners import controller_uid
from fleetqueue.api.selectors import LabelSelector
from fleetqueue.kube.client import Client
from fleetqueue.kube.errors import KubeError, NotFound
from fleetqueue.kube.resources import PODS, Object, Resource, key_of, uid_of
from fleetqueue.kube.sources import Source
from fleetqueue.multikueue import kinds
from fleetqueue.multikueue.adapter import Adapter, has_origin
from fleetqueue.multikueue.adapters.registry import Adapters
from fleetqueue.multikueue.checks import BY_OWNER
from fleetqueue.multikueue.connection import Connection
from fleetqueue.multikueue.connections import Connections
from fleetqueue.multikueue.reach import pods_of
from fleetqueue.multikueue.reach.ancestry import Ancestry, Mirror, on, pods_of_mirror
from fleetqueue.multikueue.reach.pods_of import Reference
from fleetqueue.multikueue.settings import DispatchSettings

WORKER_SECONDS_MAX = 5.0
"""A worker that takes longer is left out of an answer."""
log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class RemotePod:
    """A pod of a job of ours, on a worker."""

    pod: Object
    """As it is shown here."""
    job: Object
    """The local job."""
    worker: str
    client: Client = field(repr=False)


class Dispatched:
    """Everything that it gives belongs to a job of this manager, as owners prove."""

    def __init__(
        self,
        source: Source,
        workers: Connections,
        adapters: Adapters,
        settings: DispatchSettings,
    ) -> None:
        self._source = source
        self._workers = workers
        self._adapters = adapters
        self._settings = settings

    async def find(self, key: Key) -> RemotePod | None:
        """The pod of that name; of several the one on the worker that comes first."""
        asked = [self._named(worker, key) for worker in self._workers_of(key.namespace)]
        return next((each for found in await asyncio.gather(*asked) for each in found), None)

    async def select(
        self, namespace: str, wanted: LabelSelector, fields: str = ""
    ) -> list[RemotePod]:
        """All whose labels, as they are shown here, are those that are wanted."""
        asked = [
            self._selected(worker, namespace, selector, fields)
            for worker, selector in self._questions(namespace, wanted)
        ]
        found = [each for some in await asyncio.gather(*asked) for each in some]
        return [each for each in found if wanted.matches(each.pod["metadata"].get("labels"))]

    async def of_mirror(self, worker: Connection, kind: Resource, mirror: Object) -> list[Object]:
        """The pods of one mirror, as the worker shows them."""
        return await pods_of_mirror(worker.client, self._ancestry(worker), kind, mirror)

    def job_of(self, worker: str, kind: Resource, mirror: Object) -> Object | None:
        """The local job that a mirror stands for; None where the worker has none for a job of
        ours.
        """
        adapter = self._adapters[kind.group, kind.kind]
        for key in adapter.wakes(mirror, self._settings):
            workload = self._source.get(kinds.WORKLOAD, key.namespace, key.name)
            if workload is not None and _cluster_of(workload) == worker:
                return self._named_as(adapter, workload, key_of(mirror))
        return None

    def exists(self, kind: Resource, job: Object) -> bool:
        key = key_of(job)
        found = self._source.get(kind, key.namespace, key.name)
        return found is not None and uid_of(found) == uid_of(job)

    # Where to ask

    def _workers_of(self, namespace: str) -> list[Connection]:
        return self._connected(self._source.all(kinds.WORKLOAD, namespace))

    def _connected(self, workloads: Iterable[Object]) -> list[Connection]:
        names = dict.fromkeys(_cluster_of(each) for each in workloads)
        found = [self._workers.get(name) for name in names if name]
        return [each for each in found if each is not None and each.is_connected]

    def _questions(self, namespace: str, wanted: LabelSelector) -> Iterable[tuple[Connection, str]]:
        """Whoever names the uid of a job asks for its pods alone."""
        meant = [
            (uid, each)
            for uid in pods_of.values_of(wanted)
            for each in self._source.found(BY_OWNER, (namespace, uid))
        ]
        if not meant:
            text = str(wanted)
            return [(worker, text) for worker in self._workers_of(namespace)]
        uids: dict[Connection, dict[str, str]] = {}
        for uid, workload in meant:
            for worker in self._connected([workload]):
                for mirror in self._mirrors(worker, workload, uid):
                    uids.setdefault(worker, {})[uid] = uid_of(mirror)
        return [(worker, pods_of.asked_there(wanted, known)) for worker, known in uids.items()]

    def _mirrors(self, worker: Connection, workload: Object, uid: str) -> Iterable[Object]:
        for adapter in self._adapters.values():
            for mirror in worker.mirrors_of(adapter.resource, key_of(workload)):
                job = self.job_of(worker.name, adapter.resource, mirror)
                if job is not None and uid_of(job) == uid:
                    yield mirror

    # One worker

    async def _named(self, worker: Connection, key: Key) -> Sequence[RemotePod]:
        try:
            async with asyncio.timeout(WORKER_SECONDS_MAX):
                pod = await worker.client.get(PODS, key.name, key.namespace)
                return await self._ours(worker, [pod])
        except NotFound:
            return ()
        except (KubeError, TimeoutError) as error:
            log.info("a worker does not tell its pods: worker=%s: %s", worker.name, error)
            return ()

    async def _selected(
        self, worker: Connection, namespace: str, selector: str, fields: str
    ) -> Sequence[RemotePod]:
        try:
            async with asyncio.timeout(WORKER_SECONDS_MAX):
                listed = await worker.client.list(
                    PODS, namespace, label_selector=selector, field_selector=fields
                )
                return await self._ours(worker, listed.items)
        except (KubeError, TimeoutError) as error:
            log.info("a worker does not tell its pods: worker=%s: %s", worker.name, error)
            return ()

    async def _ours(self, worker: Connection, pods: Iterable[Object]) -> list[RemotePod]:
        ancestry, found = self._ancestry(worker), []
        for pod in pods:
            mirror = await ancestry.mirror_of(pod)
            job = None if mirror is None else self.job_of(worker.name, *mirror)
            if mirror is not None and job is not None:
                shown = pods_of.shown(pod, {uid_of(mirror[1]): uid_of(job)})
                found.append(RemotePod(shown, job, worker.name, worker.client))
        return found

    # Whose they are

    def _ancestry(self, worker: Connection) -> Ancestry:
        return on(worker.client, partial(self._mirror, worker))

    def _mirror(self, worker: Connection, owner: Reference, namespace: str) -> Mirror | None:
        adapter = self._adapters.get((owner.group, owner.kind))
        if adapter is None:
            return None
        found = worker.mirror(adapter.resource, Key(namespace, owner.name))
        if found is None or owner.uid not in ("", uid_of(found)) or controller_uid(found):
            # What somebody on the worker controls is no mirror, whatever its labels say.
            return None
        return (adapter.resource, found) if has_origin(found, self._settings) else None

    def _named_as(self, adapter: Adapter, workload: Object, key: Key) -> Object | None:
        jobs = adapter.jobs(workload, self._source, self._settings)
        return next((each for each in jobs if key_of(each) == key), None)


def _cluster_of(workload: Object) -> str:
    return str((workload.get("status") or {}).get("clusterName") or "")
