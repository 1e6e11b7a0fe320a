"""Jobs of all kinds are sent to workers while everything breaks that can: every job ends, on one
worker at a time, as its pods did; nothing is left behind, and nothing else is touched.
"""

import gc
import logging
import os
from collections.abc import Iterator

import pytest
from tests.support.fault_world import World

from fleetqueue.testing import Fleet

pytestmark = pytest.mark.rule("LOST-1", "LOST-2", "LOST-6", "GC-1", "FLOW-64", "CONN-6")

FIRST = int(os.environ.get("FLEETQUEUE_FIRST_SEED", "0"))
SEEDS = int(os.environ.get("FLEETQUEUE_DISPATCH_SEEDS", "200"))
STEP = int(os.environ.get("FLEETQUEUE_SEED_STEP", "1"))
JOBS = int(os.environ.get("FLEETQUEUE_JOBS", "60"))
FAILED_ONCE = (233, 296, 403, 498, 643, 2202, 2294, 2989, 3180)
"""They found something: two workers that ran a set, a server that answered before it had its
webhooks, a loop without end, a Workload that could not be deleted, pods that were deleted together
with the Workload of their group and stayed; and, in the checkers, a worker that was given up before
the manager started again.
"""


def _seeds() -> list[int]:
    asked = range(FIRST, FIRST + SEEDS * STEP, STEP)
    return [*asked, *(seed for seed in FAILED_ONCE if FIRST == 0 and seed not in asked)]


@pytest.fixture(scope="module", autouse=True)
def imports_kept() -> Iterator[None]:
    """What is there before the first seed stays: nobody has to look through it after each."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.fixture(autouse=True)
def collected_after() -> Iterator[None]:
    """To look for cycles all the time would be a third of the work; a seed makes 100 MB."""
    gc.disable()
    yield
    gc.enable()
    gc.collect()


@pytest.fixture(autouse=True)
def nothing_logged() -> Iterator[None]:
    """Servers that die say so at length."""
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


@pytest.mark.parametrize("seed", _seeds())
async def test_every_job_ends_once_whatever_breaks(seed: int) -> None:
    async with Fleet(seed) as fleet:
        world = World(fleet, JOBS)
        await world.start()
        while not world.is_over:
            await world.round()
            assert not world.seen.problems, world.story.of(world.seen.problems)
        await world.come_to_rest()
        found = [*world.seen.problems, *world.lost(), *world.leftovers()]
        assert not found, world.story.of(found)
