"""Go's types as JSON readers and writers, built from their declarations and the OpenAPI schemas.

Each type decodes a JSON value into what Go would hold, and encodes it back as Go would print it.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cached_property
from typing import Any, TypeAlias

from fleetqueue.api import kubernetes
from fleetqueue.apiserver.schema.go_scalars import (
    SIMPLE,
    SPECIAL,
    SPECIAL_ZERO,
    ZERO,
    Mismatch,
    Refusal,
    describe,
)
from fleetqueue.apiserver.schema.node import Node

Place: TypeAlias = "tuple[Place, str, str, str] | None"
"""(parent, "field" | "item" | "key", its name, the struct that holds it), innermost first."""


class State:
    """What one decoding has found so far."""

    def __init__(self) -> None:
        self.unknown: list[str] = []
        self.mismatch = ""

    def note(self, problem: Mismatch, place: Place, wanted: str) -> None:
        if not self.mismatch:
            self.mismatch = _mismatch_text(problem.given, place, problem.wanted or wanted)


class GoType(ABC):
    """`name` is how Go prints the type in messages."""

    name: str

    @abstractmethod
    def decode(self, value: Any, place: Place, state: State) -> Any:
        """What Go holds after reading `value`, which is not null."""

    @abstractmethod
    def zero(self) -> Any:
        """What Go prints for a value that was never set."""

    def encode(self, value: Any) -> Any:
        return value

    def settle(self, value: Any) -> None:  # noqa: B027 - most types lose nothing
        """Change the value to what is left of it when it was kept as protobuf and read again."""

    def is_empty(self, value: Any) -> bool:
        """Whether `omitempty` leaves it out; structs never are."""
        return value in (None, "", 0, False) or value in ([], {})


class Simple(GoType):
    def __init__(self, name: str, read: Callable[[Any], Any], zero: Any) -> None:
        self.name = name
        self._read = read
        self._zero = zero

    def decode(self, value: Any, place: Place, state: State) -> Any:
        try:
            return self._read(value)
        except Mismatch as problem:
            state.note(problem, place, self.name)
            return self._zero

    def zero(self) -> Any:
        return self._zero

    def is_empty(self, value: Any) -> bool:
        return not value


class Special(Simple):
    """A struct with a reader of its own, which ends the decoding if it refuses."""

    def decode(self, value: Any, place: Place, state: State) -> Any:
        try:
            return self._read(value)
        except Mismatch as problem:
            raise Refusal(_mismatch_text(problem.given, place, problem.wanted)) from None

    def is_empty(self, value: Any) -> bool:
        return False


class Raw(GoType):
    """Any JSON: kept as it is."""

    name = "runtime.RawExtension"

    def decode(self, value: Any, place: Place, state: State) -> Any:
        return value

    def zero(self) -> Any:
        return None

    def is_empty(self, value: Any) -> bool:
        return False


class SchemaChoice(GoType):
    """A JSON schema, or a list of schemas, a truth or a list of names in its place."""

    def __init__(self, node: Node) -> None:
        self.name = f"v1.{node.definition.rpartition('.')[2]}"
        self._node = node.sibling("JSONSchemaProps")

    @cached_property
    def _schema(self) -> GoType:
        return struct_of(self._node) or Raw()

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

    def is_empty(self, value: Any) -> bool:
        return False


class Pointer(GoType):
    def __init__(self, inner: GoType) -> None:
        self.name = inner.name
        self.inner = inner

    def decode(self, value: Any, place: Place, state: State) -> Any:
        return self.inner.decode(value, place, state)

    def zero(self) -> Any:
        return None

    def encode(self, value: Any) -> Any:
        return None if value is None else self.inner.encode(value)

    def settle(self, value: Any) -> None:
        self.inner.settle(value)

    def is_empty(self, value: Any) -> bool:
        return value is None


class List(GoType):
    def __init__(self, name: str, inner: GoType) -> None:
        self.name = name
        self.inner = inner

    def decode(self, value: Any, place: Place, state: State) -> Any:
        if value.__class__ is not list:
            state.note(Mismatch(describe(value)), place, self.name)
            return None
        decode = self.inner.decode
        return [
            self.inner.zero() if item is None else decode(item, (place, "item", str(i), ""), state)
            for i, item in enumerate(value)
        ]

    def zero(self) -> Any:
        return None

    def encode(self, value: Any) -> Any:
        return [self.inner.encode(item) for item in value] if isinstance(value, list) else value

    def settle(self, value: Any) -> None:
        if not isinstance(self.inner, Simple):
            for item in value:
                self.inner.settle(item)

    def is_empty(self, value: Any) -> bool:
        return not value


class Map(GoType):
    def __init__(self, name: str, inner: GoType) -> None:
        self.name = name
        self.inner = inner

    def decode(self, value: Any, place: Place, state: State) -> Any:
        if value.__class__ is not dict:
            state.note(Mismatch(describe(value)), place, self.name)
            return None
        decode = self.inner.decode
        return {
            key: self.inner.zero() if item is None else decode(item, (place, "key", key, ""), state)
            for key, item in value.items()
        }

    def zero(self) -> Any:
        return None

    def encode(self, value: Any) -> Any:
        # Plain values print as they are, and labels that two fields share stay shared.
        if isinstance(self.inner, Simple) or not isinstance(value, dict):
            return value
        return {key: self.inner.encode(item) for key, item in value.items()}

    def settle(self, value: Any) -> None:
        if not isinstance(self.inner, Simple):
            for item in value.values():
                self.inner.settle(item)

    def is_empty(self, value: Any) -> bool:
        return not value


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

    def is_left_out(self, value: Any) -> bool:
        if self.omits_zero and value is None:
            return True
        return self.omits_empty and self.type.is_empty(value)


class Struct(GoType):
    def __init__(self, node: Node) -> None:
        package, _, self.kind = node.definition.rpartition(".")
        self.name = f"{package.rpartition('.')[2]}.{self.kind}"
        declared = kubernetes.go_fields()[node.definition]
        self.fields = {name: Field(text, node.properties[name]) for name, text in declared.items()}

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
        fields = self.fields
        result: dict[str, Any] = {}
        for name, item in value.items():
            field = fields.get(name)
            if field is not None and item is not None:
                printed = field.type.encode(item)
                if not field.is_left_out(printed):
                    result[name] = printed
        for name in self._always:
            if name not in result:
                result[name] = fields[name].type.zero()
        return result

    def settle(self, value: Any) -> None:
        for name, item in value.items():
            if not isinstance(item, list | dict) or name not in self.fields:
                continue
            kind = self.fields[name].type
            if item:
                kind.settle(item)
            elif isinstance(kind, List | Map):
                value[name] = None  # an empty list cannot be told from none

    @cached_property
    def _always(self) -> list[str]:
        """The fields that are printed even if they were never set."""
        return [
            name for name, field in self.fields.items() if not field.is_left_out(field.type.zero())
        ]

    def is_empty(self, value: Any) -> bool:
        return False


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


def _mismatch_text(given: str, place: Place, wanted: str) -> str:
    names: list[str] = []
    struct = ""
    while place is not None:
        parent, kind, name, holder = place
        if kind == "field":
            names.append(name)
            struct = struct or holder
        place = parent
    if not names:
        return f"json: cannot unmarshal {given} into Go value of type {wanted}"
    path = ".".join(reversed(names))
    return f"json: cannot unmarshal {given} into Go struct field {struct}.{path} of type {wanted}"


def strict_path(place: Place) -> str:
    """As strict decoding names a field: `spec.containers[0].imagee`."""
    steps: list[str] = []
    while place is not None:
        parent, kind, name, _ = place
        steps.append(f"[{name}]" if kind == "item" else f".{name}")
        place = parent
    return "".join(reversed(steps)).removeprefix(".")
