"""Objects are placed on members while everything breaks that can: nothing is placed that was not
selected, roll-outs keep to their limits, what is said becomes true, and deletion leaves nothing.
"""

import gc
import os
from collections.abc import Iterator

import pytest
from tests.support.placement_world import ROUNDS, PlacementWorld

from fleetqueue.testing import Fleet

pytestmark = pytest.mark.rule("ST-40", "ROLL-7", "APPLY-3", "APPLY-4", "APPLY-5", "ST-3", "MC-13")

FIRST = int(os.environ.get("FLEETQUEUE_FIRST_SEED", "0"))
SEEDS = int(os.environ.get("FLEETQUEUE_PLACEMENT_SEEDS", "150"))
GARBAGE_MAX = 500_000
"""So many objects are what about five seeds leave."""


@pytest.fixture(autouse=True, scope="module")
def _collecting_by_hand() -> Iterator[None]:
    """To look for garbage all the time takes a third longer."""
    gc.collect()
    gc.freeze()
    gc.disable()
    yield
    gc.enable()
    gc.unfreeze()


@pytest.fixture(autouse=True)
def _garbage_of_a_few() -> None:
    if gc.get_count()[0] > GARBAGE_MAX:
        gc.collect()


@pytest.mark.parametrize("seed", range(FIRST, FIRST + SEEDS))
async def test_what_is_placed_is_what_was_asked_for(seed: int) -> None:
    async with Fleet(seed) as fleet:
        world = PlacementWorld(fleet)
        await world.start()
        for _ in range(ROUNDS):
            await world.round()
            assert not world.seen.problems
        await world.come_to_rest()
        assert not world.seen.problems
        assert not world.unfinished()
        await world.delete_everything()
        assert not world.leftovers()
        assert not world.seen.problems
