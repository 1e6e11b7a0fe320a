"""Drops the fields of a custom resource that its schema does not know.

Compiled to closures that visit only what can hold an unknown field.
"""

from collections.abc import Callable
from typing import Any, TypeAlias

from fleetqueue.api import field_errors as fields
from fleetqueue.apiserver.schema.node import Node

Pruner: TypeAlias = Callable[[Any, str, list[str]], None]
"""(value, path, dropped): prunes in place and appends the paths it dropped."""

META_FIELDS = frozenset(("apiVersion", "kind", "metadata"))


def build(node: Node | None, is_root: bool = False, is_lenient: bool = False) -> Pruner | None:
    """None means that nothing below can be unknown. `is_lenient`: keep what the node leaves out."""
    if node is None:
        return None if is_lenient else _drop_everything
    is_lenient = is_lenient or bool(node.raw.get("x-kubernetes-preserve-unknown-fields"))
    has_fields = node.properties or node.values is not None
    if is_root or node.is_embedded or has_fields or node.raw.get("additionalProperties") is True:
        return _object_pruner(node, is_root, is_lenient)
    if node.items is not None:
        return _list_pruner(node.items, is_lenient)
    return None if is_lenient else _drop_everything


def _object_pruner(node: Node, is_root: bool, keeps_unknown: bool) -> Pruner:
    keeps_meta = is_root or node.is_embedded
    has_any = node.raw.get("additionalProperties") is True
    properties = node.properties
    known = frozenset(properties) | (META_FIELDS if keeps_meta else frozenset())
    is_closed = not keeps_unknown and node.values is None and not has_any
    built: dict[str, Pruner | None] = dict.fromkeys(META_FIELDS if keeps_meta else ())

    def child(name: str) -> Pruner | None:
        if name in properties:
            built[name] = build(properties[name])
            return built[name]
        if node.values is None and not has_any:
            return None
        if "" not in built:
            built[""] = build(node.values)
        return built[""]

    def prune(value: Any, path: str, dropped: list[str]) -> None:
        if value.__class__ is dict:
            if is_closed and not value.keys() <= known:
                _drop_unknown(value, known, path, dropped)
            for name, below in value.items():
                if below.__class__ is dict or below.__class__ is list:
                    field = built[name] if name and name in built else child(name)
                    if field is not None:
                        field(below, f"{path}.{name}" if path else name, dropped)
        elif value.__class__ is list and not keeps_unknown:
            _drop_everything(value, path, dropped)

    return prune


def _drop_unknown(
    value: dict[str, Any], known: frozenset[str], path: str, dropped: list[str]
) -> None:
    for name in [name for name in value if name not in known]:
        if path or name not in META_FIELDS:
            dropped.append(f"{path}.{name}" if path else name)
        del value[name]


def _list_pruner(items: Node, is_lenient: bool) -> Pruner:
    item: Pruner | None = None
    is_built = False

    def prune(value: Any, path: str, dropped: list[str]) -> None:
        nonlocal item, is_built
        if value.__class__ is list:
            if not is_built:
                item, is_built = build(items, is_lenient=is_lenient), True
            if item is not None:
                for index, below in enumerate(value):
                    if below.__class__ is dict or below.__class__ is list:
                        item(below, f"{path}[{index}]", dropped)
        elif not is_lenient:
            _drop_everything(value, path, dropped)

    return prune


def _drop_everything(value: Any, path: str, dropped: list[str]) -> None:
    if isinstance(value, dict):
        _drop_unknown(value, frozenset(), path, dropped)
    elif isinstance(value, list):
        for index, below in enumerate(value):
            _drop_everything(below, f"{path}[{index}]", dropped)


def unknown_field(path: str) -> str:
    """How strict field validation names a field that pruning dropped."""
    return f"unknown field {fields.show(path)}"
