"""Equality, membership and sums of values whose schema says how their lists compare.

A set is equal to another one with the same items in any order, a map list compares by its keys.
"""

from collections.abc import Callable
from typing import Any

from fleetqueue.apiserver.cel.arithmetic import join_lists
from fleetqueue.apiserver.cel.types import Type
from fleetqueue.apiserver.cel.values import equal
from fleetqueue.apiserver.schema.node import Node


def equality(kind: Type) -> Callable[[Any, Any], bool] | None:
    """None if plain equality will do."""
    if not _needs_care(kind):
        return None
    return lambda left, right: typed_equal(left, right, kind)


def addition(kind: Type) -> Callable[[list[Any], list[Any]], list[Any]]:
    """The sum of two lists: a union for sets, an overlay for map lists."""
    keys = kind.list_keys
    if keys is None:
        return join_lists
    if not keys:
        return lambda left, right: _union(left, right, kind)
    return lambda left, right: _overlay(left, right, keys)


def typed_equal(left: Any, right: Any, kind: Type) -> bool:
    if left is None or right is None:
        return left is right
    if isinstance(left, list) and isinstance(right, list) and kind.name == "list":
        return len(left) == len(right) and _equal_lists(left, right, kind)
    if isinstance(left, dict) and isinstance(right, dict):
        return len(left) == len(right) and all(
            name in right and typed_equal(value, right[name], _child(kind, name))
            for name, value in left.items()
        )
    return equal(left, right)


def _equal_lists(left: list[Any], right: list[Any], kind: Type) -> bool:
    item = kind.parameters[0]
    if kind.list_keys is None:
        return all(typed_equal(a, b, item) for a, b in zip(left, right, strict=True))
    if not kind.list_keys:
        return all(any(typed_equal(a, b, item) for a in left) for b in right)
    known = {_key(one, kind.list_keys): one for one in left}
    return all(
        (key := _key(one, kind.list_keys)) in known and typed_equal(known[key], one, item)
        for one in right
    )


def _key(item: Any, keys: tuple[str, ...]) -> str:
    return repr([item.get(key) for key in keys]) if isinstance(item, dict) else ""


def _child(kind: Type, name: str) -> Type:
    if kind.name == "map":
        return kind.parameters[1]
    if kind.shape is not None:
        for escaped, plain in kind.shape.names.items():
            if plain == name and (found := kind.shape.field(escaped)) is not None:
                return found[1]
    return _UNKNOWN


_UNKNOWN = Type("dyn")


def _union(left: list[Any], right: list[Any], kind: Type) -> list[Any]:
    result = list(left)
    for one in right:
        if not any(typed_equal(one, other, kind.parameters[0]) for other in result):
            result.append(one)
    return result


def _overlay(left: list[Any], right: list[Any], keys: tuple[str, ...]) -> list[Any]:
    merged = {_key(one, keys): one for one in left}
    merged.update({_key(one, keys): one for one in right})
    return list(merged.values())


def _needs_care(kind: Type) -> bool:
    if kind.shape is not None:
        return _has_keyed_lists(kind.shape.node)
    if kind.name == "list" and kind.list_keys is not None:
        return True
    return any(_needs_care(inner) for inner in kind.parameters)


def _has_keyed_lists(node: Node) -> bool:
    if node.list_type in ("set", "map"):
        return True
    below = [*node.properties.values(), node.items, node.values]
    return any(_has_keyed_lists(child) for child in below if child is not None)
