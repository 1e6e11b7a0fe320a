"""Reads a container's log while it grows and rotates: whole lines, from its start or tail."""

import os
from pathlib import Path
from typing import BinaryIO

from fleetqueue.runtime import logs


class Cursor:
    """A place in a log. Nobody waits here: a read gives what there is."""

    def __init__(self, path: Path, tail_lines: int | None = None) -> None:
        self._path = path
        self._file: BinaryIO | None = None
        if tail_lines is not None:
            self._file = _open_tail(path, tail_lines)

    def read(self, lines_max: int) -> list[bytes]:
        """The next lines; none: there are no more for now."""
        found: list[bytes] = []
        while len(found) < lines_max:
            line = self._next_line()
            if line:
                found.append(line)
            elif not self._advance():
                break
        return found

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def _next_line(self) -> bytes:
        if self._file is None:
            return b""
        line = self._file.readline()
        if line.endswith(b"\n"):
            return line
        # Somebody is writing it at this moment.
        self._file.seek(-len(line), os.SEEK_CUR)
        return b""

    def _advance(self) -> bool:
        """Go on with the file that was begun after this one; False: there is none yet."""
        following = self._following()
        if following is None:
            return False
        if self._file is not None:
            rest = self._next_line()
            if rest:
                # It came between the last look at the file and its rotation.
                self._file.seek(-len(rest), os.SEEK_CUR)
                return True
        try:
            file = following.open("rb")
        except FileNotFoundError:
            return False
        self.close()
        self._file = file
        return True

    def _following(self) -> Path | None:
        """Rotation renames files, so they are told apart by what they are."""
        known = logs.files(self._path)
        if self._file is None:
            return known[0] if known else None
        here = os.fstat(self._file.fileno())
        for number, path in enumerate(known):
            if _is_same(path, here):
                return known[number + 1] if number + 1 < len(known) else None
        # So much was written meanwhile that this file was dropped.
        return known[0] if known else None


def _is_same(path: Path, here: os.stat_result) -> bool:
    try:
        return os.path.samestat(path.stat(), here)
    except FileNotFoundError:
        return False


def _open_tail(path: Path, lines: int) -> BinaryIO | None:
    """The file in which the last lines begin, at the first of them."""
    file: BinaryIO | None = None
    missing = lines
    is_last = True
    for each in reversed(logs.files(path)):
        try:
            older = each.open("rb")
        except FileNotFoundError:
            break
        if file is not None:
            file.close()
        file = older
        start, missing = _tail_start(file.read(), missing, is_last=is_last)
        file.seek(start)
        is_last = False
        if start > 0 or missing == 0:
            break
    return file


def _tail_start(data: bytes, count: int, *, is_last: bool) -> tuple[int, int]:
    """Where the last `count` whole lines begin, and how many were not found; the pieces of one
    long line are one line. `is_last`: nothing follows this file.
    """
    end = data.rfind(b"\n") + 1
    ends_log = is_last
    while end > 0:
        start = data.rfind(b"\n", 0, end - 1) + 1
        tag = data[start:end].split(b" ", 3)[2:3]
        if tag != [b"P"] or ends_log:
            if count == 0:
                return end, 0
            count -= 1
        ends_log = False
        end = start
    return 0, count
