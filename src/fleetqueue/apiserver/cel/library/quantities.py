"""Kubernetes quantities in expressions."""

from typing import Any

from fleetqueue.api.quantity import Quantity, QuantityError, parse
from fleetqueue.apiserver.cel.errors import CelError
from fleetqueue.apiserver.cel.overloads import overload
from fleetqueue.apiserver.cel.values import INT_MAX, INT_MIN


def _quantity(text: str) -> Quantity:
    try:
        return parse(text)
    except QuantityError as problem:
        raise CelError(str(problem)) from None


def _is_quantity(text: str) -> bool:
    try:
        parse(text)
    except QuantityError:
        return False
    return True


def _compare(left: Quantity, right: Quantity) -> int:
    return (left > right) - (left < right)


def _is_integer(value: Quantity) -> bool:
    """A fraction rounds up when taken as an integer, so it is none."""
    whole = value.value()
    return INT_MIN <= whole <= INT_MAX and _from(whole) == value


def _as_integer(value: Quantity) -> int:
    if not _is_integer(value):
        raise CelError("cannot convert value to integer")
    return value.value()


def _as_float(value: Quantity) -> float:
    return float(f"{value.unscaled}e{value.exponent}")


def _from(number: int) -> Quantity:
    return Quantity.of(number)


def _add_int(left: Quantity, right: int) -> Any:
    return left + _from(right)


def _subtract_int(left: Quantity, right: int) -> Any:
    return left - _from(right)


OVERLOADS = [
    overload("quantity", "(string) -> Quantity", _quantity),
    overload("isQuantity", "(string) -> bool", _is_quantity),
    overload("sign", "(Quantity) -> int", lambda value: value.sign()),
    overload("isGreaterThan", "Quantity.(Quantity) -> bool", lambda a, b: a > b),
    overload("isLessThan", "Quantity.(Quantity) -> bool", lambda a, b: a < b),
    overload("compareTo", "Quantity.(Quantity) -> int", _compare),
    overload("asApproximateFloat", "Quantity.() -> double", _as_float),
    overload("asInteger", "Quantity.() -> int", _as_integer),
    overload("isInteger", "Quantity.() -> bool", _is_integer),
    overload("add", "Quantity.(Quantity) -> Quantity", lambda a, b: a + b),
    overload("add", "Quantity.(int) -> Quantity", _add_int),
    overload("sub", "Quantity.(Quantity) -> Quantity", lambda a, b: a - b),
    overload("sub", "Quantity.(int) -> Quantity", _subtract_int),
]
