"""Leftovers on workers: finds copies and mirrors whose local objects are gone, and deletes them."""

import asyncio
import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from fleetqueue.api.kueue import admission_status as status
from fleetqueue.api.meta import Key
from fleetqueue.api.owners import controller_uid
from fleetqueue.kube.calls import Propagation
from fleetqueue.kube.cluster import Cluster
from fleetqueue.kube.errors import KubeError, NotFound
from fleetqueue.kube.finalizers import is_deleting
from fleetqueue.kube.frame import Caches
from fleetqueue.kube.resources import Object, Resource, key_of, split_api_version, uid_of
from fleetqueue.multikueue import kinds
from fleetqueue.multikueue.checks import config_of, is_ours, is_there_too
from fleetqueue.multikueue.controllers.check import clusters_of
from fleetqueue.multikueue.settings import DispatchSettings
from fleetqueue.multikueue.workers import KindsFollowed, Worker, Workers

PROPAGATION: Propagation = "Background"
log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Local:
    """What is on the manager."""

    workload: Callable[[Key], Object | None]
    check: Callable[[str], Object | None]
    config: Callable[[str], Object | None]


def orphaned_copies(worker: Worker, local: Local) -> list[Object]:
    """Remote Workloads that nobody here stands for any more."""
    return [copy for copy in worker.copies() if _is_orphan(worker.name, copy, local)]


def mirror_of(
    worker: Worker, copy: Object, followed: KindsFollowed
) -> tuple[Resource, Object] | None:
    """The job that controls a copy, if it has our origin too and is of a kind that we send."""
    for owner in copy["metadata"].get("ownerReferences") or ():
        if not owner.get("controller"):
            continue
        group = split_api_version(str(owner.get("apiVersion") or ""))[0]
        for kind in followed:
            if (kind.group, kind.kind) == (group, owner.get("kind")):
                key = Key(key_of(copy).namespace, str(owner.get("name")))
                found = worker.mirror(kind, key)
                if found is not None and uid_of(found) == owner.get("uid"):
                    return kind, found
    return None


def doubtful_mirrors(
    worker: Worker, followed: KindsFollowed, local: Local
) -> list[tuple[Resource, Object]]:
    """Mirrors without a local Workload. Whether their job is gone too has still to be asked.

    What somebody on the worker controls is no mirror, whatever its labels say.
    """
    found = []
    for kind, workloads in followed.items():
        for mirror in worker.mirrors(kind):
            if is_deleting(mirror) or controller_uid(mirror):
                continue
            if not any(_lives(local.workload(key)) for key in workloads(mirror)):
                found.append((kind, mirror))
    return found


def _is_orphan(cluster: str, copy: Object, local: Local) -> bool:
    workload = local.workload(key_of(copy))
    if workload is None or is_deleting(workload):
        return True
    ours = [check for check in _checks(workload, local) if check is None or is_ours(check)]
    if not ours:
        # Nobody sends it anywhere any more; what runs there runs on.
        holder = (workload.get("status") or {}).get("clusterName")
        return status.has_quota(workload) and holder != cluster
    listings = list(_listings(ours, local))
    return bool(listings) and not any(cluster in each for each in listings)


def _checks(workload: Object, local: Local) -> list[Object | None]:
    """None for those that nobody knows, which may be ours."""
    return [local.check(state["name"]) for state in status.checks_of(workload)]


def _listings(checks: Iterable[Object | None], local: Local) -> Iterable[list[str]]:
    """The clusters of each configuration that they use."""
    for check in checks:
        name = "" if check is None else config_of(check)
        config = local.config(name) if name else None
        if config is not None:
            yield clusters_of(config)


def _lives(workload: Object | None) -> bool:
    return workload is not None and not is_deleting(workload)


class Collector:
    """Looks through all connected workers from time to time."""

    def __init__(
        self,
        cluster: Cluster,
        settings: DispatchSettings,
        followed: KindsFollowed,
        workers: Workers,
    ) -> None:
        self._cluster = cluster
        self._settings = settings
        self._followed = followed
        self._workers = workers
        self._source = Caches(cluster)
        self._local = Local(self._workload, self._check, self._config)

    async def run(self) -> None:
        seconds = self._settings.gc_seconds
        if not seconds:
            log.info("Garbage Collection is disabled")
            await asyncio.Event().wait()
        while True:
            await asyncio.sleep(seconds)
            await self.collect()

    async def collect(self) -> None:
        """All workers at once: one that hangs delays none of the others."""
        connected = [worker for worker in self._workers.all() if worker.is_connected]
        await asyncio.gather(*(self._clean(worker) for worker in connected))

    async def _clean(self, worker: Worker) -> None:
        try:
            for copy in orphaned_copies(worker, self._local):
                if not self._is_known_by_another_name(worker, copy):
                    await self._drop(worker, copy)
            for kind, mirror in doubtful_mirrors(worker, self._followed, self._local):
                if not await self._has_job(kind, key_of(mirror)):
                    log.info("a leftover: worker=%s %s %s", worker.name, kind, key_of(mirror))
                    await worker.delete(mirror, kind, PROPAGATION)
        except KubeError as error:
            log.info("cleaning failed: worker=%s: %s", worker.name, error)

    def _is_known_by_another_name(self, worker: Worker, copy: Object) -> bool:
        """Of a Workload that lives: a cluster that two MultiKueueClusters lead to is another's."""
        key = key_of(copy)
        found = [
            each.copy(key) for each in self._workers.all() if each.is_connected and each != worker
        ]
        is_there = any(each is not None and uid_of(each) == uid_of(copy) for each in found)
        return is_there and _lives(self._local.workload(key))

    async def _drop(self, worker: Worker, copy: Object) -> None:
        """A job that goes on under another Workload keeps its mirror, and the copy that this still
        names.
        """
        found = mirror_of(worker, copy, self._followed)
        goes_on = found is not None and self._goes_on(worker, copy, *found)
        if (
            found is not None
            and goes_on
            and key_of(copy) in set(self._followed[found[0]](found[1]))
        ):
            return
        log.info("a leftover: worker=%s workload=%s", worker.name, key_of(copy))
        if found is not None and not goes_on:
            kind, mirror = found
            await worker.delete(mirror, kind, PROPAGATION)
        if not is_deleting(copy):
            await worker.delete(copy, kinds.WORKLOAD, PROPAGATION)

    def _goes_on(self, worker: Worker, copy: Object, kind: Resource, mirror: Object) -> bool:
        followed = self._cluster.follows(kind)
        job = self._source.get(kind, *key_of(mirror)) if followed else None
        return is_there_too(self._source, job, key_of(copy), worker.name)

    async def _has_job(self, kind: Resource, key: Key) -> bool:
        if self._cluster.follows(kind):
            return self._cluster.cached(kind, key.name, key.namespace) is not None
        try:
            await self._cluster.client.get(kind, key.name, key.namespace)
        except NotFound:
            return False
        return True

    def _workload(self, key: Key) -> Object | None:
        return self._cluster.cached(kinds.WORKLOAD, key.name, key.namespace)

    def _check(self, name: str) -> Object | None:
        return self._cluster.cached(kinds.ADMISSION_CHECK, name)

    def _config(self, name: str) -> Object | None:
        return self._cluster.cached(kinds.CONFIG, name)
