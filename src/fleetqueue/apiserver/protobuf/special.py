"""Messages whose JSON is no object of their fields: quantities, times, raw JSON and their like.

Each finisher gets the plain object of the message's fields and returns the JSON in its place.
"""

import base64
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from fleetqueue.api import times
from fleetqueue.apiserver.protobuf.wire import ProtobufError
from fleetqueue.base import codec

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def _quantity(made: dict[str, Any]) -> str:
    return str(made.get("string") or "0")


def _int_or_string(made: dict[str, Any]) -> int | str:
    if made.get("type", 0) == 1:
        return str(made.get("strVal", ""))
    return int(made.get("intVal", 0))


def _time(made: dict[str, Any]) -> str | None:
    """An empty message is the zero time, which JSON writes as null."""
    return times.format_time(_moment(made)) if made else None


def _micro_time(made: dict[str, Any]) -> str | None:
    return times.format_micro_time(_moment(made)) if made else None


def _moment(made: dict[str, Any]) -> datetime:
    try:
        micros = int(made.get("nanos", 0)) // 1000
        return _EPOCH + timedelta(seconds=int(made.get("seconds", 0)), microseconds=micros)
    except OverflowError:
        raise ProtobufError("a time is out of range") from None


def _duration(made: dict[str, Any]) -> str:
    return times.format_nanoseconds(int(made.get("duration", 0)))


def _raw(made: dict[str, Any]) -> Any:
    """JSON inside the message, as bytes, which the generic reader has made base64 of."""
    text = base64.b64decode(next(iter(made.values()), ""))
    if not text:
        return None
    try:
        return codec.decode(text)
    except (codec.DecodeError, RecursionError, UnicodeDecodeError):
        raise ProtobufError("an embedded object is no JSON") from None


def _schema_or_array(made: dict[str, Any]) -> Any:
    return made.get("jSONSchemas") or made.get("schema")


def _schema_or_bool(made: dict[str, Any]) -> Any:
    return made["schema"] if "schema" in made else made.get("allows", False)


def _schema_or_strings(made: dict[str, Any]) -> Any:
    return made.get("property") or made.get("schema")


def _list(made: dict[str, Any]) -> list[Any]:
    return list(made.get("items", []))


FINISHERS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "quantity": _quantity,
    "int_or_string": _int_or_string,
    "time": _time,
    "micro_time": _micro_time,
    "duration": _duration,
    "raw": _raw,
    "schema_or_array": _schema_or_array,
    "schema_or_bool": _schema_or_bool,
    "schema_or_strings": _schema_or_strings,
    "list": _list,
}
