"""Conditions as plain JSON: found, compared, and put in their place; the transition time moves only
when the status does.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from fleetqueue.api.times import format_time

Json = dict[str, Any]
TRUE, FALSE, UNKNOWN = "True", "False", "Unknown"


def find(conditions: Iterable[Json] | None, type: str) -> Json | None:
    return next((each for each in conditions or () if each.get("type") == type), None)


def status_of(conditions: Iterable[Json] | None, type: str) -> str:
    """ "" where there is no such condition."""
    found = find(conditions, type)
    return "" if found is None else str(found.get("status") or "")


def make(
    type: str, status: str, reason: str, message: str, *, generation: int, now: datetime
) -> Json:
    return {
        "type": type,
        "status": status,
        "reason": reason,
        "message": message,
        "observedGeneration": generation,
        "lastTransitionTime": format_time(now),
    }


def settled(conditions: Iterable[Json] | None, new: Json) -> Json:
    """The new condition, with the time of the old one where the status is the same."""
    old = find(conditions, new["type"])
    if old is None or old.get("status") != new["status"]:
        return new
    return {**new, "lastTransitionTime": old.get("lastTransitionTime")}


def put(conditions: Sequence[Json] | None, new: Json) -> list[Json]:
    """The conditions with this one in place of its like, or at the end; the others untouched."""
    old = find(conditions, new["type"])
    if old is None:
        return [*(conditions or ()), new]
    new = settled(conditions, new)
    return [new if each is old else each for each in conditions or ()]


def without(conditions: Sequence[Json] | None, *types: str) -> list[Json]:
    return [each for each in conditions or () if each.get("type") not in types]


def says_same(one: Json | None, other: Json | None) -> bool:
    """Whether they differ in their times at most."""
    if one is None or other is None:
        return one is other
    names = ("status", "reason", "message", "observedGeneration")
    return all(one.get(name) == other.get(name) for name in names)
