"""The client's side of a WebSocket over a connection that was upgraded: frames out and messages
in, as RFC 6455 has them. No extensions.
"""

import asyncio
import base64
import secrets
from collections.abc import Sequence

CONTINUATION, TEXT, BINARY = 0, 1, 2
CLOSE, PING, PONG = 8, 9, 10
MESSAGE_BYTES_MAX = 32 * 1024 * 1024
_FINAL = 0x80
_MASKED = 0x80
_SHORT_MAX, _MEDIUM, _LONG = 125, 126, 127


class BadFrame(Exception):
    """The other side does not speak WebSocket."""


def offer(protocols: Sequence[str]) -> dict[str, str]:
    """The headers of a request to speak it."""
    return {
        "connection": "Upgrade",
        "upgrade": "websocket",
        "sec-websocket-version": "13",
        "sec-websocket-key": base64.b64encode(secrets.token_bytes(16)).decode(),
        "sec-websocket-protocol": ", ".join(protocols),
    }


def frame(kind: int, data: bytes) -> bytes:
    """Clients have to mask what they send."""
    size = len(data)
    if size <= _SHORT_MAX:
        length = bytes([_MASKED | size])
    elif size < 1 << 16:
        length = bytes([_MASKED | _MEDIUM]) + size.to_bytes(2, "big")
    else:
        length = bytes([_MASKED | _LONG]) + size.to_bytes(8, "big")
    mask = secrets.token_bytes(4)
    return bytes([_FINAL | kind]) + length + mask + masked(data, mask)


def masked(data: bytes, mask: bytes) -> bytes:
    repeated = (mask * (len(data) // 4 + 1))[: len(data)]
    mixed = int.from_bytes(data, "big") ^ int.from_bytes(repeated, "big")
    return mixed.to_bytes(len(data), "big")


class WebSocket:
    """One connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def send(self, data: bytes) -> None:
        self._writer.write(frame(BINARY, data))
        await self._writer.drain()

    async def receive(self) -> bytes | None:
        """The next message; None when the other side has ended."""
        message = b""
        while True:
            try:
                is_final, kind, data = await self._next()
            except (asyncio.IncompleteReadError, ConnectionError):
                return None
            if kind == CLOSE:
                return None
            if kind == PING:
                self._writer.write(frame(PONG, data))
            elif kind in (CONTINUATION, TEXT, BINARY):
                message += data
                if len(message) > MESSAGE_BYTES_MAX:
                    raise BadFrame("a message is too long")
                if is_final:
                    return message

    async def _next(self) -> tuple[bool, int, bytes]:
        first, second = await self._reader.readexactly(2)
        size = second & ~_MASKED
        if size >= _MEDIUM:
            wide = await self._reader.readexactly(2 if size == _MEDIUM else 8)
            size = int.from_bytes(wide, "big")
        if size > MESSAGE_BYTES_MAX:
            raise BadFrame("a frame is too long")
        mask = await self._reader.readexactly(4) if second & _MASKED else b""
        data = await self._reader.readexactly(size)
        return bool(first & _FINAL), first & 0x0F, masked(data, mask) if mask else data

    async def close(self) -> None:
        self._writer.write(frame(CLOSE, (1000).to_bytes(2, "big")))
        self._writer.close()
