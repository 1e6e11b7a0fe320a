"""One connection of a remote shell, as the runtime sees it: what is wanted, then the streams of the
command one way and the other, and signals in between.
"""

import asyncio
import json
from dataclasses import dataclass

from fleetqueue.runtime import remote_shell as wire
from fleetqueue.runtime.processes import Process, Streams

HELLO_BYTES_MAX = 4 * 1024 * 1024
"""More than the kernel lets a program have as arguments."""
_SIGNALS = range(1, 65)


class Malformed(Exception):
    """What the peer sends is not what the program sends."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a peer asks for."""

    key: str
    host: str
    command: str
    has_input: bool


class Peer:
    """The program at the other end."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._process: Process | None = None
        self._inputs: asyncio.Queue[bytes] = asyncio.Queue()

    async def hello(self) -> Wanted:
        kind, data = await self._receive(HELLO_BYTES_MAX)
        if kind != wire.HELLO:
            raise Malformed
        try:
            said = json.loads(data)
            key, host, command = (str(said[name]) for name in ("key", "host", "command"))
            return Wanted(key, host, command, has_input=bool(said["input"]))
        except (ValueError, TypeError, KeyError) as problem:
            raise Malformed from problem

    async def listen(self) -> int:
        """Until it leaves, which raises ConnectionError. A signal that comes before the command
        runs ends all: the code of a process that it ended is the outcome.
        """
        while True:
            kind, data = await self._receive(wire.PIECE_BYTES_MAX)
            if kind == wire.INPUT:
                self._inputs.put_nowait(data)
            elif kind == wire.SIGNAL and len(data) == 1 and data[0] in _SIGNALS:
                if self._process is None:
                    return 128 + data[0]
                self._process.signal(data[0])
            else:
                raise Malformed

    async def converse(self, process: Process, streams: Streams, *, has_input: bool) -> int:
        """The exit code of the process, once all its output is sent."""
        self._process = process
        showing = asyncio.create_task(self._show(streams))
        feeding = asyncio.create_task(self._feed(streams)) if has_input else None
        try:
            exit = await process.wait()
            await showing
            return exit.code
        finally:
            tasks = [task for task in (showing, feeding) if task is not None]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def send(self, kind: bytes, data: bytes = b"") -> None:
        self._writer.write(wire.frame(kind, data))
        await self._writer.drain()

    async def _show(self, streams: Streams) -> None:
        kinds = {1: wire.OUTPUT, 2: wire.ERROR_OUTPUT}
        while (piece := await streams.read_output()) is not None:
            await self.send(kinds[piece[0]], piece[1])

    async def _feed(self, streams: Streams) -> None:
        """A piece is asked for when the one before was taken."""
        while True:
            await self.send(wire.MORE)
            data = await self._inputs.get()
            if not data:
                await streams.close_input()
                return
            await streams.write_input(data)

    async def _receive(self, bytes_max: int) -> tuple[bytes, bytes]:
        try:
            head = await self._reader.readexactly(wire.HEAD.size)
            kind, length = wire.HEAD.unpack(head)
            if length > bytes_max:
                raise Malformed
            return kind, await self._reader.readexactly(length)
        except asyncio.IncompleteReadError as problem:
            raise ConnectionError("the peer left") from problem
