"""Messages to JSON by the recorded table of field numbers and names.

What Go's JSON leaves out is left out: empty values of optional fields, unless they were pointers.
"""

import base64
import gzip
import struct
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from typing import Any

from fleetqueue.apiserver.protobuf import special
from fleetqueue.apiserver.protobuf.wire import (
    ProtobufError,
    fields_of,
    read_varint,
    signed,
    signed32,
)
from fleetqueue.base import codec

DEPTH_MAX = 120

Read = Callable[[bytes, Any, int], Any]
"""From the wire value of a field, and the depth it is at, to its JSON."""


@dataclass(frozen=True)
class Table:
    """`kinds` maps apiVersion/kind to a message; `messages` maps numbers to name, type, flags."""

    kinds: dict[str, str]
    special: dict[str, str]
    messages: dict[str, dict[str, tuple[str, str, str]]]


@dataclass(frozen=True, slots=True)
class Field:
    name: str
    read: Read
    is_repeated: bool
    is_map: bool
    is_inline: bool
    drops_empty: bool
    packed: Callable[[int], Any] | None


@lru_cache(maxsize=1)
def table() -> Table:
    """Read on first use: most servers never see a protobuf body."""
    packed = resources.files(__package__).joinpath("messages.json.gz").read_bytes()
    return Table(**codec.decode(gzip.decompress(packed).replace(b"~", b"k8s.io.")))


def decode(message: str, data: bytes) -> dict[str, Any]:
    made = _read_message(message)(data, (0, len(data)), 0)
    if not isinstance(made, dict):
        raise ProtobufError(f"{message} is no object")
    return made


@lru_cache(maxsize=4096)
def _fields(message: str) -> dict[int, Field]:
    return {int(number): _field(*row) for number, row in table().messages[message].items()}


def _field(name: str, kind: str, flags: str) -> Field:
    is_message = kind in table().messages
    # Go's JSON never leaves out a struct that is no pointer, only what can be empty.
    drops_empty = "o" in flags and "p" not in flags and (not is_message or _is_time(kind))
    return Field(
        name=name,
        read=_reader(kind),
        is_repeated="r" in flags,
        is_map="m" in flags,
        is_inline="i" in flags,
        drops_empty=drops_empty and "r" not in flags and "m" not in flags,
        packed=_VARINTS.get(kind),
    )


def _is_time(kind: str) -> bool:
    return table().special.get(kind) in ("time", "micro_time")


def _reader(kind: str) -> Read:
    if kind in _SCALARS:
        return _SCALARS[kind]
    if kind in table().messages:
        return _read_message(kind)
    raise ProtobufError(f"the field type {kind} is not known")


def _read_message(message: str) -> Read:
    finish = special.FINISHERS.get(table().special.get(message, ""))

    def read(data: bytes, value: Any, depth: int) -> Any:
        if not isinstance(value, tuple):
            raise ProtobufError(f"proto: wrong wireType for {message}")
        if depth >= DEPTH_MAX:
            raise ProtobufError("the body is nested too deeply")
        made = _read_fields(data, value, _fields(message), depth + 1)
        return made if finish is None else finish(made)

    return read


def _read_fields(
    data: bytes, span: tuple[int, int], known: dict[int, Field], depth: int
) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for number, value in fields_of(data, *span):
        field = known.get(number)
        if field is None:
            continue
        if field.is_map:
            key, item = _read_entry(data, value, field.read, depth)
            made.setdefault(field.name, {})[key] = item
        elif field.is_repeated:
            made.setdefault(field.name, []).extend(_read_items(data, value, field, depth))
        else:
            _set(made, field, field.read(data, value, depth))
    return made


def _set(made: dict[str, Any], field: Field, value: Any) -> None:
    if field.is_inline:
        made.update(value)
    elif value in ("", 0, None) and field.drops_empty:
        # The last one wins on the wire, also when it is empty.
        made.pop(field.name, None)
    else:
        made[field.name] = value


def _read_items(data: bytes, value: Any, field: Field, depth: int) -> list[Any]:
    if field.packed is None or not isinstance(value, tuple):
        return [field.read(data, value, depth)]
    items, (position, end) = [], value
    while position < end:
        number, position = read_varint(data, position, end)
        items.append(field.packed(number))
    return items


def _read_entry(data: bytes, value: Any, read: Read, depth: int) -> tuple[str, Any]:
    if not isinstance(value, tuple):
        raise ProtobufError("proto: wrong wireType for a map")
    key: Any = ""
    item: Any = None
    for number, part in fields_of(data, *value):
        if number == 1:
            key = _read_text(data, part, depth)
        elif number == 2:
            item = read(data, part, depth)
    # An entry without a value holds the empty one of its type.
    return key, _empty(data, read, depth) if item is None else item


def _empty(data: bytes, read: Read, depth: int) -> Any:
    for empty in ((0, 0), 0):
        try:
            return read(data, empty, depth)
        except ProtobufError:
            continue
    return None


def _read_text(data: bytes, value: Any, depth: int) -> str:
    try:
        return _bytes(data, value).decode()
    except UnicodeDecodeError:
        raise ProtobufError("a text is not UTF-8") from None


def _read_bytes(data: bytes, value: Any, depth: int) -> str:
    return base64.b64encode(_bytes(data, value)).decode()


def _bytes(data: bytes, value: Any) -> bytes:
    if not isinstance(value, tuple):
        raise ProtobufError("proto: wrong wireType for bytes")
    return data[value[0] : value[1]]


def _varint(convert: Callable[[int], Any]) -> Read:
    def read(data: bytes, value: Any, depth: int) -> Any:
        if not isinstance(value, int):
            raise ProtobufError("proto: wrong wireType for an integer")
        return convert(value)

    return read


def _fixed(code: str) -> Read:
    size = struct.calcsize(code)

    def read(data: bytes, value: Any, depth: int) -> int | float:
        if not isinstance(value, bytes) or len(value) != size:
            raise ProtobufError("proto: wrong wireType for a number")
        number: float = struct.unpack(code, value)[0]
        if number != number or number in (float("inf"), float("-inf")):
            raise ProtobufError("a number is not finite")
        return int(number) if number.is_integer() and abs(number) < 1e21 else number

    return read


_VARINTS: dict[str, Callable[[int], Any]] = {
    "bool": bool,
    "int32": signed32,
    "int64": signed,
    "uint32": lambda value: value & 0xFFFF_FFFF,
    "uint64": int,
}
_SCALARS: dict[str, Read] = {
    "string": _read_text,
    "bytes": _read_bytes,
    "double": _fixed("<d"),
    "float": _fixed("<f"),
    **{kind: _varint(convert) for kind, convert in _VARINTS.items()},
}
