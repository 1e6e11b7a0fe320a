"""Keeps a review door open on a thread and an event loop of its own: whatever the process is busy
with, API servers get their answers.
"""

import asyncio
import logging
import threading
from concurrent.futures import Future
from contextlib import suppress

from fleetqueue.base.loops import new_runner
from fleetqueue.kube.review_door import ReviewDoor

log = logging.getLogger(__name__)


class DoorThread:
    """Opened and closed from another loop."""

    def __init__(self, door: ReviewDoor, host: str, port: int) -> None:
        self._door = door
        self._host = host
        self._port = port
        self._opened: Future[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = Future()
        self._ended: Future[None] = Future()

    async def open(self) -> None:
        """When it returns, the door has its port."""
        threading.Thread(target=self._run, name="webhooks", daemon=True).start()
        await asyncio.wrap_future(self._opened)

    async def close(self) -> None:
        """Answers that are under way are given first."""
        with suppress(Exception):
            loop, closing = self._opened.result(timeout=0)
            loop.call_soon_threadsafe(closing.set)
        await asyncio.wrap_future(self._ended)

    def _run(self) -> None:
        try:
            with new_runner() as runner:
                runner.run(self._serve())
        except BaseException as error:
            if not self._opened.done():
                self._opened.set_exception(error)
            else:
                log.exception("webhooks are not answered any more")
        finally:
            self._ended.set_result(None)

    async def _serve(self) -> None:
        closing = asyncio.Event()
        await self._door.open(self._host, self._port)
        self._opened.set_result((asyncio.get_running_loop(), closing))
        await closing.wait()
        await self._door.close()
