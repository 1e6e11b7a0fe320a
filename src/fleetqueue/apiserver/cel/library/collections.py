"""Functions on lists: Kubernetes' list library, and sets."""

from collections.abc import Callable
from functools import reduce
from typing import Any

from fleetqueue.apiserver.cel.arithmetic import OVERLOADS as OPERATORS
from fleetqueue.apiserver.cel.errors import CelError, CostExceeded
from fleetqueue.apiserver.cel.overloads import Overload, choose, overload
from fleetqueue.apiserver.cel.times import Duration
from fleetqueue.apiserver.cel.values import UInt, contains, equal

_PAIRS_MAX = 1_000_000
_COMPARABLE = ("int", "uint", "double", "bool", "duration", "timestamp", "string", "bytes")
_ZEROS: dict[str, Any] = {"int": 0, "uint": UInt(0), "double": 0.0, "duration": Duration(0)}
_ADDITIONS = [item for item in OPERATORS if item.function == "_+_"]


def _is_sorted(items: list[Any]) -> bool:
    return all(items[i] <= items[i + 1] for i in range(len(items) - 1))


def _sum(zero: Any) -> Callable[[list[Any]], Any]:
    return lambda items: reduce(lambda left, right: choose(_ADDITIONS, (left, right)), items, zero)


def _extreme(name: str, pick: Callable[[list[Any]], Any]) -> Callable[[list[Any]], Any]:
    def find(items: list[Any]) -> Any:
        if not items:
            raise CelError(f"{name} called on empty list")
        return pick(items)

    return find


def _index_of(items: list[Any], value: Any) -> int:
    return next((i for i, item in enumerate(items) if equal(item, value)), -1)


def _last_index_of(items: list[Any], value: Any) -> int:
    return next((i for i in range(len(items) - 1, -1, -1) if equal(items[i], value)), -1)


def _contains_all(items: list[Any], others: list[Any]) -> bool:
    if len(items) * len(others) > _PAIRS_MAX:
        raise CostExceeded
    return all(contains(items, other) for other in others)


def _intersects(left: list[Any], right: list[Any]) -> bool:
    if len(left) * len(right) > _PAIRS_MAX:
        raise CostExceeded
    return any(contains(right, item) for item in left)


def _lists() -> list[Overload]:
    found = []
    for kind in _COMPARABLE:
        found += [
            overload("isSorted", f"list({kind}).() -> bool", _is_sorted),
            overload("min", f"list({kind}).() -> {kind}", _extreme("min", min)),
            overload("max", f"list({kind}).() -> {kind}", _extreme("max", max)),
        ]
    for kind, zero in _ZEROS.items():
        found.append(overload("sum", f"list({kind}).() -> {kind}", _sum(zero)))
    return found


OVERLOADS = [
    *_lists(),
    overload("indexOf", "list(A).(A) -> int", _index_of),
    overload("lastIndexOf", "list(A).(A) -> int", _last_index_of),
    overload("sets.contains", "(list(T), list(T)) -> bool", _contains_all),
    overload("sets.intersects", "(list(T), list(T)) -> bool", _intersects),
    overload(
        "sets.equivalent",
        "(list(T), list(T)) -> bool",
        lambda left, right: _contains_all(left, right) and _contains_all(right, left),
    ),
]
