"""Connections to one server over HTTP/1.1: kept open, each with one exchange at a time.

An API server is asked thousands of small things a minute; what a general HTTP client does for each
costs several times what the exchange itself does.
"""

import asyncio
import errno
import os
import ssl
import zlib
from collections import deque
from collections.abc import AsyncIterator
from typing import cast

import httptools

CONNECT_SECONDS_MAX = 30.0
KEEP_ALIVE_SECONDS = 75.0
BUFFERED_BYTES_MAX = 1024 * 1024
"""Of a body that nobody reads: then the server has to wait."""
_GZIP = 31
Headers = list[tuple[str, str]]
"""Names in lower case."""


class CannotConnect(Exception):
    """Nothing was sent."""


def why(error: OSError | UnicodeError) -> str:
    """As people know it: the library calls everything a failed call, and numbers it."""
    if isinstance(error, OSError) and not isinstance(error, ssl.SSLError):
        is_known = error.errno in errno.errorcode
        text = os.strerror(error.errno or 0) if is_known else error.strerror
        return text or str(error) or type(error).__name__
    return str(error) or type(error).__name__


class Broken(Exception):
    """The connection ended before the answer did."""


class Connections:
    """Those of one client. They are told apart by their TLS context: a new certificate means new
    connections.
    """

    def __init__(self, host: str, port: int) -> None:
        self.address = (host, port)
        self._idle: list[tuple[Connection, float]] = []
        self._all: set[Connection] = set()

    async def take(self, context: ssl.SSLContext | None, server_name: str) -> "Connection":
        now = asyncio.get_running_loop().time()
        while self._idle:
            connection, since = self._idle.pop()
            is_good = connection.is_open and connection.context is context
            if is_good and now - since < KEEP_ALIVE_SECONDS:
                return connection
            connection.close()
        return await self._open(context, server_name)

    def give_back(self, connection: "Connection") -> None:
        now = asyncio.get_running_loop().time()
        self._idle.append((connection, now))
        while now - self._idle[0][1] >= KEEP_ALIVE_SECONDS:
            self._idle.pop(0)[0].close()

    def forget(self, connection: "Connection") -> None:
        self._all.discard(connection)

    async def close(self) -> None:
        self._idle.clear()
        for connection in list(self._all):
            connection.close()
        await asyncio.sleep(0)

    async def _open(self, context: ssl.SSLContext | None, server_name: str) -> "Connection":
        loop = asyncio.get_running_loop()
        name = (server_name or self.address[0]) if context is not None else None
        try:
            async with asyncio.timeout(CONNECT_SECONDS_MAX):
                _, connection = await loop.create_connection(
                    lambda: Connection(self, context),
                    *self.address,
                    ssl=context,
                    server_hostname=name,
                )
        except (OSError, UnicodeError) as error:
            host, port = self.address
            raise CannotConnect(f"{why(error)} ({host}:{port})") from error
        self._all.add(connection)
        return connection


class Connection(asyncio.Protocol):
    """One of them. `ask`, then `read` until nothing more comes, and it is free again."""

    def __init__(self, owner: Connections, context: ssl.SSLContext | None) -> None:
        self.context = context
        self.is_open = True
        self.status = 0
        self.headers: Headers = []
        self._owner = owner
        self._parser: httptools.HttpResponseParser | None = None
        self._pieces: deque[bytes] = deque()
        self._buffered = 0
        self._is_paused = False
        self._has_head = self._is_whole = self._is_kept = False
        self._has_body = True
        self._waiter: asyncio.Future[None] | None = None
        self._error: Exception | None = None
        self._transport: asyncio.Transport

    async def ask(self, request: bytes, *, has_body: bool = True) -> None:
        """Sends, and waits for the head of the answer; one to HEAD has no body."""
        self._parser = httptools.HttpResponseParser(self)
        self.status, self.headers = 0, []
        self._has_head = self._is_whole = False
        self._has_body = has_body
        self._transport.write(request)
        while not self._has_head:
            await self._wait()

    async def read(self) -> bytes:
        """What has come of the body; b"" at its end, and then the connection is free."""
        while not self._pieces:
            if self._is_whole:
                self._finish()
                return b""
            await self._wait()
        found = self._pieces[0] if len(self._pieces) == 1 else b"".join(self._pieces)
        self._pieces.clear()
        self._buffered = 0
        if self._is_paused:
            self._is_paused = False
            self._transport.resume_reading()
        return found

    def close(self) -> None:
        if self.is_open:
            self.is_open = False
            self._owner.forget(self)
            self._transport.abort()

    def _finish(self) -> None:
        if self._parser is None:
            return
        self._parser = None
        if self._is_kept and self.is_open:
            self._owner.give_back(self)
        else:
            self.close()

    async def _wait(self) -> None:
        if self._error is not None:
            raise self._error
        self._waiter = asyncio.get_running_loop().create_future()
        try:
            await self._waiter
        finally:
            self._waiter = None

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    # Of the transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def connection_lost(self, error: Exception | None) -> None:
        self.is_open = False
        self._owner.forget(self)
        if self._has_head and not self._is_whole and error is None and self._ends_with_it():
            self._is_whole = True
        lost = Broken(str(error or "the server closed the connection"))
        self._error = self._error or lost
        self._wake()

    def data_received(self, data: bytes) -> None:
        if self._parser is None:
            # Nobody asked: whatever this is, it answers nothing of ours.
            self.close()
            return
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            self._error = Broken(f"the answer is no HTTP: {error}")
            self.close()
        self._wake()

    def _ends_with_it(self) -> bool:
        names = {name for name, _ in self.headers}
        return "content-length" not in names and "transfer-encoding" not in names

    # Of the parser

    def on_header(self, name: bytes, value: bytes) -> None:
        self.headers.append((name.decode("latin-1").lower(), value.decode(errors="replace")))

    def on_headers_complete(self) -> None:
        assert self._parser is not None
        self.status = self._parser.get_status_code()
        if self.status < 200:
            self.headers = []
            return
        self._has_head = True
        if not self._has_body:
            self._is_whole, self._is_kept = True, False

    def on_body(self, piece: bytes) -> None:
        self._pieces.append(piece)
        self._buffered += len(piece)
        if self._buffered > BUFFERED_BYTES_MAX and not self._is_paused:
            self._is_paused = True
            self._transport.pause_reading()

    def on_message_complete(self) -> None:
        if self._has_head and self._parser is not None:
            self._is_whole = True
            self._is_kept = self._has_body and self._parser.should_keep_alive()


class Response:
    """One answer, whose body is still to be read."""

    def __init__(self, connection: Connection) -> None:
        self.status = connection.status
        self.headers = connection.headers
        self._connection = connection

    async def read(self) -> bytes:
        return b"".join([piece async for piece in self.chunks()])

    async def chunks(self) -> AsyncIterator[bytes]:
        unpacking = zlib.decompressobj(_GZIP) if self._is_packed() else None
        while piece := await self._connection.read():
            if unpacking is not None:
                piece = _unpacked(unpacking, piece)
            if piece:
                yield piece

    def close(self) -> None:
        """Where the rest is not wanted; nothing after the end."""
        self._connection.close()

    def _is_packed(self) -> bool:
        return ("content-encoding", "gzip") in self.headers


def _unpacked(unpacking: "zlib._Decompress", piece: bytes) -> bytes:
    try:
        return unpacking.decompress(piece)
    except zlib.error as error:
        raise Broken(f"the answer is not what it says: {error}") from error
