"""One member has less cpu and memory left than the other: one placement wants the most, another
the least.
"""

import pytest
from tests.support import golden_choices, golden_placement
from tests.support import golden_placed as placed
from tests.support.golden_placement import MEMBERS, ONE, TWO, Recording

from fleetqueue.kube.resources import Object
from fleetqueue.testing import Fleet, named

pytestmark = pytest.mark.rule("SCH-8", "SCH-10", "SCH-14", "SCH-24", "SNAP-1", "SNAP-2", "SPEC-9")

CONF, OTHER = (placed.config_map(name, "c2n", a="1") for name in ("conf", "conf2"))
POLICY_HASHES = {
    "Descending": "8939d0fce42493d19986e77a00cc7394e9eeadc9a55e4949fb124689944e2fd8",
    "Ascending": "9ea2d377335fd1044822417a1c26285a3752d5b64dd513d689b86c3fc9412775",
}
MOST_HASH = "47b90c49f622af5a7d766fb1eddbe7d358ca4422d85cb732714dfc8afbacc4e9"
LEAST_HASH = "7f513b93c9b664bbe4a09090bc21f01d0f62f4be84b6f5a7cc153e8810aeecb8"


def recorded(*, is_compatible: bool) -> Recording:
    most = golden_choices.told_of("pick-most", CONF, ONE, 70, is_compatible=is_compatible)
    least = golden_choices.told_of("pick-least", OTHER, TWO, 70, is_compatible=is_compatible)
    return Recording(
        {
            "hub": {
                **golden_choices.on_hub(most, "Descending", POLICY_HASHES["Descending"], MOST_HASH),
                **golden_choices.on_hub(least, "Ascending", POLICY_HASHES["Ascending"], LEAST_HASH),
            },
            ONE: most.applied_work(ONE),
            TWO: least.applied_work(TWO),
        },
        [*most.events(*placed.ROLLED_OUT), *least.events(*placed.ROLLED_OUT)],
    )


def big_pod() -> Object:
    requests = {"cpu": "256", "memory": "512Gi"}
    container = {"name": "c", "image": "busybox", "resources": {"requests": requests}}
    return named("Pod", "v1", "big", "default", spec={"nodeName": "one", "containers": [container]})


@pytest.mark.parametrize("is_compatible", [True, False], ids=["as recorded", "by default"])
async def test_the_member_with_the_most_or_the_least_is_taken(
    fleet: Fleet, *, is_compatible: bool
) -> None:
    replay = await golden_placement.start(fleet, is_compatible=is_compatible)
    await golden_choices.begin(replay, "c2n", CONF, OTHER)
    await replay.member(TWO).create(big_pod())
    await replay.passes(20)
    async with replay:
        await replay.hub.create(golden_choices.asks("pick-most", CONF, "Descending"))
        await replay.passes(1)
        await replay.hub.create(golden_choices.asks("pick-least", OTHER, "Ascending"))
        await replay.passes(3)
    recorded(is_compatible=is_compatible).compare(replay.seen)
    assert [name for name in MEMBERS if await arrived(replay, name, "conf")] == [ONE]


async def arrived(replay: golden_placement.Replay, member: str, name: str) -> Object | None:
    return await replay.member(member).find(golden_placement.CONFIG_MAPS, name, "c2n")
