"""Go's simple types, pointers, lists and maps as JSON readers and writers.

Each type decodes a JSON value into what Go would hold, and encodes it back as Go would print it.
Decoding is written twice: `read` is for bodies with nothing wrong, as nearly all are; where it
gives up, `decode` goes over the body again and notes what is wrong and where.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, TypeAlias

from fleetqueue.apiserver.schema.go_scalars import (
    Mismatch,
    Refusal,
    describe,
)

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


class Unfit(Exception):
    """Something is wrong with a body; `decode` knows what."""


class GoType(ABC):
    """`name` is how Go prints the type in messages."""

    name: str
    plain: type | None = None
    """Values of this Python type are held as they are."""
    is_plain: bool = False
    """Every value that is held is printed as it is."""
    can_forget: bool = False
    """`settle` may change what it is given."""
    can_be_empty: bool = False
    """Some values are left out by `omitempty`: zeros, empty lists and maps."""

    @abstractmethod
    def read(self, value: Any) -> Any:
        """What `decode` returns, or Unfit, Mismatch or Refusal where it would note something."""

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
        return self.can_be_empty and not value


class Simple(GoType):
    is_plain = True
    can_be_empty = True

    def __init__(self, name: str, read: Callable[[Any], Any], zero: Any) -> None:
        self.name = name
        self.plain = {"string": str, "bool": bool}.get(name)
        self._read = read
        self._zero = zero

    def read(self, value: Any) -> Any:
        return self._read(value)

    def decode(self, value: Any, place: Place, state: State) -> Any:
        try:
            return self._read(value)
        except Mismatch as problem:
            state.note(problem, place, self.name)
            return self._zero

    def zero(self) -> Any:
        return self._zero


class Special(Simple):
    """A struct with a reader of its own, which ends the decoding if it refuses."""

    can_be_empty = False

    def decode(self, value: Any, place: Place, state: State) -> Any:
        try:
            return self._read(value)
        except Mismatch as problem:
            raise Refusal(_mismatch_text(problem.given, place, problem.wanted)) from None


class Raw(GoType):
    """Any JSON: kept as it is."""

    name = "runtime.RawExtension"
    is_plain = True

    def read(self, value: Any) -> Any:
        return value

    def decode(self, value: Any, place: Place, state: State) -> Any:
        return value

    def zero(self) -> Any:
        return None


class Pointer(GoType):
    def __init__(self, inner: GoType) -> None:
        self.name = inner.name
        self.inner = inner
        self.plain = inner.plain
        self.is_plain = inner.is_plain
        self.can_forget = inner.can_forget

    def read(self, value: Any) -> Any:
        return self.inner.read(value)

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
    can_be_empty = True

    def __init__(self, name: str, inner: GoType) -> None:
        self.name = name
        self.inner = inner
        self.can_forget = inner.can_forget

    def read(self, value: Any) -> Any:
        if value.__class__ is not list or None in value:
            raise Unfit
        plain, read = self.inner.plain, self.inner.read
        return [item if item.__class__ is plain else read(item) for item in value]

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
        if value.__class__ is not list:
            return value
        return value[:] if self.inner.is_plain else [self.inner.encode(item) for item in value]

    def settle(self, value: Any) -> None:
        if self.can_forget:
            for item in value:
                self.inner.settle(item)


class Map(GoType):
    can_be_empty = True

    def __init__(self, name: str, inner: GoType) -> None:
        self.name = name
        self.inner = inner
        self.can_forget = inner.can_forget

    def read(self, value: Any) -> Any:
        if value.__class__ is not dict or None in value.values():
            raise Unfit
        plain, read = self.inner.plain, self.inner.read
        return {k: v if v.__class__ is plain else read(v) for k, v in value.items()}

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
        if self.inner.is_plain or not isinstance(value, dict):
            return value
        return {key: self.inner.encode(item) for key, item in value.items()}

    def settle(self, value: Any) -> None:
        if self.can_forget:
            for item in value.values():
                self.inner.settle(item)


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
