"""Counts that users give as a number or a percentage, and status fields that are not sent."""

from collections.abc import Iterable

from fleetqueue.kube.resources import Object


def scaled(amount: int | str | None, total: int, *, up: bool) -> int:
    """`3` is three; `"25%"` is that much of the total, rounded up or down."""
    if amount is None:
        return 0
    if isinstance(amount, int):
        return amount
    percent = int(amount.rstrip("%"))
    return -(-percent * total // 100) if up else percent * total // 100


def told(status: Object, *always: str) -> Object:
    """The fields that say something, as they are on the wire; `always` are sent even when zero."""
    return {
        key: value
        for key, value in status.items()
        if key in always or not (value is None or value == 0 or value in ("", [], {}))
    }


def total(objects: Iterable[Object], *path: str) -> int:
    """The sum of a number in each of the objects; what is missing is zero."""
    return sum(number(each, *path) for each in objects)


def number(obj: Object, *path: str) -> int:
    found: object = obj
    for name in path:
        found = found.get(name) if isinstance(found, dict) else None
    return found if isinstance(found, int) else 0


def rest_seconds(count: int, per_second: int = 5000, free: int = 100) -> float:
    """How long a parent of so many children rests after a look; a small one not at all."""
    return count / per_second if count > free else 0.0
