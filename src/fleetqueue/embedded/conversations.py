"""Between a process and who is connected to it: input one way, output the other, until it ends."""

import asyncio
import json
from collections.abc import Awaitable, Iterator
from dataclasses import dataclass
from typing import Any

from fleetqueue.apiserver import problems
from fleetqueue.apiserver.request import Request
from fleetqueue.embedded.command_peers import RESIZE, STDERR, STDIN, STDOUT, Peer
from fleetqueue.runtime.processes import Exit, Streams

DRAIN_SECONDS = 2.0
"""How long output may be missing after the end, where others still hold the streams open."""
SIZE_BYTES_MAX = 4096


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which streams a client asks for."""

    stdin: bool
    stdout: bool
    stderr: bool
    tty: bool

    @property
    def first(self) -> int:
        """The channel on which it hears that it is connected."""
        return STDOUT if self.stdout else STDERR if self.stderr else 3

    @property
    def channels(self) -> set[int]:
        """Those that a client opens one by one, where it does so."""
        asked = (self.stdin, self.stdout, self.stderr, True)
        return {channel for channel, is_asked in enumerate(asked) if is_asked}


def wanted_of(request: Request) -> Wanted:
    tty = request.flag("tty")
    # A terminal has one output only.
    stderr = request.flag("stderr") and not tty
    wanted = Wanted(request.flag("stdin"), request.flag("stdout"), stderr, tty)
    if not (wanted.stdin or wanted.stdout or wanted.stderr):
        raise problems.bad_request("you must specify at least 1 of stdin, stdout, stderr")
    return wanted


class Gone(Exception):
    """The client left before the end."""


class Conversation:
    """One client connected to one process."""

    def __init__(self, peer: Peer, streams: Streams, wanted: Wanted) -> None:
        self._peer = peer
        self._streams = streams
        self._wanted = wanted
        self._sizes = Sizes()
        self._pieces = 0
        self._is_sending = False

    async def until_end(self, end: Awaitable[Exit]) -> Exit:
        """Raises Gone when the client leaves first."""
        ended = asyncio.ensure_future(end)
        listening = asyncio.create_task(self._listen())
        showing = asyncio.create_task(self._show())
        tasks: tuple[asyncio.Future[Any], ...] = (ended, listening, showing)
        try:
            await asyncio.wait((ended, listening), return_when=asyncio.FIRST_COMPLETED)
            if not ended.done():
                listening.result()
                raise Gone
            await self._drain(showing)
            return ended.result()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _drain(self, showing: "asyncio.Task[None]") -> None:
        """A slow client gets all there is; processes left behind get no hearing."""
        while not showing.done():
            before = self._pieces
            await asyncio.wait((showing,), timeout=DRAIN_SECONDS)
            if self._pieces == before and not self._is_sending:
                return
        showing.result()

    async def _listen(self) -> None:
        while (received := await self._peer.receive()) is not None:
            channel, data = received
            if channel == STDIN and self._wanted.stdin:
                if data is None:
                    await self._streams.close_input()
                elif data:
                    await self._streams.write_input(data)
            elif channel == RESIZE and data:
                for columns, rows in self._sizes.feed(data):
                    self._streams.resize(columns, rows)

    async def _show(self) -> None:
        shown = {STDOUT: self._wanted.stdout, STDERR: self._wanted.stderr}
        while (piece := await self._streams.read_output()) is not None:
            self._pieces += 1
            if shown[piece[0]]:
                self._is_sending = True
                await self._peer.send(*piece)
                self._is_sending = False


class Sizes:
    """Reads the sizes of a terminal: JSON objects, one after the other."""

    def __init__(self) -> None:
        self._text = ""
        self._decoder = json.JSONDecoder()

    def feed(self, data: bytes) -> Iterator[tuple[int, int]]:
        """Columns and rows."""
        self._text = (self._text + data.decode(errors="replace")).lstrip()
        while self._text:
            try:
                size, end = self._decoder.raw_decode(self._text)
            except ValueError:
                if len(self._text) > SIZE_BYTES_MAX:
                    self._text = ""
                return
            self._text = self._text[end:].lstrip()
            if isinstance(size, dict):
                yield _bounded(size.get("Width")), _bounded(size.get("Height"))


def _bounded(length: object) -> int:
    return min(max(length, 0), 65535) if isinstance(length, int) else 0
