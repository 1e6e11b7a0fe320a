"""Takes over a connection from the HTTP door: as a WebSocket, or as it is."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from fleetqueue.apiserver import problems
from fleetqueue.apiserver.request import Request

if TYPE_CHECKING:
    from aiohttp import web
    from aiohttp.web_request import BaseRequest

MESSAGE_BYTES_MAX = 32 * 1024 * 1024
SPDY = "SPDY/3.1"


def wanted_upgrade(request: Request) -> str:
    """websocket or spdy/3.1; others are refused."""
    asked = request.headers.get("upgrade", "").strip().lower()
    is_upgrade = "upgrade" in request.headers.get("connection", "").lower()
    if not is_upgrade or request.channel is None:
        raise problems.bad_request("Upgrade request required")
    if asked == "websocket":
        return asked
    if SPDY.lower() in asked:
        return SPDY.lower()
    raise problems.bad_request(
        f"unable to upgrade: missing upgrade headers in request: {request.headers.get('upgrade')}"
    )


async def open_websocket(incoming: "BaseRequest", protocol: str) -> "web.WebSocketResponse":
    # Most servers never see such a request, and this library takes long to load.
    from aiohttp import web

    socket = web.WebSocketResponse(
        protocols=[protocol] if protocol else (), compress=False, max_msg_size=MESSAGE_BYTES_MAX
    )
    await socket.prepare(incoming)
    return socket


Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


async def take_raw(incoming: "BaseRequest", protocol: str, serve: Serve) -> Any:
    """Answer that the protocol changes, then leave the connection to `serve`."""
    return await take_over(incoming, _switching(protocol), serve)


async def take_over(incoming: "BaseRequest", head: bytes, serve: Serve) -> Any:
    """The same with an answer that is given."""
    from aiohttp import web

    class Taken(web.StreamResponse):
        """An answer that was given already."""

        async def prepare(self, request: "BaseRequest") -> None:
            return None

        async def write_eof(self, data: bytes = b"") -> None:
            return None

    transport = incoming.transport
    if transport is None:
        raise ConnectionResetError("the client is gone")
    before = transport.get_protocol()
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(loop=loop)
    ours = _Between(reader, before)
    transport.set_protocol(ours)
    ours.connection_made(transport)
    writer = asyncio.StreamWriter(transport, ours, reader, loop)
    try:
        writer.write(head)
        await serve(reader, writer)
    finally:
        transport.close()
    answer = Taken()
    answer.force_close()
    return answer


class _Between(asyncio.StreamReaderProtocol):
    """Reads a connection that another protocol had, which still has to hear of its end."""

    def __init__(self, reader: asyncio.StreamReader, before: asyncio.BaseProtocol) -> None:
        super().__init__(reader)
        self._before = before

    def connection_lost(self, error: Exception | None) -> None:
        super().connection_lost(error)
        self._before.connection_lost(error)


def _switching(protocol: str) -> bytes:
    lines = [
        "HTTP/1.1 101 Switching Protocols",
        "Connection: Upgrade",
        f"Upgrade: {SPDY}",
        f"X-Stream-Protocol-Version: {protocol}",
    ]
    return "\r\n".join([*lines, "", ""]).encode()
