"""Checks literals beyond their types: durations, timestamps, patterns, format strings, and that the
items of a list or map literal are of one type."""

from collections.abc import Callable, Iterable, Iterator

from fleetqueue.apiserver.cel.errors import CelError, Issue
from fleetqueue.apiserver.cel.library.formatting import clauses, refusal
from fleetqueue.apiserver.cel.regex import PatternError, compile_pattern
from fleetqueue.apiserver.cel.syntax import (
    Call,
    Expr,
    ListLiteral,
    Literal,
    Loop,
    MapLiteral,
    OptionalMap,
    Select,
)
from fleetqueue.apiserver.cel.times import Duration, Timestamp
from fleetqueue.apiserver.cel.types import Type

_CHECKS: dict[str, tuple[int, Callable[[str], object]]] = {
    "duration": (0, Duration.parse),
    "timestamp": (0, Timestamp.parse),
    "matches": (1, compile_pattern),
}


def walk(expr: Expr) -> Iterator[Expr]:
    """The expression and everything below it."""
    yield expr
    for child in children(expr):
        yield from walk(child)


def children(expr: Expr) -> list[Expr]:
    match expr:
        case Select():
            return [expr.operand]
        case Call():
            return expr.arguments
        case ListLiteral():
            return expr.items
        case MapLiteral():
            return [part for key, value, _ in expr.entries for part in (key, value)]
        case Loop():
            parts = [expr.items, expr.body]
            return [*parts, expr.condition] if expr.condition is not None else parts
        case OptionalMap():
            return [expr.target, expr.body]
    return []


def validate(expr: Expr) -> list[Issue]:
    parts = list(walk(expr))
    issues = [issue for part in parts for issue in _argument_issues(part)]
    for part in parts:
        if isinstance(part, Call) and part.function == "format":
            issues += _format_issues(part)
    return issues + list(_mixed(expr))


def _argument_issues(part: Expr) -> Iterator[Issue]:
    if not isinstance(part, Call) or part.function not in _CHECKS:
        return
    index, read = _CHECKS[part.function]
    argument = part.arguments[index] if len(part.arguments) > index else None
    if isinstance(argument, Literal) and isinstance(argument.value, str):
        try:
            read(argument.value)
        except (CelError, PatternError):
            yield Issue(argument.position, f"invalid {part.function} argument")


def _format_issues(call: Call) -> Iterator[Issue]:
    template, arguments = call.arguments[0], call.arguments[1] if len(call.arguments) > 1 else None
    if not isinstance(template, Literal) or not isinstance(arguments, ListLiteral):
        return
    used = 0
    try:
        for letter in clauses(template.value):
            if used >= len(arguments.items):
                raise CelError(f"index {used} out of range")
            argument = arguments.items[used]
            words = refusal(letter, argument.type.name)
            if words:
                yield Issue(argument.position, words)
                return
            used += 1
    except CelError as problem:
        yield Issue(call.position, str(problem))
        return
    if used < len(arguments.items):
        count = f"(expected {used}, got {len(arguments.items)})"
        yield Issue(call.position, f"too many arguments supplied to string.format {count}")


def _mixed(expr: Expr) -> Iterator[Issue]:
    """The arguments of `format` may be of different types, nothing else."""
    match expr:
        case Call(function="format"):
            return
        case ListLiteral():
            yield from _first_odd(
                (item, item.type.parameters[0] if i in expr.optional else item.type)
                for i, item in enumerate(expr.items)
            )
        case MapLiteral():
            yield from _all_odd((key, key.type) for key, _, _ in expr.entries)
            yield from _all_odd(
                (value, value.type.parameters[0] if is_optional else value.type)
                for _, value, is_optional in expr.entries
            )
    for child in children(expr):
        yield from _mixed(child)


def _first_odd(items: Iterable[tuple[Expr, Type]]) -> Iterator[Issue]:
    for issue in _all_odd(items):
        yield issue
        return


def _all_odd(items: Iterable[tuple[Expr, Type]]) -> Iterator[Issue]:
    wanted: Type | None = None
    for item, kind in items:
        if wanted is None:
            wanted = kind
        elif wanted != kind:
            yield Issue(item.position, f"expected type '{wanted}' but found '{kind}'")
