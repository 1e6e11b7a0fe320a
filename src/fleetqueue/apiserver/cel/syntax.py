"""The syntax tree of an expression. The checker fills in `type` and, for calls, `candidates`."""

from dataclasses import dataclass, field
from typing import Any, TypeAlias

from fleetqueue.apiserver.cel.types import DYN, Type


@dataclass(slots=True)
class Literal:
    position: int
    value: Any
    type: Type


@dataclass(slots=True)
class Ident:
    position: int
    name: str
    type: Type = DYN
    is_type: bool = False
    """It names a type, as in `type(x) == string`."""


@dataclass(slots=True)
class Select:
    """`operand.field`; a test is `has(operand.field)`, an optional one `operand.?field`."""

    position: int
    operand: "Expr"
    field: str
    is_test: bool = False
    is_optional: bool = False
    type: Type = DYN


@dataclass(slots=True)
class Call:
    """A function, a method with its target as first argument, or an operator such as `_+_`."""

    position: int
    function: str
    arguments: "list[Expr]"
    is_member: bool = False
    type: Type = DYN
    candidates: list[Any] = field(default_factory=list)


@dataclass(slots=True)
class ListLiteral:
    position: int
    items: "list[Expr]"
    optional: frozenset[int] = frozenset()
    """Which items are optionals that vanish if they hold nothing."""
    type: Type = DYN


@dataclass(slots=True)
class MapLiteral:
    position: int
    entries: "list[tuple[Expr, Expr, bool]]"
    """(key, value, whether the value is an optional)"""
    type: Type = DYN


@dataclass(slots=True)
class Loop:
    """A macro over a list or map: all, exists, existsOne, map, filter, transform…"""

    position: int
    kind: str
    items: "Expr"
    variables: tuple[str, ...]
    body: "Expr"
    condition: "Expr | None" = None
    type: Type = DYN


@dataclass(slots=True)
class OptionalMap:
    """`target.optMap(x, body)` or optFlatMap."""

    position: int
    target: "Expr"
    variable: str
    body: "Expr"
    is_flat: bool
    type: Type = DYN


Expr: TypeAlias = Literal | Ident | Select | Call | ListLiteral | MapLiteral | Loop | OptionalMap
