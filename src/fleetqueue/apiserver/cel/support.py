"""What programs need at run time besides the functions of the library."""

from collections.abc import Callable, Iterable
from typing import Any

from fleetqueue.apiserver.cel.errors import CelError, CostExceeded
from fleetqueue.apiserver.cel.values import NONE, Optional, find_key, kind_of, no_overload, show

PER_CALL_COST_MAX = 1_000_000


class Budget:
    """How much work one evaluation may still do."""

    __slots__ = ("remaining",)

    def __init__(self, remaining: int = PER_CALL_COST_MAX) -> None:
        self.remaining = remaining

    def spend(self, cost: int) -> None:
        self.remaining -= cost
        if self.remaining < 0:
            raise CostExceeded


def charge(budget: Budget, items: Any, weight: int) -> Any:
    """Pays for a loop before it starts."""
    budget.remaining -= len(items) * weight
    if budget.remaining < 0:
        raise CostExceeded
    return items


def as_bool(value: Any) -> bool:
    if value.__class__ is bool:
        return bool(value)
    raise no_overload()


def items_of(value: Any) -> Any:
    """What a loop with one variable runs over: items, or the keys of a map."""
    if isinstance(value, list | dict):
        return value
    raise not_iterable(value)


def pairs_of(value: Any) -> Iterable[tuple[Any, Any]]:
    """What a loop with two variables runs over."""
    if isinstance(value, list):
        return enumerate(value)
    if isinstance(value, dict):
        return value.items()
    raise not_iterable(value)


def not_iterable(value: Any) -> CelError:
    name = {"null_type": "Null"}.get(kind_of(value)) or kind_of(value).title()
    return CelError(f"got 'types.{name}', expected iterable type")


def select(value: Any, name: str) -> Any:
    """`value.name` where nothing is known about the value."""
    if isinstance(value, dict):
        if name in value:
            return value[name]
        raise CelError(f"no such key: {name}")
    if isinstance(value, Optional):
        return optional_select(value, name, None)
    if isinstance(value, list):
        raise CelError("unsupported index type 'string' in list")
    raise CelError(f"no such key: {name}")


def select_set(value: dict[str, Any], name: str) -> Any:
    """A nullable field of an object, where null is the same as no field."""
    found = value.get(name)
    if found is None:
        raise CelError(f"no such key: {name}")
    return found


def has_set(value: dict[str, Any], name: str) -> bool:
    return value.get(name) is not None


def has(value: Any, name: str) -> bool:
    if isinstance(value, dict):
        return name in value
    if isinstance(value, Optional):
        return value.is_present and has(value.held, name)
    raise no_overload()


def optional_select(value: Any, name: str, load: Callable[[Any], Any] | None) -> Optional:
    """`value.?name`"""
    if isinstance(value, Optional):
        return optional_select(value.held, name, load) if value.is_present else NONE
    if not isinstance(value, dict) or value.get(name) is None:
        return NONE
    return Optional(value[name] if load is None else load(value[name]))


def make_list(items: Iterable[tuple[Any, bool]]) -> list[Any]:
    result = []
    for item, is_optional in items:
        if not is_optional:
            result.append(item)
        elif item.is_present:
            result.append(item.held)
    return result


def make_map(entries: Iterable[tuple[Any, Any, bool]]) -> dict[Any, Any]:
    result: dict[Any, Any] = {}
    for key, value, is_optional in entries:
        if isinstance(key, list | dict | float) or key is None:
            raise CelError(f"unsupported key type: {show(key)}")
        if find_key(result, key) is not None:
            raise CelError(f"Failed with repeated key: {show(key)}")
        if not is_optional:
            result[key] = value
        elif value.is_present:
            result[key] = value.held
    return result


def merge_entries(maps: Iterable[dict[Any, Any]]) -> dict[Any, Any]:
    result: dict[Any, Any] = {}
    for entries in maps:
        for key, value in entries.items():
            if key in result:
                raise CelError(f"insert failed: key {show(key)} already exists")
            result[key] = value
    return result


def optional_map(box: Any, function: Callable[[Any], Any], is_flat: bool) -> Optional:
    if not isinstance(box, Optional):
        raise no_overload()
    if not box.is_present:
        return NONE
    value = function(box.held)
    return value if is_flat else Optional(value)
