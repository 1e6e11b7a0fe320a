"""Tables of custom resources: the name, then the columns that the CRD declares."""

import json
import re
from collections.abc import Iterable
from datetime import datetime
from typing import Any

from fleetqueue.api import times
from fleetqueue.apiserver.printing import cells
from fleetqueue.apiserver.printing.layout import Cell, Column, Layout, Object
from fleetqueue.apiserver.registry import Column as Declared
from fleetqueue.base import jsonpath

CREATED = ".metadata.creationTimestamp"
AGE = Declared("Age", "date", CREATED, description=cells.AGE.description)
SCALE = (
    Declared("Desired", "integer", ".spec.replicas"),
    Declared("Available", "integer", ".status.replicas"),
    AGE,
)


def layout(declared: Iterable[Declared]) -> Layout:
    """The columns of a CRD version; with none, or with a bad path, only the age is shown."""
    try:
        columns = tuple(_column(column) for column in tuple(declared) or (AGE,))
    except jsonpath.JsonPathError:
        columns = (_column(AGE),)
    return Layout((cells.NAME, *columns))


def _column(declared: Declared) -> Column:
    return Column(
        declared.name,
        _cell(declared),
        declared.type,
        declared.format,
        declared.priority,
        declared.description or f"What is at {declared.json_path}",
    )


def _cell(declared: Declared) -> Cell:
    path = jsonpath.parse(declared.json_path)

    def cell(obj: Object, now: datetime) -> Any:
        try:
            found = path.find(obj)
        except jsonpath.JsonPathError:
            return None
        if not found:
            return None
        return (
            _text(found[0]) if declared.type == "string" else _typed(declared.type, found[0], now)
        )

    return cell


def _text(value: Any) -> str:
    if value is None:
        return "<no value>"
    if isinstance(value, dict | list):
        return go_json(value)
    return jsonpath.show(value)


def go_json(value: Any) -> str:
    """As Go encodes it: keys sorted, and what HTML could mistake escaped."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return re.sub("[<>&\u2028\u2029]", lambda found: f"\\u{ord(found[0]):04x}", text)


def _typed(kind: str, value: Any, now: datetime) -> Any:
    """The value where it is of its column's type, else nothing."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if kind == "integer" and is_number:
        return int(value)
    if kind == "number" and is_number:
        return value
    if kind == "boolean" and isinstance(value, bool):
        return value
    if kind == "date" and isinstance(value, str):
        return _date(value, now)
    return None


def _date(value: str, now: datetime) -> str:
    # "null" is how an absent time reads as a query parameter, whose parser upstream uses here.
    if value in ("", "null"):
        return cells.UNKNOWN
    try:
        return cells.since(value, now)
    except times.TimeError:
        return "<invalid>"
