"""What a table of a kind consists of: columns, each with the function that fills its cells."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

Object = dict[str, Any]
Cell = Callable[[Object, datetime], Any]
"""(object, now) -> what the cell shows: text, a whole number or a truth value."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column; those of a priority above 0 are shown in wide output only."""

    name: str
    cell: Cell
    type: str = "string"
    format: str = ""
    priority: int = 0
    description: str = ""

    def definition(self) -> Object:
        return {
            "name": self.name,
            "type": self.type,
            "format": self.format,
            "description": self.description or f"{self.name} of the object",
            "priority": self.priority,
        }


@dataclass(frozen=True, slots=True)
class Layout:
    """How objects of a kind are printed."""

    columns: tuple[Column, ...]
    api_version: str = ""
    """The version the cells read, where versions of the kind differ."""
    conditions: Callable[[Object], list[Object]] | None = None
    """Of a row, so that clients can leave out what is over."""
    order: Callable[[Object], Any] | None = None
    """A key to sort lists by; None keeps them as they are stored."""
    repeats_header: bool = False
    """Every watch event carries the columns, not the first one alone."""
    hidden: tuple[Cell, ...] = ()
    """Cells that follow the others and have no column."""

    def definitions(self) -> list[Object]:
        return [column.definition() for column in self.columns]

    def cells(self, obj: Object, now: datetime) -> list[Any]:
        shown = [column.cell(obj, now) for column in self.columns]
        return shown + [cell(obj, now) for cell in self.hidden]
