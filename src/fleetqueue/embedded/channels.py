"""Several streams in one WebSocket: a byte before each message says to which it belongs.

The text protocols write that byte as a digit, and what follows in base64.
"""

import base64
import binascii
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from fleetqueue.apiserver import problems

if TYPE_CHECKING:
    from aiohttp import web

CLOSE = 255
"""In protocols that can, it says that the stream named by the next byte ends."""
TUNNEL = "SPDY/3.1+portforward.k8s.io"
_TUNNEL_START = "SPDY/3.1+"
_TUNNEL_END = ".k8s.io"


class Protocol(NamedTuple):
    """One of the subprotocols."""

    name: str
    is_text: bool = False
    closes: bool = False
    """Whether a client can end a single stream."""
    has_statuses: bool = True
    """Whether the outcome is told as a Status, also when it is good."""


V5 = Protocol("v5.channel.k8s.io", closes=True)
COMMAND_PROTOCOLS = (
    V5,
    Protocol("v4.channel.k8s.io"),
    Protocol("v4.base64.channel.k8s.io", is_text=True),
    Protocol("channel.k8s.io", has_statuses=False),
    Protocol("base64.channel.k8s.io", is_text=True, has_statuses=False),
    Protocol("", has_statuses=False),
)
PORT_PROTOCOLS = (
    Protocol("v4.channel.k8s.io"),
    Protocol("v4.base64.channel.k8s.io", is_text=True),
    Protocol(""),
)


def offered(headers: Mapping[str, str]) -> list[str]:
    """The subprotocols that a client names, its favourite first."""
    text = headers.get("sec-websocket-protocol", "").replace("\n", ",")
    return [name for name in (part.strip() for part in text.split(",")) if name] or [""]


def negotiate(names: Sequence[str], known: Sequence[Protocol]) -> Protocol | None:
    """The version that can close streams is taken wherever it is offered."""
    by_name = {protocol.name: protocol for protocol in known}
    if V5.name in names and V5.name in by_name:
        return V5
    return next((by_name[name] for name in names if name in by_name), None)


def asks_for_tunnel(names: Sequence[str]) -> bool:
    return any(n.startswith(_TUNNEL_START) and n.endswith(_TUNNEL_END) for n in names)


def encode(protocol: Protocol, channel: int, data: bytes) -> bytes | str:
    if protocol.is_text:
        return chr(ord("0") + channel) + base64.b64encode(data).decode()
    return bytes([channel]) + data


def decode(protocol: Protocol, message: bytes | str) -> tuple[int, bytes | None] | None:
    """A channel and what came on it, or that it ended (None); None for messages without meaning."""
    raw = message.encode() if isinstance(message, str) else message
    if not raw:
        return None
    if protocol.closes and raw[0] == CLOSE:
        return (raw[1], None) if len(raw) == 2 else None
    if not protocol.is_text:
        return raw[0], raw[1:]
    try:
        return raw[0] - ord("0"), base64.b64decode(raw[1:], validate=True)
    except binascii.Error:
        return None


class ChannelSocket:
    """A WebSocket that speaks one of the protocols."""

    def __init__(self, socket: "web.WebSocketResponse", protocol: Protocol) -> None:
        self._socket = socket
        self.protocol = protocol

    async def receive(self) -> tuple[int, bytes | None] | None:
        """None: the client is gone."""
        async for message in self._socket:
            if isinstance(message.data, bytes | str):
                found = decode(self.protocol, message.data)
                if found is not None:
                    return found
        return None

    async def send(self, channel: int, data: bytes) -> None:
        message = encode(self.protocol, channel, data)
        if isinstance(message, str):
            await self._socket.send_str(message)
        else:
            await self._socket.send_bytes(message)

    async def close(self) -> None:
        await self._socket.close()


def refuse(names: Sequence[str], known: Sequence[Protocol]) -> problems.ApiError:
    accepted = [protocol.name for protocol in known if protocol.name]
    return problems.ApiError(
        403,
        "Forbidden",
        f"unable to upgrade: unable to negotiate protocol: client supports [{' '.join(names)}], "
        f"server accepts [{' '.join(accepted)}]",
    )
