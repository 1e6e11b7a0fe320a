"""The protobuf form of an OpenAPI v2 document: kubectl validates lists by it and asks for no other.

A message is described by a table from the JSON name of a field to its number and how it is written.
"""

import struct
from collections.abc import Callable, Mapping
from typing import Any

from fleetqueue.base import codec

Object = dict[str, Any]
Writer = Callable[[Any], bytes]
Fields = Mapping[str, tuple[int, Writer]]
"""A writer gives everything after the tag; one that gives nothing leaves the field out."""

CONTENT_TYPE = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
"""Clients ask for `v2@v1.0`, which is no media type; kube-apiserver answers with this one."""

_VARINT, _FIXED64, _LENGTH = 0, 1, 2
_METHODS = {"get": 2, "put": 3, "post": 4, "delete": 5, "options": 6, "head": 7, "patch": 8}


def encode(document: Object) -> bytes:
    return _message(document, _DOCUMENT)


def _message(obj: Object, fields: Fields, extensions: int = 0) -> bytes:
    written = []
    for name, value in obj.items():
        known = fields.get(name)
        if known is not None:
            number, write = known
            written += [_tagged(number, write, item) for item in _repeated(write, value)]
        elif extensions and name.startswith("x-"):
            written.append(_tagged(extensions, _named(_any), (name, value)))
    return b"".join(written)


def _repeated(write: Writer, value: Any) -> list[Any]:
    return value if isinstance(value, list) and write not in _WHOLE_LISTS else [value]


def _tagged(number: int, write: Writer, value: Any) -> bytes:
    body = write(value)
    if write in (_bool, _int):
        return _varint(number << 3 | _VARINT) + body
    if write is _double:
        return _varint(number << 3 | _FIXED64) + body
    return _varint(number << 3 | _LENGTH) + _varint(len(body)) + body


def _varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    written = bytearray()
    while value > 0x7F:
        written.append(value & 0x7F | 0x80)
        value >>= 7
    written.append(value)
    return bytes(written)


def _text(value: str) -> bytes:
    return value.encode()


def _bool(value: bool) -> bytes:
    return b"\x01" if value else b"\x00"


def _int(value: int) -> bytes:
    return _varint(int(value))


def _double(value: float) -> bytes:
    return struct.pack("<d", value)


def _any(value: Any) -> bytes:
    """Free values travel as YAML, which JSON is."""
    return _tagged(2, _text, codec.encode(value).decode() + "\n")


def _named(write: Writer) -> Writer:
    """A pair of name and value, as protobuf has maps here."""

    def written(pair: tuple[str, Any]) -> bytes:
        name, value = pair
        return _tagged(1, _text, name) + _tagged(2, write, value)

    return written


def _map(write: Writer, number: int = 1) -> Writer:
    named = _named(write)

    def written(value: Object) -> bytes:
        return b"".join(_tagged(number, named, pair) for pair in value.items())

    return written


def _within(number: int, write: Writer) -> Writer:
    """A message around one field: a choice among messages."""
    return lambda value: _tagged(number, write, value)


def _of(fields: Fields, extensions: int = 0) -> Writer:
    return lambda value: _message(value, fields, extensions)


def _schema(value: Object) -> bytes:
    return _message(value, _SCHEMA, extensions=31)


def _schemas(value: Any) -> bytes:
    items = value if isinstance(value, list) else [value]
    return b"".join(_tagged(1, _schema, item) for item in items)


def _types(value: Any) -> bytes:
    items = value if isinstance(value, list) else [value]
    return b"".join(_tagged(1, _text, item) for item in items)


def _additional(value: Any) -> bytes:
    return _tagged(2, _bool, value) if isinstance(value, bool) else _tagged(1, _schema, value)


def _parameter(value: Object) -> bytes:
    if "$ref" in value:
        return _tagged(2, _of({"$ref": (1, _text)}), value)
    if value.get("in") == "body":
        return _tagged(1, _within(1, _of(_BODY, 6)), value)
    choice = {"header": 1, "formData": 2, "query": 3, "path": 4}[value["in"]]
    fields = _QUERY if choice == 3 else _PATH
    return _tagged(1, _within(2, _within(choice, _of(fields))), value)


def _path(value: Object) -> bytes:
    return _message(value, _PATH_ITEM, extensions=10)


_WHOLE_LISTS: tuple[Writer, ...] = (_schemas, _types, _any)
_BOUNDS: dict[str, Writer] = {
    "maxLength": _int,
    "minLength": _int,
    "pattern": _text,
    "maxItems": _int,
    "minItems": _int,
    "uniqueItems": _bool,
}
_SCHEMA: Fields = {
    "$ref": (1, _text),
    "format": (2, _text),
    "title": (3, _text),
    "description": (4, _text),
    "default": (5, _any),
    "multipleOf": (6, _double),
    "maximum": (7, _double),
    "exclusiveMaximum": (8, _bool),
    "minimum": (9, _double),
    "exclusiveMinimum": (10, _bool),
    **{name: (11 + place, write) for place, (name, write) in enumerate(_BOUNDS.items())},
    "maxProperties": (17, _int),
    "minProperties": (18, _int),
    "required": (19, _text),
    "enum": (20, lambda value: _any(value)),
    "additionalProperties": (21, _additional),
    "type": (22, _types),
    "items": (23, _schemas),
    "allOf": (24, _schema),
    "properties": (25, _map(_schema)),
    "readOnly": (27, _bool),
}
_BODY: Fields = {
    "description": (1, _text),
    "name": (2, _text),
    "in": (3, _text),
    "required": (4, _bool),
    "schema": (5, _schema),
}
_PLACED: Fields = {
    "required": (1, _bool),
    "in": (2, _text),
    "description": (3, _text),
    "name": (4, _text),
}
_QUERY: Fields = {**_PLACED, "type": (6, _text), "format": (7, _text), "uniqueItems": (20, _bool)}
_PATH: Fields = {**_PLACED, "type": (5, _text), "format": (6, _text), "uniqueItems": (19, _bool)}
_RESPONSE: Fields = {"description": (1, _text), "schema": (2, _within(1, _schema))}
_REQUIREMENT: Writer = _map(_types)
_OPERATION: Fields = {
    "tags": (1, _text),
    "summary": (2, _text),
    "description": (3, _text),
    "operationId": (5, _text),
    "produces": (6, _text),
    "consumes": (7, _text),
    "parameters": (8, _parameter),
    "responses": (9, _map(_within(1, _of(_RESPONSE)))),
    "schemes": (10, _text),
    "deprecated": (11, _bool),
    "security": (12, _REQUIREMENT),
}
_PATH_ITEM: Fields = {
    **{name: (number, _of(_OPERATION, 13)) for name, number in _METHODS.items()},
    "parameters": (9, _parameter),
}
_API_KEY: Fields = {"type": (1, _text), "name": (2, _text), "in": (3, _text)}
_DOCUMENT: Fields = {
    "swagger": (1, _text),
    "info": (2, _of({"title": (1, _text), "version": (2, _text)})),
    "paths": (8, _map(_path, 2)),
    "definitions": (9, _map(_schema)),
    "security": (12, _REQUIREMENT),
    "securityDefinitions": (13, _map(_within(2, _of(_API_KEY)))),
}
