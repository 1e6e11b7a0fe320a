"""Connections that turn into something else than HTTP (exec, attach, port-forward): on aiohttp,
which speaks WebSocket.
"""

import asyncio
from urllib.parse import parse_qs

from aiohttp import web
from aiohttp.web_request import BaseRequest

from fleetqueue.apiserver import answers
from fleetqueue.apiserver.request import Handler, Request, Response

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
        return _plain(response)


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


def _plain(response: Response) -> web.Response:
    answer = web.Response(
        status=response.status,
        body=response.encoded(),
        headers={"Content-Type": response.content_type, **response.headers},
    )
    for text in response.warnings:
        answer.headers.add("Warning", answers.warning(text))
    answer.force_close()
    return answer
