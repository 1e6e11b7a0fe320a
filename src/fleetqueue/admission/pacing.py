"""How much of the server's time is spent on telling, rather than on admitting: all is told at once
while little happens, and later, or not at all where it is over by then, while much does.
"""

from collections.abc import Callable, Hashable
from datetime import datetime, timedelta

from fleetqueue.kube.plan import Plan, Status
from fleetqueue.kube.remembered import Remembered
from fleetqueue.kube.resources import Object

REASONS_PER_SECOND = 10.0
REASONS_AT_ONCE = 100
REASONS_UNDER_WAY_MAX = 2
"""Of workloads that are told why they wait: where answers take long, fewer are told."""
COUNTERS_PER_SECOND = 2.0
COUNTERS_AT_ONCE = 10
COUNTERS_SECONDS_MIN = 1.0
"""How long after a change of a workload the counters of its queues follow at the earliest."""
COUNTERS_SECONDS_MAX = 60.0

Now = Callable[[], datetime]


class Budget:
    """So many at once, then so many a second, each in its turn."""

    def __init__(self, now: Now, per_second: float, at_once: float = 1) -> None:
        self._now = now
        self._share = timedelta(seconds=1 / per_second)
        self._saved = self._share * at_once
        self._spent_until = now() - self._saved

    def take(self) -> float:
        """In how many seconds the turn has come."""
        now = self._now()
        self._spent_until = max(self._spent_until, now - self._saved) + self._share
        return max(0.0, (self._spent_until - now).total_seconds())


class Pace:
    """Of all who write counters. A queue that was quiet is told of soon, one that has just been
    written waits its turn among the others.
    """

    def __init__(self, now: Now) -> None:
        self._now = now
        self._budget = Budget(now, COUNTERS_PER_SECOND, COUNTERS_AT_ONCE)
        self._rests_until: Remembered[datetime] = Remembered()

    def wrote(self, who: Hashable) -> None:
        rest = max(COUNTERS_SECONDS_MIN, min(self._budget.take(), COUNTERS_SECONDS_MAX))
        self._rests_until.put(who, self._now() + timedelta(seconds=rest))

    def after(self, who: Hashable) -> float:
        """In how many seconds the counters of this queue are looked at when they change now."""
        return max(COUNTERS_SECONDS_MIN, self.rest(who))

    def rest(self, who: Hashable) -> float:
        """For how many seconds they are not written again."""
        until = self._rests_until.get(who)
        return 0.0 if until is None else max(0.0, (until - self._now()).total_seconds())


def told(pace: Pace, who: Hashable, queue: Object, made: Object) -> Plan:
    """The status of a queue: whether it is active at once, its counters when their turn has come.
    Each write wakes its own queue again, and a busy one has new counters by then.
    """
    before = queue.get("status")
    if made == before:
        return Plan()
    is_new = before is None or before.get("conditions") != made.get("conditions")
    if not is_new and (rest := pace.rest(who)) > 0:
        return Plan(after=rest)
    pace.wrote(who)
    return Plan([Status(made)])
