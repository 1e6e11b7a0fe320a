"""Puts together what lets a manager's users reach the pods of jobs that were sent away."""

from collections.abc import Sequence
from pathlib import Path

from fleetqueue import kueue
from fleetqueue.apiserver.core import Core
from fleetqueue.embedded.reach.elsewhere import Elsewhere
from fleetqueue.embedded.reach.keeping import Keeping
from fleetqueue.embedded.reach.kept import Kept
from fleetqueue.kube.cluster import Cluster
from fleetqueue.kube.resources import Object, Resource, uid_of
from fleetqueue.kueue import KueueOptions
from fleetqueue.multikueue.connections import Connections
from fleetqueue.multikueue.workers import Worker

DIRECTORY = "dispatched-logs"


class Reach:
    """One manager's. It is there before its workers are, which have to know it."""

    def __init__(self, directory: Path, cluster: Cluster) -> None:
        self._kept = Kept(directory / DIRECTORY)
        self._cluster = cluster
        self._keeping: Keeping | None = None

    async def farewell(self, worker: Worker, kind: Resource, mirrors: Sequence[Object]) -> None:
        if self._keeping is not None:
            await self._keeping.keep(worker, kind, mirrors)

    def open(self, core: Core, options: KueueOptions, workers: Connections) -> None:
        """From now on they are shown, and their logs are kept until their jobs go."""
        dispatched = kueue.dispatched(self._cluster, options, workers)
        self._keeping = Keeping(self._kept, dispatched)
        self._kept.load()
        core.elsewhere = Elsewhere(dispatched, self._kept, self._cluster.clock)
        for kind in self._followed():
            self._cluster.informer(kind).listen(self._job_changed)

    def sweep(self) -> None:
        """Drops the logs of jobs that went while nobody looked; all jobs are known by now."""
        kinds = {(kind.group, kind.kind): kind for kind in self._followed()}
        for uid, entry in list(self._kept.jobs().items()):
            kind = kinds.get(entry.group_kind)
            if kind is None:
                continue
            job = self._cluster.cached(kind, entry.key.name, entry.key.namespace)
            if job is None or uid_of(job) != uid:
                self._kept.drop(uid)

    def _followed(self) -> list[Resource]:
        return [kind for kind in self._cluster.followed() if isinstance(kind, Resource)]

    def _job_changed(self, old: Object | None, new: Object | None) -> None:
        if new is None and old is not None:
            self._kept.drop(uid_of(old))
