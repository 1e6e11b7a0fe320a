"""What is wrong with a choice of clusters by property: names, operators, values, contradictions."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from fleetqueue.api import names
from fleetqueue.api.fleet.properties import CAPACITY_TYPES, RESOURCE_PREFIX
from fleetqueue.api.quantity import Quantity, QuantityError, parse
from fleetqueue.api.requirements import quote

Json = dict[str, Any]

_OPERATORS = frozenset(("Gt", "Ge", "Eq", "Ne", "Lt", "Le"))


def property_errors(selector: Json) -> Iterator[str]:
    """What is wrong with the property selector of one term, whose requirements all must hold."""
    understood: dict[str, list[_Requirement]] = {}
    for expression in selector.get("matchExpressions") or []:
        name = expression.get("name", "")
        if wrong := name_error(name):
            yield f"invalid property name {name}: {wrong}"
        requirement = _understand(expression)
        if isinstance(requirement, str):
            yield f"invalid requirement on property {name}: {requirement}"
        else:
            understood.setdefault(name, []).append(requirement)
    for name, requirements in understood.items():
        if wrong := _contradiction(requirements):
            yield f"inconsistent requirements on property {name}: {wrong}"


def sorter_errors(sorter: Json) -> Iterator[str]:
    """What is wrong with a property sorter."""
    if wrong := name_error(sorter.get("name", "")):
        yield wrong
    order = sorter.get("sortOrder", "")
    if order not in ("Ascending", "Descending"):
        yield f"invalid property sort order {order}"


def name_error(name: str) -> str:
    """What is wrong with the name of a property; nothing if it is fine."""
    if name.startswith(RESOURCE_PREFIX):
        capacity, _, resource = name.removeprefix(RESOURCE_PREFIX).partition("-")
        if not capacity or not resource:
            return (
                f"invalid resource property name {name},"
                " expected format is [PREFIX]/[CAPACITY_TYPE]-[RESOURCE_NAME]"
            )
        if capacity not in CAPACITY_TYPES:
            return (
                f"invalid capacity type in resource property name {name},"
                f" supported values are [{' '.join(CAPACITY_TYPES)}]"
            )
    wrong = names.qualified_name(name)
    return f"property name {name} is not valid: {'; '.join(wrong)}" if wrong else ""


@dataclass(frozen=True)
class _Requirement:
    """One comparison that could be understood."""

    operator: str
    value: Quantity


@dataclass(frozen=True)
class _Bound:
    """Where the allowed values begin or end, and whether that value itself is allowed."""

    value: Quantity
    is_strict: bool


def _understand(expression: Json) -> "_Requirement | str":
    """The requirement, or what is wrong with it."""
    operator, values = expression.get("operator", ""), expression.get("values") or []
    if operator not in _OPERATORS:
        return f"unsupported operator {operator}"
    if len(values) != 1:
        return f"operator {operator} requires exactly one value, got {len(values)}"
    try:
        return _Requirement(operator, parse(values[0]))
    except QuantityError as error:
        return f"value {quote(values[0])} is not a valid resource.Quantity: {error}"


def _contradiction(requirements: list[_Requirement]) -> str:
    """Why no value can meet all of these; nothing if one can."""
    equal = [one.value for one in requirements if one.operator == "Eq"]
    for value in equal[1:]:
        if value != equal[0]:
            return f"conflicting Eq values {equal[0]} and {value}"
    for one in requirements:
        if one.operator == "Ne" and one.value in equal:
            return f"conflicting Eq and Ne on same value {one.value}"
    lower = _tightest(requirements, "Gt", "Ge")
    upper = _tightest(requirements, "Lt", "Le")
    if lower and upper and _excludes_all(lower, upper):
        return f"lower bound ({lower.value}) and upper bound ({upper.value}) exclude all values"
    return _out_of_bounds(equal[0], lower, upper) if equal else ""


def _tightest(requirements: list[_Requirement], strict: str, loose: str) -> _Bound | None:
    bounds = [
        _Bound(one.value, one.operator == strict)
        for one in requirements
        if one.operator in (strict, loose)
    ]
    if not bounds:
        return None
    pick = max if strict == "Gt" else min
    edge = pick(bound.value for bound in bounds)
    return _Bound(edge, any(bound.is_strict for bound in bounds if bound.value == edge))


def _excludes_all(lower: _Bound, upper: _Bound) -> bool:
    if lower.value == upper.value:
        return lower.is_strict or upper.is_strict
    return lower.value > upper.value


def _out_of_bounds(value: Quantity, lower: _Bound | None, upper: _Bound | None) -> str:
    if lower and (value < lower.value or (lower.is_strict and value == lower.value)):
        return f"eq value {value} violates lower bound {lower.value}"
    if upper and (value > upper.value or (upper.is_strict and value == upper.value)):
        return f"eq value {value} violates upper bound {upper.value}"
    return ""
