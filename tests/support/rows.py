"""One object in, the cells of its row out."""

from datetime import UTC, datetime
from typing import Any

from fleetqueue.apiserver.printing import tables

NOW = datetime(2026, 1, 1, 12, 0, 0, tzinfo=UTC)
AN_HOUR_AGO = "2026-01-01T11:00:00Z"


def cells(group: str, kind: str, obj: dict[str, Any]) -> dict[str, Any]:
    """Column name -> what the cell shows, for an object named `a` that is an hour old."""
    metadata = {"name": "a", "creationTimestamp": AN_HOUR_AGO, **obj.get("metadata", {})}
    layout = tables.layouts()[group, kind]
    shown = layout.cells({**obj, "metadata": metadata}, NOW)
    return dict(zip([column.name for column in layout.columns], shown, strict=False))
