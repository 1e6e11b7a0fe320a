"""Timestamps and durations with nanoseconds, as CEL computes with them."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo

from fleetqueue.apiserver.cel.errors import CelError

_SECOND = 10**9
_UNITS = {
    "ns": 1,
    "us": 10**3,
    "µs": 10**3,
    "μs": 10**3,
    "ms": 10**6,
    "s": _SECOND,
    "m": 60 * _SECOND,
    "h": 3600 * _SECOND,
}
_LOOSE_UNITS = (
    (("ns", "nano"), 1),
    (("us", "µs", "micro"), 10**3),
    (("ms", "milli"), 10**6),
    (("s", "sec"), _SECOND),
    (("m", "min"), 60 * _SECOND),
    (("h", "hr", "hour"), 3600 * _SECOND),
    (("d", "day"), 24 * 3600 * _SECOND),
    (("w", "wk", "week"), 7 * 24 * 3600 * _SECOND),
)
_DURATION = re.compile(r"([0-9]*)(?:\.([0-9]*))?(ns|us|µs|μs|ms|s|m|h)")
_RFC3339 = re.compile(
    r"(\d{4}-\d{2}-\d{2})[Tt](\d{2}:\d{2}:\d{2})(?:[.,](\d+))?([Zz]|[+-]\d{2}:\d{2})?"
)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST = -62135596800 * _SECOND
_LAST = 253402300799 * _SECOND + _SECOND - 1
_INT64 = 2**63


@dataclass(frozen=True, slots=True, order=True)
class Duration:
    nanoseconds: int

    def __post_init__(self) -> None:
        if not -_INT64 <= self.nanoseconds < _INT64:
            raise CelError("integer overflow")

    @classmethod
    def parse(cls, text: str) -> "Duration":
        return cls(parse_duration(text))

    def __str__(self) -> str:
        seconds, rest = divmod(abs(self.nanoseconds), _SECOND)
        fraction = f".{rest:09d}".rstrip("0").rstrip(".")
        return f"{'-' if self.nanoseconds < 0 else ''}{seconds}{fraction}s"

    def truncated(self, unit: int) -> int:
        whole = abs(self.nanoseconds) // unit
        return whole if self.nanoseconds >= 0 else -whole


@dataclass(frozen=True, slots=True, order=True)
class Timestamp:
    nanoseconds: int
    """Since 1970."""

    def __post_init__(self) -> None:
        if not _FIRST <= self.nanoseconds <= _LAST:
            raise CelError("timestamp overflow")

    @classmethod
    def parse(cls, text: str) -> "Timestamp":
        found = _RFC3339.fullmatch(text)
        if found is None:
            raise CelError(_unreadable(text))
        day, clock, fraction, zone = found.groups()
        try:
            moment = datetime.fromisoformat(f"{day}T{clock}").replace(tzinfo=_offset(zone))
        except ValueError:
            raise CelError(_unreadable(text)) from None
        nanoseconds = int((fraction or "0")[:9].ljust(9, "0"))
        return cls(_seconds_since(moment) * _SECOND + nanoseconds)

    def __str__(self) -> str:
        seconds, rest = divmod(self.nanoseconds, _SECOND)
        moment = _EPOCH + timedelta(seconds=seconds)
        fraction = f".{rest:09d}".rstrip("0").rstrip(".")
        text = f"{moment.year:04d}-{moment:%m-%dT%H:%M:%S}"
        return f"{text}{fraction}Z"

    def local(self, zone: str = "") -> datetime:
        """The date and clock in a time zone: a name, or an offset such as `-08:00`."""
        moment = _EPOCH + timedelta(seconds=self.nanoseconds // _SECOND)
        return moment.astimezone(_zone(zone)) if zone else moment


def parse_duration(text: str) -> int:
    """Go's notation: `1h30m`, `-1.5s`."""
    body = text[1:] if text[:1] in ("+", "-") else text
    if body == "0":
        return 0
    total, at = 0, 0
    while at < len(body) and (found := _DURATION.match(body, at)) is not None:
        whole, fraction, unit = found.groups()
        if not whole and not fraction:
            break
        total += int(whole or 0) * _UNITS[unit]
        if fraction:
            total += int(fraction) * _UNITS[unit] // 10 ** len(fraction)
        at = found.end()
    if at < len(body) or not body or total >= _INT64 + (text[0] == "-"):
        raise CelError(f'time: invalid duration "{text}"')
    return -total if text[0] == "-" else total


def parse_loose_duration(text: str) -> int:
    """What the schema format `duration` accepts: also `3 days` and `2 weeks`."""
    try:
        return parse_duration(text)
    except CelError:
        total, is_found = 0, False
    for number, word in re.findall(r"(\d+)\s*([A-Za-zµ]+)", text):
        for names, factor in _LOOSE_UNITS:
            if word.lower() in names or word.lower().startswith(names[-1]):
                total, is_found = total + int(number) * factor, True
    if not is_found:
        raise CelError(f"Invalid duration {text}: unable to parse {text} as duration")
    return total


def _unreadable(text: str) -> str:
    return f'parsing time "{text}" as "2006-01-02T15:04:05Z07:00": cannot parse "{text}" as "2006"'


def _seconds_since(moment: datetime) -> int:
    span = moment - _EPOCH
    return span.days * 86400 + span.seconds


def _offset(zone: str | None) -> timezone:
    if not zone or zone in "Zz":
        return UTC
    span = timedelta(hours=int(zone[1:3]), minutes=int(zone[4:6]))
    return timezone(-span if zone[0] == "-" else span)


def _zone(name: str) -> tzinfo:
    if found := re.fullmatch(r"([+-]?)(\d{1,2}):(\d{2})", name):
        span = timedelta(hours=int(found[2]), minutes=int(found[3]))
        return timezone(-span if found[1] == "-" else span)
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        raise CelError(f"unknown time zone {name}") from None
