"""An expression taken apart into the steps that are paid for; macros become plain loops.

Each part remembers what is found out about it on the way: its size, those of its entries, and the
path through the schema that leads to it.
"""

from dataclasses import dataclass, field
from typing import Any

from fleetqueue.apiserver.cel import syntax
from fleetqueue.apiserver.cel.cost.paths import Path
from fleetqueue.apiserver.cel.cost.sizes import EntrySize, Size
from fleetqueue.apiserver.cel.types import BOOL, INT, LIST, MAP, STRING, Type

RESULT = "@result"
"""The accumulator of a loop; no name in an expression can hide it."""


@dataclass(slots=True, eq=False)
class Part:
    type: Type
    size: Size | None = field(default=None, init=False)
    entry_size: EntrySize | None = field(default=None, init=False)
    path: Path | None = field(default=None, init=False)


@dataclass(slots=True, eq=False)
class Value(Part):
    value: Any


@dataclass(slots=True, eq=False)
class Name(Part):
    name: str


@dataclass(slots=True, eq=False)
class Field(Part):
    operand: Part
    name: str
    is_test: bool = False


@dataclass(slots=True, eq=False)
class Call(Part):
    """`overloads` are those that the types allow, written as `.matches(string, string)`."""

    function: str
    overloads: tuple[str, ...]
    target: Part | None
    arguments: list[Part]


@dataclass(slots=True, eq=False)
class Items(Part):
    items: list[Part]


@dataclass(slots=True, eq=False)
class Entries(Part):
    entries: list[tuple[Part, Part]]


@dataclass(slots=True, eq=False)
class Fold(Part):
    """A loop that takes `start` and makes it anew in each `step`."""

    items: Part
    variables: tuple[str, ...]
    start: Part
    condition: Part
    step: Part
    result: Part


@dataclass(slots=True, eq=False)
class Bind(Part):
    """`body`, in which a name stands for a value."""

    name: str
    value: Part
    body: Part


def take_apart(expr: syntax.Expr) -> Part:
    match expr:
        case syntax.Literal():
            return Value(expr.type, expr.value)
        case syntax.Ident():
            return Name(expr.type, expr.name)
        case syntax.Select():
            return _select(expr)
        case syntax.Call():
            return _call(expr)
        case syntax.ListLiteral():
            return Items(expr.type, [take_apart(item) for item in expr.items])
        case syntax.MapLiteral():
            entries = [(take_apart(key), take_apart(value)) for key, value, _ in expr.entries]
            return Entries(expr.type, entries)
        case syntax.Loop():
            return _loop(expr)
        case syntax.OptionalMap():
            return _optional_map(expr)


def _select(expr: syntax.Select) -> Part:
    operand = take_apart(expr.operand)
    if not expr.field:
        return operand
    if expr.is_optional:
        return _function("_?._", expr.type, operand, Value(STRING, expr.field))
    return Field(expr.type, operand, expr.field, expr.is_test)


def _call(expr: syntax.Call) -> Part:
    arguments = [take_apart(argument) for argument in expr.arguments]
    overloads = tuple(
        f"{'.' * one.is_member}{one.function}({', '.join(kind.name for kind in one.parameters)})"
        for one in expr.candidates
    )
    target = arguments.pop(0) if expr.is_member else None
    return Call(expr.type, expr.function, overloads or (expr.function,), target, arguments)


def _function(name: str, kind: Type, *arguments: Part) -> Call:
    return Call(kind, name, (name,), None, list(arguments))


def _method(name: str, kind: Type, target: Part) -> Call:
    return Call(kind, name, (f".{name}",), target, [])


def _choice(kind: Type, condition: Part, then: Part, otherwise: Part) -> Call:
    return Call(kind, "_?_:_", ("_?_:_(bool, T, T)",), None, [condition, then, otherwise])


def _loop(expr: syntax.Loop) -> Fold:
    items = take_apart(expr.items)
    body = take_apart(expr.body)
    match expr.kind:
        case "all":
            start, condition, step, result = _all_of(body)
        case "exists":
            start, condition, step, result = _any_of(body)
        case "existsOne":
            start, condition, step, result = _one_of(body)
        case _:
            start, condition, step, result = _made_of(expr, body)
    return Fold(expr.type, items, expr.variables, start, condition, step, result)


def _so_far(kind: Type) -> Name:
    return Name(kind, RESULT)


def _all_of(body: Part) -> tuple[Part, ...]:
    condition = _function("@not_strictly_false", BOOL, _so_far(BOOL))
    step = _function("_&&_", BOOL, _so_far(BOOL), body)
    return Value(BOOL, True), condition, step, _so_far(BOOL)


def _any_of(body: Part) -> tuple[Part, ...]:
    none_yet = _function("!_", BOOL, _so_far(BOOL))
    condition = _function("@not_strictly_false", BOOL, none_yet)
    step = _function("_||_", BOOL, _so_far(BOOL), body)
    return Value(BOOL, False), condition, step, _so_far(BOOL)


def _one_of(body: Part) -> tuple[Part, ...]:
    more = Call(INT, "_+_", ("_+_(int, int)",), None, [_so_far(INT), Value(INT, 1)])
    step = _choice(INT, body, more, _so_far(INT))
    result = Call(BOOL, "_==_", ("_==_(A, A)",), None, [_so_far(INT), Value(INT, 1)])
    return Value(INT, 0), Value(BOOL, True), step, result


def _made_of(expr: syntax.Loop, body: Part) -> tuple[Part, ...]:
    """A list or map is built; where there is a condition, some items leave it as it is."""
    condition = None if expr.condition is None else take_apart(expr.condition)
    is_map = expr.kind in ("transformMap", "transformMapEntry")
    kind = MAP if is_map else LIST
    start: Part = Entries(MAP, []) if is_map else Items(LIST, [])
    if expr.kind == "filter":
        condition, body = body, Name(expr.type.parameters[0], expr.variables[0])
    step: Part
    if expr.kind == "transformMap":
        key = Name(expr.type.parameters[0], expr.variables[0])
        step = _function("cel.@mapInsert", MAP, _so_far(MAP), key, body)
    elif is_map:
        step = _function("cel.@mapInsert", MAP, _so_far(MAP), body)
    else:
        step = Call(LIST, "_+_", ("_+_(list, list)",), None, [_so_far(LIST), Items(LIST, [body])])
    if condition is not None:
        step = _choice(kind, condition, step, _so_far(kind))
    return start, Value(BOOL, True), step, _so_far(kind)


def _optional_map(expr: syntax.OptionalMap) -> Part:
    """The target is asked twice: whether it has a value, and for that value."""
    parameters = expr.target.type.parameters
    inner = parameters[0] if parameters else expr.target.type
    value = _method("value", inner, take_apart(expr.target))
    body = take_apart(expr.body)
    mapped: Part = Bind(body.type, expr.variable, value, body)
    if not expr.is_flat:
        mapped = _function("optional.of", expr.type, mapped)
    is_set = _method("hasValue", BOOL, take_apart(expr.target))
    return _choice(expr.type, is_set, mapped, _function("optional.none", expr.type))
