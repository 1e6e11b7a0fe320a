"""So many writes at once as the server takes."""

import asyncio
from contextlib import suppress

import pytest

from fleetqueue.admission.slots import SLOTS_MAX, SLOTS_MIN, Slots
from fleetqueue.base import virtual_time

pytestmark = pytest.mark.rule("kueue 4.4")


class Server:
    """Answers alone in `alone_seconds`; those that come together wait for each other."""

    def __init__(self, alone_seconds: float, at_once: int) -> None:
        self._seconds = alone_seconds
        self._free = asyncio.Semaphore(at_once)
        self.under_way = self.most = 0

    async def write(self) -> None:
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        async with self._free:
            await asyncio.sleep(self._seconds)
        self.under_way -= 1


async def work(slots: Slots, server: Server, count: int) -> None:
    async def one() -> None:
        loop = asyncio.get_running_loop()
        async with slots.taken():
            began = loop.time()
            await server.write()
            slots.learn(loop.time() - began)

    await asyncio.gather(*(one() for _ in range(count)))


@pytest.mark.parametrize("seconds", [0.001, 0.02, 0.4], ids=["near", "usual", "far away"])
def test_a_server_that_keeps_up_is_given_all(seconds: float) -> None:
    async def story() -> None:
        slots, server = Slots(), Server(seconds, SLOTS_MAX)
        await work(slots, server, 500)
        assert slots.limit == server.most == SLOTS_MAX

    virtual_time.run(story())


def test_a_server_that_falls_behind_is_given_little_and_more_when_it_recovers() -> None:
    async def story() -> None:
        slots = Slots()
        await work(slots, Server(0.02, SLOTS_MAX), 50)
        await work(slots, Server(0.05, 2), 300)
        assert SLOTS_MIN <= slots.limit <= SLOTS_MIN + 4
        await work(slots, Server(0.02, SLOTS_MAX), 500)
        assert slots.limit == SLOTS_MAX

    virtual_time.run(story())


def test_a_slot_comes_back_from_who_fails_or_is_cancelled() -> None:
    async def story() -> None:
        slots = Slots()
        never = asyncio.Event()

        async def hold() -> None:
            async with slots.taken():
                await never.wait()

        holding = [asyncio.ensure_future(hold()) for _ in range(SLOTS_MAX + 5)]
        await asyncio.sleep(1)
        for each in (*holding[-3:], *holding[:4]):
            each.cancel()
        await asyncio.sleep(0)
        with suppress(ValueError):
            async with slots.taken():
                raise ValueError
        for each in holding:
            each.cancel()
        await asyncio.gather(*holding, return_exceptions=True)
        await work(slots, Server(0.0, 1), SLOTS_MAX)

    virtual_time.run(story())


def test_nothing_more_is_decided_while_as_many_wait_as_are_written_at_once() -> None:
    async def story() -> None:
        slots, server = Slots(), Server(0.1, SLOTS_MAX)
        loop = asyncio.get_running_loop()
        await slots.caught_up()
        assert loop.time() == 0

        working = asyncio.create_task(work(slots, server, 3 * SLOTS_MAX))
        await asyncio.sleep(0.01)
        assert slots.is_behind
        await slots.caught_up()

        assert loop.time() == pytest.approx(0.2)
        assert server.under_way, "there is still enough to write meanwhile"
        await working

    virtual_time.run(story())
