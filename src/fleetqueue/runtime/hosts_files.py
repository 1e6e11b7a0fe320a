"""A hosts file that is changed where it changed: containers have it bound, so it keeps its inode,
and programs read it at any moment, so a line that stays is never moved.
"""

import os
from collections.abc import Callable, Hashable, Mapping
from pathlib import Path
from typing import TypeAlias

Write: TypeAlias = Callable[[int, bytes, int], int]
"""Writes to a descriptor at a place, as `os.pwrite`."""
_WASTE_BYTES_MIN = 16 * 1024


class HostsFile:
    """Lines by key, below a head that stays."""

    def __init__(self, path: Path, head: str, write: Write = os.pwrite) -> None:
        self.path = path
        self._write = write
        self._head = head.encode()
        self._lines: dict[Hashable, tuple[int, bytes]] = {}
        self._size = 0
        self._waste = 0
        path.parent.mkdir(parents=True, exist_ok=True)
        self._rewrite()

    def update(self, changes: Mapping[Hashable, str | None]) -> None:
        """New lines are added at the end; those that are gone become blank where they are."""
        wanted = {key: line.encode() if line else None for key, line in changes.items()}
        news = {key: line for key, line in wanted.items() if self._line(key) != line}
        if not news:
            return
        descriptor = os.open(self.path, os.O_WRONLY | os.O_CLOEXEC)
        try:
            # Added first: a name that moves to another address is known at every moment.
            gone = {key: self._lines.pop(key) for key in news if key in self._lines}
            self._append(descriptor, {key: line for key, line in news.items() if line})
            for place, line in gone.values():
                self._write(descriptor, b"#" + b" " * (len(line) - 2) + b"\n", place)
                self._waste += len(line)
        finally:
            os.close(descriptor)
        if self._waste > max(_WASTE_BYTES_MIN, self._size // 2):
            self._rewrite()

    def remove(self) -> None:
        self.path.unlink(missing_ok=True)

    def _line(self, key: Hashable) -> bytes | None:
        return self._lines[key][1] if key in self._lines else None

    def _append(self, descriptor: int, lines: Mapping[Hashable, bytes]) -> None:
        start = self._size
        for key, line in lines.items():
            self._lines[key] = (self._size, line)
            self._size += len(line)
        if lines:
            self._write(descriptor, b"".join(lines.values()), start)

    def _rewrite(self) -> None:
        """All lines close together; seldom, since a reader may then miss one."""
        lines = {key: line for key, (_, line) in self._lines.items()}
        descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            self._write(descriptor, self._head, 0)
            self._size, self._waste = len(self._head), 0
            self._append(descriptor, lines)
            os.truncate(descriptor, self._size)
        finally:
            os.close(descriptor)
