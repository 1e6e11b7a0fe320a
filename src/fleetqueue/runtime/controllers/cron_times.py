"""When a CronJob is due: which start it owes now, how many it missed, and when to look again."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from fleetqueue.api.times import parse_time
from fleetqueue.kube.resources import Object
from fleetqueue.runtime.controllers.cron_schedule import Schedule, ScheduleError

MISSED_STARTS_MAX = 100
"""More than these are too many to be an accident."""
LATE_SECONDS = 0.1
"""Looks come so much after the time, for clocks that differ a little."""
_ONE = timedelta(seconds=1)


@dataclass(frozen=True, slots=True)
class Due:
    """The starts between the last one and now."""

    since: datetime
    latest: datetime | None
    missed: int = 0


def find_due(
    cron_job: Object, last: datetime | None, now: datetime, schedule: Schedule, *, in_time: bool
) -> Due:
    """`in_time`: those are left out that `startingDeadlineSeconds` forbids by now."""
    since = last or parse_time(cron_job["metadata"]["creationTimestamp"])
    deadline = cron_job["spec"].get("startingDeadlineSeconds")
    if in_time and deadline is not None:
        since = max(since, now - timedelta(seconds=deadline))
    first = schedule.after(since)
    second = None if first is None else schedule.after(first)
    if first is None or second is None:
        raise ScheduleError("time difference between two schedules is less than 1 second")
    if now < first:
        return Due(since, None)
    if now < second:
        return Due(since, first)
    # The distance of the first two tells roughly how many there were; the search begins near the
    # end, and one earlier where the distances differ.
    distance = max(_ONE, second - first)
    missed = (now - first) // distance + 1
    return Due(since, _last_until(schedule, first + (missed - 2) * distance, now), missed)


def next_look(
    cron_job: Object, last: datetime | None, now: datetime, schedule: Schedule
) -> float | None:
    """The seconds until the next start; None where there is none."""
    try:
        due = find_due(cron_job, last, now, schedule, in_time=False)
        start = due.latest or (now if due.missed else due.since)
    except ScheduleError:
        start = now
    found = schedule.after(start)
    if found is None:
        return None
    return max(0.0, (found - now).total_seconds()) + LATE_SECONDS


def _last_until(schedule: Schedule, start: datetime, now: datetime) -> datetime | None:
    latest = None
    found = schedule.after(start)
    while found is not None and found <= now:
        latest, found = found, schedule.after(found)
    return latest
