"""The seam through which everything learns the time: a wall clock and a monotonic one."""

import time
from asyncio import AbstractEventLoop
from datetime import UTC, datetime, timedelta
from typing import Protocol


class Clock(Protocol):
    def now(self) -> datetime:
        """The wall time, always aware and in UTC."""

    def monotonic(self) -> float:
        """Seconds that never go back; only differences mean anything."""


class SystemClock:
    """The machine's own clocks."""

    def now(self) -> datetime:
        return datetime.now(UTC)  # noqa: TID251 - this is the seam that the ban points to

    def monotonic(self) -> float:
        return time.monotonic()


class LoopClock:
    """Follows the time of an event loop; `epoch` is the wall time at which the loop shows zero."""

    def __init__(self, loop: AbstractEventLoop, epoch: datetime) -> None:
        assert epoch.tzinfo is not None
        self._loop = loop
        self._epoch = epoch.astimezone(UTC)

    def now(self) -> datetime:
        return self._epoch + timedelta(seconds=self._loop.time())

    def monotonic(self) -> float:
        return self._loop.time()
