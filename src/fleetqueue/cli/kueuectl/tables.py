"""Tables as kubectl prints them: columns under headers in capitals, three blanks apart."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from fleetqueue.api.times import human_duration, parse_time

WIDTH_MIN = 6
PADDING = 3


def render(headers: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """The last column is as wide as it is; nothing for no rows but the headers."""
    shown = [[name.upper() for name in headers]]
    shown += [[_cell(value) for value in row] for row in rows]
    last = len(headers) - 1
    widths = [max(WIDTH_MIN, max(len(row[at]) for row in shown) + PADDING) for at in range(last)]
    lines = []
    for row in shown:
        padded = [text.ljust(width) for text, width in zip(row, widths, strict=False)]
        lines.append("".join([*padded, row[last]]))
    return "\n".join(lines)


def age(now: datetime, created: str | None) -> str:
    return "<unknown>" if not created else human_duration(now - parse_time(created))


def _cell(value: Any) -> str:
    """A line break would break the table; what is behind one is left out."""
    if isinstance(value, bool):
        return "true" if value else "false"
    text = "<none>" if value is None else str(value)
    first, line_break, _ = text.replace("\f", "\n").replace("\r", "\n").partition("\n")
    return f"{first}..." if line_break else first
