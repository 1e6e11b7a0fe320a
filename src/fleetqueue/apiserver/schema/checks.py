"""Whether a value satisfies its schema, as fast as closures can tell: no paths, no messages.

This is the way that valid objects take. When a check says no, `reports` walks the same schema again
and says what is wrong.
"""

import operator
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, TypeAlias

from fleetqueue.apiserver.cel.regex import TooExpensive, compile_pattern
from fleetqueue.apiserver.schema import formats
from fleetqueue.apiserver.schema.node import Node
from fleetqueue.apiserver.schema.values import INT64_MAX, INT64_MIN, is_integral, same

Check: TypeAlias = Callable[[Any], bool]


def build(node: Node) -> Check:
    """The check of a node; children are built when they first see a value."""
    raw = node.raw
    match node.type:
        case "object":
            checks = [_object(node), *_size_checks(raw, dict, "maxProperties", "minProperties")]
        case "array" if not raw.get("uniqueItems"):
            checks = [_array(node)]
        case _:
            checks = _type_checks(node) + _list_checks(node) + _object_checks(node)
    for word in ("allOf", "anyOf", "oneOf"):
        if branches := raw.get(word):
            checks.append(_combined(word, [build(Node(branch)) for branch in branches]))
    if (refused := raw.get("not")) is not None:
        checks.append(_negated(build(Node(refused))))
    checks += _string_checks(raw) + _number_checks(raw)
    if allowed := raw.get("enum"):
        checks.append(_enum(allowed))
    return _all(checks, is_nullable=_takes_null(node))


def _object(node: Node) -> Check:
    """Type, required fields and fields in one closure: calls are what costs."""
    needed = frozenset(node.required)
    closed = _closed(node)
    if not node.properties and node.values is not None:
        values = _values(node.values)
        return lambda value: value.__class__ is dict and needed <= value.keys() and values(value)
    built: dict[str, Check | type | None] = {}

    def check(value: Any) -> bool:
        if value.__class__ is not dict or (needed and not needed <= value.keys()):
            return False
        if closed is not None and not value.keys() <= closed:
            return False
        for name, below in value.items():
            field = built[name] if name in built else _build_field(node, name, built)
            if field is below.__class__ or field is None:
                continue
            if field.__class__ is type or not field(below):
                return False
        return True

    return check


def _array(node: Node) -> Check:
    longest, shortest = node.raw.get("maxItems"), node.raw.get("minItems")
    items = None if node.items is None else _plain_class(node.items) or _Lazy(node.items)

    def check(value: Any) -> bool:
        if value.__class__ is not list:
            return False
        if longest is not None and len(value) > longest:
            return False
        if shortest is not None and len(value) < shortest:
            return False
        if items is None or not value:
            return True
        if items.__class__ is type:
            return all([one.__class__ is items for one in value])  # noqa: C419 - a list is faster
        return all(map(items.check, value))  # type: ignore[union-attr]

    return check


class _Lazy:
    """A check that is built when it is first asked for."""

    def __init__(self, node: Node) -> None:
        self._node = node

    @cached_property
    def check(self) -> Check:
        return build(self._node)


def _all(checks: list[Check], is_nullable: bool) -> Check:
    """Written out for the usual numbers of checks: a loop would cost more than they do."""
    combined = _conjunction(checks)
    if not is_nullable:
        return combined
    return lambda value: value is None or combined(value)


def _conjunction(checks: list[Check]) -> Check:
    match checks:
        case []:
            return lambda value: True
        case [only]:
            return only
        case [first, second]:
            return lambda value: first(value) and second(value)
        case [first, second, third]:
            return lambda value: first(value) and second(value) and third(value)
    return lambda value: all(check(value) for check in checks)


def _takes_null(node: Node) -> bool:
    """A null is fine for a nullable field, unless an enum leaves it out."""
    return (node.is_nullable or not _types(node)) and not node.raw.get("enum")


def _types(node: Node) -> tuple[str, ...]:
    if node.raw.get("x-kubernetes-int-or-string"):
        return ("integer", "string")
    return (node.type,) if node.type else ()


def _type_checks(node: Node) -> list[Check]:
    types = _types(node)
    if not types:
        return []
    if types == ("string",) and formats.find(node.format):
        # A list passes for a formatted string: the server's type check lets it through.
        return [lambda value: isinstance(value, str | list)]
    if types == ("integer", "string"):
        return [lambda value: isinstance(value, str) or _is_integer(value)]
    return [_TYPE_CHECKS[types[0]]]


def _is_integer(value: Any) -> bool:
    if value.__class__ is int:
        return bool(INT64_MIN <= value <= INT64_MAX)
    return isinstance(value, float) and is_integral(value)


_TYPE_CHECKS: dict[str, Check] = {
    "object": lambda value: value.__class__ is dict,
    "array": lambda value: value.__class__ is list,
    "string": lambda value: value.__class__ is str,
    "boolean": lambda value: value.__class__ is bool,
    "integer": _is_integer,
    "number": lambda value: value.__class__ in (int, float),
}


def _string_checks(raw: Mapping[str, Any]) -> list[Check]:
    longest, shortest = raw.get("maxLength"), raw.get("minLength")
    checks: list[Check] = []
    if longest is not None:
        checks.append(lambda value: not isinstance(value, str) or len(value) <= longest)
    if shortest:
        checks.append(lambda value: not isinstance(value, str) or len(value) >= shortest)
    if pattern := raw.get("pattern"):
        checks.append(_pattern(pattern))
    if (accepts := formats.find(str(raw.get("format") or ""))) is not None:
        checks.append(lambda value: not isinstance(value, str) or accepts(value))
    return checks


def _pattern(source: str) -> Check:
    try:
        matches = compile_pattern(source).matches
    except ValueError:
        return lambda value: not isinstance(value, str)

    def check(value: Any) -> bool:
        try:
            return not isinstance(value, str) or matches(value)
        except TooExpensive:
            return False

    return check


def _is_number(value: Any) -> bool:
    return value.__class__ is int or value.__class__ is float


def _number_checks(raw: Mapping[str, Any]) -> list[Check]:
    least, most, factor = raw.get("minimum"), raw.get("maximum"), raw.get("multipleOf")
    above, below = raw.get("exclusiveMinimum"), raw.get("exclusiveMaximum")
    checks: list[Check] = []
    if least is not None:
        above_least = operator.gt if above else operator.ge
        checks.append(
            lambda value: not _is_number(value) or above_least(value, _native(value, least))
        )
    if most is not None:
        below_most = operator.lt if below else operator.le
        checks.append(
            lambda value: not _is_number(value) or below_most(value, _native(value, most))
        )
    if factor is not None:
        checks.append(lambda value: not _is_number(value) or is_multiple(value, factor))
    return checks


def _native(value: float, bound: float) -> float:
    """Integers are compared with the integer part of the bound."""
    return int(bound) if isinstance(value, int) else bound


def is_multiple(value: float, factor: float) -> bool:
    if factor <= 0:
        return False
    if isinstance(value, int):
        whole = int(factor)
        return whole > 0 and value % whole == 0
    return is_integral(value / factor if factor >= 1 else 1 / factor * value)


def _list_checks(node: Node) -> list[Check]:
    """For schemas that do not say they are arrays, as inside of allOf."""
    checks = _size_checks(node.raw, list, "maxItems", "minItems")
    if node.raw.get("uniqueItems"):
        checks.append(lambda value: not isinstance(value, list) or is_unique(value))
    if node.items is not None:
        lazy = _Lazy(node.items)
        checks.append(lambda value: not isinstance(value, list) or all(map(lazy.check, value)))
    return checks


def _size_checks(
    raw: Mapping[str, Any], kind: type[list[Any]] | type[dict[str, Any]], most: str, least: str
) -> list[Check]:
    longest, shortest = raw.get(most), raw.get(least)
    checks: list[Check] = []
    if longest is not None:
        checks.append(lambda value: not isinstance(value, kind) or len(value) <= longest)
    if shortest:
        checks.append(lambda value: not isinstance(value, kind) or len(value) >= shortest)
    return checks


def is_unique(values: list[Any]) -> bool:
    return not any(same(a, b) for i, a in enumerate(values) for b in values[i + 1 :])


def _object_checks(node: Node) -> list[Check]:
    """For schemas that do not say they are objects, as inside of allOf."""
    checks = _size_checks(node.raw, dict, "maxProperties", "minProperties")
    if node.required or node.properties or node.values is not None or _closed(node) is not None:
        inner = _object(node)
        checks.append(lambda value: not isinstance(value, dict) or inner(value))
    return checks


def _closed(node: Node) -> frozenset[str] | None:
    """The only fields there may be, if the schema says so."""
    if node.raw.get("additionalProperties") is not False:
        return None
    return frozenset(node.properties)


def _build_field(
    node: Node, name: str, built: dict[str, Check | type | None]
) -> Check | type | None:
    child = node.child(name)
    found = None if child is None else _plain_class(child) or build(child)
    if len(built) < _FIELDS_MAX:
        built[name] = found
    return found


def _plain_class(node: Node) -> type | None:
    """The Python class of a field whose schema asks for a string or boolean and no more."""
    if node.raw.keys() - _HARMLESS or node.format:
        return None
    return {"string": str, "boolean": bool}.get(node.type)


_FIELDS_MAX = 10_000
_HARMLESS = frozenset(("type", "description", "title", "default", "example", "externalDocs"))


def _values(node: Node) -> Check:
    plain = _plain_class(node)
    if plain is not None:
        return lambda value: all([one.__class__ is plain for one in value.values()])  # noqa: C419
    lazy = _Lazy(node)
    return lambda value: all(map(lazy.check, value.values()))


def _enum(allowed: list[Any]) -> Check:
    if all(isinstance(choice, str) for choice in allowed):
        words = frozenset(allowed)
        return lambda value: isinstance(value, str) and value in words
    return lambda value: value is not None and any(same(value, choice) for choice in allowed)


def _combined(word: str, checks: list[Check]) -> Check:
    if word == "allOf":
        return lambda value: all(check(value) for check in checks)
    if word == "anyOf":
        return lambda value: any(check(value) for check in checks)
    return lambda value: sum([check(value) for check in checks]) == 1


def _negated(refused: Check) -> Check:
    return lambda value: not refused(value)
