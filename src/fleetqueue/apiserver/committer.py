"""Appends to a log that blocks, in a thread of its own, and tells the event loop when rows are
durable.
"""

import asyncio
import contextlib
import threading
from collections.abc import Callable, Sequence
from queue import SimpleQueue

from fleetqueue.apiserver.log import Log, Row

Done = Callable[[Exception | None], None]
_Work = tuple[asyncio.AbstractEventLoop, Sequence[Row], Sequence[int], int, Done]


class Committer:
    """One batch after the other. The thread starts with the first, so a server that only reads has
    none.
    """

    def __init__(self, log: Log) -> None:
        self._log = log
        self._queue: SimpleQueue[_Work | None] = SimpleQueue()
        self._thread: threading.Thread | None = None

    def append(
        self, rows: Sequence[Row], superseded: Sequence[int], compacted: int, done: Done
    ) -> None:
        """Append, then call `done` in the running event loop with what went wrong, or None."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="committer", daemon=True)
            self._thread.start()
        self._queue.put((asyncio.get_running_loop(), rows, superseded, compacted, done))

    def close(self) -> None:
        """Finish what was handed in; then the log closes."""
        if self._thread is not None:
            self._queue.put(None)
            self._thread.join()
            self._thread = None
        self._log.close()

    def _run(self) -> None:
        while (work := self._queue.get()) is not None:
            loop, rows, superseded, compacted, done = work
            failure: Exception | None = None
            try:
                self._log.append(rows, superseded, compacted)
            except Exception as error:  # whoever waits for these rows must hear of it
                failure = error
            # A loop that was closed meanwhile has nobody left who waits.
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(done, failure)
