"""Fills in the defaults of a custom resource's schema, and removes nulls that mean "not set".

A null of a field that is not nullable is replaced by the default, or dropped if there is none.
"""

from collections.abc import Callable
from typing import Any, TypeAlias

from fleetqueue.apiserver.schema.node import Node
from fleetqueue.base import codec

Defaulter: TypeAlias = Callable[[Any], None]

_FIELDS_MAX = 10_000
"""Keys of maps are unbounded; what is remembered about them is not."""


def build(node: Node) -> Defaulter | None:
    """None means that nothing below can be defaulted or null."""
    if node.properties or node.values is not None:
        return _object_defaulter(node)
    if node.items is not None:
        return _list_defaulter(node.items)
    return None


def _object_defaulter(node: Node) -> Defaulter:
    properties = node.properties
    constants = {
        name: constant
        for name in properties
        if (constant := properties[name].raw.get("default")) is not None
    }
    built: dict[str, Defaulter | None] = {}

    def child_of(name: str) -> Defaulter | None:
        below = node.child(name)
        found = build(below) if below is not None else None
        if len(built) < _FIELDS_MAX:
            built[name] = found
        return found

    def default(value: Any) -> None:
        if value.__class__ is not dict:
            return
        if None in value.values():
            _drop_nulls(value, node)
        for name, constant in constants.items():
            if name not in value:
                value[name] = _fresh(constant)
        for name, below in value.items():
            kind = below.__class__
            if kind is dict or kind is list:
                field = built[name] if name in built else child_of(name)
                if field is not None:
                    field(below)

    return default


def _list_defaulter(items: Node) -> Defaulter:
    item: Defaulter | None = None
    is_built = False
    constant = items.raw.get("default")

    def default(value: Any) -> None:
        nonlocal item, is_built
        if value.__class__ is not list:
            return
        if not is_built:
            item, is_built = build(items), True
        if constant is not None and not items.is_nullable:
            for index, below in enumerate(value):
                if below is None:
                    value[index] = _fresh(constant)
        if item is not None:
            for below in value:
                item(below)

    return default


def _drop_nulls(value: dict[str, Any], node: Node) -> None:
    for name in [name for name, below in value.items() if below is None]:
        child = node.child(name)
        if child is None or child.is_nullable:
            continue
        default = child.raw.get("default")
        if default is None:
            del value[name]
        else:
            value[name] = _fresh(default)


def _fresh(value: Any) -> Any:
    return codec.copy(value) if isinstance(value, dict | list) else value
