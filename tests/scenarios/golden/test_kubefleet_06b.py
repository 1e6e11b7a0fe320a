"""An override that cannot be applied to what one member gets: only that member is without."""

import pytest
from tests.support import golden_overrides, golden_placement
from tests.support import golden_placed as placed
from tests.support import golden_steps as steps
from tests.support.golden import Maybe
from tests.support.golden_overrides import SOME_NOT_OVERRIDDEN, Overriding
from tests.support.golden_placed import Placed
from tests.support.golden_placement import ONE, TWO, Life, Recording

from fleetqueue.testing import Fleet

pytestmark = pytest.mark.rule("OVR-4", "OVR-6", "OVR-7", "OVR-8", "OVR-10", "ST-12", "ST-14")

NAMESPACE = placed.namespace("c6")
CONF = placed.config_map("conf", "c6", a="1")
ONLY_ONE = placed.config_map("only-one", "c6", b="1")
OVERRIDES = Overriding(
    "c6",
    "over",
    (
        "36f1e8bd83de514d2da3c19863197b24e741acbcf606a6c314fd0e5ad97f0433",
        "c5742f627439064b1e1ab8a0d743c50c460d86672937af93c91103e9b65ed4b8",
        "d26bebe08fa0377a72808ef94b7209a64af742a836c9efb65c9fff797f9a32a5",
        "69570dd416a9286d0079d3cced46dd81a0b87d502f1b04bd0381644e7b94349a",
    ),
)
SNAPSHOT_HASH = "1c4601390faf72170341c6c68ca5efcafd288105c19c71b590556380ad9efb8d"
LIST_HASH = "790ce18df0d36a816caa6976ed1ba7bfc1059db504f6fceca81d763ee786a32e"
CONF_HASH = "c99d25c45777be16847dd2df04ed7976caedae97466ec3244adf0cae37cd8f28"
NO_LABELS = golden_overrides.failed(
    'ClusterResourceOverrideSnapshot "c6-cro-0" failed to apply on ConfigMap "conf" in namespace '
    '"c6": add operation does not apply: doc is missing path: "/metadata/labels/where": missing '
    "value"
)
WANTED = [NAMESPACE, OVERRIDES.filled(CONF, TWO)]
"""Where it works."""


def on_hub(told: Placed) -> dict[str, Life]:
    first, second = OVERRIDES.listed(ONE), OVERRIDES.listed(ONE, 1)
    waits = told.binds(steps.AVAILABLE, first=steps.KEPT_BACK)
    return {
        **OVERRIDES.lives(),
        **told.placement(
            OVERRIDES.asked(),
            [
                told.top(steps.SCHEDULING),
                told.top(steps.SOME_UNDECIDED, 2),
                Maybe(told.top(steps.SOME_UNDECIDED, 1)),
                *(Maybe(told.top(steps.SOME_OVERRIDING, count)) for count in (2, 1)),
                told.top(SOME_NOT_OVERRIDDEN, 1),
                Maybe(told.top(steps.SOME_UNDECIDED, 1)),
                told.top(steps.SOME_BLOCKED, 1),
            ],
            {
                ONE: [
                    told.on(ONE, steps.UNDECIDED),
                    told.on(ONE, steps.OVERRIDING, **first),
                    told.on(ONE, NO_LABELS, **first),
                    Maybe(told.on(ONE, steps.UNDECIDED)),
                    told.on(ONE, steps.OVERRIDING, **second),
                    told.on(ONE, NO_LABELS, **second),
                ],
                TWO: [
                    *told.cluster_round(TWO, **OVERRIDES.listed(TWO)),
                    told.on(TWO, steps.KEPT_BACK),
                ],
            },
        ),
        **told.policy(),
        **told.snapshot(SNAPSHOT_HASH),
        **told.binding(
            ONE,
            [
                told.binds(steps.STARTED),
                told.binds(NO_LABELS),
                told.binds(NO_LABELS, newer=4),
                told.binds(NO_LABELS, at=4),
            ],
            *OVERRIDES.bound(told, ONE),
            OVERRIDES.rebound(),
        ),
        **told.binding(TWO, [*told.binding_round(), waits], *OVERRIDES.bound(told, TWO)),
        **told.in_work(
            TWO,
            [placed.prepared(*WANTED), placed.applied(*WANTED)],
            manifests=WANTED,
            hashes=(placed.OF_NOTHING, LIST_HASH),
        ),
    }


def recorded(*, is_compatible: bool) -> Recording:
    told = Placed(
        "over",
        [NAMESPACE, CONF, ONLY_ONE],
        overridden=steps.OVERRIDDEN,
        is_compatible=is_compatible,
    )
    on_second = {
        **told.applied_work(TWO, listed=WANTED),
        "Namespace c6": told.namespace(),
        "ConfigMap c6/conf": Life([told.arrived(WANTED[1], CONF_HASH)]),
    }
    return Recording(
        {"hub": on_hub(told), ONE: {}, TWO: on_second}, told.events("PlacementRolloutStarted")
    )


@pytest.mark.parametrize("is_compatible", [True, False], ids=["as recorded", "by default"])
async def test_one_member_is_without_what_cannot_be_overridden(
    fleet: Fleet, *, is_compatible: bool
) -> None:
    replay = await golden_placement.start(fleet, is_compatible=is_compatible)
    await OVERRIDES.begin(replay, NAMESPACE, CONF, ONLY_ONE)
    async with replay:
        await OVERRIDES.place(replay)
    recorded(is_compatible=is_compatible).compare(replay.seen)
