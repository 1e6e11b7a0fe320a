"""The cells that many kinds share: names, ages, counts, containers, selectors."""

import re
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any

from fleetqueue.api import selectors, times
from fleetqueue.apiserver.printing.layout import Cell, Column, Object

_WHOLE_SECOND = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", re.ASCII)
NONE, UNSET, UNKNOWN = "<none>", "<unset>", "<unknown>"


def name_of(obj: Object, _: datetime) -> str:
    return str((obj.get("metadata") or {}).get("name") or "")


def age_of(obj: Object, now: datetime) -> str:
    return since((obj.get("metadata") or {}).get("creationTimestamp"), now)


def since(moment: Any, now: datetime) -> str:
    """How long ago, as people say it."""
    if not moment:
        return UNKNOWN
    return times.human_duration(now - _read(moment))


def _read(moment: str) -> datetime:
    # Almost every time is a whole second in UTC; the parser for these is many times faster.
    if _WHOLE_SECOND.fullmatch(moment):
        try:
            return datetime.fromisoformat(moment)
        except ValueError:
            pass
    return times.parse_time(moment)


def seconds(count: int) -> str:
    return times.human_duration(timedelta(seconds=count))


def dig(obj: Any, *path: str) -> Any:
    """The value at a path of keys; None where one is missing."""
    for key in path:
        if not isinstance(obj, dict):
            return None
        obj = obj.get(key)
    return obj


def at(*path: str, default: Any = "") -> Cell:
    """A cell that shows the value at a path, or `default` where there is none."""

    def cell(obj: Object, _: datetime) -> Any:
        value = dig(obj, *path)
        return default if value is None else value

    return cell


def text_at(*path: str, default: str) -> Cell:
    """The same where an empty text counts as missing."""
    return lambda obj, _: dig(obj, *path) or default


def count_at(*path: str) -> Cell:
    return lambda obj, _: len(dig(obj, *path) or ())


def age_at(*path: str, default: str) -> Cell:
    def cell(obj: Object, now: datetime) -> str:
        moment = dig(obj, *path)
        return since(moment, now) if moment else default

    return cell


def labels_at(*path: str) -> Cell:
    return lambda obj, _: labels(dig(obj, *path))


def selector_at(*path: str) -> Cell:
    return lambda obj, _: selector(dig(obj, *path))


def labels(found: Mapping[str, str] | None) -> str:
    return ",".join(f"{key}={value}" for key, value in sorted((found or {}).items())) or NONE


def selector(found: Mapping[str, Any] | None) -> str:
    try:
        return str(selectors.labels_from_object(found)) or NONE
    except selectors.SelectorError:
        return "<error>"


def containers_at(*path: str) -> tuple[Column, Column]:
    """The two wide columns of everything that has a pod template; `path` leads to its pod spec."""
    return (
        Column("Containers", _joined(path, "name"), priority=1),
        Column("Images", _joined(path, "image"), priority=1),
    )


def _joined(path: tuple[str, ...], key: str) -> Cell:
    return lambda obj, _: ",".join(
        container.get(key) or "" for container in dig(obj, *path, "containers") or ()
    )


def first_few(items: Iterable[str], most: int = 3) -> str:
    """The first few and how many more there are."""
    found = list(items)
    shown = ",".join(found[:most])
    if len(found) > most:
        return f"{shown} + {len(found) - most} more..."
    return shown


def truth(value: bool | None) -> str:
    return UNSET if value is None else str(value)


def has_condition(obj: Object, kind: str) -> bool:
    """Whether the first condition of that type is true."""
    return condition(obj, kind).get("status") == "True"


def condition(obj: Object, kind: str) -> Object:
    for found in dig(obj, "status", "conditions") or ():
        if found.get("type") == kind:
            return dict(found)
    return {}


def only(cell: Callable[[Object], Any]) -> Cell:
    """A cell that does not depend on the time."""
    return lambda obj, _: cell(obj)


NAME = Column("Name", name_of, format="name", description="The name, unique among its kind")
AGE = Column("Age", age_of, description="How long ago the object was created")
