"""How many writes of workloads are under way at once: as many as the server takes without making
them wait for each other. What waits here still sees what changes; what waits there is outdated when
it is looked at, and is refused or undone.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

SLOTS_MIN, SLOTS_MAX = 3, 32
SLOW_FACTOR = 4.0
"""An answer that takes so many times as long as a good one had to wait for others."""
SLOW_SECONDS_MIN = 0.05
FORGETTING = 1.002
"""How fast the best time is forgotten, with each answer: a server may have moved away."""
FEWER, MORE = 0.9, 0.25


class Slots:
    """`async with slots.taken():` look, write, and tell how long the answer took; in the order in
    which they ask.
    """

    def __init__(self) -> None:
        self._limit = float(SLOTS_MAX)
        self._busy = 0
        self._best: float | None = None
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._watchers: list[asyncio.Future[None]] = []

    @property
    def is_behind(self) -> bool:
        """Whether as many wait for their turn as may be under way at once: whatever else is decided
        now is written no sooner, and is decided better later.
        """
        return len(self._waiting) >= self.limit

    async def caught_up(self) -> None:
        """Returns when it is no longer behind."""
        while self.is_behind:
            watcher: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._watchers.append(watcher)
            await watcher

    @asynccontextmanager
    async def taken(self) -> AsyncIterator[None]:
        await self._take()
        try:
            yield
        finally:
            self._give_back()

    @property
    def limit(self) -> int:
        return int(self._limit)

    def learn(self, seconds: float) -> None:
        """So long did an answer take."""
        known = self._best
        self._best = seconds if known is None else min(seconds, known * FORGETTING)
        if seconds > max(SLOW_SECONDS_MIN, self._best * SLOW_FACTOR):
            self._limit = max(float(SLOTS_MIN), self._limit * FEWER)
        else:
            self._limit = min(float(SLOTS_MAX), self._limit + MORE)

    async def _take(self) -> None:
        if self._busy < self.limit and not self._waiting:
            self._busy += 1
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self._give_back()
            raise

    def _give_back(self) -> None:
        self._busy -= 1
        while self._waiting and self._busy < self.limit:
            turn = self._waiting.popleft()
            if not turn.done():
                self._busy += 1
                turn.set_result(None)
        if self._watchers and not self.is_behind:
            for watcher in self._watchers:
                if not watcher.done():
                    watcher.set_result(None)
            self._watchers.clear()
