"""Waits for something to be so by what changes: watches of the objects that were looked at, and the
ends of the processes that were seen. Nothing is asked for again before one of them has news.
"""

import contextlib
import http.client
import os
import select
import socket
import threading
from collections.abc import Callable
from urllib.parse import quote

Send = Callable[[str], tuple[socket.socket, http.client.HTTPResponse]]
"""Sends a GET over a connection of its own; the body of the answer is still to be read."""


class Watches:
    """What one wait has looked at so far. A context: all of it ends with the wait."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._news = threading.Event()
        self._followed: set[str | int] = set()
        self._sockets: list[socket.socket] = []
        self._threads: list[threading.Thread] = []
        self._is_over = False
        self._ended, self._end = os.pipe()

    def __enter__(self) -> "Watches":
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over = True
        os.close(self._end)
        for each in self._sockets:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join()
        os.close(self._ended)

    def begin(self) -> None:
        """What happens from now on is news to whoever looks now."""
        self._news.clear()

    def wait(self, seconds: float) -> None:
        self._news.wait(seconds)

    def follow_objects(self, path: str, name: str, revision: str) -> None:
        """A list, or one object of it, from the revision at which it was seen."""
        query = f"?watch=true&resourceVersion={revision}"
        if name:
            query += f"&fieldSelector={quote(f'metadata.name={name}')}"
        self._follow(f"{path}/{name}", lambda: self._watch_objects(path + query))

    def follow_process(self, pid: int) -> None:
        self._follow(pid, lambda: self._watch_process(pid))

    def _follow(self, key: str | int, watch: Callable[[], None]) -> None:
        def run() -> None:
            # What was cut off, or is gone, is news as well.
            with contextlib.suppress(
                OSError, ValueError, AttributeError, http.client.HTTPException
            ):
                watch()
            self._followed.discard(key)
            self._news.set()

        if key not in self._followed:
            self._followed.add(key)
            self._threads.append(threading.Thread(target=run))
            self._threads[-1].start()

    def _watch_objects(self, path: str) -> None:
        connection, answer = self._send(path)
        with connection, answer:
            self._sockets.append(connection)
            while not self._is_over and answer.readline():
                self._news.set()

    def _watch_process(self, pid: int) -> None:
        handle = os.pidfd_open(pid)
        try:
            select.select([handle, self._ended], [], [])
        finally:
            os.close(handle)
