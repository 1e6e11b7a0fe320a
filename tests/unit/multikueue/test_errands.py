"""What is done on workers beside the looks at workloads."""

import asyncio
from functools import partial
from random import Random

import pytest

from fleetqueue.api.meta import Key
from fleetqueue.errors import FleetqueueError
from fleetqueue.multikueue.errands import REMOVALS_MAX, Errands

pytestmark = pytest.mark.rule("FLOW-54")
SLOW = [Key("ns", f"gone-{number}") for number in range(REMOVALS_MAX + 2)]
GONE, NEW = Key("ns", "gone"), Key("ns", "new")


async def test_of_what_goes_from_a_worker_a_few_go_at_once() -> None:
    errands = Errands(Random(0))
    may_end = asyncio.Event()
    begun: list[Key] = []
    woken: list[Key] = []
    errands.wake = lambda key, seconds: woken.append(key)

    async def run(key: Key) -> None:
        begun.append(key)
        await may_end.wait()

    for key in SLOW:
        errands.start_removal("one", key, partial(run, key))
    errands.start_removal("other", GONE, partial(run, GONE))
    errands.start("one", NEW, partial(run, NEW))
    await _all_that_can()
    assert begun == [*SLOW[:REMOVALS_MAX], GONE, NEW], "nothing else waits for them"

    may_end.set()
    await _all_that_can()
    assert begun[-2:] == SLOW[REMOVALS_MAX:]
    assert set(woken) == {*SLOW, GONE, NEW}


async def test_what_goes_is_known_until_it_is_gone() -> None:
    errands, key, goes = Errands(Random(0)), Key("ns", "a"), asyncio.Event()

    async def run() -> None:
        await goes.wait()

    errands.start_removal("w1", key, run)
    errands.start("w2", key, run)
    assert errands.is_removing("w1", key)
    assert not errands.is_removing("w2", key)
    goes.set()
    await _all_that_can()
    assert not errands.is_removing("w1", key)
    assert not errands.are_under_way


async def test_one_that_fails_is_tried_later_and_later_until_it_is_forgotten() -> None:
    errands, key = Errands(Random(0)), Key("ns", "a")
    waits: list[float] = []
    errands.wake = lambda key, seconds: waits.append(seconds)

    async def fail() -> None:
        raise FleetqueueError("no")

    for _ in range(6):
        errands.start("w1", key, fail)
        await _all_that_can()
    errands.forget(key)
    errands.start("w1", key, fail)
    await _all_that_can()
    assert waits[5] > 5 * waits[0]
    assert waits[6] < 2 * waits[0]


async def _all_that_can() -> None:
    for _ in range(20):
        await asyncio.sleep(0)
