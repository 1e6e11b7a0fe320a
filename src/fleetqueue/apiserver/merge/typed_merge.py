"""An applied configuration laid over a live object, by the shape of the two.

What does not change is shared with the live object; an object that nothing changed is the live one
itself, so the caller can tell by identity that the merge did nothing.
"""

from collections.abc import Iterator
from typing import Any

from fleetqueue.apiserver.merge.shapes import Shape
from fleetqueue.apiserver.merge.typed import ABSENT, SCALARS, index_items
from fleetqueue.base import codec


def merge(live: Any, applied: Any, shape: Shape) -> Any:
    if isinstance(applied, dict) and shape.is_map:
        if shape.is_atomic_map or not isinstance(live, dict) or not (live or applied):
            return _either(live, applied)
        return _merge_maps(live, applied, shape)
    if isinstance(applied, list) and shape.is_list:
        if shape.is_atomic_list or not isinstance(live, list) or not (live or applied):
            return _either(live, applied)
        return _merge_lists(live, applied, shape)
    if applied is None:
        return _merge_null(live, shape)
    return _either(live, applied)


def _merge_null(live: Any, shape: Shape) -> Any:
    """Null takes nothing from a granular map or an associative list: it is one without entries."""
    if shape.is_map:
        keeps = isinstance(live, dict) and bool(live) and not shape.is_atomic_map
    elif shape.scalar:
        keeps = False
    else:
        keeps = isinstance(live, list) and bool(live) and not shape.is_atomic_list
    return live if keeps else None


def _merge_maps(live: dict[str, Any], applied: dict[str, Any], shape: Shape) -> dict[str, Any]:
    merged = live
    for name, theirs in applied.items():
        mine = live.get(name, ABSENT)
        kind = type(theirs)
        if mine is theirs or (kind in SCALARS and kind is type(mine) and mine == theirs):
            continue
        result = theirs if mine is ABSENT else merge(mine, theirs, shape.fields[name])
        if result is not mine:
            if merged is live:
                merged = dict(live)
            merged[name] = result
    return merged


def _merge_lists(live: list[Any], applied: list[Any], shape: Shape) -> list[Any]:
    """Items that only live has keep their place; the others come in the order they are applied."""
    mine, theirs = index_items(live, shape), index_items(applied, shape)
    ours: dict[str, Any] = {}
    for element, item in mine:
        # An item whose key live has twice is replaced, for there is no telling which one is meant.
        ours[element] = None if element in ours else item
    merged = list(_in_order(mine, theirs, ours, shape))
    is_same = len(merged) == len(live) and all(a is b for a, b in zip(merged, live, strict=True))
    return live if is_same else merged


def _in_order(
    mine: list[tuple[str, Any]],
    theirs: list[tuple[str, Any]],
    ours: dict[str, Any],
    shape: Shape,
) -> Iterator[Any]:
    assert shape.item is not None
    applied = dict(theirs)
    shared = iter([element for element, _ in theirs if element in ours])
    next_shared = next(shared, None)
    done: set[str] = set()
    left = right = 0
    while left < len(mine) or right < len(theirs):
        if left < len(mine):
            element, item = mine[left]
            is_pair = right < len(theirs) and theirs[right][0] == element
            if not is_pair:
                if element not in applied:
                    left += 1
                    yield item
                    continue
                waits = right < len(theirs) and next_shared is not None
                if waits and next_shared != element:
                    left += 1
                    continue
                if element in done:
                    left += 1
            else:
                left += 1
        if right < len(theirs):
            element, item = theirs[right]
            right += 1
            done.add(element)
            if element == next_shared:
                next_shared = next(shared, None)
            yield merge(ours[element], item, shape.item) if element in ours else item


def _either(live: Any, applied: Any) -> Any:
    """The applied value; the live one where they do not differ, so that it is shared."""
    return live if same(live, applied) else applied


def same(one: Any, other: Any) -> bool:
    """Equal as JSON is: unlike in Python, true is not 1."""
    if one is other:
        return True
    if one != other or isinstance(one, bool) is not isinstance(other, bool):
        return False
    if not isinstance(one, dict | list):
        return True
    return codec.encode(one) == codec.encode(other) or _same_inside(one, other)


def _same_inside(one: Any, other: Any) -> bool:
    if isinstance(one, dict):
        return all(same(one[key], other[key]) for key in one)
    return all(same(a, b) for a, b in zip(one, other, strict=True))
