"""Times and spans in the formats of the Kubernetes API and of kubectl's columns."""

import re
from datetime import UTC, datetime, timedelta

from fleetqueue.base.kept_texts import kept_texts
from fleetqueue.errors import InvalidInput

_LAYOUT = "2006-01-02T15:04:05Z07:00"

_UNITS = {
    "ns": 1,
    "us": 10**3,
    "µs": 10**3,
    "μs": 10**3,
    "ms": 10**6,
    "s": 10**9,
    "m": 60 * 10**9,
    "h": 3600 * 10**9,
}
_INT64_MAX = 2**63 - 1


class TimeError(InvalidInput, ValueError):
    """The text is no time or no span; the message is Go's."""


def format_time(moment: datetime) -> str:
    """As `metav1.Time`: whole seconds, in UTC."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ").zfill(20)


def format_micro_time(moment: datetime) -> str:
    """As `metav1.MicroTime`: always six digits of fraction, in UTC."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ").zfill(27)


@kept_texts(4096)
def parse_time(text: str) -> datetime:
    """RFC 3339, any offset, any fraction; finer than a microsecond is cut.

    The same few times stand in many objects, and are read again with each of their changes.
    """
    return _parse(text)


def parse_duration(text: str) -> timedelta:
    return timedelta(microseconds=parse_nanoseconds(text) / 1000)


def format_duration(span: timedelta) -> str:
    return format_nanoseconds(span // timedelta(microseconds=1) * 1000)


def parse_nanoseconds(text: str) -> int:
    """A `metav1.Duration` such as `1h15m30.5s`, `300ms` or `-1.5h`, in nanoseconds."""
    body = text[1:] if text[:1] in ("+", "-") else text
    if body == "0":
        return 0
    if not body:
        raise TimeError(f"time: invalid duration {_quote(text)}")
    total = 0
    while body:
        nanoseconds, body = _next_part(body, text)
        total += nanoseconds
        if total > _INT64_MAX + (text[0] == "-"):
            raise TimeError(f"time: invalid duration {_quote(text)}")
    return -total if text[0] == "-" else total


def format_nanoseconds(nanoseconds: int) -> str:
    """As Go prints a duration: `1h0m0s`, `1.5s`, `300ms`, `1µs`."""
    sign, size = ("-" if nanoseconds < 0 else ""), abs(nanoseconds)
    if size == 0:
        return "0s"
    for unit, below in (("ns", 10**3), ("µs", 10**6), ("ms", 10**9)):
        if size < below:
            return f"{sign}{_decimal(size, below // 1000)}{unit}"
    minutes, rest = divmod(size, _UNITS["m"])
    hours, minutes = divmod(minutes, 60)
    text = f"{_decimal(rest, _UNITS['s'])}s"
    if hours:
        return f"{sign}{hours}h{minutes}m{text}"
    return f"{sign}{minutes}m{text}" if minutes else f"{sign}{text}"


def human_duration(span: timedelta) -> str:
    """As kubectl's AGE column: two or three significant figures."""
    seconds = int(span.total_seconds())
    if seconds < 120:
        return _few_seconds(seconds)
    minutes, hours = seconds // 60, seconds // 3600
    if minutes < 10:
        return _two(minutes, "m", seconds % 60, "s")
    if minutes < 180:
        return f"{minutes}m"
    if hours < 8:
        return _two(hours, "h", minutes % 60, "m")
    if hours < 48:
        return f"{hours}h"
    days = hours // 24
    if days < 8:
        return _two(days, "d", hours % 24, "h")
    if days < 2 * 365:
        return f"{days}d"
    return _two(days // 365, "y", days % 365, "d") if days < 8 * 365 else f"{days // 365}y"


def _few_seconds(seconds: int) -> str:
    # Clocks of two machines differ a little, so one second ahead still counts as now.
    return "<invalid>" if seconds < -1 else f"{max(seconds, 0)}s"


def _two(large: int, large_unit: str, small: int, small_unit: str) -> str:
    return f"{large}{large_unit}{small}{small_unit}" if small else f"{large}{large_unit}"


def _decimal(size: int, unit: int) -> str:
    whole, rest = divmod(size, unit)
    if not rest:
        return str(whole)
    digits = len(str(unit)) - 1
    return f"{whole}.{rest:0{digits}d}".rstrip("0")


_PART = re.compile(r"([0-9]*)(?:\.([0-9]*))?([^0-9.]*)", re.ASCII)


def _next_part(body: str, text: str) -> tuple[int, str]:
    match = _PART.match(body)
    assert match is not None
    whole, fraction, unit = match.groups(default="")
    if not whole and not fraction:
        raise TimeError(f"time: invalid duration {_quote(text)}")
    if not unit:
        raise TimeError(f"time: missing unit in duration {_quote(text)}")
    if unit not in _UNITS:
        raise TimeError(f"time: unknown unit {_quote(unit)} in duration {_quote(text)}")
    if len(whole.lstrip("0")) > 19:
        raise TimeError(f"time: invalid duration {_quote(text)}")
    below_one = int((fraction or "0")[:18]) * _UNITS[unit] // 10 ** min(len(fraction or "0"), 18)
    return int(whole or "0") * _UNITS[unit] + below_one, body[match.end() :]


_ELEMENTS = (
    ("2006", r"\d{4}"),
    ("-", "-"),
    ("01", r"\d\d"),
    ("-", "-"),
    ("02", r"\d\d"),
    ("T", "T"),
    ("15", r"\d\d?"),
    (":", ":"),
    ("04", r"\d\d"),
    (":", ":"),
    ("05", r"\d\d"),
)
_FRACTION = re.compile(r"[.,](\d+)", re.ASCII)
_OFFSET = re.compile(r"Z|([-+])(\d\d):(\d\d)", re.ASCII)
_RANGES = {"01": ("month", 1, 12), "15": ("hour", 0, 23), "04": ("minute", 0, 59)}
_RANGES |= {"05": ("second", 0, 59)}


def _parse(text: str) -> datetime:
    rest, numbers = text, []
    for name, pattern in _ELEMENTS:
        match = re.match(pattern, rest, re.ASCII)
        if match is None:
            raise _cannot(text, rest, name)
        if name.isdigit():
            numbers.append(_in_range(text, name, int(match.group())))
        rest = rest[match.end() :]
    found = _FRACTION.match(rest)
    fraction, end = (found.group(1), found.end()) if found else (None, 0)
    offset = _OFFSET.match(rest, end)
    if offset is None:
        raise _cannot(text, rest[end:], "Z07:00")
    ahead = _offset(offset, text)
    if offset.end() != len(rest):
        raise TimeError(f"parsing time {_quote(text)}: extra text: {_quote(rest[offset.end() :])}")
    return _moment(text, numbers, fraction, ahead)


def _in_range(text: str, name: str, number: int) -> int:
    word, low, high = _RANGES.get(name, ("", 0, 9999))
    if not low <= number <= high:
        raise TimeError(f"parsing time {_quote(text)}: {word} out of range")
    return number


def _moment(text: str, numbers: list[int], fraction: str | None, ahead: timedelta) -> datetime:
    year, month, day, hour, minute, second = numbers
    micros = int((fraction or "0")[:6].ljust(6, "0"))
    try:
        return datetime(year, month, day, hour, minute, second, micros, UTC) - ahead
    except (ValueError, OverflowError):
        raise TimeError(f"parsing time {_quote(text)}: day out of range") from None


def _offset(match: re.Match[str], text: str) -> timedelta:
    if match.group() == "Z":
        return timedelta()
    sign, hours, minutes = match.groups()
    if int(hours) > 24 or int(minutes) > 60:
        what = "hour" if int(hours) > 24 else "minute"
        raise TimeError(f"parsing time {_quote(text)}: time zone offset {what} out of range")
    size = timedelta(hours=int(hours), minutes=int(minutes))
    return -size if sign == "-" else size


def _cannot(text: str, rest: str, element: str) -> TimeError:
    where = f"parsing time {_quote(text)} as {_quote(_LAYOUT)}"
    return TimeError(f"{where}: cannot parse {_quote(rest)} as {_quote(element)}")


def _quote(text: str) -> str:
    """As Go's time package quotes: every byte beyond printable ASCII in hexadecimal."""
    shown = [
        f"\\{chr(byte)}" if byte in b'"\\' else chr(byte) if 32 <= byte < 128 else f"\\x{byte:02x}"
        for byte in text.encode(errors="surrogatepass")
    ]
    return f'"{"".join(shown)}"'
