"""Reads and prints the simple types of Go structs as Go's JSON does: numbers, times, quantities."""

import base64
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

from fleetqueue.api.quantity import Quantity, QuantityError
from fleetqueue.base.kept_texts import kept_texts

_RANGES = {
    "int": (-(2**63), 2**63 - 1),
    "int8": (-(2**7), 2**7 - 1),
    "int16": (-(2**15), 2**15 - 1),
    "int32": (-(2**31), 2**31 - 1),
    "int64": (-(2**63), 2**63 - 1),
    "uint8": (0, 2**8 - 1),
    "uint16": (0, 2**16 - 1),
    "uint32": (0, 2**32 - 1),
    "uint64": (0, 2**64 - 1),
}
_TIME = re.compile(r"(\d{4}-\d{2}-\d{2})T(\d{2}:\d{2}:\d{2})(?:[.,](\d+))?(Z|[+-]\d{2}:\d{2})")
_TEXTS_KEPT = 4096
_LAYOUT = "2006-01-02T15:04:05Z07:00"
_MICRO_LAYOUT = "2006-01-02T15:04:05.000000Z07:00"
_DATE_AND_CLOCK = (
    ("2006", r"\d{4}"),
    ("-", "-"),
    ("01", r"\d{2}"),
    ("-", "-"),
    ("02", r"\d{2}"),
    ("T", "T"),
    ("15", r"\d{2}"),
    (":", ":"),
    ("04", r"\d{2}"),
    (":", ":"),
    ("05", r"\d{2}"),
)
_OFFSET = ("Z07:00", r"Z|[+-]\d{2}:\d{2}")
_PARTS = {
    _LAYOUT: (*_DATE_AND_CLOCK, ("", r"(?:[.,]\d+)?"), _OFFSET),
    _MICRO_LAYOUT: (*_DATE_AND_CLOCK, (".000000", r"\.\d{6}"), _OFFSET),
}
"""The parts of a layout and what they match; the first that does not is named in the error."""
_SHAPES = {
    layout: re.compile("".join(f"(?:{pattern})" for _, pattern in parts))
    for layout, parts in _PARTS.items()
}


class Mismatch(Exception):
    """The value has the wrong JSON type; decoding goes on, and the first one is reported."""

    def __init__(self, given: str, wanted: str = "") -> None:
        super().__init__(given)
        self.given = given
        self.wanted = wanted


class Refusal(Exception):
    """A type with a reader of its own refuses the value; decoding ends with this message."""


def describe(value: Any) -> str:
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, str):
        return "string"
    if isinstance(value, int | float):
        return "number"
    return "array" if isinstance(value, list) else "object"


def _string(value: Any) -> Any:
    if value.__class__ is str:
        return value
    raise Mismatch(describe(value))


def _boolean(value: Any) -> Any:
    if value.__class__ is bool:
        return value
    raise Mismatch(describe(value))


def _float(value: Any) -> Any:
    if value.__class__ in (int, float):
        return value
    raise Mismatch(describe(value))


def _integer(name: str) -> Callable[[Any], Any]:
    low, high = _RANGES[name]

    def read(value: Any) -> Any:
        if value.__class__ is int:
            if low <= value <= high:
                return value
            raise Mismatch(f"number {value}")
        if value.__class__ is float:
            raise Mismatch(f"number {value!r}")
        raise Mismatch(describe(value))

    return read


def _bytes(value: Any) -> Any:
    if value.__class__ is list:
        return base64.b64encode(bytes(_byte(one) for one in value)).decode()
    if value.__class__ is not str:
        raise Mismatch(describe(value))
    text = value.replace("\n", "").replace("\r", "")
    try:
        base64.b64decode(text, validate=True)
    except ValueError:
        bad = re.match(r"[A-Za-z0-9+/]*", text)
        position = bad.end() if bad else 0
        if position == len(text):
            position -= position % 4  # cut short: the whole group of four is to blame
        raise Refusal(f"illegal base64 data at input byte {position}") from None
    return text


def _byte(value: Any) -> int:
    if value.__class__ is not int or not 0 <= value <= 255:
        raise Mismatch(describe(value), "uint8")
    return int(value)


def _quantity(value: Any) -> Any:
    if value.__class__ is str:
        return _printed_quantity(value)
    if isinstance(value, bool | list | dict):
        raise Refusal(_QUANTITY_SHAPE)
    return _print_quantity(value)


def _print_quantity(value: Any) -> str:
    try:
        return str(Quantity.of(value))
    except QuantityError as problem:
        raise Refusal(str(problem)) from None


_printed_quantity = kept_texts(_TEXTS_KEPT)(_print_quantity)
_QUANTITY_SHAPE = (
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
)


def _int_or_string(value: Any) -> Any:
    if value.__class__ is str:
        return value
    try:
        return _integer("int32")(value)
    except Mismatch as problem:
        raise Mismatch(problem.given, "int32") from None


def _time(value: Any) -> Any:
    if value.__class__ is str:
        return _printed_time(value)
    raise Mismatch(describe(value), "string")


@kept_texts(_TEXTS_KEPT)
def _printed_time(value: str) -> str:
    """Kept, because an object brings the same times with each of its writes."""
    moment = _read_time(value, _LAYOUT)
    return f"{moment:%Y-%m-%dT%H:%M:%S}Z".rjust(20, "0")


def _micro_time(value: Any) -> Any:
    moment = _read_time(value, _MICRO_LAYOUT)
    return f"{moment:%Y-%m-%dT%H:%M:%S.%f}Z".rjust(27, "0")


def _read_time(value: Any, layout: str) -> datetime:
    if value.__class__ is not str:
        raise Mismatch(describe(value), "string")
    moment = parse_time(value) if _SHAPES[layout].fullmatch(value) else None
    if moment is not None:
        return moment
    rest = value
    for part, pattern in _PARTS[layout]:
        found = re.match(pattern, rest)
        if found is None:
            raise Refusal(
                f'parsing time "{value}" as "{layout}": cannot parse "{rest}" as "{part}"'
            )
        rest = rest[found.end() :]
    what = f'extra text: "{rest}"' if rest else "day out of range"
    raise Refusal(f'parsing time "{value}": {what}')


def parse_time(text: str) -> datetime | None:
    """RFC 3339, in UTC; None if it is something else."""
    found = _TIME.fullmatch(text)
    if found is None:
        return None
    day, clock, fraction, zone = found.groups()
    try:
        moment = datetime.fromisoformat(f"{day}T{clock}").replace(
            microsecond=int((fraction or "0")[:6].ljust(6, "0")), tzinfo=_zone(zone)
        )
        return moment.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def _zone(text: str) -> timezone:
    if text == "Z":
        return UTC
    offset = timedelta(hours=int(text[1:3]), minutes=int(text[4:6]))
    return timezone(-offset if text[0] == "-" else offset)


SIMPLE: dict[str, Callable[[Any], Any]] = {
    "string": _string,
    "bool": _boolean,
    "float64": _float,
    "float32": _float,
    "[]uint8": _bytes,
    **{name: _integer(name) for name in _RANGES},
}

ZERO: dict[str, Any] = {
    "string": "",
    "bool": False,
    "float64": 0,
    "float32": 0,
    "[]uint8": None,
    **dict.fromkeys(_RANGES, 0),
}

SPECIAL: dict[str, Callable[[Any], Any]] = {
    "resource.Quantity": _quantity,
    "intstr.IntOrString": _int_or_string,
    "v1.Time": _time,
    "v1.MicroTime": _micro_time,
    "v1.Duration": _string,
}

SPECIAL_ZERO: dict[str, Any] = {
    "resource.Quantity": "0",
    "intstr.IntOrString": 0,
    "v1.Time": None,
    "v1.MicroTime": None,
    "v1.Duration": "0s",
}
