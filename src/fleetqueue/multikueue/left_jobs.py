"""Jobs whose Workload was deleted and that live on: they get another when they do not tell of pods
elsewhere any more, and that is taken from them when nothing of them can run there.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime

from fleetqueue.api.meta import Key
from fleetqueue.kube.finalizers import is_deleting
from fleetqueue.kube.resources import Object, key_of, uid_of
from fleetqueue.kube.sources import Source
from fleetqueue.multikueue import checks, kinds
from fleetqueue.multikueue.adapter import Adapter
from fleetqueue.multikueue.adapters.registry import handed_over
from fleetqueue.multikueue.settings import DispatchSettings
from fleetqueue.multikueue.workers import Workers


class LeftJobs:
    """By the Workload that they had. One that was deleted before our time goes by a name that no
    Workload can have.
    """

    def __init__(self, source: Source, workers: Workers, settings: DispatchSettings) -> None:
        self._source = source
        self._workers = workers
        self._settings = settings
        self._known: dict[Key, list[tuple[Key, str]]] = {}
        """By workload: the names and uids of its jobs."""
        self._workloads: dict[str, Key] = {}
        """By the uid of a job."""
        self.waiting: set[Key] = set()
        """Workloads that are gone, and whose worker cannot be asked."""

    def remember(self, workload: Key, jobs: Sequence[Object]) -> None:
        self.forget(workload)
        self._known[workload] = [(key_of(job), uid_of(job)) for job in jobs]
        for job in jobs:
            self._workloads[uid_of(job)] = workload

    def forget(self, workload: Key) -> None:
        self.waiting.discard(workload)
        for _, uid in self._known.pop(workload, ()):
            if self._workloads.get(uid) == workload:
                del self._workloads[uid]

    def found(self, adapter: Adapter, job: Object) -> Key | None:
        """A job without a Workload that tells of pods elsewhere, by the Workload that it had."""
        is_ours = handed_over(adapter, job) is None and not is_deleting(job)
        if not is_ours or adapter.without_run(job, self._settings) is None:
            return None
        space, name = key_of(job)
        if uid_of(job) not in self._workloads:
            self.remember(Key(space, f"{adapter.resource.kind}/{name}"), [job])
        return self._workloads[uid_of(job)]

    def of(self, workload: Key, adapter: Adapter) -> list[Object]:
        """Those that are still there."""
        known = self._known.get(workload) or ()
        found = [(self._source.get(adapter.resource, *job), uid) for job, uid in known]
        return [
            job
            for job, uid in found
            if job is not None and uid_of(job) == uid and not is_deleting(job)
        ]

    def alone(self, jobs: Sequence[Object]) -> list[Object]:
        """Those of them that have no other Workload."""
        return [job for job in jobs if not checks.workloads_of(self._source, job)]

    def lost(self, had: str | None) -> list[str]:
        """Workers out of reach that may still run them; `had`: the one that ran them, None where
        nobody knows which that was.
        """
        return [name for name in self._suspects(had) if not self._is_connected(name)]

    def is_mirrored(self, workload: Key, adapter: Adapter, had: str | None) -> bool:
        """Whether a worker that ran them, and can be asked to stop, still has them."""
        found = [self._workers.get(name) for name in self._suspects(had)]
        return any(
            worker is not None
            and worker.is_connected
            and bool(worker.mirrors_of(adapter.resource, workload))
            for worker in found
        )

    def _suspects(self, had: str | None) -> list[str]:
        if had is not None:
            return [had] if had else []
        return [str(each["metadata"]["name"]) for each in self._source.all(kinds.CLUSTER, "")]

    def seconds_left(self, lost: Iterable[str], now: datetime) -> float:
        """Until the last of these workers is given up."""
        left = (self._settings.seconds_left(self._workers.lost_since(name), now) for name in lost)
        return max(left, default=0.0)

    def _is_connected(self, name: str) -> bool:
        worker = self._workers.get(name)
        return worker is not None and worker.is_connected
