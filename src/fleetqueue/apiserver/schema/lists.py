"""Finds items that a set or a map list holds twice."""

from collections.abc import Callable
from typing import Any, TypeAlias

import msgspec

from fleetqueue.apiserver import field_errors as fields
from fleetqueue.apiserver.field_errors import FieldError
from fleetqueue.apiserver.schema.node import Node
from fleetqueue.apiserver.schema.values import in_order

Finder: TypeAlias = Callable[[Any, str, list[FieldError]], None]
_NO_KEY = object()
_SORTED = msgspec.json.Encoder(order="deterministic")


def build(node: Node, seen: frozenset[int] = frozenset()) -> Finder | None:
    """None where no list below promises unique items, so that most of a schema is never walked."""
    if id(node.raw) in seen:
        return None
    seen = seen | {id(node.raw)}
    fields_below = {
        name: finder
        for name, child in node.properties.items()
        if (finder := build(child, seen)) is not None
    }
    values = build(node.values, seen) if node.values is not None else None
    items = build(node.items, seen) if node.items is not None else None
    is_unique = node.raw.get("x-kubernetes-list-type") in ("set", "map")
    if not fields_below and values is None and items is None and not is_unique:
        return None
    return _finder(node, fields_below, values, items)


def _finder(
    node: Node, below: dict[str, Finder], values: Finder | None, items: Finder | None
) -> Finder:
    list_type = node.list_type

    def find(value: Any, path: str, errors: list[FieldError]) -> None:
        if value.__class__ is dict:
            if values is not None:
                for name, child in value.items():
                    values(child, f"{path}[{name}]", errors)
            for name, finder in below.items():
                if name in value:
                    finder(value[name], f"{path}.{name}" if path else name, errors)
        elif value.__class__ is list:
            if list_type == "set" and len(value) > 1:
                for index in _repeated([_comparable(item) for item in value]):
                    errors.append(fields.duplicate(f"{path}[{index}]", in_order(value[index])))
            elif list_type == "map":
                _find_keys(value, node, path, errors)
            if items is not None:
                for index, item in enumerate(value):
                    items(item, f"{path}[{index}]", errors)

    return find


def _find_keys(value: list[Any], node: Node, path: str, errors: list[FieldError]) -> None:
    for index, item in enumerate(value):
        if item is not None and not isinstance(item, dict):
            detail = "must be an object for an array of list-type map"
            errors.append(fields.wrong(f"{path}[{index}]", in_order(item), detail))
            return
    if len(value) < 2:
        return
    keys = [{key: item[key] for key in node.list_keys if key in item} for item in value if item]
    if len(keys) != len(value):
        keys = [{k: item[k] for k in node.list_keys if k in item} if item else {} for item in value]
    if len(node.list_keys) == 1:
        [name] = node.list_keys
        single = [_comparable(key[name]) if name in key else _NO_KEY for key in keys]
    else:
        single = [_comparable(key) for key in keys]
    for index in _repeated(single):
        errors.append(fields.duplicate(f"{path}[{index}]", in_order(keys[index])))


def _comparable(value: Any) -> Any:
    """Hashable, and different for 1, true and "1"."""
    if value.__class__ is str:
        return value
    if isinstance(value, dict | list):
        return _SORTED.encode(value)
    return (type(value), value)


def _repeated(values: list[Any]) -> list[int]:
    """Where a value comes up for the second time."""
    if len(set(values)) == len(values):
        return []
    counts: dict[Any, int] = {}
    found = []
    for index, value in enumerate(values):
        counts[value] = counts.get(value, 0) + 1
        if counts[value] == 2:
            found.append(index)
    return found
