"""Writes the text of a log, with its times, as the logs of this machine's containers are stored;
of a long one only the end stays.
"""

import os
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self

from fleetqueue.api import times

LINE_BYTES_MAX = 64 * 1024
"""A longer line is stored in pieces."""


class StoredLines:
    """One file, and an older one that begins where it was cut last."""

    def __init__(self, path: Path, bytes_max: int) -> None:
        self._path = path
        self._bytes_max = bytes_max
        self._file: BinaryIO = _open(path)
        self._size = 0
        self._rest = b""
        self._stamp = b""
        """Of the line whose beginning was stored already."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._rest:
            self._store(self._rest, b"P")
        self._file.close()

    def feed(self, chunk: bytes) -> None:
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        for line in lines:
            self._store(line, b"F")
            self._stamp = b""
        while len(self._rest) > LINE_BYTES_MAX:
            piece, self._rest = self._rest[:LINE_BYTES_MAX], self._rest[LINE_BYTES_MAX:]
            self._store(piece, b"P")

    def _store(self, line: bytes, tag: bytes) -> None:
        if not self._stamp:
            stamp, _, line = line.partition(b" ")
            self._stamp = in_utc(stamp)
        text = b"%s stdout %s %s\n" % (self._stamp, tag, line)
        if self._size + len(text) > self._bytes_max:
            self._rotate()
        self._file.write(text)
        self._size += len(text)

    def _rotate(self) -> None:
        self._file.close()
        os.replace(self._path, self._path.with_name(f"{self._path.name}.1"))
        self._file, self._size = _open(self._path), 0


def in_utc(stamp: bytes) -> bytes:
    """Stored times are compared as texts, so they are all of one zone."""
    if stamp.endswith(b"Z"):
        return stamp
    try:
        moment = times.parse_time(stamp.decode())
    except ValueError:
        return stamp
    return f"{times.format_micro_time(moment)[:-1]}000Z".encode()


def _open(path: Path) -> BinaryIO:
    how = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW
    return open(os.open(path, how, 0o600), "wb")
