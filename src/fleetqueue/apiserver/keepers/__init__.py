"""What a server keeps in order by itself: it follows committed changes and writes as its own
client.

A keeper's work is queued by key, done one at a time, and tried again with growing delays.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import Protocol

from fleetqueue.apiserver.storage import Change

logger = logging.getLogger(__name__)

RETRY_SECONDS_MIN = 0.05
RETRY_SECONDS_MAX = 30.0


class Again(Exception):
    """Somebody else was faster; the work is tried again, and nobody needs to hear of it."""


class Keeper(Protocol):
    """`start` looks at what is there, `follow` at what changes; neither waits."""

    @property
    def tables(self) -> Collection[str] | None:
        """Those whose changes it has to hear of; None: all."""

    @property
    def is_idle(self) -> bool: ...

    def start(self) -> None: ...

    def follow(self, changes: Sequence[Change]) -> None: ...

    async def stop(self) -> None: ...


class WorkList:
    """Keys that need work, each once; done in order by a task that lives while there is work."""

    def __init__(self, name: str, work: Callable[[str], Awaitable[None]]) -> None:
        self._name = name
        self._work = work
        self._waiting: dict[str, None] = {}
        self._failures: dict[str, int] = {}
        self._task: asyncio.Task[None] | None = None
        self._timers: dict[str, asyncio.TimerHandle] = {}
        """By key: when it is tried again."""
        self._is_stopped = False

    @property
    def is_idle(self) -> bool:
        return not self._waiting and self._task is None and not self._timers

    def add(self, key: str) -> None:
        if self._is_stopped:
            # Writes that were under way still land while the server stops.
            return
        self._waiting[key] = None
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._run())

    def add_after(self, key: str, seconds: float) -> None:
        """Unless that happens sooner anyway."""
        loop, before = asyncio.get_running_loop(), self._timers.get(key)
        if self._is_stopped or (before is not None and before.when() <= loop.time() + seconds):
            return
        if before is not None:
            before.cancel()

        def fire() -> None:
            del self._timers[key]
            self.add(key)

        self._timers[key] = loop.call_later(seconds, fire)

    async def stop(self) -> None:
        self._is_stopped = True
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()
        self._waiting.clear()
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _run(self) -> None:
        try:
            while self._waiting:
                key = next(iter(self._waiting))
                del self._waiting[key]
                await self._attempt(key)
        finally:
            self._task = None

    async def _attempt(self, key: str) -> None:
        try:
            await self._work(key)
        except Again:
            self.add_after(key, self._delay(key))
        except Exception:
            delay = self._delay(key)
            logger.exception("%s failed", self._name, extra={"key": key, "again_in": delay})
            self.add_after(key, delay)
        else:
            self._failures.pop(key, None)

    def _delay(self, key: str) -> float:
        count = self._failures[key] = self._failures.get(key, 0) + 1
        # The exponent is bounded too: what fails for days would overflow a float.
        return min(RETRY_SECONDS_MIN * 2.0 ** min(count - 1, 20), RETRY_SECONDS_MAX)
