"""Which worker had a workload last: it may still run it while it is out of reach."""

from collections.abc import Callable, Sequence

from fleetqueue.api.kueue import admission_status as status
from fleetqueue.api.meta import Key
from fleetqueue.kube.resources import Object, created_at, key_of
from fleetqueue.multikueue.adapter import Adapter
from fleetqueue.multikueue.flow.situation import Site


class LastWorkers:
    """By workload. The Workload itself forgets it when it is put out; this does when nothing is
    left there.
    """

    def __init__(self, started_at: Callable[[], str]) -> None:
        self._started_at = started_at
        self._had: dict[Key, str | None] = {}

    def of(self, key: Key) -> str | None:
        """ "" where none had it; None where one may have had it before our time."""
        return self._had.get(key, "")

    def doubt(self, key: Key) -> None:
        """One had it, and nobody knows which."""
        self._had.setdefault(key, None)

    def note(self, workload: Object, adapter: Adapter, jobs: Sequence[Object]) -> None:
        key, name = key_of(workload), status.cluster_of(workload)
        if name:
            self._had[key] = "" if status.is_finished(workload) else name
        elif key not in self._had:
            was_there = status.is_admitted(workload) or status.was_put_out(workload)
            was_there = was_there or self._was_lost(adapter, jobs)
            self._had[key] = None if was_there else ""

    def settle(self, workload: Object, sites: Sequence[Site]) -> str | None:
        """The same as `of`, when those that have nothing of it were seen."""
        key = key_of(workload)
        clean = [site.name for site in sites if site.is_connected and site.is_clean]
        had = self._had[key]
        is_clean = len(clean) == len(sites) if had is None else had in clean
        if is_clean and not status.cluster_of(workload):
            self._had[key] = ""
        return self._had[key]

    def forget(self, key: Key) -> None:
        self._had.pop(key, None)

    def _was_lost(self, adapter: Adapter, jobs: Sequence[Object]) -> bool:
        """Whether it may be the successor of one that was deleted before our time."""
        since = self._started_at()
        return any(created_at(job) <= since and _may_have_run(adapter, job) for job in jobs)


def _may_have_run(adapter: Adapter, job: Object) -> bool:
    """To be started changes a job, unless it is held by gates alone; what it tells of that may
    never have come.
    """
    return not adapter.managed_by or int(job["metadata"].get("generation") or 0) > 1
