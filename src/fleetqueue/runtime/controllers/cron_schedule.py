"""Cron schedules: five fields, descriptors such as `@hourly`, and `@every`; in any time zone."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from fleetqueue.api.times import TimeError, parse_duration

YEARS_AHEAD_MAX = 5
_SECOND, _MINUTE, _HOUR = timedelta(seconds=1), timedelta(minutes=1), timedelta(hours=1)
_DESCRIPTORS = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_BOUNDS: Sequence[tuple[int, int, Mapping[str, int]]] = (
    (0, 59, {}),
    (0, 23, {}),
    (1, 31, {}),
    (1, 12, {name: number for number, name in enumerate(_MONTHS, 1)}),
    (0, 6, {name: number for number, name in enumerate(_DAYS)}),
)


class ScheduleError(ValueError):
    """The text is no schedule; the message says what is wrong."""


@dataclass(frozen=True, slots=True)
class Every:
    """At a fixed distance, in whole seconds."""

    span: timedelta

    def after(self, moment: datetime) -> datetime | None:
        return moment.replace(microsecond=0) + self.span


@dataclass(frozen=True, slots=True)
class Fields:
    """At the minutes that all fields allow, by the clocks of a time zone.

    An hour that a change of the clocks leaves out is passed over; one that comes twice counts
    twice.
    """

    minutes: frozenset[int]
    hours: frozenset[int]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    needs_both_days: bool
    """Whether day of month and day of week must both fit, as where one of them is a star."""
    zone: tzinfo

    def after(self, moment: datetime) -> datetime | None:
        """The first time later than that; None where there is none for years."""
        local = (moment.replace(microsecond=0) + _SECOND).astimezone(self.zone)
        if local.second:
            local = self._moved(local, _MINUTE - timedelta(seconds=local.second))
        last_year = local.year + YEARS_AHEAD_MAX
        while local.year <= last_year:
            if local.month not in self.months:
                local = self._midnight(local.replace(day=1) + timedelta(days=32), day=1)
            elif not self._has_day(local):
                local = self._midnight(local + timedelta(days=1))
            elif local.hour not in self.hours:
                local = self._moved(local, _HOUR - timedelta(minutes=local.minute))
            elif local.minute not in self.minutes:
                local = self._moved(local, _MINUTE)
            else:
                return local.astimezone(UTC)
        return None

    def _has_day(self, local: datetime) -> bool:
        fits = local.day in self.days, local.isoweekday() % 7 in self.weekdays
        return all(fits) if self.needs_both_days else any(fits)

    def _midnight(self, local: datetime, day: int = 0) -> datetime:
        wall = local.replace(day=day or local.day, hour=0, minute=0, fold=0)
        # There and back, since a change of the clocks may have left midnight out.
        return wall.astimezone(UTC).astimezone(self.zone)

    def _moved(self, local: datetime, span: timedelta) -> datetime:
        return (local.astimezone(UTC) + span).astimezone(self.zone)


Schedule = Every | Fields


def parse_schedule(text: str, zone: str | None = None) -> Schedule:
    """`zone` counts unless the text names one itself, as `TZ=` or `CRON_TZ=`."""
    place: tzinfo = find_zone(zone) if zone else UTC
    if text.startswith(("TZ=", "CRON_TZ=")):
        named, _, text = text.partition("=")[2].partition(" ")
        place, text = find_zone(named), text.strip()
    if text.startswith("@every "):
        return Every(_span(text))
    parts = _DESCRIPTORS.get(text, text).split()
    if text.startswith("@") and text not in _DESCRIPTORS:
        raise ScheduleError(f"unrecognized descriptor: {text}")
    if len(parts) != len(_BOUNDS):
        found = " ".join(parts)
        raise ScheduleError(f"expected exactly 5 fields, found {len(parts)}: [{found}]")
    (minutes, _), (hours, _), (days, any_day), (months, _), (weekdays, any_weekday) = (
        _field(part, *bounds) for part, bounds in zip(parts, _BOUNDS, strict=True)
    )
    return Fields(minutes, hours, days, months, weekdays, any_day or any_weekday, place)


def find_zone(name: str) -> tzinfo:
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise ScheduleError(f"unknown time zone {name}") from error


def _span(text: str) -> timedelta:
    duration = text.removeprefix("@every ")
    try:
        span = parse_duration(duration)
    except TimeError as error:
        raise ScheduleError(f"failed to parse duration {text}: {error}") from error
    return max(_SECOND, span - timedelta(microseconds=span.microseconds))


def _field(text: str, low: int, high: int, names: Mapping[str, int]) -> tuple[frozenset[int], bool]:
    """The values, and whether any will do."""
    values: set[int] = set()
    is_any = False
    for part in filter(None, text.split(",")):
        limits, slash, step_text = part.partition("/")
        step = _number(step_text, {}) if slash else 1
        if step == 0:
            raise ScheduleError(f"step of range should be a positive number: {part}")
        if limits in ("*", "?"):
            first, last = low, high
            is_any = is_any or step == 1
        else:
            start, dash, end = limits.partition("-")
            first = _number(start, names)
            last = _number(end, names) if dash else high if slash else first
        if not low <= first <= last <= high:
            raise ScheduleError(f"range ({first}-{last}) not within {low}-{high}: {part}")
        values.update(range(first, last + 1, step))
    return frozenset(values), is_any


def _number(text: str, names: Mapping[str, int]) -> int:
    named = names.get(text.lower())
    if named is not None:
        return named
    if not (text.isascii() and text.isdecimal()):
        raise ScheduleError(f"failed to parse int from {text}")
    return int(text)
