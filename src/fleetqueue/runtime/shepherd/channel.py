"""Messages between the server and the shepherd: JSON lines that carry file descriptors."""

import array
import json
import os
import socket
from collections import deque
from typing import Any, TypeAlias

Message: TypeAlias = dict[str, Any]
_READ_MAX = 256 * 1024
_DESCRIPTORS_MAX = 64


class Channel:
    """One end of a socket pair. Never blocks: what cannot be sent yet waits for `flush`."""

    def __init__(self, end: socket.socket) -> None:
        end.setblocking(False)
        self._end = end
        self._waiting: deque[tuple[bytes, list[int]]] = deque()
        self._text = b""
        self._descriptors: deque[int] = deque()

    def fileno(self) -> int:
        return self._end.fileno()

    def send(self, message: Message, descriptors: list[int] | None = None) -> bool:
        """The descriptors are copied; whether all is sent."""
        copies = [os.dup(descriptor) for descriptor in descriptors or ()]
        text = json.dumps({**message, "descriptors": len(copies)}, separators=(",", ":"))
        self._waiting.append((text.encode("utf-8", "surrogateescape") + b"\n", copies))
        return self.flush()

    def flush(self) -> bool:
        """Sends what waits; whether all is sent. Raises ConnectionError when nobody listens."""
        while self._waiting:
            data, copies = self._waiting[0]
            try:
                sent = self._send(data, copies)
            except BlockingIOError:
                return False
            for copy in copies:
                os.close(copy)
            self._waiting.popleft()
            if sent < len(data):
                self._waiting.appendleft((data[sent:], []))
        return True

    def receive(self) -> list[tuple[Message, list[int]]] | None:
        """Whole messages with their descriptors; None when the other end is gone."""
        try:
            data, descriptors, _, _ = socket.recv_fds(self._end, _READ_MAX, _DESCRIPTORS_MAX)
        except BlockingIOError:
            return []
        except ConnectionError:
            return None
        self._descriptors += descriptors
        for descriptor in descriptors:
            os.set_inheritable(descriptor, False)
        if not data:
            return None
        *lines, self._text = (self._text + data).split(b"\n")
        return [self._take(line) for line in lines]

    def close(self) -> None:
        for _, copies in self._waiting:
            for copy in copies:
                os.close(copy)
        self._waiting.clear()
        self._end.close()

    def _take(self, line: bytes) -> tuple[Message, list[int]]:
        message: Message = json.loads(line.decode("utf-8", "surrogateescape"))
        count = message.pop("descriptors")
        return message, [self._descriptors.popleft() for _ in range(count)]

    def _send(self, data: bytes, copies: list[int]) -> int:
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", copies))]
        return self._end.sendmsg([data], rights if copies else [])
