"""The streams of one SPDY connection, as the side that accepts them."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable

from fleetqueue.embedded import spdy
from fleetqueue.embedded.spdy import Headers

WAITING_BYTES_MAX = 1024 * 1024
"""What a stream holds for a reader that is slow; then the whole connection waits."""
DATA_BYTES_MAX = 64 * 1024

Send = Callable[[bytes], Awaitable[None]]


class Stream:
    """One stream that the other side opened."""

    def __init__(self, id: int, headers: Headers, session: "Session") -> None:
        self.id = id
        self.headers = headers
        self._session = session
        self._pieces: deque[bytes] = deque()
        self._waiting_bytes = 0
        self._has_input_ended = False
        self._has_output_ended = False
        self._changed = asyncio.Condition()

    async def read(self) -> bytes:
        """What came next; nothing at the end."""
        async with self._changed:
            await self._changed.wait_for(lambda: self._pieces or self._has_input_ended)
            if not self._pieces:
                return b""
            data = self._pieces.popleft()
            self._waiting_bytes -= len(data)
            self._changed.notify_all()
            return data

    async def write(self, data: bytes) -> None:
        """Nobody hears what is written to a stream that ended."""
        for at in range(0, len(data), DATA_BYTES_MAX):
            if not self._has_output_ended:
                piece = data[at : at + DATA_BYTES_MAX]
                await self._session.send(spdy.Data(self.id, piece))

    async def close(self) -> None:
        """No more is written."""
        if not self._has_output_ended:
            self._has_output_ended = True
            await self._session.send(spdy.Data(self.id, b"", is_last=True))
            self._forget_if_over()

    async def reset(self) -> None:
        """It ends at once, in both directions."""
        self._has_output_ended = True
        await self._session.send(spdy.Reset(self.id, spdy.CANCEL))
        await self.end()

    # Of the session

    async def take(self, data: bytes) -> None:
        async with self._changed:
            await self._changed.wait_for(
                lambda: self._waiting_bytes < WAITING_BYTES_MAX or self._has_input_ended
            )
            if data and not self._has_input_ended:
                self._pieces.append(data)
                self._waiting_bytes += len(data)
            self._changed.notify_all()

    async def end(self) -> None:
        async with self._changed:
            self._has_input_ended = True
            self._changed.notify_all()
        self._forget_if_over()

    async def cut(self) -> None:
        self._has_output_ended = True
        await self.end()

    def _forget_if_over(self) -> None:
        if self._has_input_ended and self._has_output_ended:
            self._session.streams.pop(self.id, None)


class Session:
    """One connection. `opened` is told of each stream; the text it returns is why it is refused."""

    def __init__(self, send: Send, opened: Callable[[Stream], str]) -> None:
        self._send = send
        self._opened = opened
        self._decoder = spdy.Decoder()
        self._encoder = spdy.Encoder()
        self._sending = asyncio.Lock()
        self.streams: dict[int, Stream] = {}
        self._last_stream = 0
        self._is_over = False

    @property
    def is_over(self) -> bool:
        """Whether the other side has said goodbye and nothing is left to do."""
        return self._is_over and not self.streams

    async def feed(self, data: bytes) -> None:
        for frame in self._decoder.feed(data):
            await self._take(frame)

    async def send(self, frame: spdy.Frame) -> None:
        # Header blocks depend on those before them, so the order of the bytes is that of coding.
        async with self._sending:
            await self._send(self._encoder.encode(frame))

    async def close(self) -> None:
        for stream in list(self.streams.values()):
            await stream.cut()

    async def _take(self, frame: spdy.Frame) -> None:
        if isinstance(frame, spdy.SynStream):
            await self._open(frame)
        elif isinstance(frame, spdy.Ping):
            await self.send(frame)
        elif isinstance(frame, spdy.GoAway):
            self._is_over = True
        else:
            stream = self.streams.get(getattr(frame, "stream", 0))
            if stream is not None:
                await _take_of_stream(stream, frame)

    async def _open(self, frame: spdy.SynStream) -> None:
        if frame.stream <= self._last_stream or frame.stream % 2 == 0:
            await self.send(spdy.Reset(frame.stream, spdy.PROTOCOL_ERROR))
            return
        self._last_stream = frame.stream
        stream = Stream(frame.stream, frame.headers, self)
        self.streams[stream.id] = stream
        if self._opened(stream):
            await stream.reset()
            return
        await self.send(spdy.SynReply(stream.id, {}))
        if frame.is_last:
            await stream.end()


async def _take_of_stream(stream: Stream, frame: spdy.Frame) -> None:
    if isinstance(frame, spdy.Reset):
        await stream.cut()
        return
    if isinstance(frame, spdy.Data):
        await stream.take(frame.data)
    if isinstance(frame, spdy.Data | spdy.MoreHeaders) and frame.is_last:
        await stream.end()
