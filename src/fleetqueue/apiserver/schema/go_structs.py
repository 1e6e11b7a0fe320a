"""Go's structs as JSON readers and writers, built from their declarations and the OpenAPI schemas.

A field's type is built when the field is first met: most fields of most structs never are.
"""

import re
from collections.abc import Callable
from functools import cached_property
from typing import Any

from fleetqueue.api import kubernetes
from fleetqueue.apiserver.schema.go_scalars import (
    SIMPLE,
    SPECIAL,
    SPECIAL_ZERO,
    ZERO,
    Mismatch,
    describe,
)
from fleetqueue.apiserver.schema.go_types import (
    GoType,
    List,
    Map,
    Place,
    Pointer,
    Raw,
    Simple,
    Special,
    State,
    Unfit,
    strict_path,
)
from fleetqueue.apiserver.schema.node import Node


class Struct(GoType):
    can_forget = True

    def __init__(self, node: Node) -> None:
        package, _, self.kind = node.definition.rpartition(".")
        self.name = f"{package.rpartition('.')[2]}.{self.kind}"
        declared = kubernetes.go_fields()[node.definition]
        self.fields = {name: Field(text, node.properties[name]) for name, text in declared.items()}
        self._readers = _Readers(self.fields)
        self._printers = _Printers(self.fields)

    def read(self, value: Any) -> Any:
        if value.__class__ is not dict:
            raise Unfit
        readers = self._readers
        result: dict[str, Any] = {}
        for name, item in value.items():
            plain, read, drops_empty = readers[name]
            if item.__class__ is not plain:
                if item is None:
                    continue
                item = read(item)
            if item or not drops_empty:
                result[name] = item
        return result

    def decode(self, value: Any, place: Place, state: State) -> Any:
        if value.__class__ is not dict:
            state.note(Mismatch(describe(value)), place, self.name)
            return {}
        fields, kind = self.fields, self.kind
        result: dict[str, Any] = {}
        for name, item in value.items():
            field = fields.get(name)
            if field is None:
                state.unknown.append(strict_path((place, "field", name, kind)))
            elif item is not None:
                held = field.type.decode(item, (place, "field", name, kind), state)
                if held is not None and not field.is_left_out(held):
                    result[name] = held
        return result

    def zero(self) -> Any:
        return self.encode({})

    def encode(self, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        printers = self._printers
        result: dict[str, Any] = {}
        for name, item in value.items():
            if item is not None:
                encode, drops_empty = printers[name]
                if encode is not None:
                    item = encode(item)
                if item or not drops_empty:
                    result[name] = item
        for name in self._always:
            if name not in result:
                result[name] = self.fields[name].type.zero()
        return result

    def settle(self, value: Any) -> None:
        fields = self.fields
        for name, item in value.items():
            if (item.__class__ is dict or item.__class__ is list) and name in fields:
                kind = fields[name].type
                if not item:
                    if isinstance(kind, List | Map):
                        value[name] = None  # an empty list cannot be told from none
                elif kind.can_forget:
                    kind.settle(item)

    @cached_property
    def _always(self) -> list[str]:
        """The fields that are printed even if they were never set."""
        return [
            name for name, field in self.fields.items() if not field.is_left_out(field.type.zero())
        ]


class Field:
    """One field of a struct; its type is built when the field is first met."""

    def __init__(self, declared: str, node: Node) -> None:
        self.omits_empty = declared[0] in "?!"
        self.omits_zero = declared[0] == "!"
        self._declared = declared.lstrip("?!")
        self._node = node

    @cached_property
    def type(self) -> GoType:
        return _build(self._declared, self._node)

    @cached_property
    def drops_empty(self) -> bool:
        return self.omits_empty and self.type.can_be_empty

    def is_left_out(self, value: Any) -> bool:
        if self.omits_zero and value is None:
            return True
        return self.omits_empty and self.type.is_empty(value)


class _Readers(dict[str, tuple[type | None, Callable[[Any], Any], bool]]):
    """How to read the fields of a struct: (what is held as it is, reader, whether empty ones go).

    Each is made when its field is first met, since most fields of most structs never are.
    """

    def __init__(self, fields: dict[str, Field]) -> None:
        super().__init__()
        self._fields = fields

    def __missing__(self, name: str) -> tuple[type | None, Callable[[Any], Any], bool]:
        field = self._fields.get(name)
        if field is None:
            raise Unfit
        self[name] = made = (field.type.plain, field.type.read, field.drops_empty)
        return made


class _Printers(dict[str, tuple[Callable[[Any], Any] | None, bool]]):
    """How to print them: (encoder, or None where they print as they are, whether empty ones go)."""

    def __init__(self, fields: dict[str, Field]) -> None:
        super().__init__()
        self._fields = fields

    def __missing__(self, name: str) -> tuple[Callable[[Any], Any] | None, bool]:
        field = self._fields.get(name)
        if field is None:
            return _drop, True
        encode = None if field.type.is_plain else field.type.encode
        self[name] = made = (encode, field.drops_empty)
        return made


def _drop(_: Any) -> None:
    return None


class SchemaChoice(GoType):
    """A JSON schema, or a list of schemas, a truth or a list of names in its place."""

    def __init__(self, node: Node) -> None:
        self.name = f"v1.{node.definition.rpartition('.')[2]}"
        self._node = node.sibling("JSONSchemaProps")

    @cached_property
    def _schema(self) -> GoType:
        return struct_of(self._node) or Raw()

    def read(self, value: Any) -> Any:
        state = State()
        held = self._read(value, None, state)
        if state.mismatch:
            raise Unfit
        return held

    def decode(self, value: Any, place: Place, state: State) -> Any:
        # Such a type reads itself, and says nothing of the unknown fields that it drops.
        inner = State()
        held = self._read(value, place, inner)
        state.mismatch = state.mismatch or inner.mismatch
        return held

    def _read(self, value: Any, place: Place, state: State) -> Any:
        if isinstance(value, list):
            return [self._read(one, place, state) for one in value]
        return self._schema.decode(value, place, state) if isinstance(value, dict) else value

    def encode(self, value: Any) -> Any:
        if isinstance(value, dict):
            return self._schema.encode(value)
        return [self.encode(one) for one in value] if isinstance(value, list) else value

    def zero(self) -> Any:
        return None


_structs: dict[str, Struct] = {}


def struct_of(node: Node) -> Struct | None:
    """The Go struct behind a schema, if there is one."""
    if node.definition not in _structs:
        if node.definition not in kubernetes.go_fields():
            return None
        _structs[node.definition] = Struct(node)
    return _structs[node.definition]


def _build(declared: str, node: Node) -> GoType:
    name, _, made_of = declared.partition("=")
    if made_of and not name.startswith(("*", "[]", "map[")):
        built = _build(made_of, node)
        built.name = name
        return built
    if declared in SIMPLE:
        return Simple(declared, SIMPLE[declared], ZERO[declared])
    if declared in SPECIAL:
        return Special(declared, SPECIAL[declared], SPECIAL_ZERO[declared])
    if declared.startswith("*"):
        return Pointer(_build(declared[1:], node))
    if declared.startswith("[]") and node.items is not None:
        return List(_plain(declared), _build(declared[2:], node.items))
    if declared.startswith("map[") and node.values is not None:
        return Map(_plain(declared), _build(declared[declared.index("]") + 1 :], node.values))
    if ".JSONSchemaPropsOr" in node.definition:
        return SchemaChoice(node)
    return struct_of(node) or Raw()


def _plain(declared: str) -> str:
    """A type as Go prints it: without what a name is made of."""
    return re.sub(r"=.*", "", declared)
