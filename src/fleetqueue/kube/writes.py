"""Decides whether a write would change anything; one that would not is never sent."""

from typing import Any

KEYS = ("type", "name", "key", "uid")
"""What tells the items of a list apart, in the order in which kinds use them."""


def holds(present: Any, wanted: Any) -> bool:
    """Whether everything wanted is there already; more may be there."""
    if isinstance(wanted, dict) and isinstance(present, dict):
        return all(name in present and holds(present[name], wanted[name]) for name in wanted)
    if isinstance(wanted, list) and isinstance(present, list):
        return _list_holds(present, wanted)
    return bool(present == wanted) and isinstance(present, bool) == isinstance(wanted, bool)


def merge_changes_nothing(present: Any, patch: Any) -> bool:
    """Whether a merge patch leaves an object, known in full, as it is."""
    if not isinstance(patch, dict) or not isinstance(present, dict):
        return bool(present == patch)
    for name, value in patch.items():
        if value is None:
            if name in present:
                return False
        elif name not in present or not merge_changes_nothing(present[name], value):
            return False
    return True


def removes_something(patch: Any) -> bool:
    """Whether a merge patch asks for a field to go; typed objects cannot tell if it is there."""
    if not isinstance(patch, dict):
        return False
    return any(value is None or removes_something(value) for value in patch.values())


def _list_holds(present: list[Any], wanted: list[Any]) -> bool:
    name = _list_key(wanted)
    if name is None:
        return len(present) == len(wanted) and all(map(holds, present, wanted))
    by_key = {item.get(name): item for item in present if isinstance(item, dict)}
    return all(holds(by_key.get(item[name]), item) for item in wanted)


def _list_key(items: list[Any]) -> str | None:
    if not items or not all(isinstance(item, dict) for item in items):
        return None
    return next((name for name in KEYS if all(name in item for item in items)), None)
