"""When the names nominated last were written, as the Workload itself tells: a restart forgets
nothing.
"""

from datetime import datetime, timedelta
from typing import Any

from fleetqueue.api.kueue import admission_status as status
from fleetqueue.api.meta import Key
from fleetqueue.api.times import parse_time
from fleetqueue.kube.resources import Object, key_of, uid_of

NOMINATED = "nominatedClusterNames"


class Rounds:
    """Remembers what a Workload told first of each round: whatever else is written of it later,
    the round gets no longer, whether or not it is offered all the time.
    """

    def __init__(self) -> None:
        self._known: dict[Key, tuple[Any, datetime]] = {}

    def started(self, workload: Object) -> datetime | None:
        told, key, round = round_started_of(workload), key_of(workload), _round(workload)
        if told is None:
            self.forget(key)
            return None
        known = self._known.get(key)
        if known is None or known[0] != round:
            known = self._known[key] = (round, told)
        return min(told, known[1])

    def forget(self, key: Key) -> None:
        self._known.pop(key, None)


def _round(workload: Object) -> tuple[Any, ...]:
    """What tells one from the next."""
    return uid_of(workload), tuple((workload.get("status") or {}).get(NOMINATED) or ())


def round_started_of(workload: Object) -> datetime | None:
    """The newest time of any manager that owns the names; None where nobody does.

    A manager's time moves with all that it writes, and is cut to the second. So this is never
    before the write, which the second added makes sure of, and may be after it.
    """
    if not (workload.get("status") or {}).get(NOMINATED):
        return None
    entries = status.owners_of(workload, NOMINATED)
    found = [parse_time(each["time"]) for each in entries if each.get("time")]
    return max(found) + timedelta(seconds=1) if found else None
