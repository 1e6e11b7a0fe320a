"""The checks that rules of many kinds share, and what "unchanged" means to the API server."""

from collections.abc import Iterable, Sequence
from typing import Any

from fleetqueue.api import quantity
from fleetqueue.apiserver import field_errors as fields
from fleetqueue.apiserver.field_errors import FieldError

Errors = list[FieldError]

IMMUTABLE = "field is immutable"
INT32_MAX = 2**31 - 1

_AMOUNTS = frozenset({"limits", "requests", "overhead", "capacity", "allocatedResources"})
_AMOUNT = frozenset({"sizeLimit", "divisor"})


def at(path: str, *names: str) -> str:
    """A path below `path`, which is empty for the object itself."""
    return ".".join(part for part in (path, *names) if part)


def wrongs(path: str, value: Any, messages: Iterable[str]) -> Errors:
    return [fields.wrong(path, value, message) for message in messages]


def nonnegative(value: int | None, path: str) -> Errors:
    if value is None or value >= 0:
        return []
    return [fields.wrong(path, value, "must be greater than or equal to 0")]


def positive(value: int, path: str) -> Errors:
    return [] if value > 0 else [fields.wrong(path, value, "must be greater than zero")]


def between(value: int | None, low: int, high: int, path: str) -> Errors:
    if value is None or low <= value <= high:
        return []
    return [fields.wrong(path, value, range_message(low, high))]


def range_message(low: int, high: int) -> str:
    return f"must be between {low} and {high}, inclusive"


def required_one_of(value: str | None, allowed: Sequence[str], path: str) -> Errors:
    """A required enumeration: empty and unknown values are told apart."""
    if not value:
        return [fields.required(path)]
    return one_of(value, allowed, path)


def one_of(value: str | None, allowed: Sequence[str], path: str) -> Errors:
    """An enumeration that may be left out."""
    if value is None or value in allowed:
        return []
    return [fields.unsupported(path, value, allowed)]


def immutable(new: Any, old: Any, path: str) -> Errors:
    return [] if same(new, old) else [fields.wrong(path, new, IMMUTABLE)]


def same(new: Any, old: Any, key: str = "") -> bool:
    """Equal in meaning: no list is an empty list, and 1Gi is 1024Mi."""
    if new == old:
        return True
    if isinstance(new, dict) and isinstance(old, dict):
        if key in _AMOUNTS:
            return _same_amounts(new, old)
        return all(same(new.get(name), old.get(name), name) for name in new.keys() | old.keys())
    if isinstance(new, list) and isinstance(old, list) and len(new) == len(old):
        return all(same(a, b) for a, b in zip(new, old, strict=True))
    if key in _AMOUNT and new is not None and old is not None:
        return quantity.parse(new) == quantity.parse(old)
    return _is_nothing(new) and _is_nothing(old)


def _same_amounts(new: dict[str, Any], old: dict[str, Any]) -> bool:
    return new.keys() == old.keys() and all(
        quantity.parse(new[name]) == quantity.parse(old[name]) for name in new
    )


def _is_nothing(value: Any) -> bool:
    return value is None or value == []
