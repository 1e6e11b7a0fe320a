"""Connections that turn into something else than HTTP (exec, attach, port-forward): on aiohttp,
which speaks WebSocket.
"""

import asyncio
from collections.abc import AsyncIterator
from urllib.parse import parse_qs

from aiohttp import web
from aiohttp.web_request import BaseRequest

from fleetqueue.apiserver import answers
from fleetqueue.apiserver.request import Frames, Handler, Request, Response

CLOSING_SECONDS = 2.0


class Upgrades:
    """Serves the requests that ask to leave HTTP; one that may not gets an ordinary answer."""

    def __init__(self, handler: Handler) -> None:
        self._handler = handler
        self._server = web.Server(self._serve, access_log=None, handler_cancellation=True)

    def take(self, transport: asyncio.Transport, received: bytes) -> None:
        protocol = self._server()
        transport.set_protocol(protocol)
        protocol.connection_made(transport)
        protocol.data_received(received)

    async def close(self) -> None:
        await self._server.shutdown(CLOSING_SECONDS)

    async def _serve(self, incoming: BaseRequest) -> web.StreamResponse:
        response = await self._handler(_request(incoming))
        if response.upgrade is not None:
            result = await response.upgrade(incoming)
            assert isinstance(result, web.StreamResponse)
            return result
        try:
            return await _ordinary(incoming, response)
        finally:
            # What is read at the other end, such as a worker's log, must not stay open.
            await response.aclose()


def _request(incoming: BaseRequest) -> Request:
    headers: dict[str, str] = {}
    for name, value in incoming.headers.items():
        key = name.lower()
        headers[key] = f"{headers[key]}\n{value}" if key in headers else value
    secured = incoming.get_extra_info("ssl_object")
    return Request(
        method=incoming.method,
        path=incoming.rel_url.path,
        query=parse_qs(incoming.rel_url.raw_query_string, keep_blank_values=True),
        headers=headers,
        peer_certificate=secured.getpeercert(binary_form=True) if secured is not None else None,
        channel=incoming,
    )


async def _ordinary(incoming: BaseRequest, response: Response) -> web.StreamResponse:
    """As whoever does not ask for an upgrade gets it; the connection ends with it."""
    parts = _parts(response)
    answer = web.Response(body=response.encoded()) if parts is None else web.StreamResponse()
    answer.set_status(response.status)
    answer.headers.update({"Content-Type": response.content_type, **response.headers})
    for text in response.warnings:
        answer.headers.add("Warning", answers.warning(text))
    answer.force_close()
    if parts is not None:
        await answer.prepare(incoming)
        async for part in parts:
            await answer.write(part)
    return answer


def _parts(response: Response) -> AsyncIterator[bytes] | None:
    """Of an answer that comes bit by bit."""
    if response.frames is not None:
        return _lines(response.frames)
    return response.chunks


async def _lines(frames: Frames) -> AsyncIterator[bytes]:
    async for batch in frames:
        yield b"".join(frame.line for frame in batch)
