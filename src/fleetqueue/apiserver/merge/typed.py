"""Values walked together with their shape: the fields a value has, and the value without some."""

from typing import Any

from fleetqueue.apiserver.merge.field_sets import LEAF, SELF, FieldSet, as_member, ordered
from fleetqueue.apiserver.merge.shapes import Shape
from fleetqueue.base import codec

ABSENT: Any = object()


class TypedError(ValueError):
    """A value that does not fit its shape; the text says where and why."""


_SETTLED_MAX = 1024
SCALARS = frozenset({str, int, float, bool})


def field_set(value: dict[str, Any], shape: Shape) -> FieldSet:
    """The fields that whoever applies this value comes to own."""
    return _owned(value, shape) or LEAF


def remove_items(value: dict[str, Any], gone: FieldSet, shape: Shape) -> dict[str, Any]:
    """The value without the fields and items in `gone`; what is left empty becomes null."""
    return (_remove(value, gone, shape) or {}) if gone else value


def with_named_fields(fields: FieldSet, shape: Shape | None) -> FieldSet:
    """The set with every declared field in it that has paths below it in the set."""
    grown: FieldSet = {}
    for element, below in fields.items():
        is_field = element[0] == "f"
        is_declared = is_field and shape is not None and element[2:] in shape.declared
        if below:
            deeper = with_named_fields(below, _shape_below(shape, element))
            grown[element] = as_member(deeper) if is_declared else deeper
        else:
            grown[element] = below
    return grown


def reconciled(fields: FieldSet, shape: Shape) -> FieldSet:
    """The set after a schema change: where a list or map became a leaf, so does its ownership."""
    if shape.has_go_type:
        return fields
    # Objects of a kind are mostly owned alike, and their schema seldom changes.
    text = codec.encode(fields)
    if text in shape.settled:
        return fields
    result = _reconciled(fields, shape)
    if result is fields:
        if len(shape.settled) >= _SETTLED_MAX:
            shape.settled.clear()
        shape.settled.add(text)
    return result


def _reconciled(fields: FieldSet, shape: Shape) -> FieldSet:
    result = fields
    for element, below in fields.items():
        child = _shape_below(shape, element) if below else None
        if child is None:
            continue
        if child.is_map:
            is_leaf = child.is_atomic_map
            if child.is_deduced:
                continue
        else:
            is_leaf = not child.scalar and child.is_atomic_list
        fixed = LEAF if is_leaf else _reconciled(below, child)
        if fixed is not below:
            if result is fields:
                result = dict(fields)
            result[element] = fixed
    return result


def index_items(items: list[Any], shape: Shape) -> list[tuple[str, Any]]:
    """The items of an associative list, each with its path element."""
    element = shape.element
    position = -1
    try:
        found = []
        for position, item in enumerate(items):  # noqa: B007
            found.append((element(item), item))
        return found
    except ValueError as error:
        raise TypedError(f"element {position}: {error}") from error


def _shape_below(shape: Shape | None, element: str) -> Shape | None:
    if shape is None or element == SELF:
        return None
    if element[0] == "f":
        if not shape.is_map:
            return None
        is_known = element[2:] in shape.declared or shape.fields.takes_any
        return shape.fields[element[2:]] if is_known else None
    return shape.item if shape.is_list else None


def _owned(value: Any, shape: Shape) -> FieldSet | None:
    if isinstance(value, dict) and shape.is_map:
        return LEAF if shape.is_atomic_map else _owned_fields(value, shape)
    if isinstance(value, list) and shape.is_list:
        return LEAF if shape.is_atomic_list else _owned_items(value, shape)
    if value is None and (shape.is_map or not shape.scalar):
        return LEAF if (shape.is_atomic_map if shape.is_map else shape.is_atomic_list) else None
    return LEAF


def _owned_fields(value: dict[str, Any], shape: Shape) -> FieldSet | None:
    found: FieldSet = {}
    shapes, declared = shape.fields, shape.declared
    for name in sorted(value):
        child = value[name]
        if type(child) in SCALARS:
            found[f"f:{name}"] = LEAF
            continue
        below = _owned(child, shapes[name])
        if child is None or child == {} or name not in declared:
            below = as_member(below)
        if below is not None:
            found[f"f:{name}"] = below
    return found or None


def _owned_items(items: list[Any], shape: Shape) -> FieldSet | None:
    found: FieldSet = {}
    assert shape.item is not None
    for element, item in index_items(items, shape):
        # Of items with the same key, only the key is owned.
        found[element] = LEAF if element in found else as_member(_owned(item, shape.item))
    return ordered(found) or None


def _remove(value: Any, gone: FieldSet, shape: Shape) -> Any:
    """None where nothing is left."""
    if isinstance(value, dict) and shape.is_map:
        return _remove_fields(value, gone, shape) if not shape.is_atomic_map else None
    if isinstance(value, list) and shape.is_list:
        return _remove_from_list(value, gone, shape) if not shape.is_atomic_list else None
    return value if shape.scalar and not isinstance(value, dict | list) else None


def _remove_fields(value: dict[str, Any], gone: FieldSet, shape: Shape) -> Any:
    kept = value
    for name, child in value.items():
        below = gone.get(f"f:{name}")
        if below is None:
            continue
        is_gone = not below or SELF in below
        left = None if is_gone else _remove(child, below, shape.fields[name])
        if left is child and not is_gone:
            continue
        if kept is value:
            kept = dict(value)
        if is_gone:
            del kept[name]
        else:
            kept[name] = left
    return kept or None


def _remove_from_list(items: list[Any], gone: FieldSet, shape: Shape) -> Any:
    kept = []
    is_same = True
    assert shape.item is not None
    for element, item in index_items(items, shape):
        below = gone.get(element)
        left = item
        if below is not None:
            left = None if not below or SELF in below else _remove(item, below, shape.item)
        is_same = is_same and left is item
        if left is not None:
            kept.append(left)
    return items if is_same and items else kept or None
