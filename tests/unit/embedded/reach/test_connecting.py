"""A log of a pod elsewhere holds the worker no longer than somebody reads it."""

from collections.abc import AsyncIterator

import pytest

from fleetqueue.embedded.reach.connecting import Relayed
from fleetqueue.kube.transport import Stream


class Line:
    """To a worker."""

    def __init__(self) -> None:
        self.is_open = True

    async def close(self) -> None:
        self.is_open = False

    async def chunks(self) -> AsyncIterator[bytes]:
        yield b"one"
        yield b"two"

    def relayed(self) -> Relayed:
        return Relayed(Stream(200, {}, chunks=self.chunks(), close=self.close))


@pytest.mark.parametrize("number", [0, 1])
async def test_it_is_let_go_however_little_was_read(number: int) -> None:
    line = Line()
    log = line.relayed()
    for _ in range(number):
        assert await anext(log) == b"one"
    assert line.is_open
    await log.aclose()
    assert not line.is_open


async def test_it_is_let_go_at_the_end() -> None:
    line = Line()
    assert [chunk async for chunk in line.relayed()] == [b"one", b"two"]
    assert not line.is_open
