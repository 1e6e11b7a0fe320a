"""Seeded faults for the Transport and Storage seams; the same seed does the same harm."""

import asyncio
import random
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass

from fleetqueue.apiserver.log import MemoryLog, Row, StorageError
from fleetqueue.kube.errors import Unreachable
from fleetqueue.kube.transport import Answer, Call, Frame, Payload, Stream, Transport


@dataclass(frozen=True, slots=True)
class Weather:
    """How bad things are: each is the chance that a call, or a batch of watch events, meets it."""

    delay: float = 0.0
    delay_seconds_max: float = 2.0
    lost_request: float = 0.0
    """The server never sees the call."""
    lost_answer: float = 0.0
    """The server did it, but the client does not learn so."""
    conflict: float = 0.0
    """A write is refused as if somebody else had been faster."""
    busy: float = 0.0
    """429 with Retry-After."""
    cut_watch: float = 0.0
    """A watch ends without a word."""
    late_watch: float = 0.0
    """A watch tells what happened only after a while, when answers have long come."""


CALM = Weather()
STORM = Weather(
    delay=0.3, lost_request=0.08, lost_answer=0.08, conflict=0.05, busy=0.05, cut_watch=0.15
)
CONFLICT = (
    b'{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure",'
    b'"message":"somebody else was faster","reason":"Conflict","code":409}'
)
BUSY = (
    b'{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure",'
    b'"message":"the server is busy","reason":"TooManyRequests","code":429}'
)


class FaultyTransport:
    """A transport in bad weather. `weather` may change at any time; CALM ends all faults."""

    def __init__(self, inner: Transport, random: random.Random, weather: Weather = CALM) -> None:
        self._inner = inner
        self._random = random
        self.weather = weather
        self.under_way = 0

    async def request(self, call: Call) -> Answer:
        self.under_way += 1
        try:
            return await self._request(call)
        finally:
            self.under_way -= 1

    async def _request(self, call: Call) -> Answer:
        weather, draw = self.weather, self._random.random
        if draw() < weather.delay:
            await asyncio.sleep(draw() * weather.delay_seconds_max)
        if draw() < weather.lost_request:
            raise Unreachable("the request was lost", sent=draw() < 0.5)
        if draw() < weather.busy:
            return Answer(429, Payload(BUSY), {"retry-after": "1"})
        if call.method in ("PUT", "PATCH") and draw() < weather.conflict:
            return Answer(409, Payload(CONFLICT), {})
        answer = await self._inner.request(call)
        if draw() < weather.lost_answer:
            raise Unreachable("the answer was lost", sent=True)
        return answer

    async def stream(self, call: Call) -> Stream:
        if self._random.random() < self.weather.lost_request:
            raise Unreachable("the request was lost", sent=True)
        stream = await self._inner.stream(call)
        if stream.frames is None:
            return stream
        return Stream(stream.status, stream.headers, frames=self._cut(stream), close=stream.aclose)

    async def _cut(self, stream: Stream) -> AsyncIterator[list[Frame]]:
        draw = self._random.random
        async for batch in stream.watch_frames():
            if draw() < self.weather.cut_watch:
                return
            if self.weather.late_watch and draw() < self.weather.late_watch:
                await asyncio.sleep(draw() * self.weather.delay_seconds_max)
            yield batch

    async def close(self) -> None:
        await self._inner.close()


class CrashingLog(MemoryLog):
    """A log that outlives its server, and can be told to die at a chosen write.

    A batch that is being written when the server dies is either whole on disk or not at all; which
    one, the random source says. In neither case is anything acknowledged.
    """

    def __init__(self, random: random.Random) -> None:
        super().__init__()
        self._random = random
        self.writes_left: int | None = None
        self.is_dead = False

    def append(self, rows: Sequence[Row], superseded: Sequence[int], compacted: int) -> None:
        if self.is_dead:
            raise StorageError("the server is dead")
        if self.writes_left is not None:
            self.writes_left -= len(rows)
            if self.writes_left <= 0:
                self.is_dead = True
                if self._random.random() < 0.5:
                    super().append(rows, superseded, compacted)
                raise StorageError("the server died while it was writing")
        super().append(rows, superseded, compacted)

    def revive(self) -> None:
        self.is_dead, self.writes_left = False, None
