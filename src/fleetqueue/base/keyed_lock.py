"""One lock for each key, which exists while somebody has it or waits for it."""

import asyncio
from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager


class KeyedLock:
    """`async with lock.held(key):` in the order in which they ask."""

    def __init__(self) -> None:
        self._locks: dict[Hashable, asyncio.Lock] = {}
        self._users: dict[Hashable, int] = {}
        """Those that have it and those that wait. A lock that was just released is free until the
        next one wakes, so it cannot tell whether anybody needs it."""

    def __len__(self) -> int:
        return len(self._locks)

    @asynccontextmanager
    async def held(self, key: Hashable) -> AsyncIterator[None]:
        lock = self._locks.setdefault(key, asyncio.Lock())
        self._users[key] = self._users.get(key, 0) + 1
        try:
            async with lock:
                yield
        finally:
            self._users[key] -= 1
            if not self._users[key]:
                del self._users[key], self._locks[key]
