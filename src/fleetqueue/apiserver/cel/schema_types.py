"""How values of a schema look to CEL: their types, the names of their fields, and their conversion.

An object keeps its JSON form and is read field by field; everything else is converted when it is
taken out of an object: formatted strings to times, durations and bytes, numbers to doubles.
"""

import base64
import binascii
import re
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, TypeAlias

from fleetqueue.apiserver.cel import types
from fleetqueue.apiserver.cel.errors import CelError
from fleetqueue.apiserver.cel.lexer import KEYWORDS, RESERVED
from fleetqueue.apiserver.cel.times import Duration, Timestamp, parse_loose_duration
from fleetqueue.apiserver.cel.types import Type
from fleetqueue.apiserver.schema.node import Node

Loader: TypeAlias = Callable[[Any], Any]

_KEYWORDS = RESERVED | KEYWORDS
_ESCAPED = {"__": "__underscores__", ".": "__dot__", "-": "__dash__", "/": "__slash__"}


class ObjectShape:
    """The fields of an object type, by the names that expressions use."""

    def __init__(self, node: Node, is_root: bool) -> None:
        self.node = node
        self._is_root = is_root

    @cached_property
    def names(self) -> Mapping[str, str]:
        """Escaped name -> the name in the JSON."""
        known = list(self.node.properties)
        if self._is_root:
            known += ["apiVersion", "kind", "metadata"]
        return {escaped: name for name in known if (escaped := escape(name)) is not None}

    def field(self, escaped: str) -> tuple[str, Type] | None:
        """The JSON name and the type, or None if expressions cannot see such a field."""
        name = self._plain(escaped)
        if name is None:
            return None
        if self._is_root and name in _META_TYPES:
            return name, _META_TYPES[name]
        found = schema_type(self.node.properties[name])
        return None if found is None else (name, found)

    def is_nullable(self, escaped: str) -> bool:
        """A null in such a field counts as no value at all."""
        child = self.node.properties.get(self._plain(escaped) or "")
        return child is not None and child.is_nullable

    def _plain(self, escaped: str) -> str | None:
        """Keywords need no escape behind a dot, but may have one."""
        if escaped in _KEYWORDS:
            escaped = f"__{escaped}__"
        return self.names.get(escaped)


def schema_type(node: Node, is_root: bool | None = None) -> Type | None:
    """None for what expressions cannot see: values without a known type."""
    is_root = node.is_embedded if is_root is None else is_root
    if node.raw.get("x-kubernetes-int-or-string"):
        return types.DYN
    match node.type:
        case "array":
            item = None if node.items is None else schema_type(node.items)
            return None if item is None else types.list_of(item, _list_keys(node))
        case "object":
            return _object_type(node, is_root)
        case "string":
            return _STRING_TYPES.get(node.format, types.STRING)
        case "boolean":
            return types.BOOL
        case "number":
            return types.DOUBLE
        case "integer":
            return types.INT
    return None


def _object_type(node: Node, is_root: bool) -> Type | None:
    if node.values is not None:
        value = schema_type(node.values)
        return None if value is None else types.map_of(types.STRING, value)
    return Type("object", shape=ObjectShape(node, is_root), identity=id(node.raw))


def _list_keys(node: Node) -> tuple[str, ...] | None:
    if node.list_type == "map":
        return node.list_keys
    return () if node.list_type == "set" else None


_STRING_TYPES = {
    "byte": types.BYTES,
    "duration": types.DURATION,
    "date": types.TIMESTAMP,
    "date-time": types.TIMESTAMP,
}
_META_SCHEMA = Node(
    {
        "type": "object",
        "properties": {"name": {"type": "string"}, "generateName": {"type": "string"}},
    }
)
_META_TYPES = {
    "apiVersion": types.STRING,
    "kind": types.STRING,
    "metadata": Type(
        "object", shape=ObjectShape(_META_SCHEMA, is_root=False), identity=id(_META_SCHEMA)
    ),
}


def escape(name: str) -> str | None:
    """A field's name as an identifier; None if there is no way to write it."""
    if not name or name[0].isdigit() or re.search(r"[^a-zA-Z0-9_./-]", name):
        return None
    if name in _KEYWORDS:
        return f"__{name}__"
    return re.sub(r"__|[-./]", lambda found: _ESCAPED[found[0]], name)


def loader(kind: Type) -> Loader | None:
    """How a JSON value becomes a CEL value; None if it is one already."""
    if kind.name in _LOADERS:
        return _LOADERS[kind.name]
    if kind.name not in ("list", "map"):
        return None
    item = loader(kind.parameters[-1])
    if item is None:
        return None
    return _list_loader(item) if kind.name == "list" else _map_loader(item)


def _list_loader(item: Loader) -> Loader:
    def load(value: Any) -> Any:
        if value is None or isinstance(value, list):
            return value and [item(one) for one in value]
        raise _wrong_data("an array", "array")

    return load


def _map_loader(item: Loader) -> Loader:
    def load(value: Any) -> Any:
        if value is None or isinstance(value, dict):
            return value and {key: item(one) for key, one in value.items()}
        raise _wrong_data("a map", "object")

    return load


def _wrong_data(what: str, kind: str) -> CelError:
    return CelError(f"invalid data, expected {what} for the provided schema with type={kind}")


def _double(value: Any) -> Any:
    return float(value) if isinstance(value, int) else value


def _bytes(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    try:
        return base64.b64decode(value, validate=True)
    except binascii.Error:
        bad = re.match(r"[A-Za-z0-9+/]{0,}", value)
        place = f"illegal base64 data at input byte {bad.end() if bad else 0}"
        raise CelError(f"Invalid byte formatted string {value}: {place}") from None


def _timestamp(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    return Timestamp.parse(value if "T" in value.upper() else f"{value}T00:00:00Z")


def _duration(value: Any) -> Any:
    return Duration(parse_loose_duration(value)) if isinstance(value, str) else value


_LOADERS: dict[str, Loader] = {
    "double": _double,
    "bytes": _bytes,
    "timestamp": _timestamp,
    "duration": _duration,
}
