"""How strategic merge patch merges two lists, and in which order the result comes."""

from collections.abc import Callable
from typing import Any

from fleetqueue.apiserver.merge import go_text
from fleetqueue.apiserver.merge.strategic_problems import (
    bad_argument,
    bad_patch_type,
    list_of_lists,
    no_merge_key,
    refused,
)

DIRECTIVE = "$patch"

Item = Any


def merge(
    mine: list[Item], theirs: list[Item], key: str, merge_items: Callable[[Item, Item], Item]
) -> list[Item]:
    """Items of maps are merged by `key`, others are added if they are new."""
    if not mine and not theirs:
        return mine
    check_alike(mine, theirs)
    if not isinstance((mine or theirs)[0], dict):
        return arranged(_unique([*mine, *theirs]), theirs, mine, "")
    if not key:
        raise refused("cannot merge lists without merge key for struct")
    mine, theirs = _directed(mine, theirs, key)
    merged = list(mine)
    for item in theirs:
        value = _key_of(item, key)
        position = _find(merged, key, value)
        if position is None:
            merged.append(item)
        else:
            merged[position] = merge_items(merged[position], item)
    return arranged(merged, theirs, mine, key)


def arranged(merged: list[Item], order: list[Item], mine: list[Item], key: str) -> list[Item]:
    """Items named in `order` come so; the others keep their place between them as best they can."""
    named, others = _partition(merged, order, key)
    if key:
        _check_keys(key, named, order, others, mine)
    place = _places(mine, key)
    return _zip(_sort(others, mine, key), _sort(named, order, key), place, key)


def order_left(mine: list[Item], theirs: list[Item], key: str) -> list[Item]:
    """The order in which upstream finds the live list after it has merged into it, in place.

    What follows a deleted item has moved up, and new items have filled the places freed at the end.
    """
    left = list(mine)
    length = len(mine)
    for item in theirs:
        if _directive(item) == "delete":
            while (position := _find(left[:length], key, item[key])) is not None:
                left[position : length - 1] = left[position + 1 : length]
                length -= 1
    for item in theirs:
        if _directive(item) is None and _find(left[:length], key, item[key]) is None:
            if length == len(left):
                break
            left[length] = item
            length += 1
    return left


def check_alike(*lists: list[Item]) -> None:
    """All items have one type, and there is at least one."""
    kinds: dict[str, None] = {}
    for item in (item for items in lists for item in items):
        if isinstance(item, list):
            raise list_of_lists()
        kinds[go_text.type_name(item)] = None
    if not kinds:
        raise refused("no elements in any of the given slices")
    if len(kinds) > 1:
        shown = go_text.plain(list(lists))
        raise refused(f"list element types are not identical: {shown}")


def check_order(theirs: list[Item], order: list[Item], key: str) -> None:
    """The patch names its items in the order that it asks for; those it deletes do not count."""
    if not theirs or not order:
        return
    named = [item for item in theirs if not key or _directive(item) != "delete"]
    at = position = 0
    while at < len(named) and position < len(order):
        if _directive(named[at]) is not None:
            at += 1
            continue
        at += _is_same(named[at], order[position], key)
        position += 1
    if at < len(named) and position >= len(order):
        raise refused(
            f"The order in patch list:\n{go_text.plain(theirs)}\n"
            f" doesn't match $setElementOrder list:\n{go_text.plain(order)}\n"
        )


def _directive(item: Item) -> Any:
    return item.get(DIRECTIVE) if isinstance(item, dict) else None


def contains(items: list[Item], wanted: Item) -> bool:
    return any(_equal(item, wanted) for item in items)


def _directed(mine: list[Item], theirs: list[Item], key: str) -> tuple[list[Item], list[Item]]:
    """(what is there, what is to be merged into it) once `$patch` in items has been followed"""
    plain = []
    is_replaced = False
    for item in theirs:
        if DIRECTIVE not in item:
            plain.append(item)
            continue
        directive = item[DIRECTIVE]
        if directive == "delete":
            value = _key_of(item, key)
            mine = [one for one in mine if key not in one or not _equal(one[key], value)]
        elif directive == "replace":
            is_replaced = True
        elif directive == "merge":
            raise refused("merging lists cannot yet be specified in the patch")
        else:
            raise bad_patch_type(directive, item)
    return (plain, []) if is_replaced else (mine, plain)


def _partition(merged: list[Item], order: list[Item], key: str) -> tuple[list[Item], list[Item]]:
    named: list[Item] = []
    others: list[Item] = []
    for item in merged:
        if key:
            is_named = _find(order, key, _key_of(item, key)) is not None
        else:
            is_named = contains(order, item)
        (named if is_named else others).append(item)
    return named, others


def _sort(items: list[Item], order: list[Item], key: str) -> list[Item]:
    """Stable; an item that `order` does not know goes before those already placed."""
    place = _places(order, key)
    placed: list[Item] = []
    for item in items:
        position = len(placed)
        while position > 0 and _goes_before(item, placed[position - 1], place, key):
            position -= 1
        placed.insert(position, item)
    return placed


def _goes_before(one: Item, other: Item, place: list[Item], key: str) -> bool:
    mine, theirs = _index(place, one, key), _index(place, other, key)
    return mine < theirs if mine >= 0 and theirs >= 0 else True


def _zip(left: list[Item], right: list[Item], place: list[Item], key: str) -> list[Item]:
    """`right` in its order, and before each of its items those of `left` that stood before it."""
    result: list[Item] = []
    i = j = 0
    while i < len(left) and j < len(right):
        mine, theirs = _index(place, left[i], key), _index(place, right[j], key)
        if 0 <= mine < theirs:
            result.append(left[i])
            i += 1
        else:
            result.append(right[j])
            j += 1
    return [*result, *left[i:], *right[j:]]


def _places(items: list[Item], key: str) -> list[Item]:
    return [item.get(key) if key and isinstance(item, dict) else item for item in items]


def _index(place: list[Item], item: Item, key: str) -> int:
    wanted = item.get(key) if key and isinstance(item, dict) else item
    return next((i for i, value in enumerate(place) if _equal(value, wanted)), -1)


def _unique(items: list[Item]) -> list[Item]:
    found: list[Item] = []
    for item in items:
        if not contains(found, item):
            found.append(item)
    return found


def _find(items: list[Item], key: str, value: Any) -> int | None:
    for position, item in enumerate(items):
        if not isinstance(item, dict):
            raise refused(f"value for key {position} is not a map")
        if key in item and _equal(item[key], value):
            return position
    return None


def _is_same(one: Item, other: Item, key: str) -> bool:
    if not key:
        return _equal(one, other)
    for item in (one, other):
        if not isinstance(item, dict):
            raise bad_argument({}, item)
    return _equal(_key_of(one, key), _key_of(other, key))


def _key_of(item: Item, key: str) -> Any:
    if key not in item:
        raise no_merge_key(item, key)
    return item[key]


def _check_keys(key: str, *lists: list[Item]) -> None:
    for item in (item for items in lists for item in items):
        if not isinstance(item, dict):
            raise bad_argument({}, item)
        _key_of(item, key)


def _equal(one: Any, other: Any) -> bool:
    """As Go compares interfaces: true is not 1."""
    return isinstance(one, bool) is isinstance(other, bool) and bool(one == other)
