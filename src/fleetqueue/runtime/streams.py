"""The standard streams of a process as somebody connected to it reads and writes them."""

import asyncio
import contextlib
import errno
import fcntl
import os
import struct
import termios

_READ_MAX = 64 * 1024


class DescriptorStreams:
    """Pipes or a terminal. Output is read when asked for, so a slow reader slows the writer."""

    def __init__(
        self, outputs: dict[int, int], input: int | None = None, terminal: int | None = None
    ) -> None:
        """`outputs`: a descriptor and whether it is 1 or 2. All of them belong to this object."""
        for descriptor in (*outputs, *(d for d in (input, terminal) if d is not None)):
            os.set_blocking(descriptor, False)
        self._outputs = dict(outputs)
        self._input = input
        self._terminal = terminal
        self._is_over = False
        self._waiter: asyncio.Future[None] | None = None

    async def read_output(self) -> tuple[int, bytes] | None:
        while True:
            for descriptor, number in list(self._outputs.items()):
                data = self._read(descriptor)
                if data:
                    return number, data
            if not self._outputs or self._is_over:
                return None
            await self._readable()

    async def write_input(self, data: bytes) -> None:
        descriptor = self._terminal if self._terminal is not None else self._input
        while data and descriptor is not None:
            try:
                data = data[os.write(descriptor, data) :]
            except BlockingIOError:
                await _writable(descriptor)
            except OSError:
                # The process does not read any more, as any writer to a pipe may find.
                return

    async def close_input(self) -> None:
        """A terminal has no end of input: who is at it says that with a key."""
        if self._input is not None:
            os.close(self._input)
            self._input = None

    def resize(self, columns: int, rows: int) -> None:
        if self._terminal is not None:
            with contextlib.suppress(OSError):
                size = struct.pack("HHHH", rows, columns, 0, 0)
                fcntl.ioctl(self._terminal, termios.TIOCSWINSZ, size)

    def finish(self) -> None:
        """The process ended: what is there is still read, and nothing is waited for."""
        self._is_over = True
        self._wake()

    def close(self) -> None:
        for descriptor in list(self._outputs):
            self._drop(descriptor)
        for other in (self._input, self._terminal):
            if other is not None:
                with contextlib.suppress(OSError):
                    os.close(other)
        self._input = self._terminal = None
        self.finish()

    def _read(self, descriptor: int) -> bytes:
        try:
            data = os.read(descriptor, _READ_MAX)
        except BlockingIOError:
            return b""
        except OSError as problem:
            # A terminal that no process has open any more.
            if problem.errno != errno.EIO:
                raise
            data = b""
        if not data:
            self._drop(descriptor)
        return data

    def _drop(self, descriptor: int) -> None:
        del self._outputs[descriptor]
        if descriptor != self._terminal:
            os.close(descriptor)

    async def _readable(self) -> None:
        loop = asyncio.get_running_loop()
        watched = list(self._outputs)
        self._waiter = loop.create_future()
        for descriptor in watched:
            loop.add_reader(descriptor, self._wake)
        try:
            await self._waiter
        finally:
            for descriptor in watched:
                loop.remove_reader(descriptor)
            self._waiter = None

    def _wake(self) -> None:
        if self._waiter is not None:
            _settle(self._waiter)


async def _writable(descriptor: int) -> None:
    loop = asyncio.get_running_loop()
    waiter: asyncio.Future[None] = loop.create_future()
    loop.add_writer(descriptor, _settle, waiter)
    try:
        await waiter
    finally:
        loop.remove_writer(descriptor)


def _settle(waiter: "asyncio.Future[None]") -> None:
    if not waiter.done():
        waiter.set_result(None)
