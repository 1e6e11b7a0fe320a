"""One HTTP/1.1 connection: parses its requests, serves them one after another, writes the answers.

A client that is slow, silent or does not read costs itself its connection, and others nothing.
"""

import asyncio
import logging
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from functools import lru_cache
from http import HTTPStatus
from typing import Protocol, cast
from urllib.parse import parse_qs, unquote

import httptools

from fleetqueue.apiserver import answers, problems
from fleetqueue.apiserver.bodies import BODY_BYTES_MAX
from fleetqueue.apiserver.feed import Pushed, Stream
from fleetqueue.apiserver.request import Frames, Handler, Request, Response

logger = logging.getLogger(__name__)

KEEPALIVE_SECONDS = 90.0
"""How long a connection may take to ask: for its first request, and between two."""
BODY_SECONDS = 60.0
STALLED_SECONDS = 60.0
"""How long a client may take nothing of what waits for it."""
LINGERING_SECONDS = 2.0
"""How long a body that was refused may go on arriving, so that its client reads the answer."""
HEAD_BYTES_MAX = 64 * 1024
WRITE_BYTES_MAX = 256 * 1024
"""At once: what a transport was given counts as sent, however little of it a client takes."""
WAITING_MAX = 1
"""Requests that are read ahead of the one being served."""


class Owner(Protocol):
    """The door that a connection came through."""

    @property
    def handler(self) -> Handler: ...

    def opened(self, connection: "Connection") -> None: ...

    def lost(self, connection: "Connection") -> None: ...

    def arriving(self, connection: "Connection", count: int) -> None: ...

    def arrived(self, connection: "Connection") -> None: ...

    def upgrade(self, transport: asyncio.Transport, received: bytes) -> None:
        """Take over a connection that is to speak something else than HTTP, with its request."""


class Incoming:
    """A request while it arrives."""

    __slots__ = ("body", "head_bytes", "headers", "is_head_done", "is_refused", "size", "target")

    def __init__(self) -> None:
        self.target = b""
        self.headers: list[tuple[bytes, bytes]] = []
        self.head_bytes = 0
        self.body: list[bytes] = []
        self.size = 0
        self.is_head_done = False
        self.is_refused = False


class Asked(Request):
    """A request with what its connection must know of it."""

    __slots__ = ("closes", "is_old")

    closes: bool
    """Whether the connection ends with the answer."""
    is_old: bool
    """Whether its client speaks HTTP/1.0, which knows no chunks."""


class Connection(asyncio.Protocol):
    """The server's side of one connection."""

    def __init__(self, owner: Owner) -> None:
        self._owner = owner
        self._loop = asyncio.get_running_loop()
        self._parser = httptools.HttpRequestParser(self)
        self._incoming: Incoming | None = None
        self._waiting: deque[Asked] = deque()
        self._task: asyncio.Task[None] | None = None
        self._pushed: Pushed | None = None
        self._served: Asked | None = None
        self._room: asyncio.Future[None] | None = None
        self._certificate: bytes | None = None
        self._is_local = False
        self._is_ending = False
        self._is_paused = False
        self.is_full = False
        self._patience = _Patience(self._loop, self._lose_patience)
        self.transport: asyncio.Transport

    # Of the transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        secured = transport.get_extra_info("ssl_object")
        if secured is not None:
            self._certificate = secured.getpeercert(binary_form=True)
        self._is_local = _is_loopback(transport.get_extra_info("peername"))
        self._patience.wait(KEEPALIVE_SECONDS)
        self._owner.opened(self)

    def connection_lost(self, error: Exception | None) -> None:
        self._is_ending = True
        self._patience.end()
        if self._pushed is not None:
            self._pushed.stop()
        if self._task is not None:
            self._task.cancel()
        self._waiting.clear()
        self._owner.lost(self)

    def eof_received(self) -> bool:
        return False

    def data_received(self, data: bytes) -> None:
        if self._is_ending:
            return
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            self._change_protocol(data[upgrade.args[0] :])
        except httptools.HttpParserError:
            self._refuse(HTTPStatus.BAD_REQUEST)
        else:
            incoming = self._incoming
            if incoming is not None and not incoming.is_head_done:
                incoming.head_bytes += len(data)
                self._check_head(incoming)

    def pause_writing(self) -> None:
        self.is_full = True
        self._patience.wait(STALLED_SECONDS, self.transport.get_write_buffer_size())

    def resume_writing(self) -> None:
        self.is_full = False
        self._patience.stop()
        if self._room is not None and not self._room.done():
            self._room.set_result(None)
        if self._pushed is not None:
            self._pushed.write()

    # Of the parser

    def on_message_begin(self) -> None:
        self._incoming = Incoming()

    def on_url(self, url: bytes) -> None:
        assert self._incoming is not None
        self._incoming.target += url

    def on_header(self, name: bytes, value: bytes) -> None:
        assert self._incoming is not None
        self._incoming.headers.append((name, value))

    def on_headers_complete(self) -> None:
        incoming = self._incoming
        assert incoming is not None
        incoming.is_head_done = True
        incoming.head_bytes = len(incoming.target)
        incoming.head_bytes += sum(len(name) + len(value) for name, value in incoming.headers)
        self._check_head(incoming)
        for name, value in incoming.headers:
            lowered = name.lower()
            if lowered == b"content-length" and int(value) > BODY_BYTES_MAX:
                self._refuse_body(incoming)
            elif lowered == b"expect" and value.lower() == b"100-continue" and self._may_write:
                self.transport.write(answers.CONTINUE)
        if self._may_write:
            self._patience.wait(BODY_SECONDS)

    def on_body(self, body: bytes) -> None:
        incoming = self._incoming
        assert incoming is not None
        incoming.size += len(body)
        if incoming.size > BODY_BYTES_MAX:
            self._refuse_body(incoming)
        elif not incoming.is_refused:
            incoming.body.append(body)
            self._owner.arriving(self, len(body))

    def on_message_complete(self) -> None:
        incoming, self._incoming = self._incoming, None
        assert incoming is not None
        if incoming.is_refused or self._is_ending:
            return
        if self._parser.should_upgrade():
            self._incoming = incoming
            return
        asked = self._asked(incoming)
        if self.is_idle:
            self._serve(asked)
            return
        self._waiting.append(asked)
        if len(self._waiting) > WAITING_MAX and not self._is_paused:
            self._is_paused = True
            self.transport.pause_reading()

    def _asked(self, incoming: Incoming) -> Asked:
        path, _, query = incoming.target.partition(b"?")
        text = path.decode("utf-8", "surrogateescape")
        asked = Asked(
            method=self._parser.get_method().decode(),
            path=unquote(text, errors="surrogateescape") if "%" in text else text,
            query=_parsed(query.decode("utf-8", "surrogateescape")) if query else {},
            headers=_lowered(incoming.headers),
            body=b"".join(incoming.body),
            peer_certificate=self._certificate,
        )
        asked.closes = not self._parser.should_keep_alive()
        asked.is_old = self._parser.get_http_version() == "1.0"
        return asked

    # Serving

    def _serve(self, asked: Asked) -> None:
        self._patience.stop()
        if asked.body:
            self._owner.arrived(self)
        self._served = asked
        self._task = self._loop.create_task(self._answer(asked))

    async def _answer(self, asked: Asked) -> None:
        try:
            response = await self._owner.handler(asked)
            if isinstance(response.frames, Stream):
                self._write_head(asked, response)
                self._pushed = response.frames.push_to(self)
                return
            if response.frames is not None:
                await self._write_frames(asked, response, response.frames)
            elif response.chunks is not None:
                await self._write_chunks(asked, response, response.chunks)
            else:
                await self._write_whole(asked, response)
        except Exception:
            # The answer has begun; all that can be said is that it is not whole.
            logger.exception("an answer failed", extra={"path": asked.path})
            self.transport.abort()
            return
        finally:
            self._task = None
        self._next()

    def _next(self) -> None:
        asked, self._served = self._served, None
        if self._is_ending:
            return
        if asked is not None and asked.closes:
            self.close()
        elif self._waiting:
            self._serve(self._waiting.popleft())
            if self._is_paused:
                self._is_paused = False
                self.transport.resume_reading()
        elif not self.is_full:
            self._patience.wait(KEEPALIVE_SECONDS if self._incoming is None else BODY_SECONDS)

    async def _write_whole(self, asked: Asked, response: Response) -> None:
        # To this machine itself, sending a byte is cheaper than compressing it.
        accepted = "" if self._is_local else asked.headers.get("accept-encoding", "")
        pieces = await answers.body_of(response, accepted)
        head = answers.head(response, answers.length(pieces), closes=asked.closes)
        if asked.method == "HEAD":
            pieces = ()
        if sum(map(len, pieces)) <= WRITE_BYTES_MAX:
            self.transport.write(b"".join((head, *pieces)))
        else:
            self.transport.write(head)
            for part in _parts(pieces):
                self.transport.write(part)
                await self._has_room()
        await self._has_room()

    async def _write_frames(self, asked: Asked, response: Response, frames: Frames) -> None:
        try:
            self._write_head(asked, response)
            async for batch in frames:
                for frame in batch:
                    self.send(frame.line)
                    await self._has_room()
            self._end_chunks(asked)
        finally:
            # A watcher that nobody reads must not stay in the feed until it is collected.
            await frames.aclose()

    async def _write_chunks(
        self, asked: Asked, response: Response, chunks: AsyncIterator[bytes]
    ) -> None:
        try:
            self._write_head(asked, response)
            async for chunk in chunks:
                self.send(chunk)
                await self._has_room()
            self._end_chunks(asked)
        finally:
            await response.aclose()

    def _write_head(self, asked: Asked, response: Response) -> None:
        """Of an answer that ends with its last chunk; for old clients, with the connection."""
        asked.closes = asked.closes or asked.is_old
        framing = b"" if asked.is_old else answers.CHUNKED
        self.transport.write(answers.head(response, framing, closes=asked.closes))

    def send(self, data: bytes) -> None:
        assert self._served is not None
        if data:
            self.transport.write(data if self._served.is_old else answers.chunk(data))

    def end(self) -> None:
        """Of a pushed stream: its time is over."""
        self._pushed = None
        assert self._served is not None
        self._end_chunks(self._served)
        self._next()

    def abort(self) -> None:
        """Of a pushed stream that failed."""
        self.transport.abort()

    def _end_chunks(self, asked: Asked) -> None:
        if not asked.is_old:
            self.transport.write(answers.LAST_CHUNK)

    async def _has_room(self) -> None:
        if self.is_full:
            self._room = self._loop.create_future()
            await self._room

    # Refusing and ending

    def _check_head(self, incoming: Incoming) -> None:
        if incoming.head_bytes > HEAD_BYTES_MAX and not self._is_ending:
            incoming.is_refused = True
            self._refuse(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)

    def _refuse(self, status: HTTPStatus) -> None:
        """A client that speaks no HTTP hears so, unless it still gets an answer, and is dropped."""
        if self._may_write:
            text = f"{status.value} {status.phrase}".encode()
            response = Response(status, body=text, content_type="text/plain; charset=utf-8")
            self._write_last(response)
        elif self._served is not None:
            self._served.closes = True

    def _refuse_body(self, incoming: Incoming) -> None:
        incoming.is_refused = True
        incoming.body.clear()
        if self._may_write:
            error = problems.too_large(f"Request entity too large: limit is {BODY_BYTES_MAX}")
            self._write_last(Response(error.code, object=error.status()), lingers=True)
        elif self._served is not None:
            self._served.closes = True

    def _write_last(self, response: Response, *, lingers: bool = False) -> None:
        body = response.encoded()
        head = answers.head(response, answers.length((body,)), closes=True)
        self.transport.write(head + body)
        self._is_ending = True
        if lingers:
            self._patience.wait(LINGERING_SECONDS)
        else:
            self.transport.close()

    def _change_protocol(self, rest: bytes) -> None:
        incoming, self._incoming = self._incoming, None
        if incoming is None or not self._may_write:
            self._refuse(HTTPStatus.BAD_REQUEST)
            return
        self._patience.end()
        self._is_ending = True
        self._owner.lost(self)
        method = self._parser.get_method()
        self._owner.upgrade(self.transport, b"".join(_again(method, incoming)) + rest)

    def _lose_patience(self) -> None:
        """Called when what was waited for did not come in time."""
        if self.is_full:
            left = self.transport.get_write_buffer_size()
            if left < self._patience.seen:
                self._patience.wait(STALLED_SECONDS, left)
            else:
                self.transport.abort()
        elif self._incoming is not None and self._incoming.is_head_done and not self._is_ending:
            error = problems.bad_request("the body of the request did not arrive in time")
            self._write_last(Response(error.code, object=error.status()))
        else:
            self.transport.abort()

    @property
    def is_idle(self) -> bool:
        return self._task is None and self._pushed is None

    @property
    def _may_write(self) -> bool:
        """Whether no answer is under way that something else would break into."""
        return self._task is None and self._pushed is None and not self._is_ending

    def close(self) -> None:
        self._is_ending = True
        self._patience.stop()
        self.transport.close()


class _Patience:
    """How long to wait for a client. Its timer is moved lazily: most waits end at once."""

    def __init__(self, loop: asyncio.AbstractEventLoop, lose: Callable[[], None]) -> None:
        self._loop = loop
        self._lose = lose
        self._ends_at: float | None = None
        self._timer: asyncio.TimerHandle | None = None
        self.seen = 0

    def wait(self, seconds: float, seen: int = 0) -> None:
        self.seen = seen
        now = self._loop.time()
        self._ends_at = now + seconds
        if self._timer is None or self._timer.when() > self._ends_at:
            if self._timer is not None:
                self._timer.cancel()
            self._timer = self._loop.call_at(self._ends_at, self._look)

    def stop(self) -> None:
        self._ends_at = None

    def end(self) -> None:
        self._ends_at = None
        if self._timer is not None:
            self._timer.cancel()

    def _look(self) -> None:
        self._timer = None
        if self._ends_at is None:
            return
        if self._loop.time() >= self._ends_at:
            self._ends_at = None
            self._lose()
        else:
            self._timer = self._loop.call_at(self._ends_at, self._look)


def _parts(pieces: Iterable[bytes]) -> Iterator[memoryview]:
    for piece in pieces:
        whole = memoryview(piece)
        for start in range(0, len(whole), WRITE_BYTES_MAX):
            yield whole[start : start + WRITE_BYTES_MAX]


def _is_loopback(address: object) -> bool:
    host = address[0] if isinstance(address, tuple) else ""
    return host == "::1" or host.startswith(("127.", "::ffff:127."))


@lru_cache(maxsize=512)
def _parsed(query: str) -> dict[str, list[str]]:
    return parse_qs(query, keep_blank_values=True)


def _lowered(headers: list[tuple[bytes, bytes]]) -> dict[str, str]:
    lowered: dict[str, str] = {}
    for name, value in headers:
        key = name.decode("latin-1").lower()
        text = value.decode("utf-8", "surrogateescape")
        # Repeated impersonation groups are one list.
        lowered[key] = f"{lowered[key]}\n{text}" if key in lowered else text
    return lowered


def _again(method: bytes, incoming: Incoming) -> Iterator[bytes]:
    """A request as it came, for another parser."""
    yield b"%b %b HTTP/1.1\r\n" % (method, incoming.target)
    for name, value in incoming.headers:
        yield b"%b: %b\r\n" % (name, value)
    yield b"\r\n"
