"""The terminal, or whatever else this command reads from and writes to, for a process far away."""

import asyncio
import os
import signal
import sys
import termios
import threading
import tty
from collections.abc import AsyncIterator
from types import TracebackType
from typing import Any, Self

READ_BYTES_MAX = 32 * 1024
CHUNKS_MAX = 8
"""Of the input are read ahead of the one that is sent."""
STDERR = 2


class Terminal:
    """In a `with` block every key goes through, if that is wanted and there is a terminal."""

    def __init__(self, *, is_raw: bool) -> None:
        self._input = sys.stdin.fileno()
        self.is_there = os.isatty(self._input)
        self._is_raw = is_raw and self.is_there
        self._before: Any = None

    def __enter__(self) -> Self:
        if self._is_raw:
            self._before = termios.tcgetattr(self._input)
            tty.setraw(self._input)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._before is not None:
            termios.tcsetattr(self._input, termios.TCSADRAIN, self._before)

    def write(self, stream: int, data: bytes) -> None:
        out = sys.stderr.buffer if stream == STDERR else sys.stdout.buffer
        out.write(data)
        out.flush()

    async def inputs(self) -> AsyncIterator[bytes]:
        """Read by a thread that nobody waits for: files and terminals block in their own ways."""
        loop, came = asyncio.get_running_loop(), asyncio.Queue[bytes](maxsize=CHUNKS_MAX)

        def read() -> None:
            data = b" "
            while data:
                data = os.read(self._input, READ_BYTES_MAX)
                asyncio.run_coroutine_threadsafe(came.put(data), loop).result()

        threading.Thread(target=read, daemon=True, name="input").start()
        while data := await came.get():
            yield data

    async def sizes(self) -> AsyncIterator[tuple[int, int]]:
        """The present one, then every change."""
        changed = asyncio.Event()
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGWINCH, changed.set)
        try:
            while True:
                size = os.get_terminal_size(self._input)
                yield size.columns, size.lines
                await changed.wait()
                changed.clear()
        finally:
            loop.remove_signal_handler(signal.SIGWINCH)
