"""When the names nominated last were written, as the Workload itself tells: a restart forgets
nothing.
"""

from datetime import datetime, timedelta

from fleetqueue.api.kueue import admission_status as status
from fleetqueue.api.times import parse_time
from fleetqueue.kube.resources import Object

NOMINATED = "nominatedClusterNames"


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
