"""Strategic merge patch: the lists of a built-in kind merge by the keys that its schema names."""

from typing import Any, NamedTuple

from fleetqueue.apiserver.merge import go_text, strategic_lists
from fleetqueue.apiserver.merge.strategic_problems import (
    PRIMITIVE_LIST_FORMAT,
    RETAIN_KEYS_FORMAT,
    SET_ORDER_FORMAT,
    bad_argument,
    bad_format,
    bad_patch_type,
    refused,
)
from fleetqueue.apiserver.schema.node import Node

DIRECTIVE = strategic_lists.DIRECTIVE
RETAIN = "$retainKeys"
DELETE_FROM = "$deleteFromPrimitiveList"
SET_ORDER = "$setElementOrder"

Object = dict[str, Any]


class Place(NamedTuple):
    """Where in the kind the merge is: the schema, and the name of its Go type."""

    node: Node
    type_name: str


def strategic_merge(current: Object, patch: Object, node: Node) -> Object:
    """The patched object; what the patch does not touch is shared with `current`."""
    kinds = node.raw.get("x-kubernetes-group-version-kind") or [{}]
    return _merge_map(current, patch, Place(node, kinds[0].get("kind", "")))


def _merge_map(current: Object, patch: Object, place: Place) -> Object:
    if DIRECTIVE in patch:
        return _directed(patch)
    merged = dict(current)
    changes = dict(patch)
    if RETAIN in changes:
        _retain(merged, changes, changes.pop(RETAIN))
    for key in [key for key in changes if key.startswith(SET_ORDER)]:
        _merge_in_order(merged, changes, key, changes.pop(key), place)
    for key, value in changes.items():
        if key.startswith(DELETE_FROM):
            _delete_from(merged, _field_of(key, DELETE_FROM), value, place)
        elif value is None:
            merged.pop(key, None)
        else:
            _merge_field(merged, key, value, place)
    return merged


def _directed(patch: Object) -> Object:
    directive = patch[DIRECTIVE]
    if directive == "replace":
        return {key: value for key, value in patch.items() if key != DIRECTIVE}
    if directive == "delete":
        return {}
    raise bad_patch_type(directive, patch)


def _merge_field(merged: Object, key: str, value: Any, place: Place) -> None:
    mine = merged.get(key)
    if isinstance(mine, dict) and isinstance(value, dict):
        below = _below(place, key)
        is_replaced = _strategy(below.node) == "replace"
        merged[key] = value if is_replaced else _merge_map(mine, value, below)
    elif isinstance(mine, list) and isinstance(value, list):
        merged[key] = _merge_list(mine, value, key, place)
    else:
        merged.pop(key, None)
        kept, is_kept = _undirected(_without_nulls(value))
        if is_kept:
            merged[key] = kept


def _merge_list(mine: list[Any], theirs: list[Any], key: str, place: Place) -> list[Any]:
    below = _below(place, key)
    if _strategy(below.node) != "merge":
        return theirs
    return _merge_items(mine, theirs, below)


def _merge_items(mine: list[Any], theirs: list[Any], below: Place) -> list[Any]:
    item = _item_of(below)
    return strategic_lists.merge(
        mine,
        theirs,
        below.node.patch_merge_key,
        lambda one, other: _merge_map(one, other, item),
    )


def _delete_from(merged: Object, key: str, gone: Any, place: Place) -> None:
    mine = merged.get(key)
    if gone is None:
        merged.pop(key, None)
    if not isinstance(mine, list) or not isinstance(gone, list):
        return
    _below(place, key)
    if mine or gone:
        strategic_lists.check_alike(mine, gone)
    merged[key] = [item for item in mine if not strategic_lists.contains(gone, item)]


def _merge_in_order(merged: Object, changes: Object, key: str, order: Any, place: Place) -> None:
    """`$setElementOrder/<list>`: the merged list in the order of the client's list."""
    if not isinstance(order, list):
        raise bad_argument([], order)
    name = _field_of(key, SET_ORDER)
    mine, theirs = merged.get(name, []), changes.get(name, [])
    for found in (mine, theirs):
        if not isinstance(found, list):
            raise bad_argument([], found)
    below = _below(place, name)
    merge_key = below.node.patch_merge_key
    strategic_lists.check_order(theirs, order, merge_key)
    if name not in merged and name not in changes:
        return
    result = mine
    if name not in merged:
        result = _undirected_items(theirs)
    elif name in changes:
        result = _merge_items(mine, theirs, below) if _strategy(below.node) == "merge" else theirs
    changes.pop(name, None)
    strategic_lists.check_alike(mine, theirs)
    left = strategic_lists.order_left(mine, theirs, merge_key) if merge_key else mine
    merged[name] = strategic_lists.arranged(result, order, left, merge_key)


def _retain(merged: Object, changes: Object, keys: Any) -> None:
    if not isinstance(keys, list):
        raise bad_format(RETAIN_KEYS_FORMAT)
    for key, value in changes.items():
        is_directive = key.startswith((DELETE_FROM, SET_ORDER))
        if value is not None and not is_directive and key not in keys:
            raise bad_format(RETAIN_KEYS_FORMAT)
    for key in [key for key in merged if key not in keys]:
        del merged[key]


def _undirected(value: Any) -> tuple[Any, bool]:
    """A value that is new: (without directives, whether it stays at all)"""
    if isinstance(value, dict):
        if DIRECTIVE in value:
            return None, False
        found = {key: _undirected(child) for key, child in value.items()}
        return {key: child for key, (child, is_kept) in found.items() if is_kept}, True
    return (_undirected_items(value) if isinstance(value, list) else value), True


def _undirected_items(items: list[Any]) -> list[Any]:
    return [child for child, is_kept in map(_undirected, items) if is_kept]


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        kept = {key: child for key, child in value.items() if child is not None}
        return {key: _without_nulls(child) for key, child in kept.items()}
    return [_without_nulls(item) for item in value] if isinstance(value, list) else value


def _below(place: Place, key: str) -> Place:
    node = place.node
    found = node.properties.get(key)
    if found is not None:
        return Place(found, _type_name((node.raw.get("properties") or {})[key]))
    if node.properties or not node.type:
        where = f"in struct {place.type_name} for the json field {go_text.quoted(key)}"
        raise refused(f"unable to find api field {where}")
    raise refused("merging an object in json but data type is not struct, instead is: map")


def _item_of(place: Place) -> Place:
    return Place(place.node.items or place.node, _type_name(place.node.raw.get("items") or {}))


def _type_name(raw: Any) -> str:
    parts = raw.get("allOf") or [{}]
    reference = str(raw.get("$ref") or parts[0].get("$ref") or "")
    return reference.rpartition(".")[2]


def _strategy(node: Node) -> str:
    return next(iter(node.patch_strategies - {"retainKeys"}), "")


def _field_of(key: str, prefix: str) -> str:
    head, _, name = key.partition("/")
    if head != prefix or "/" not in key:
        raise bad_format(PRIMITIVE_LIST_FORMAT if prefix == DELETE_FROM else SET_ORDER_FORMAT)
    return name
