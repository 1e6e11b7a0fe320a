"""Log files of containers: each line with its time and stream, in files of bounded size."""

import contextlib
import os
import time

SIZE_MAX = 10 * 1024 * 1024
FILES_MAX = 5
LINE_MAX = 16 * 1024
"""Longer lines are written in pieces, all but the last marked `P`."""


class Log:
    """One file that grows; full ones move to `<name>.1`, `.2` and so on, the oldest is dropped."""

    def __init__(self, path: str, size_max: int = SIZE_MAX, files_max: int = FILES_MAX) -> None:
        self._path = path
        self._size_max = size_max
        self._files_max = files_max
        self._partial: dict[str, bytes] = {}
        self._open()

    def feed(self, stream: str, data: bytes) -> None:
        """Takes what a process wrote; a line without an end waits for it."""
        stamp = timestamp(time.time_ns())
        before = self._partial.pop(stream, b"")
        lines, newline, rest = (before + data).rpartition(b"\n")
        written = []
        if newline:
            written.append(format_lines(stamp, stream, lines))
        while len(rest) > LINE_MAX:
            written.append(b"%s %s P %s\n" % (stamp, stream.encode(), rest[:LINE_MAX]))
            rest = rest[LINE_MAX:]
        if rest:
            self._partial[stream] = rest
        self._write(b"".join(written))

    def close(self) -> None:
        stamp = timestamp(time.time_ns())
        for stream, rest in self._partial.items():
            self._write(b"%s %s P %s\n" % (stamp, stream.encode(), rest))
        os.close(self._descriptor)

    def _write(self, data: bytes) -> None:
        # A full disk must not end the containers: what cannot be written is lost.
        with contextlib.suppress(OSError):
            while data:
                count = os.write(self._descriptor, data)
                self._size += count
                data = data[count:]
        if self._size > self._size_max:
            self._rotate()

    def _rotate(self) -> None:
        os.close(self._descriptor)
        for number in range(self._files_max - 1, 0, -1):
            younger = f"{self._path}.{number - 1}" if number > 1 else self._path
            with contextlib.suppress(OSError):
                os.replace(younger, f"{self._path}.{number}")
        self._open()

    def _open(self) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
        self._descriptor = os.open(self._path, flags, 0o640)
        self._size = os.fstat(self._descriptor).st_size


def format_lines(stamp: bytes, stream: str, lines: bytes) -> bytes:
    """Whole lines, the end of the last one left out, as they stand in the file."""
    start = b"%s %s F " % (stamp, stream.encode())
    if len(lines) <= LINE_MAX or max(map(len, lines.split(b"\n"))) <= LINE_MAX:
        return start + lines.replace(b"\n", b"\n" + start) + b"\n"
    return b"".join(_format_line(stamp, stream, line) for line in lines.split(b"\n"))


def _format_line(stamp: bytes, stream: str, line: bytes) -> bytes:
    pieces = [line[at : at + LINE_MAX] for at in range(0, len(line), LINE_MAX)] or [b""]
    tags = [b"P"] * (len(pieces) - 1) + [b"F"]
    start = b"%s %s " % (stamp, stream.encode())
    return b"".join(
        start + tag + b" " + piece + b"\n" for tag, piece in zip(tags, pieces, strict=True)
    )


def timestamp(nanoseconds: int) -> bytes:
    """RFC 3339 with nine digits of fraction, in UTC."""
    seconds, fraction = divmod(nanoseconds, 10**9)
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)).encode() + b".%09dZ" % fraction
