"""Copies on workers of a Workload that had the name of another before: those of pod groups, and of
Workloads that were deleted by hand, say nothing of the one that has the name now.
"""

from collections.abc import Iterable

from fleetqueue.api.meta import Key
from fleetqueue.kube.finalizers import is_deleting
from fleetqueue.kube.resources import Object, Resource, key_of, uid_of
from fleetqueue.multikueue.workers import Worker, Workers


class Namesakes:
    """By workload; what was before our time is not known."""

    def __init__(self, workers: Workers) -> None:
        self._workers = workers
        self._uids: dict[Key, str] = {}
        self._stale: dict[Key, set[str]] = {}
        """The uids of such copies."""
        self._lost: dict[Key, set[str]] = {}
        """Workers that were out of reach when the name changed hands: what they have when they
        return is such a copy."""

    def look(self, workload: Object) -> None:
        """Before anything is sent anywhere."""
        key, uid = key_of(workload), uid_of(workload)
        before, self._uids[key] = self._uids.get(key, uid), uid
        if before != uid:
            self._stale[key] = {uid_of(copy) for _, copy in self._copies(key)}
            self._lost[key] = {each.name for each in self._workers.all() if not each.is_connected}
        elif key not in self._stale:
            return
        self._learn(key)

    def blocks(self, key: Key, kind: Resource) -> bool:
        """Whether something of before may still run where it can be ended."""
        return any(
            not is_deleting(copy) or worker.mirrors_of(kind, key)
            for worker, copy in self._copies(key)
            if self.is_one(key, copy)
        )

    def is_one(self, key: Key, copy: Object | None) -> bool:
        return copy is not None and uid_of(copy) in self._stale.get(key, ())

    def knows(self, key: Key) -> bool:
        """Whether it was ever looked at."""
        return key in self._uids

    def forget(self, key: Key) -> None:
        for known in (self._uids, self._stale, self._lost):
            known.pop(key, None)

    def _learn(self, key: Key) -> None:
        lost, present = self._lost[key], dict[str, Object]()
        for worker, copy in self._copies(key):
            present[uid_of(copy)] = copy
            if worker.name in lost:
                self._stale[key].add(uid_of(copy))
        lost -= {each.name for each in self._workers.all() if each.is_connected}
        if not lost and not present.keys() & self._stale[key]:
            del self._lost[key], self._stale[key]

    def _copies(self, key: Key) -> Iterable[tuple[Worker, Object]]:
        for worker in self._workers.all():
            if worker.is_connected and (copy := worker.copy(key)) is not None:
                yield worker, copy
