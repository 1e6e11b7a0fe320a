"""The HTTP/1.1 side of the webhook server: API servers keep their connections open and post one
review after the other, so a connection is a parser, a body and an answer, and nothing else.

Anybody may reach the port: who sends more than is answered, or takes no answers, has to wait, and
costs itself its connection.
"""

import asyncio
import logging
import ssl
from collections import deque
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import NamedTuple, cast

import httptools

IDLE_SECONDS_MAX = 120.0
"""Between two requests, and for one to arrive; API servers close theirs earlier."""
HANDSHAKE_SECONDS_MAX = 15.0
STALLED_SECONDS_MAX = 60.0
"""For a client to take an answer; API servers wait half as long for one."""
CLOSING_SECONDS_MAX = 5.0
HEAD_BYTES_MAX = 64 * 1024
CONNECTIONS_MAX = 1024
"""An API server opens one for each review that it asks for at the same time."""
BODIES_BYTES_MAX = 256 * 1024 * 1024
"""Of all connections together, until they are answered."""
HEALTH = (b"/healthz", b"/livez", b"/readyz")
log = logging.getLogger(__name__)

Reply = Callable[[str, bytes], Awaitable[tuple[int, bytes]]]
"""Given a path and a body: a status and a body."""


class _Posted(NamedTuple):
    """One request as a whole."""

    method: bytes
    path: bytes
    body: bytes
    keeps_alive: bool


class ReviewDoor:
    """One listening address."""

    def __init__(
        self,
        reply: Reply,
        context: ssl.SSLContext,
        body_bytes_max: int,
        connections_max: int = CONNECTIONS_MAX,
        bodies_bytes_max: int = BODIES_BYTES_MAX,
    ) -> None:
        self.port = 0
        self.reply = reply
        self.body_bytes_max = body_bytes_max
        self.connections: set[_Connection] = set()
        self._connections_max = connections_max
        self._bodies_bytes_max = bodies_bytes_max
        self._bodies_bytes = 0
        self._context = context
        self._server: asyncio.Server | None = None

    async def open(self, host: str, port: int) -> None:
        self._server = await asyncio.get_running_loop().create_server(
            lambda: _Connection(self),
            host,
            port,
            ssl=self._context,
            reuse_address=True,
            ssl_handshake_timeout=HANDSHAKE_SECONDS_MAX,
        )
        self.port = self._server.sockets[0].getsockname()[1]

    def admit(self, connection: "_Connection") -> bool:
        """Where there are too many, the idlest makes room; where all are at work, nobody does."""
        if len(self.connections) >= self._connections_max:
            idlest = min(self._waiting(), key=_since, default=None)
            if idlest is None:
                return False
            idlest.drop()
        self.connections.add(connection)
        return True

    def keep(self, count: int) -> None:
        """Of a body. Where they take too much together, who has sent its own for longest is left;
        those that are answered already take no more than they do.
        """
        self._bodies_bytes += count
        if self._bodies_bytes <= self._bodies_bytes_max:
            return
        for each in sorted(self._waiting(), key=_since):
            if each.kept_bytes > 0:
                each.drop()
            if self._bodies_bytes <= self._bodies_bytes_max:
                return

    def release(self, count: int) -> None:
        self._bodies_bytes -= count

    def _waiting(self) -> "list[_Connection]":
        return [each for each in self.connections if each.task is None]

    async def close(self) -> None:
        """Answers that are under way are given, for a few seconds at most."""
        if self._server is not None:
            self._server.close()
        busy = [each.task for each in self.connections if each.task is not None]
        for connection in list(self.connections):
            connection.finish()
        if busy:
            await asyncio.wait(busy, timeout=CLOSING_SECONDS_MAX)
        for connection in list(self.connections):
            connection.transport.abort()


class _Connection(asyncio.Protocol):
    """The server's side of one; requests are answered in their order."""

    transport: asyncio.Transport

    def __init__(self, door: ReviewDoor) -> None:
        self.task: asyncio.Task[None] | None = None
        self.idle_since = 0.0
        """When it last began to wait for a request, or to send one."""
        self.kept_bytes = 0
        self._door = door
        self._loop = asyncio.get_running_loop()
        self._parser = httptools.HttpRequestParser(self)
        self._waiting: deque[_Posted] = deque()
        self._path = b""
        self._is_in_head = False
        self._head_bytes = 0
        self._body: list[bytes] = []
        self._body_bytes = 0
        self._is_ending = False
        self._room: asyncio.Future[None] | None = None
        self._timer: asyncio.TimerHandle | None = None

    # Of the transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        if self._door.admit(self):
            self._wait()
        else:
            self._is_ending = True
            self.transport.abort()

    def connection_lost(self, error: Exception | None) -> None:
        self._forget()
        if self.task is not None:
            self.task.cancel()

    def data_received(self, data: bytes) -> None:
        if self._is_ending:
            return
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            self._refuse(HTTPStatus.BAD_REQUEST)
            return
        if self._is_in_head:
            self._head_bytes += len(data)
            if self._head_bytes > HEAD_BYTES_MAX:
                self._refuse(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)

    def pause_writing(self) -> None:
        self._room = self._loop.create_future()

    def resume_writing(self) -> None:
        room, self._room = self._room, None
        if room is not None and not room.done():
            room.set_result(None)

    # Of the parser

    def on_message_begin(self) -> None:
        self._path, self._body, self._body_bytes = b"", [], 0
        self._is_in_head, self._head_bytes = True, 0
        self.idle_since = self._loop.time()

    def on_url(self, url: bytes) -> None:
        self._path += url

    def on_header(self, name: bytes, value: bytes) -> None:
        if name.lower() == b"expect" and self.task is None:
            self.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")

    def on_headers_complete(self) -> None:
        self._is_in_head = False

    def on_body(self, piece: bytes) -> None:
        self._body_bytes += len(piece)
        if self._body_bytes > self._door.body_bytes_max:
            self._refuse(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
        elif not self._is_ending:
            self._body.append(piece)
            self.kept_bytes += len(piece)
            self._door.keep(len(piece))

    def on_message_complete(self) -> None:
        if self._is_ending:
            return
        body = self._body[0] if len(self._body) == 1 else b"".join(self._body)
        path = self._path.partition(b"?")[0]
        self._body = []
        keeps_alive = self._parser.should_keep_alive()
        asked = _Posted(self._parser.get_method(), path, body, keeps_alive)
        if self.task is None:
            self._stop_waiting()
            self.task = self._loop.create_task(self._serve(asked))
        else:
            self._waiting.append(asked)
            self.transport.pause_reading()

    # Answers

    async def _serve(self, first: _Posted) -> None:
        asked: _Posted | None = first
        try:
            while asked is not None:
                status, body = await self._answer(asked)
                self._release(len(asked.body))
                closes = not asked.keeps_alive or self._is_ending
                self.transport.write(written(status, body, closes=closes))
                if closes:
                    self.transport.close()
                    return
                if not await self._has_room():
                    self.transport.abort()
                    return
                asked = self._next()
        except asyncio.CancelledError:
            raise
        except Exception:
            log.exception("a webhook could not be answered")
            self.transport.abort()
        finally:
            self.task = None
        self._wait()

    def _next(self) -> _Posted | None:
        if not self._waiting:
            return None
        asked = self._waiting.popleft()
        if not self._waiting:
            self.transport.resume_reading()
        return asked

    async def _has_room(self) -> bool:
        """Whether the client took enough of its answers for another one, in time."""
        if self._room is not None:
            await asyncio.wait([self._room], timeout=STALLED_SECONDS_MAX)
        return self._room is None

    async def _answer(self, asked: _Posted) -> tuple[int, bytes]:
        if asked.method == b"POST":
            return await self._door.reply(asked.path.decode(errors="replace"), asked.body)
        if asked.path in HEALTH:
            return HTTPStatus.OK, b"ok"
        return HTTPStatus.METHOD_NOT_ALLOWED, b"reviews are posted here\n"

    def _refuse(self, status: HTTPStatus) -> None:
        if not self._is_ending:
            self._is_ending = True
            self.transport.write(written(status, b"%b\n" % status.phrase.encode(), closes=True))
            self.transport.close()

    def finish(self) -> None:
        """No more requests; one that is under way is answered."""
        self._is_ending = True
        if self.task is None:
            self.transport.close()

    def drop(self) -> None:
        """Without a word: it has to make room."""
        self._forget()
        self.transport.abort()

    def _forget(self) -> None:
        self._is_ending = True
        self._body = []
        self._release(self.kept_bytes)
        self._door.connections.discard(self)
        self._stop_waiting()

    def _release(self, count: int) -> None:
        self.kept_bytes -= count
        self._door.release(count)

    # Patience

    def _wait(self) -> None:
        self._stop_waiting()
        self.idle_since = self._loop.time()
        self._timer = self._loop.call_later(IDLE_SECONDS_MAX, self.finish)

    def _stop_waiting(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def _since(connection: _Connection) -> float:
    return connection.idle_since


def written(status: int, body: bytes, *, closes: bool) -> bytes:
    """One answer as bytes: reviews are JSON, what is wrong with a request is said as text."""
    phrase = HTTPStatus(status).phrase.encode()
    kind = b"application/json" if body[:1] == b"{" else b"text/plain; charset=utf-8"
    last = b"Connection: close\r\n" if closes else b""
    head = b"HTTP/1.1 %d %b\r\nContent-Type: %b\r\nContent-Length: %d\r\n%b\r\n"
    return head % (status, phrase, kind, len(body), last) + body
