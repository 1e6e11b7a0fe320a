"""Objects that are on the members already, and a placement that takes nothing over: it fails on
both, whether they differ or not.
"""

import pytest
from tests.support import golden_placed as placed
from tests.support import golden_placement
from tests.support import golden_steps as steps
from tests.support.golden_placed import Placed, identity
from tests.support.golden_placement import CONFIG_MAPS, MEMBERS, ONE, Life, Recording
from tests.support.golden_steps import Step
from tests.support.placed import placement

from fleetqueue.testing import Fleet, namespace

pytestmark = pytest.mark.rule("APPLY-14", "APPLY-18", "GEN-7", "ST-14", "ST-16")

NAMESPACE = placed.namespace("c8a")
CONF = placed.config_map("conf", "c8a", a="1")
HASH = "5c7d59105601130224601cf5d6772ed939d4c3cfdfe4245bcddac1f54b877140"
SELECTOR = {"group": "", "version": "v1", "kind": "Namespace", "name": "c8a"}
STRATEGY = {
    "type": "RollingUpdate",
    "rollingUpdate": {"unavailablePeriodSeconds": 1},
    "applyStrategy": {"whenToTakeOver": "Never"},
}
NOT_OURS = Step(
    "Applied",
    "False",
    "NotTakenOver",
    "Failed to apply the manifest (error: no ownership of the object in the member cluster; "
    "takeover is needed)",
)
NONE_APPLIED = Step(
    "Applied",
    "False",
    "SomeManifestsAreNotApplied",
    "Failed to apply all manifests (0 of 2 manifests are applied)",
)
LISTED = {
    "failedPlacements": [
        {**identity(each), "condition": placed.line(NOT_OURS, 0)} for each in (NAMESPACE, CONF)
    ]
}


def on_hub(told: Placed) -> dict[str, Life]:
    lives = {
        **told.placement(
            {
                "resourceSelectors": [{**SELECTOR, **placed.WITH_RESOURCES}],
                "rolling": STRATEGY["rollingUpdate"],
            },
            [told.top(steps.SCHEDULING), *told.top_round(steps.SOME_FAILED)],
            {
                name: [
                    *told.cluster_round(name)[:-1],
                    told.on(name, steps.FAILED, **LISTED),
                ]
                for name in MEMBERS
            },
        ),
        **told.policy(),
        **told.snapshot(HASH),
    }
    of = [(each, [NOT_OURS], 0) for each in told.manifests]
    failed = placed.work_says([NONE_APPLIED], 1, *of)
    for name in MEMBERS:
        says = told.binding_round(steps.FAILED, **LISTED)
        lives |= told.binding(name, says, *told.bound())
        lives |= told.in_work(name, [placed.prepared(NAMESPACE, CONF), failed])
    return lives


def recorded(*, is_compatible: bool) -> Recording:
    told = Placed(
        "take-never",
        [NAMESPACE, CONF],
        apply={"whenToTakeOver": "Never"},
        is_compatible=is_compatible,
    )
    on_members = {name: told.applied_work(name, listed=()) for name in MEMBERS}
    on_members[ONE]["ConfigMap c8a/conf"] = Life([{"data.a": "1"}])
    return Recording({"hub": on_hub(told), **on_members}, told.events(*placed.ROLLED_OUT[:3]))


@pytest.mark.parametrize("is_compatible", [True, False], ids=["as recorded", "by default"])
async def test_what_is_not_ours_is_not_taken(fleet: Fleet, *, is_compatible: bool) -> None:
    replay = await golden_placement.start(fleet, is_compatible=is_compatible)
    for name in MEMBERS:
        data = {"a": "other" if name == ONE else "1"}
        await replay.member(name).create(namespace("c8a"), {**CONF, "data": data})
    await replay.hub.create(NAMESPACE, CONF)
    await replay.passes(1)
    async with replay:
        policy = {"placementType": "PickAll"}
        await replay.hub.create(placement("take-never", SELECTOR, policy=policy, strategy=STRATEGY))
        await replay.passes(7)
        await replay.by_hand(ONE, CONFIG_MAPS, "conf", {"data": {"a": "1"}}, "c8a")
        await replay.passes(6)
    recorded(is_compatible=is_compatible).compare(replay.seen)
