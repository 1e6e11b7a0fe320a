"""The client's end of exec and attach, over either protocol: its input, output and outcome."""

import asyncio
from typing import Protocol

from fleetqueue.embedded import command_statuses as statuses
from fleetqueue.embedded.channels import ChannelSocket
from fleetqueue.embedded.command_statuses import Status
from fleetqueue.embedded.spdy_session import Stream

STDIN, STDOUT, STDERR, ERROR, RESIZE = range(5)
CHANNEL_OF = {"stdin": STDIN, "stdout": STDOUT, "stderr": STDERR, "error": ERROR, "resize": RESIZE}


class Peer(Protocol):
    """Who is connected to a process."""

    async def receive(self) -> tuple[int, bytes | None] | None:
        """A channel and what came on it, or that it ended (None); None: the client is gone."""

    async def send(self, channel: int, data: bytes) -> None: ...

    async def finish(self, status: Status) -> None:
        """Tell the outcome, and part."""


class ChannelPeer:
    """Over the channels of a WebSocket."""

    def __init__(self, socket: ChannelSocket) -> None:
        self._socket = socket

    async def greet(self, channel: int) -> None:
        """An empty message says that the connection stands."""
        await self._socket.send(channel, b"")

    async def receive(self) -> tuple[int, bytes | None] | None:
        return await self._socket.receive()

    async def send(self, channel: int, data: bytes) -> None:
        await self._socket.send(channel, data)

    async def finish(self, status: Status) -> None:
        text = statuses.encoded(status, has_statuses=self._socket.protocol.has_statuses)
        if text:
            await self._socket.send(ERROR, text)
        await self._socket.close()


class SpdyPeer:
    """Over the streams of a SPDY connection, one for each channel."""

    def __init__(self, *, has_statuses: bool) -> None:
        self._has_statuses = has_statuses
        self._streams: dict[int, Stream] = {}
        self._received: asyncio.Queue[tuple[int, bytes | None] | None] = asyncio.Queue(1)
        self._readers: list[asyncio.Task[None]] = []
        self._opened = asyncio.Event()

    def open(self, stream: Stream) -> str:
        """A stream came; the text says why it is not taken."""
        channel = CHANNEL_OF.get(stream.headers.get("streamtype", ""))
        if channel is None or channel in self._streams:
            return f"unexpected stream type: {stream.headers.get('streamtype')!r}"
        self._streams[channel] = stream
        if channel in (STDIN, RESIZE):
            self._readers.append(asyncio.create_task(self._read(channel, stream)))
        self._opened.set()
        return ""

    async def opened(self, channels: set[int]) -> None:
        """Returns when all of these have come."""
        while not channels <= self._streams.keys():
            self._opened.clear()
            await self._opened.wait()

    def gone(self) -> None:
        self._readers.append(asyncio.create_task(self._received.put(None)))

    async def receive(self) -> tuple[int, bytes | None] | None:
        return await self._received.get()

    async def send(self, channel: int, data: bytes) -> None:
        stream = self._streams.get(channel)
        if stream is not None:
            await stream.write(data)

    async def finish(self, status: Status) -> None:
        await self.send(ERROR, statuses.encoded(status, has_statuses=self._has_statuses))
        for stream in self._streams.values():
            await stream.close()

    def close(self) -> None:
        for reader in self._readers:
            reader.cancel()

    async def _read(self, channel: int, stream: Stream) -> None:
        while data := await stream.read():
            await self._received.put((channel, data))
        await self._received.put((channel, None))
