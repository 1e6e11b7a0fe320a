"""What keepers have to do, and when they try again what failed."""

import asyncio

from fleetqueue.apiserver.keepers import RETRY_SECONDS_MAX, RETRY_SECONDS_MIN, Again, WorkList
from fleetqueue.base import virtual_time

EVENTS = 20
SPAN_SECONDS = 600.0


class Stubborn:
    """Work that fails until it is told otherwise."""

    def __init__(self) -> None:
        self.tries: list[tuple[str, float]] = []
        self.fails = True
        self.list = WorkList("stubborn", self._work)

    async def _work(self, key: str) -> None:
        self.tries.append((key, asyncio.get_running_loop().time()))
        if self.fails:
            raise Again

    async def hear(self, key: str, seconds: float = 1.0) -> None:
        """An event asks for it, and time passes."""
        self.list.add(key)
        await asyncio.sleep(seconds)


def test_events_do_not_multiply_the_tries_of_what_keeps_failing() -> None:
    async def story() -> None:
        keeper = Stubborn()
        for _ in range(EVENTS):
            await keeper.hear("a")
            await keeper.hear("b")
        keeper.tries.clear()
        await asyncio.sleep(SPAN_SECONDS)
        for key in ("a", "b"):
            found = [each for each, _ in keeper.tries if each == key]
            assert abs(len(found) - SPAN_SECONDS / RETRY_SECONDS_MAX) <= 1
        await keeper.list.stop()
        assert keeper.list.is_idle

    virtual_time.run(story())


def test_what_went_well_and_fails_again_is_tried_again_soon() -> None:
    async def story() -> None:
        keeper = Stubborn()
        for _ in range(EVENTS):
            await keeper.hear("a")
        keeper.fails = False
        await keeper.hear("a")
        keeper.fails = True
        await keeper.hear("a", RETRY_SECONDS_MIN / 2)
        keeper.tries.clear()
        await asyncio.sleep(RETRY_SECONDS_MIN)
        assert len(keeper.tries) == 1
        await keeper.list.stop()

    virtual_time.run(story())
