"""Operators: arithmetic that notices overflow, comparisons, membership and indexing."""

import math
import operator
from typing import Any

from fleetqueue.apiserver.cel.errors import CelError, CostExceeded
from fleetqueue.apiserver.cel.overloads import Overload, overload
from fleetqueue.apiserver.cel.times import Duration, Timestamp
from fleetqueue.apiserver.cel.types import DURATION as DURATION_TYPE
from fleetqueue.apiserver.cel.types import NAMED, TIMESTAMP, Type
from fleetqueue.apiserver.cel.values import (
    INT_MAX,
    INT_MIN,
    UINT_MAX,
    UInt,
    contains,
    equal,
    index,
    kind_of,
    optional_index,
)

_SECOND = 10**9


def checked_int(value: int) -> int:
    if INT_MIN <= value <= INT_MAX:
        return value
    raise CelError("integer overflow")


def checked_uint(value: int) -> UInt:
    if 0 <= value <= UINT_MAX:
        return UInt(value)
    raise CelError("unsigned integer overflow")


def add_int(left: int, right: int) -> int:
    total = left + right
    if INT_MIN <= total <= INT_MAX:
        return total
    raise CelError("integer overflow")


def subtract_int(left: int, right: int) -> int:
    return checked_int(left - right)


def multiply_int(left: int, right: int) -> int:
    return checked_int(left * right)


def divide_int(left: int, right: int) -> int:
    if right == 0:
        raise CelError("division by zero")
    quotient = abs(left) // abs(right)
    return checked_int(quotient if (left < 0) == (right < 0) else -quotient)


def remainder_int(left: int, right: int) -> int:
    if right == 0:
        raise CelError("modulus by zero")
    if left == INT_MIN and right == -1:
        raise CelError("integer overflow")
    return int(math.fmod(left, right)) if abs(left) < 2**53 else _exact_remainder(left, right)


def _exact_remainder(left: int, right: int) -> int:
    rest = abs(left) % abs(right)
    return -rest if left < 0 else rest


def divide_double(left: float, right: float) -> float:
    if right == 0:
        if left == 0 or math.isnan(left):
            return math.nan
        return math.copysign(math.inf, left) * math.copysign(1, right)
    return left / right


def _uint(function: Any) -> Any:
    return lambda left, right: checked_uint(function(left, right))


def _divide_uint(left: int, right: int) -> UInt:
    if right == 0:
        raise CelError("division by zero")
    return UInt(int(left) // int(right))


def _remainder_uint(left: int, right: int) -> UInt:
    if right == 0:
        raise CelError("modulus by zero")
    return UInt(int(left) % int(right))


def join_text(left: Any, right: Any) -> Any:
    if len(left) + len(right) > 2**24:
        raise CostExceeded
    return left + right


def join_lists(left: list[Any], right: list[Any]) -> list[Any]:
    if len(left) + len(right) > 2**20:
        raise CostExceeded
    return [*left, *right]


def _add_times(left: Any, right: Any) -> Any:
    kind = type(left) if isinstance(left, Timestamp) else type(right)
    return kind(left.nanoseconds + right.nanoseconds)


def _subtract_times(left: Any, right: Any) -> Any:
    if isinstance(left, Timestamp) and isinstance(right, Duration):
        return Timestamp(left.nanoseconds - right.nanoseconds)
    return Duration(left.nanoseconds - right.nanoseconds)


def type_name(value: Any) -> Type:
    """`type(x)`"""
    kind = kind_of(value)
    return {"timestamp": TIMESTAMP, "duration": DURATION_TYPE}.get(kind) or NAMED.get(
        kind, Type(kind)
    )


_ARITHMETIC = [
    overload("_+_", "(int, int) -> int", add_int),
    overload("_+_", "(uint, uint) -> uint", _uint(operator.add)),
    overload("_+_", "(double, double) -> double", operator.add, "({0} + {1})"),
    overload("_+_", "(string, string) -> string", join_text),
    overload("_+_", "(bytes, bytes) -> bytes", join_text),
    overload("_+_", "(list(A), list(A)) -> list(A)", join_lists),
    overload("_+_", "(timestamp, duration) -> timestamp", _add_times),
    overload("_+_", "(duration, timestamp) -> timestamp", _add_times),
    overload("_+_", "(duration, duration) -> duration", _add_times),
    overload("_-_", "(int, int) -> int", subtract_int),
    overload("_-_", "(uint, uint) -> uint", _uint(operator.sub)),
    overload("_-_", "(double, double) -> double", operator.sub, "({0} - {1})"),
    overload("_-_", "(timestamp, timestamp) -> duration", _subtract_times),
    overload("_-_", "(timestamp, duration) -> timestamp", _subtract_times),
    overload("_-_", "(duration, duration) -> duration", _subtract_times),
    overload("_*_", "(int, int) -> int", multiply_int),
    overload("_*_", "(uint, uint) -> uint", _uint(operator.mul)),
    overload("_*_", "(double, double) -> double", operator.mul, "({0} * {1})"),
    overload("_/_", "(int, int) -> int", divide_int),
    overload("_/_", "(uint, uint) -> uint", _divide_uint),
    overload("_/_", "(double, double) -> double", divide_double),
    overload("_%_", "(int, int) -> int", remainder_int),
    overload("_%_", "(uint, uint) -> uint", _remainder_uint),
    overload("-_", "(int) -> int", lambda value: checked_int(-value)),
    overload("-_", "(double) -> double", operator.neg, "(-{0})"),
    overload("!_", "(bool) -> bool", operator.not_, "(not {0})"),
]


def _comparisons() -> list[Overload]:
    kinds = ("bool", "int", "uint", "double", "string", "bytes", "timestamp", "duration")
    pairs = [(kind, kind) for kind in kinds]
    numbers = ("int", "uint", "double")
    pairs += [(a, b) for a in numbers for b in numbers if a != b]
    functions = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
    return [
        overload(f"_{sign}_", f"({a}, {b}) -> bool", function, f"({{0}} {sign} {{1}})")
        for sign, function in functions.items()
        for a, b in pairs
    ]


_EQUALITY = [
    overload("_==_", "(A, A) -> bool", equal),
    overload("_!=_", "(A, A) -> bool", lambda left, right: not equal(left, right)),
    overload("@in", "(A, list(A)) -> bool", lambda value, items: contains(items, value)),
    overload("@in", "(A, map(A, B)) -> bool", lambda value, items: contains(items, value)),
    overload("_[_]", "(list(A), int) -> A", index),
    overload("_[_]", "(map(A, B), A) -> B", index),
    overload("_[_]", "(optional_type(list(V)), int) -> optional_type(V)", index),
    overload("_[_]", "(optional_type(map(K, V)), K) -> optional_type(V)", index),
    overload("_[?_]", "(list(V), int) -> optional_type(V)", optional_index),
    overload("_[?_]", "(map(K, V), K) -> optional_type(V)", optional_index),
    overload("_[?_]", "(optional_type(list(V)), int) -> optional_type(V)", optional_index),
    overload("_[?_]", "(optional_type(map(K, V)), K) -> optional_type(V)", optional_index),
    overload("type", "(A) -> type(A)", type_name),
    overload("dyn", "(A) -> dyn", lambda value: value, "{0}"),
]

_SIZES = [
    item
    for kind in ("string", "bytes", "list(A)", "map(A, B)")
    for item in (
        overload("size", f"({kind}) -> int", len, "len({0})"),
        overload("size", f"{kind}.() -> int", len, "len({0})"),
    )
]

OVERLOADS = [*_ARITHMETIC, *_comparisons(), *_EQUALITY, *_SIZES]
