"""Conversions between types, and the parts of timestamps and durations."""

import math
import re
from collections.abc import Callable
from datetime import datetime
from typing import Any

from fleetqueue.apiserver.cel.arithmetic import checked_int
from fleetqueue.apiserver.cel.errors import CelError
from fleetqueue.apiserver.cel.overloads import Overload, overload
from fleetqueue.apiserver.cel.times import Duration, Timestamp
from fleetqueue.apiserver.cel.values import INT_MAX, UINT_MAX, UInt
from fleetqueue.apiserver.schema.values import show_double

_SECOND = 10**9


def _read(kind: str, read: Callable[[str], Any]) -> Callable[[str], Any]:
    """A conversion from text; whatever is wrong with the text, the error is the same."""

    def convert(text: str) -> Any:
        try:
            return read(text)
        except (ValueError, CelError):
            raise CelError(f"type conversion error from 'string' to '{kind}'") from None

    return convert


def _text_to_int(text: str) -> int:
    if re.fullmatch(r"[+-]?[0-9]+", text) is None:
        raise ValueError(text)
    return checked_int(int(text))


def _text_to_uint(text: str) -> UInt:
    if re.fullmatch(r"[0-9]+", text) is None or int(text) > UINT_MAX:
        raise ValueError(text)
    return UInt(int(text))


def _text_to_double(text: str) -> float:
    if text != text.strip() or "_" in text:
        raise ValueError(text)
    return float(text)


def _double_to_int(value: float) -> int:
    if not math.isfinite(value) or not -(2.0**63) < value < 2.0**63:
        raise CelError("integer overflow")
    return int(value)


def _double_to_uint(value: float) -> UInt:
    if not math.isfinite(value) or not 0 <= value < 2.0**64:
        raise CelError("unsigned integer overflow")
    return UInt(int(value))


def _int_to_uint(value: int) -> UInt:
    if value < 0:
        raise CelError("unsigned integer overflow")
    return UInt(value)


def _text_to_bool(text: str) -> bool:
    if text in ("1", "t", "T", "TRUE", "true", "True"):
        return True
    if text in ("0", "f", "F", "FALSE", "false", "False"):
        return False
    raise ValueError(text)


def _bytes_to_text(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        raise CelError("invalid UTF-8 in bytes, cannot convert to string") from None


def _uint_to_int(value: UInt) -> int:
    if value > INT_MAX:
        raise CelError("integer overflow")
    return int(value)


def _same(value: Any) -> Any:
    return value


_CONVERSIONS = [
    overload("int", "(int) -> int", _same),
    overload("int", "(uint) -> int", _uint_to_int),
    overload("int", "(double) -> int", _double_to_int),
    overload("int", "(string) -> int", _read("int", _text_to_int)),
    overload("int", "(timestamp) -> int", lambda value: value.nanoseconds // _SECOND),
    overload("int", "(duration) -> int", lambda value: value.nanoseconds),
    overload("uint", "(uint) -> uint", _same),
    overload("uint", "(int) -> uint", _int_to_uint),
    overload("uint", "(double) -> uint", _double_to_uint),
    overload("uint", "(string) -> uint", _read("uint", _text_to_uint)),
    overload("double", "(double) -> double", _same),
    overload("double", "(int) -> double", float),
    overload("double", "(uint) -> double", float),
    overload("double", "(string) -> double", _read("double", _text_to_double)),
    overload("bool", "(bool) -> bool", _same),
    overload("bool", "(string) -> bool", _read("bool", _text_to_bool)),
    overload("string", "(string) -> string", _same),
    overload("string", "(bool) -> string", lambda value: "true" if value else "false"),
    overload("string", "(int) -> string", str),
    overload("string", "(uint) -> string", lambda value: str(int(value))),
    overload("string", "(double) -> string", show_double),
    overload("string", "(bytes) -> string", _bytes_to_text),
    overload("string", "(timestamp) -> string", str),
    overload("string", "(duration) -> string", str),
    overload("bytes", "(bytes) -> bytes", _same),
    overload("bytes", "(string) -> bytes", lambda value: value.encode()),
    overload("timestamp", "(timestamp) -> timestamp", _same),
    overload(
        "timestamp", "(string) -> timestamp", _read("google.protobuf.Timestamp", Timestamp.parse)
    ),
    overload("timestamp", "(int) -> timestamp", lambda value: Timestamp(value * _SECOND)),
    overload("duration", "(duration) -> duration", _same),
    overload("duration", "(string) -> duration", _read("google.protobuf.Duration", Duration.parse)),
    overload("duration", "(int) -> duration", lambda value: Duration(value)),
]


def _parts() -> list[Overload]:
    parts: dict[str, Callable[[datetime], int]] = {
        "getFullYear": lambda moment: moment.year,
        "getMonth": lambda moment: moment.month - 1,
        "getDate": lambda moment: moment.day,
        "getDayOfMonth": lambda moment: moment.day - 1,
        "getDayOfWeek": lambda moment: moment.isoweekday() % 7,
        "getDayOfYear": lambda moment: moment.timetuple().tm_yday - 1,
        "getHours": lambda moment: moment.hour,
        "getMinutes": lambda moment: moment.minute,
        "getSeconds": lambda moment: moment.second,
    }
    found = []
    for name, read in parts.items():
        found.append(overload(name, "timestamp.() -> int", _part(read)))
        found.append(overload(name, "timestamp.(string) -> int", _part(read)))
    for signature in ("timestamp.() -> int", "timestamp.(string) -> int"):
        found.append(overload("getMilliseconds", signature, _milliseconds))
    return found


def _part(read: Callable[[datetime], int]) -> Callable[..., int]:
    return lambda moment, zone="": read(moment.local(zone))


def _milliseconds(moment: Timestamp, zone: str = "") -> int:
    return moment.nanoseconds % _SECOND // 10**6


_DURATION_PARTS = [
    overload("getHours", "duration.() -> int", lambda span: span.truncated(3600 * _SECOND)),
    overload("getMinutes", "duration.() -> int", lambda span: span.truncated(60 * _SECOND)),
    overload("getSeconds", "duration.() -> int", lambda span: span.truncated(_SECOND)),
    overload("getMilliseconds", "duration.() -> int", lambda span: span.truncated(10**6)),
]

OVERLOADS = [*_CONVERSIONS, *_parts(), *_DURATION_PARTS]
