"""What is done on workers beside the looks at workloads."""

import asyncio
from functools import partial
from random import Random

import pytest

from fleetqueue.api.meta import Key
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


async def _all_that_can() -> None:
    for _ in range(20):
        await asyncio.sleep(0)
