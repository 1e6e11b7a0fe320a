"""The patch that brings a live object to its manifest: from what was applied last, what is to be
applied now, and what is there. Nothing that neither of the first two mentions is touched.
"""

from collections.abc import Sequence
from typing import Any

from fleetqueue.fleet.decide.delivery.merge_keys import NOWHERE, Place

Json = dict[str, Any]

DIRECTIVE = "$patch"
RETAIN = "$retainKeys"
SET_ORDER = "$setElementOrder/"
DELETE_FROM = "$deleteFromPrimitiveList/"
_ABSENT = object()


def merge_patch(before: Json, wanted: Json, live: Json) -> Json:
    """A JSON merge patch, for kinds of which no merge keys are known; empty if nothing is to do."""
    return _map_patch(before, wanted, live, NOWHERE)


def strategic_patch(before: Json, wanted: Json, live: Json, place: Place) -> Json:
    """A strategic merge patch, for built-in kinds."""
    return _map_patch(before, wanted, live, place)


def _map_patch(before: Json, wanted: Json, live: Json, place: Place) -> Json:
    patch: Json = {}
    for key, value in wanted.items():
        patch |= _field_patch(key, before.get(key), value, live.get(key, _ABSENT), place)
    for key in before:
        if key not in wanted and live.get(key) is not None:
            patch[key] = None
    return patch


def _field_patch(key: str, before: Any, wanted: Any, live: Any, place: Place) -> Json:
    below = place.below(key)
    if isinstance(wanted, dict) and isinstance(live, dict):
        return _object_field(key, before, wanted, live, below)
    if isinstance(wanted, list) and isinstance(live, list):
        return _list_field(key, before, wanted, live, below)
    if live is _ABSENT or live is None:
        return {} if wanted is None else {key: wanted}
    return {} if _equal(wanted, live) else {key: wanted}


def _object_field(key: str, before: Any, wanted: Json, live: Json, below: Place) -> Json:
    if below.is_replaced:
        return {} if _equal(wanted, live) else {key: {DIRECTIVE: "replace", **wanted}}
    found = _map_patch(before if isinstance(before, dict) else {}, wanted, live, below)
    if found and below.retains_keys:
        found[RETAIN] = sorted(wanted)
    return {key: found} if found else {}


def _list_field(key: str, before: Any, wanted: list[Any], live: list[Any], below: Place) -> Json:
    if not below.merges:
        return {} if _equal(wanted, live) else {key: wanted}
    was = before if isinstance(before, list) else []
    if not below.merge_key:
        return _values_patch(key, was, wanted, live)
    if not _has_keys(below.merge_key, was, wanted, live):
        return {} if _holds(live, wanted) else {key: [*wanted, {DIRECTIVE: "replace"}]}
    return _items_patch(key, was, wanted, live, below)


def _values_patch(key: str, before: list[Any], wanted: list[Any], live: list[Any]) -> Json:
    """A list of plain values that counts as a set."""
    patch: Json = {}
    added = [each for each in wanted if each not in live]
    removed = [each for each in before if each not in wanted and each in live]
    if removed:
        patch[f"{DELETE_FROM}{key}"] = removed
    if added:
        patch[key] = added
    if patch:
        patch[f"{SET_ORDER}{key}"] = wanted
    return patch


def _items_patch(
    key: str, before: list[Json], wanted: list[Json], live: list[Json], below: Place
) -> Json:
    name = below.merge_key
    was, present = _by_key(before, name), _by_key(live, name)
    named = {item[name] for item in wanted}
    changes: list[Json] = []
    for item in wanted:
        changes += _item_changes(was.get(item[name]) or {}, item, present.get(item[name]), below)
    changes += [
        {DIRECTIVE: "delete", name: gone} for gone in was if gone not in named and gone in present
    ]
    order = [item[name] for item in wanted]
    if not changes and [each for each in present if each in named] == order:
        return {}
    patch: Json = {f"{SET_ORDER}{key}": [{name: each} for each in order]}
    if changes:
        patch[key] = changes
    return patch


def _item_changes(before: Json, wanted: Json, live: Json | None, below: Place) -> list[Json]:
    if live is None:
        return [wanted]
    found = _map_patch(before, wanted, live, Place(below.definition))
    if not found:
        return []
    if below.retains_keys:
        found[RETAIN] = sorted(wanted)
    return [{**found, below.merge_key: wanted[below.merge_key]}]


def _has_keys(name: str, *lists: Sequence[Any]) -> bool:
    """Whether every item can be told from the others of its list by that key."""
    for items in lists:
        keys = [item.get(name) if isinstance(item, dict) else None for item in items]
        if None in keys or len(set(map(str, keys))) < len(keys):
            return False
    return True


def _holds(live: Any, wanted: Any) -> bool:
    """Whether everything wanted is there, whatever else may be."""
    if isinstance(wanted, dict) and isinstance(live, dict):
        return all(_holds(live.get(key, _ABSENT), value) for key, value in wanted.items())
    if isinstance(wanted, list) and isinstance(live, list):
        pairs = zip(live, wanted, strict=False)
        return len(live) == len(wanted) and all(_holds(mine, theirs) for mine, theirs in pairs)
    return _equal(live, wanted)


def _by_key(items: Sequence[Json], name: str) -> dict[Any, Json]:
    return {item[name]: item for item in items}


def _equal(one: Any, other: Any) -> bool:
    """As JSON has it: true is not 1, at any depth."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_equal(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_equal, one, other))
    return isinstance(one, bool) is isinstance(other, bool) and bool(one == other)
