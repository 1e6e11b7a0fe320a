"""How two values of one shape differ: the fields that came, that changed and that went."""

from collections.abc import Callable
from typing import Any, NamedTuple

from fleetqueue.apiserver.merge.field_sets import LEAF, SELF, FieldSet, ordered, union
from fleetqueue.apiserver.merge.shapes import Shape
from fleetqueue.apiserver.merge.typed import ABSENT, SCALARS, index_items


class Comparison(NamedTuple):
    """What became of the fields of one value on the way to another."""

    added: FieldSet
    modified: FieldSet
    removed: FieldSet


_SAME = Comparison(LEAF, LEAF, LEAF)
# Below the root a part is None where nothing happened, and LEAF where the value itself changed.
_Parts = tuple[FieldSet | None, FieldSet | None, FieldSet | None]
_REPLACED: _Parts = (None, LEAF, None)


def compare(before: dict[str, Any], after: dict[str, Any], shape: Shape) -> Comparison:
    if before is after:
        return _SAME
    added, modified, removed = _compare_maps(before, after, shape)
    return Comparison(added or LEAF, modified or LEAF, removed or LEAF)


def _whole(value: Any, shape: Shape) -> FieldSet:
    """All that comes, or goes, with a value that the other side has not."""
    if value.__class__ is dict:
        if not value or shape.is_atomic_map or not shape.is_map:
            return LEAF
        shapes = shape.fields
        whole: FieldSet = {SELF: LEAF}
        for name in sorted(value) if len(value) > 1 else value:
            child = value[name]
            is_leaf = child.__class__ in SCALARS
            whole[f"f:{name}"] = LEAF if is_leaf else _whole(child, shapes[name])
        return whole
    if isinstance(value, list) and value and shape.is_list and not shape.is_atomic_list:
        assert shape.item is not None
        found: FieldSet = {}
        for element, item in index_items(value, shape):
            found[element] = LEAF if element in found else _whole(item, shape.item)
        return {SELF: LEAF, **ordered(found)}
    return LEAF


def _compare(before: Any, after: Any, shape: Shape) -> _Parts:
    """Both are there, and they are not equal."""
    if isinstance(before, dict) and isinstance(after, dict) and shape.is_map:
        return _REPLACED if shape.is_atomic_map else _compare_maps(before, after, shape)
    if isinstance(before, list) and isinstance(after, list) and shape.is_list:
        return _REPLACED if shape.is_atomic_list else _compare_lists(before, after, shape)
    if isinstance(before, dict | list | None) or isinstance(after, dict | list | None):
        return _compare_unlike(before, after, shape)
    return _REPLACED


def _compare_maps(before: dict[str, Any], after: dict[str, Any], shape: Shape) -> _Parts:
    added: FieldSet = {}
    modified: FieldSet = {}
    removed: FieldSet = {}
    for name, old, new in _unequal(before, after, shape):
        element = f"f:{name}"
        if old is ABSENT:
            added[element] = _whole(new, shape.fields[name])
        elif new is ABSENT:
            removed[element] = _whole(old, shape.fields[name])
        else:
            more, other, less = _compare(old, new, shape.fields[name])
            if more is not None:
                added[element] = more
            if other is not None:
                modified[element] = other
            if less is not None:
                removed[element] = less
    return ordered(added) or None, ordered(modified) or None, ordered(removed) or None


def _unequal(
    before: dict[str, Any], after: dict[str, Any], shape: Shape
) -> list[tuple[str, Any, Any]]:
    """The fields that differ, each with what it was and is."""
    found: list[tuple[str, Any, Any]] = []
    kept = 0
    for name, new in after.items():
        old = before.get(name, ABSENT)
        if old is not ABSENT:
            kept += 1
        elif shape.has_go_type:
            old = _stands_for_absent(name, new, shape.standing)
        if old is not new and old != new:
            found.append((name, old, new))
    if kept != len(before):
        for name, old in before.items():
            if name not in after:
                new = _stands_for_absent(name, old, shape.standing) if shape.has_go_type else ABSENT
                if old != new:
                    found.append((name, old, new))
    return found


def _stands_for_absent(name: str, other: Any, standing: dict[str, Any]) -> Any:
    """In Go an absent field is null, or has the zero of its type if it is always written out."""
    if other is None:
        return None
    zero = standing.get(name, ABSENT)
    if zero is None or isinstance(zero, dict):
        return zero if isinstance(other, dict | list) else ABSENT
    return zero


def _compare_lists(before: list[Any], after: list[Any], shape: Shape) -> _Parts:
    added: FieldSet = {}
    modified: FieldSet = {}
    removed: FieldSet = {}
    olds, news = _grouped(before, shape), _grouped(after, shape)
    for element in olds | news:
        old, new = olds.get(element, ()), news.get(element, ())
        if old == new:
            continue
        more, other, less = _compare_groups(old, new, shape)
        if more is not None:
            added[element] = more
        if other is not None:
            modified[element] = other
        if less is not None:
            removed[element] = less
    return ordered(added) or None, ordered(modified) or None, ordered(removed) or None


_Group = tuple[Any, ...]


def _grouped(items: list[Any], shape: Shape) -> dict[str, _Group]:
    groups: dict[str, _Group] = {}
    for element, item in index_items(items, shape):
        groups[element] = (*groups.get(element, ()), item)
    return groups


def _compare_groups(old: _Group, new: _Group, shape: Shape) -> _Parts:
    """The items with one key on each side; several with the same key are owned as one."""
    assert shape.item is not None
    if len(old) > 1 and len(new) > 1:
        return _REPLACED
    if len(old) > 1:
        return (_whole(new[0], shape.item) if new else None), None, LEAF
    if len(new) > 1:
        return LEAF, None, (_whole(old[0], shape.item) if old else None)
    if old and new:
        return _compare(old[0], new[0], shape.item)
    return (
        (_whole(new[0], shape.item), None, None)
        if new
        else (None, None, _whole(old[0], shape.item))
    )


def _compare_unlike(before: Any, after: Any, shape: Shape) -> _Parts:
    """Values of different types, or null on one side: each type that is there has its say."""
    parts: _Parts = (None, None, None)
    for part in dict.fromkeys((_taken_as(before, shape), _taken_as(after, shape))):
        step = part(before, after, shape)
        parts = (_both(parts[0], step[0]), _both(parts[1], step[1]), _both(parts[2], step[2]))
    return parts


def _taken_as(value: Any, shape: Shape) -> Callable[[Any, Any, Shape], _Parts]:
    if isinstance(value, dict) and shape.is_map:
        return _as_maps
    if isinstance(value, list) and shape.is_list:
        return _as_lists
    if value is not None and not isinstance(value, dict | list) and shape.scalar:
        return _as_scalars
    if shape.is_map:
        return _as_maps
    return _as_scalars if shape.scalar or not shape.is_list else _as_lists


def _as_maps(before: Any, after: Any, shape: Shape) -> _Parts:
    old = before if isinstance(before, dict) else {}
    new = after if isinstance(after, dict) else {}
    if shape.is_atomic_map or not (old or new):
        return _REPLACED
    return _compare_maps(old, new, shape)


def _as_lists(before: Any, after: Any, shape: Shape) -> _Parts:
    old = before if isinstance(before, list) else []
    new = after if isinstance(after, list) else []
    if shape.is_atomic_list or not (old or new):
        return _REPLACED
    return _compare_lists(old, new, shape)


def _as_scalars(_before: Any, _after: Any, _shape: Shape) -> _Parts:
    return _REPLACED


def _both(one: FieldSet | None, other: FieldSet | None) -> FieldSet | None:
    if one is None or other is None:
        return other if one is None else one
    joined = union({"f:": one}, {"f:": other})
    return joined["f:"]
