"""A change is rolled out to two members, one of which may be unavailable at a time."""

import pytest
from tests.support import golden_placed as placed
from tests.support import golden_placement
from tests.support import golden_steps as steps
from tests.support.golden_placed import Placed
from tests.support.golden_placement import MEMBERS, TWO, Life, Recording
from tests.support.placed import placement

from fleetqueue.kube.resources import CONFIG_MAPS
from fleetqueue.testing import Fleet

pytestmark = pytest.mark.rule("ROLL-2", "ROLL-4", "ROLL-7", "ROLL-9", "SNAP-5", "ST-12")

NAMESPACE = placed.namespace("c5")
FIRST, SECOND = (placed.config_map("conf", "c5", a=value) for value in ("1", "2"))
HASHES = (
    "1d0b02921e28361a760382ee3a15aba1e7f45ab657cb7693ac87a2dc12548ce6",
    "ed7d34281e8982a5306ed5d654c0574d2d112500c5bc05eaefd875c3bf94fdb1",
)
SELECTOR = {"group": "", "version": "v1", "kind": "Namespace", "name": "c5"}
ROLLING = {"maxUnavailable": 1, "maxSurge": 0, "unavailablePeriodSeconds": 3}


def on_hub(told: Placed) -> dict[str, Life]:
    lives = {
        **told.placement(
            {"resourceSelectors": [{**SELECTOR, **placed.WITH_RESOURCES}], "rolling": ROLLING},
            [told.top(steps.SCHEDULING), *told.top_round(), *told.top_change()],
            {
                name: [*told.cluster_round(name), *told.cluster_change(name, waits=name == TWO)]
                for name in MEMBERS
            },
        ),
        **told.policy(),
        **told.snapshot(HASHES[0], placed.SUPERSEDED),
        **told.snapshot(HASHES[1], index=1, manifests=[NAMESPACE, SECOND]),
    }
    for name in MEMBERS:
        lives |= told.binding(
            name,
            [*told.binding_round(), *told.binding_change(waits=name == TWO)],
            *told.bound(),
            told.updated(),
        )
        lives |= told.in_work(
            name,
            [
                placed.prepared(NAMESPACE, FIRST),
                placed.applied(NAMESPACE, FIRST),
                placed.applied(NAMESPACE, SECOND, at=2),
            ],
            told.new_manifests(NAMESPACE, SECOND),
        )
    return lives


def on_member(told: Placed, name: str) -> dict[str, Life]:
    first, second = (placed.ONLY_A[value] for value in ("1", "2"))
    return {
        **told.applied_work(name),
        "Namespace c5": told.namespace(),
        "ConfigMap c5/conf": Life([told.arrived(FIRST, first), told.changed(SECOND, second)]),
    }


def recorded(*, is_compatible: bool) -> Recording:
    told = Placed("roll", [NAMESPACE, FIRST], is_compatible=is_compatible)
    return Recording(
        {"hub": on_hub(told), **{name: on_member(told, name) for name in MEMBERS}},
        told.events(*placed.ROLLED_OUT),
    )


@pytest.mark.parametrize("is_compatible", [True, False], ids=["as recorded", "by default"])
async def test_one_member_waits_until_the_other_is_ready(
    fleet: Fleet, *, is_compatible: bool
) -> None:
    replay = await golden_placement.start(fleet, is_compatible=is_compatible)
    await replay.hub.create(NAMESPACE, FIRST)
    async with replay:
        strategy = {"type": "RollingUpdate", "rollingUpdate": ROLLING}
        await replay.hub.create(
            placement("roll", SELECTOR, policy={"placementType": "PickAll"}, strategy=strategy)
        )
        await replay.passes(4)
        await replay.hub.client.patch(CONFIG_MAPS, "conf", {"data": {"a": "2"}}, "c5")
        await replay.passes(3)
    recorded(is_compatible=is_compatible).compare(replay.seen)
