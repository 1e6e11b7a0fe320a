"""Both members have the same to offer: the one whose name comes last is taken."""

import pytest
from tests.support import golden_choices, golden_placement
from tests.support import golden_placed as placed
from tests.support.golden_placement import ONE, TWO, Recording

from fleetqueue.testing import Fleet

pytestmark = pytest.mark.rule("SCH-10", "SCH-14", "SCH-24", "SNAP-1", "SPEC-9")

CONF = placed.config_map("conf", "c2", a="1")
POLICY_HASH = "8939d0fce42493d19986e77a00cc7394e9eeadc9a55e4949fb124689944e2fd8"
HASH = "d8e1b0e275c398948db1656ec10604243ecf9c7d9ddea50a346d8fb3650ade60"


def recorded(*, is_compatible: bool) -> Recording:
    told = golden_choices.told_of("pick-one", CONF, TWO, 0, is_compatible=is_compatible)
    return Recording(
        {
            "hub": golden_choices.on_hub(told, "Descending", POLICY_HASH, HASH),
            ONE: {},
            TWO: told.applied_work(TWO),
        },
        told.events(*placed.ROLLED_OUT),
    )


@pytest.mark.parametrize("is_compatible", [True, False], ids=["as recorded", "by default"])
async def test_a_tie_goes_to_the_last_name(fleet: Fleet, *, is_compatible: bool) -> None:
    replay = await golden_placement.start(fleet, is_compatible=is_compatible)
    await golden_choices.begin(replay, "c2", CONF)
    await replay.passes(20)
    async with replay:
        await replay.hub.create(golden_choices.asks("pick-one", CONF, "Descending"))
        await replay.passes(3)
    recorded(is_compatible=is_compatible).compare(replay.seen)
