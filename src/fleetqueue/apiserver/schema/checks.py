"""Whether a value satisfies its schema, as fast as closures can tell: no paths, no messages.

This is the way that valid objects take. When a check says no, `reports` walks the same schema again
and says what is wrong.
"""

import operator
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from fleetqueue.apiserver.cel.regex import TooExpensive, compile_pattern
from fleetqueue.apiserver.schema import formats
from fleetqueue.apiserver.schema.node import Node
from fleetqueue.apiserver.schema.values import INT64_MAX, INT64_MIN, is_integral, same

Check: TypeAlias = Callable[[Any], bool]


def build(node: Node) -> Check:
    """The check of a node; children are built when they first see a value."""
    raw = node.raw
    checks = _type_checks(node)
    for word in ("allOf", "anyOf", "oneOf"):
        if branches := raw.get(word):
            checks.append(_combined(word, [build(Node(branch)) for branch in branches]))
    if (refused := raw.get("not")) is not None:
        checks.append(_negated(build(Node(refused))))
    checks += _string_checks(raw) + _number_checks(raw) + _list_checks(node) + _object_checks(node)
    if allowed := raw.get("enum"):
        checks.append(_enum(allowed))
    return _all(checks, is_nullable=_takes_null(node))


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
    raw = node.raw
    checks: list[Check] = []
    longest, shortest = raw.get("maxItems"), raw.get("minItems")
    if longest is not None:
        checks.append(lambda value: not isinstance(value, list) or len(value) <= longest)
    if shortest:
        checks.append(lambda value: not isinstance(value, list) or len(value) >= shortest)
    if raw.get("uniqueItems"):
        checks.append(lambda value: not isinstance(value, list) or is_unique(value))
    if node.items is not None:
        checks.append(_each(node.items))
    return checks


def _each(items: Node) -> Check:
    item_check: Check | None = None

    def check(value: Any) -> bool:
        nonlocal item_check
        if value.__class__ is not list or not value:
            return True
        if item_check is None:
            item_check = build(items)
        for item in value:  # noqa: SIM110 - a generator costs more than the checks
            if not item_check(item):
                return False
        return True

    return check


def is_unique(values: list[Any]) -> bool:
    return not any(same(a, b) for i, a in enumerate(values) for b in values[i + 1 :])


def _object_checks(node: Node) -> list[Check]:
    raw = node.raw
    checks: list[Check] = []
    most, least = raw.get("maxProperties"), raw.get("minProperties")
    if most is not None:
        checks.append(lambda value: not isinstance(value, dict) or len(value) <= most)
    if least:
        checks.append(lambda value: not isinstance(value, dict) or len(value) >= least)
    if node.required:
        needed = frozenset(node.required)
        checks.append(lambda value: value.__class__ is not dict or needed <= value.keys())
    if raw.get("additionalProperties") is False:
        known = frozenset(node.properties)
        checks.append(lambda value: value.__class__ is not dict or value.keys() <= known)
    if node.properties or node.values is not None:
        checks.append(_fields(node))
    return checks


def _fields(node: Node) -> Check:
    """The check of a field is a closure, or just a class where nothing but the type counts."""
    if not node.properties and node.values is not None:
        return _values(node.values)
    built: dict[str, Check | type | None] = {}

    def check(value: Any) -> bool:
        if value.__class__ is not dict:
            return True
        for name, below in value.items():
            field = built[name] if name in built else _build_field(node, name, built)
            if field is below.__class__ or field is None:
                continue
            if field.__class__ is type or not field(below):
                return False
        return True

    return check


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
    below: Check | None = None

    def check(value: Any) -> bool:
        nonlocal below
        if value.__class__ is not dict or not value:
            return True
        if below is None:
            below = build(node)
        return all(map(below, value.values()))

    return check


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
