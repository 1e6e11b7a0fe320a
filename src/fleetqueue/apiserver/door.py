"""The HTTPS door: frames requests for the handler and writes its answers, on aiohttp.

Watch frames that come in one turn of the event loop leave in one write. A client that does not read
stalls itself only.
"""

import asyncio
import gzip
import logging
import ssl
from collections.abc import Iterator, Mapping
from urllib.parse import parse_qs

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError
from aiohttp.web_request import BaseRequest

from fleetqueue.apiserver import problems
from fleetqueue.apiserver.bodies import BODY_BYTES_MAX
from fleetqueue.apiserver.request import Frame, Frames, Handler, Request, Response

logger = logging.getLogger(__name__)

KEEPALIVE_SECONDS = 90.0
"""How long a connection may take to ask: for its first request, and between two."""
BODY_SECONDS = 60.0
STALLED_SECONDS = 60.0
LINGERING_SECONDS = 2.0
"""How long a body that was refused may go on arriving, so that its client reads the answer."""
GZIP_BYTES_MIN = 128 * 1024
WRITE_BYTES_MAX = 256 * 1024
"""So much of a stream is copied for a client at once; the rest waits in frames that all share."""


class Door:
    """One listening address of a server."""

    def __init__(self, handler: Handler, tls: ssl.SSLContext | None) -> None:
        self._handler = handler
        self._tls = tls
        self._server = web.Server(
            self._serve,
            access_log=None,
            logger=_http_logger(),
            keepalive_timeout=KEEPALIVE_SECONDS,
            max_field_size=65536,
            max_line_size=65536,
            # Kubernetes takes no compressed bodies, and small ones can unfold into gigabytes.
            auto_decompress=False,
            handler_cancellation=True,
            lingering_time=LINGERING_SECONDS,
        )
        self._runner = web.ServerRunner(self._server, shutdown_timeout=2.0)
        self.port = 0

    async def open(self, host: str, port: int) -> None:
        await self._runner.setup()
        site = web.TCPSite(
            self._runner, host, port, ssl_context=self._tls, backlog=1024, reuse_address=True
        )
        await site.start()
        self.port = self._runner.addresses[0][1]

    @property
    def connections(self) -> int:
        return len(self._server.connections)

    async def close(self) -> None:
        await self._runner.cleanup()

    async def _serve(self, incoming: BaseRequest) -> web.StreamResponse:
        try:
            request = await self._read(incoming)
        except problems.ApiError as error:
            return await _whole(incoming, Response(error.code, object=error.status()))
        response = await self._handler(request)
        if response.upgrade is not None:
            result = await response.upgrade(incoming)
            assert isinstance(result, web.StreamResponse)
            return result
        if response.frames is not None:
            return await _stream_frames(incoming, response, response.frames)
        if response.chunks is not None:
            return await _stream_chunks(incoming, response)
        return await _whole(incoming, response)

    async def _read(self, incoming: BaseRequest) -> Request:
        body = b""
        if incoming.body_exists:
            body = await _read_body(incoming)
        query = incoming.rel_url.raw_query_string
        return Request(
            method=incoming.method,
            path=incoming.rel_url.path,
            query=parse_qs(query, keep_blank_values=True) if query else {},
            headers=_lowered(incoming.headers),
            body=body,
            peer_certificate=_peer_certificate(incoming),
            channel=incoming,
        )


def _http_logger() -> logging.Logger:
    """For what aiohttp reports; a stranger who speaks no HTTP got a 400 and is no error of ours."""
    http_logger = logging.getLogger(f"{__name__}.http")
    http_logger.addFilter(_is_ours)
    return http_logger


def _is_ours(record: logging.LogRecord) -> bool:
    error = record.exc_info[1] if record.exc_info else None
    return not isinstance(error, HttpProcessingError)


async def _read_body(incoming: BaseRequest) -> bytes:
    if (incoming.content_length or 0) > BODY_BYTES_MAX:
        raise _too_large()
    chunks, size = [], 0
    try:
        async with asyncio.timeout(BODY_SECONDS):
            async for chunk in incoming.content.iter_any():
                size += len(chunk)
                if size > BODY_BYTES_MAX:
                    raise _too_large()
                chunks.append(chunk)
    except TimeoutError as error:
        raise problems.bad_request("the body of the request did not arrive in time") from error
    except web.HTTPException as error:
        raise problems.bad_request(f"the body of the request cannot be read: {error}") from error
    return b"".join(chunks)


def _too_large() -> problems.ApiError:
    return problems.too_large(f"Request entity too large: limit is {BODY_BYTES_MAX}")


def _lowered(headers: Mapping[str, str]) -> dict[str, str]:
    lowered: dict[str, str] = {}
    for name, value in headers.items():
        key = name.lower()
        # Repeated impersonation groups are one list.
        lowered[key] = f"{lowered[key]}\n{value}" if key in lowered else value
    return lowered


def _peer_certificate(incoming: BaseRequest) -> bytes | None:
    transport = incoming.transport
    if transport is None:
        return None
    connection = transport.get_extra_info("ssl_object")
    found = connection.getpeercert(binary_form=True) if connection is not None else None
    return found if isinstance(found, bytes) else None


def _headers(response: Response) -> dict[str, str]:
    return {
        "Content-Type": response.content_type,
        "Cache-Control": "no-cache, private",
        **response.headers,
    }


async def _whole(incoming: BaseRequest, response: Response) -> web.Response:
    """An answer in one piece; a client that does not fetch a long one is cut off."""
    answer = _plain(incoming, response)
    if answer.content_length is not None and answer.content_length > WRITE_BYTES_MAX:
        try:
            async with asyncio.timeout(STALLED_SECONDS):
                await answer.prepare(incoming)
                await answer.write_eof()
        except (ConnectionError, TimeoutError):
            _cut_off(incoming)
    return answer


def _cut_off(incoming: BaseRequest) -> None:
    if incoming.transport is not None:
        incoming.transport.abort()


def _plain(incoming: BaseRequest, response: Response) -> web.Response:
    body = response.encoded()
    headers = _headers(response)
    if len(body) > GZIP_BYTES_MIN and "gzip" in incoming.headers.get("Accept-Encoding", ""):
        body = gzip.compress(body, compresslevel=1, mtime=0)
        headers["Content-Encoding"] = "gzip"
        headers["Vary"] = "Accept-Encoding"
    answer = web.Response(status=response.status, body=body, headers=headers)
    for text in response.warnings:
        answer.headers.add("Warning", warning_header(text))
    return answer


def warning_header(text: str) -> str:
    quoted = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ")
    return f'299 - "{quoted}"'


async def _stream_frames(
    incoming: BaseRequest, response: Response, frames: Frames
) -> web.StreamResponse:
    answer = web.StreamResponse(status=response.status, headers=_headers(response))
    for text in response.warnings:
        answer.headers.add("Warning", warning_header(text))
    answer.enable_chunked_encoding()
    watchdog = _Watchdog(incoming)
    try:
        await answer.prepare(incoming)
        watchdog.start()
        async for batch in frames:
            for piece in _pieces(batch):
                watchdog.writing = True
                await answer.write(piece)
                watchdog.writing = False
        await answer.write_eof()
    except ConnectionError:
        _cut_off(incoming)
    finally:
        watchdog.stop()
        # A watcher that nobody reads must not stay in the feed until it is collected.
        await frames.aclose()
    return answer


class _Watchdog:
    """Cuts off a client that takes nothing for a whole period.

    One timer for a stream, since a timeout around every write would cost more than the write.
    """

    def __init__(self, incoming: BaseRequest) -> None:
        self._incoming = incoming
        self._was_writing = False
        self._timer: asyncio.TimerHandle | None = None
        self.writing = False

    def start(self) -> None:
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(STALLED_SECONDS / 2, self._look)

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _look(self) -> None:
        if self.writing and self._was_writing:
            _cut_off(self._incoming)
            return
        self._was_writing = self.writing
        self.start()


def _pieces(batch: list[Frame]) -> Iterator[bytes]:
    """The lines of a batch joined into writes of bounded size."""
    lines: list[bytes] = []
    size = 0
    for frame in batch:
        lines.append(frame.line)
        size += len(frame.line)
        if size >= WRITE_BYTES_MAX:
            yield b"".join(lines)
            lines, size = [], 0
    if lines:
        yield b"".join(lines)


async def _stream_chunks(incoming: BaseRequest, response: Response) -> web.StreamResponse:
    answer = web.StreamResponse(status=response.status, headers=_headers(response))
    answer.enable_chunked_encoding()
    await answer.prepare(incoming)
    assert response.chunks is not None
    try:
        async for chunk in response.chunks:
            async with asyncio.timeout(STALLED_SECONDS):
                await answer.write(chunk)
        await answer.write_eof()
    except (ConnectionError, TimeoutError):
        _cut_off(incoming)
    return answer
