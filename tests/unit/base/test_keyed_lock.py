"""A lock for each key: nobody shares it, and nothing of it stays."""

import asyncio

import pytest

from fleetqueue.base import virtual_time
from fleetqueue.base.keyed_lock import KeyedLock


class Users:
    """They hold the lock of a key for a second each."""

    def __init__(self) -> None:
        self.lock = KeyedLock()
        self.inside: list[str] = []
        self.order: list[str] = []
        self.most = 0

    async def use(self, name: str, key: str = "a") -> None:
        async with self.lock.held(key):
            self.inside.append(name)
            self.order.append(name)
            self.most = max(self.most, len(self.inside))
            await asyncio.sleep(1.0)
            self.inside.remove(name)

    async def use_again(self, name: str) -> None:
        """Asks in the moment in which it has let go."""
        await self.use(name)
        await self.use(f"{name} again")


def test_who_comes_when_it_is_released_waits_for_those_who_waited_before() -> None:
    async def story() -> None:
        users = Users()
        await asyncio.gather(users.use_again("first"), users.use("second"), users.use("third"))
        assert users.most == 1
        assert users.order == ["first", "second", "third", "first again"]
        assert len(users.lock) == 0

    virtual_time.run(story())


def test_another_key_waits_for_nobody() -> None:
    async def story() -> None:
        users = Users()
        await asyncio.gather(users.use("one", "a"), users.use("other", "b"))
        assert users.most == 2

    virtual_time.run(story())


def test_one_that_gives_up_waiting_leaves_nothing_behind() -> None:
    async def story() -> None:
        users = Users()
        holds = asyncio.ensure_future(users.use("holds"))
        waits = asyncio.ensure_future(users.use("waits"))
        await asyncio.sleep(0.5)
        waits.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waits
        assert len(users.lock) == 1
        await holds
        assert len(users.lock) == 0

    virtual_time.run(story())
