"""What was looked at once for garbage is spared."""

import asyncio
import gc
from collections.abc import Iterator

import pytest

from fleetqueue.base import garbage, virtual_time


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    threshold, callbacks = gc.get_threshold(), list(gc.callbacks)
    yield
    gc.set_threshold(*threshold)
    gc.callbacks[:] = callbacks
    gc.unfreeze()


def test_what_survived_is_not_looked_at_again() -> None:
    garbage.keep_pauses_short()
    kept = [[number] for number in range(1000)]
    gc.collect(1)

    assert gc.get_freeze_count() > len(kept)
    looked_at = {id(each) for generation in range(3) for each in gc.get_objects(generation)}
    assert looked_at.isdisjoint(map(id, kept))


def test_circles_that_were_spared_go_within_the_hour() -> None:
    class Node:
        gone = 0

        def __del__(self) -> None:
            Node.gone += 1

    garbage.keep_pauses_short()
    node = Node()
    node.self = node  # type: ignore[attr-defined]
    gc.collect(1)
    del node
    gc.collect()
    assert not Node.gone

    async def an_hour() -> None:
        looking = asyncio.create_task(garbage.look_at_all())
        await asyncio.sleep(garbage.WHOLE_SECONDS + 1)
        looking.cancel()

    virtual_time.run(an_hour())
    assert Node.gone == 1
