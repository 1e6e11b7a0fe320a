"""How far a load is: told now and then, and the end of it where nothing moves or a process died."""

import asyncio
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

TELL_SECONDS = 30.0
LOOK_SECONDS = 1.0
STUCK_SECONDS = 180.0
"""Without a workload that was created or finished for so long, the load goes nowhere."""


class Stuck(Exception):
    """The load cannot be brought to its end."""


class Progress:
    """Of one load. `problem` says what is wrong with its processes; "" : nothing."""

    def __init__(self, name: str, total: int, problem: Callable[[], str]) -> None:
        self.created = 0
        self.finished = 0
        self._name = name
        self._total = total
        self._problem = problem

    @asynccontextmanager
    async def told(self) -> AsyncIterator[None]:
        """While the load runs."""
        watching = asyncio.create_task(self._watch(asyncio.current_task()))
        try:
            yield
        except asyncio.CancelledError:
            if watching.done() and (error := watching.exception()) is not None:
                raise error from None
            raise
        finally:
            watching.cancel()

    async def _watch(self, load: "asyncio.Task[None] | None") -> None:
        try:
            await self._follow()
        except Stuck:
            assert load is not None
            load.cancel()
            raise

    async def _follow(self) -> None:
        begun = moved = time.perf_counter()
        told, seen = begun, (0, 0)
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            now = time.perf_counter()
            if seen != (self.created, self.finished):
                seen, moved = (self.created, self.finished), now
            if now - told >= TELL_SECONDS:
                told = now
                print(self._line(now - begun), file=sys.stderr, flush=True)
            problem = self._problem()
            if now - moved > STUCK_SECONDS:
                problem = problem or f"nothing moved for {STUCK_SECONDS:.0f} s"
            if problem:
                raise Stuck(f"{self._line(now - begun)}: {problem}")

    def _line(self, seconds: float) -> str:
        moved = f"{self.created:,} of {self._total:,} created, {self.finished:,} ended"
        return f"{self._name}: {seconds:.0f} s, {moved}"
