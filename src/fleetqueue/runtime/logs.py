"""Logs of containers: files of lines with their time and stream, read as `kubectl logs` asks."""

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from fleetqueue.api import times

ROTATED_MAX = 5


@dataclass(frozen=True, slots=True)
class LogOptions:
    """Which lines, and how they are shown."""

    since: datetime | None = None
    tail_lines: int | None = None
    limit_bytes: int | None = None
    timestamps: bool = False
    stream: str = "All"
    """All, Stdout or Stderr."""


def files(path: Path) -> list[Path]:
    """A log with the files that were rotated away, the oldest first."""
    rotated = [path.with_name(f"{path.name}.{number}") for number in range(ROTATED_MAX, 0, -1)]
    return [each for each in (*rotated, path) if each.is_file()]


def lines(path: Path) -> Iterator[bytes]:
    for each in files(path):
        with each.open("rb") as file:
            yield from file


class View:
    """Turns stored lines into the text that somebody asked for, one after the other."""

    def __init__(self, options: LogOptions) -> None:
        self._options = options
        self._since = b"" if options.since is None else _stamp(options.since)
        self._stream = b"" if options.stream == "All" else options.stream.lower().encode()
        self._left = options.limit_bytes
        self._is_line_begun = False

    @property
    def is_full(self) -> bool:
        """Whether no more text may follow."""
        return self._left is not None and self._left <= 0

    def text(self, line: bytes) -> bytes:
        """Of one stored line; nothing where it was not asked for."""
        moment, _, rest = line.partition(b" ")
        if moment < self._since or not rest.startswith(self._stream):
            return b""
        # The pieces of a long line have a time each, and only the first one shows it.
        timestamps = self._options.timestamps and not self._is_line_begun
        text = text_of(line, timestamps=timestamps)
        self._is_line_begun = bool(text) and not text.endswith(b"\n")
        if self._left is not None:
            text = text[: max(self._left, 0)]
            self._left -= len(text)
        return text


def text_of(line: bytes, *, timestamps: bool = False) -> bytes:
    """What the container wrote: a partial line has no end yet."""
    moment, _, rest = line.partition(b" ")
    _, _, rest = rest.partition(b" ")
    tag, _, text = rest.partition(b" ")
    if tag == b"P":
        text = text.removesuffix(b"\n")
    return moment + b" " + text if timestamps else text


def tail(path: Path, lines_max: int, bytes_max: int) -> str:
    """The end of a log, for a message."""
    text = b"".join(text_of(line) for line in _last(lines(path), lines_max))
    return text[-bytes_max:].decode(errors="replace")


def _stamp(moment: datetime) -> bytes:
    """As the lines of a log begin: such texts compare as the times do."""
    return f"{times.format_micro_time(moment)[:-1]}000Z".encode()


def _last(stored: Iterable[bytes], count: int) -> Iterable[bytes]:
    """Whole lines are counted: the parts of one long line are one."""
    kept: deque[list[bytes]] = deque(maxlen=max(count, 0))
    parts: list[bytes] = []
    for line in stored:
        parts.append(line)
        if line.split(b" ", 3)[2:3] != [b"P"]:
            kept.append(parts)
            parts = []
    if parts:
        kept.append(parts)
    return [line for whole in kept for line in whole]
