"""Copies of a container's output for those who attached to it; a slow reader delays nobody."""

import contextlib
import os

BEHIND_MAX = 8 * 1024 * 1024
"""A reader that falls further behind is cut off."""


class Outlet:
    """The writing end of a pipe, and what did not fit into it yet."""

    def __init__(self, stream: str, descriptor: int) -> None:
        os.set_blocking(descriptor, False)
        self.stream = stream
        self.descriptor = descriptor
        self.is_ending = False
        self._waiting = bytearray()

    def feed(self, data: bytes) -> None:
        self._waiting += data
        self.flush()

    def flush(self) -> None:
        try:
            while self._waiting:
                del self._waiting[: os.write(self.descriptor, self._waiting)]
        except BlockingIOError:
            self.is_ending = self.is_ending or len(self._waiting) > BEHIND_MAX
            if len(self._waiting) > BEHIND_MAX:
                self._waiting.clear()
        except OSError:
            self._waiting.clear()
            self.is_ending = True

    @property
    def is_waiting(self) -> bool:
        return bool(self._waiting)

    @property
    def is_done(self) -> bool:
        return self.is_ending and not self._waiting

    def close(self) -> None:
        with contextlib.suppress(OSError):
            os.close(self.descriptor)
