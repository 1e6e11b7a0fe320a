"""Who lists the checks of a new workload: its controller, in a write of its own, or, while much
happens, whoever reserves quota for it a moment later.
"""

from collections.abc import Callable
from datetime import datetime, timedelta

from fleetqueue.admission.facts import Facts
from fleetqueue.api.kueue import admission_status as status
from fleetqueue.api.times import parse_time
from fleetqueue.base.leisure import Leisure
from fleetqueue.kube.remembered import Remembered
from fleetqueue.kube.resources import Object, uid_of

RESERVED_WITHIN = timedelta(seconds=5)
"""After this nobody waits any longer for a reservation to bring the list."""


class CheckLists:
    """What was said once of a workload stays said."""

    def __init__(self, now: Callable[[], datetime]) -> None:
        self._now = now
        self._leisure = Leisure()
        self._apart: Remembered[bool] = Remembered()

    def are_apart(self, workload: Object) -> bool:
        """Whether its list is a write of its own."""
        known = self._apart.get(uid_of(workload))
        if known is None:
            known = self._leisure.take(self._now())
            self._apart.put(uid_of(workload), known)
        return known

    def are_left(self, workload: Object, facts: Facts) -> bool:
        """Whether its controller leaves the list to a reservation that is about to come."""
        if not facts.checks or not _may_come(workload, facts):
            return False
        created = parse_time(workload["metadata"]["creationTimestamp"])
        return self._now() - created < RESERVED_WITHIN and not self.are_apart(workload)


def is_untried(workload: Object) -> bool:
    """Whether it is new: nothing was told to it yet."""
    known = status.find_condition(workload, status.QUOTA_RESERVED)
    return known is None and not status.checks_of(workload)


def _may_come(workload: Object, facts: Facts) -> bool:
    """Whether it was neither tried yet, nor anything keeps it from that."""
    is_open = status.is_active(workload) and not facts.problem and facts.refusal is None
    return is_open and is_untried(workload) and facts.local.is_active and facts.queue.is_active
