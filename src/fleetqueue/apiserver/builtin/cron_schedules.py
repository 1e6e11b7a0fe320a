"""Cron schedules: whether one can be read, and if not, why."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

_DESCRIPTORS = frozenset(
    {"@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"}
)
_EVERY = "@every "
_DURATION = re.compile(r"[-+]?(?:0|(?:(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:ns|us|µs|μs|ms|s|m|h))+)")
_NUMBER = re.compile("[-+]?[0-9]+")
_MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
_DAYS = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"]


class ScheduleError(ValueError):
    """The text is no schedule; the message says what is wrong with it."""


@dataclass(frozen=True)
class _Bounds:
    low: int
    high: int
    names: Mapping[str, int] = field(default_factory=dict)


_FIELDS = (
    _Bounds(0, 59),
    _Bounds(0, 23),
    _Bounds(1, 31),
    _Bounds(1, 12, {name: index + 1 for index, name in enumerate(_MONTHS)}),
    _Bounds(0, 6, {name: index for index, name in enumerate(_DAYS)}),
)


def check_schedule(text: str, is_zone: Callable[[str], bool]) -> None:
    """Raises a ScheduleError unless the text is a schedule of five fields or a descriptor."""
    if text.startswith(("TZ=", "CRON_TZ=")):
        zone, space, rest = text.partition("=")[2].partition(" ")
        if not space or not is_zone(zone):
            raise ScheduleError(f"provided bad location {zone}: unknown time zone {zone}")
        text = rest.strip()
    if text.startswith("@"):
        _check_descriptor(text)
        return
    parts = text.split()
    if len(parts) != len(_FIELDS):
        count = len(_FIELDS)
        raise ScheduleError(
            f"expected exactly {count} fields, found {len(parts)}: [{' '.join(parts)}]"
        )
    for part, bounds in zip(parts, _FIELDS, strict=True):
        for expression in filter(None, part.split(",")):
            _check_range(expression, bounds)


def _check_descriptor(text: str) -> None:
    if text in _DESCRIPTORS:
        return
    if not text.startswith(_EVERY):
        raise ScheduleError(f"unrecognized descriptor: {text}")
    duration = text.removeprefix(_EVERY)
    if not _DURATION.fullmatch(duration):
        problem = f'time: invalid duration "{duration}"'
        raise ScheduleError(f"failed to parse duration {text}: {problem}")


def _check_range(expression: str, bounds: _Bounds) -> None:
    limits, *steps = expression.split("/")
    ends = limits.split("-")
    low, high = _read_ends(ends, expression, bounds)
    if len(steps) > 1:
        raise ScheduleError(f"too many slashes: {expression}")
    step = _read_number(steps[0]) if steps else 1
    if steps and len(ends) == 1:
        high = bounds.high
    if low < bounds.low:
        raise ScheduleError(
            f"beginning of range ({low}) below minimum ({bounds.low}): {expression}"
        )
    if high > bounds.high:
        raise ScheduleError(f"end of range ({high}) above maximum ({bounds.high}): {expression}")
    if low > high:
        raise ScheduleError(
            f"beginning of range ({low}) beyond end of range ({high}): {expression}"
        )
    if step == 0:
        raise ScheduleError(f"step of range should be a positive number: {expression}")


def _read_ends(ends: list[str], expression: str, bounds: _Bounds) -> tuple[int, int]:
    if ends[0] in ("*", "?"):
        return bounds.low, bounds.high
    low = _read(ends[0], bounds)
    if len(ends) == 1:
        return low, low
    if len(ends) > 2:
        raise ScheduleError(f"too many hyphens: {expression}")
    return low, _read(ends[1], bounds)


def _read(text: str, bounds: _Bounds) -> int:
    named = bounds.names.get(text.lower())
    return _read_number(text) if named is None else named


def _read_number(text: str) -> int:
    if not _NUMBER.fullmatch(text):
        problem = f'strconv.Atoi: parsing "{text}": invalid syntax'
        raise ScheduleError(f"failed to parse int from {text}: {problem}")
    if int(text) < 0:
        raise ScheduleError(f"negative number ({int(text)}) not allowed: {text}")
    return int(text)
