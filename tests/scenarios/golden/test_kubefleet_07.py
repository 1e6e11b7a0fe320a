"""Differences are reported and nothing is changed: a ConfigMap that is different on one member and
missing on the other; then it is made equal.
"""

from typing import Any

import pytest
from tests.support import golden_placed as placed
from tests.support import golden_placement
from tests.support import golden_steps as steps
from tests.support.golden import Maybe
from tests.support.golden_placed import Placed, identity
from tests.support.golden_placement import CONFIG_MAPS, MEMBERS, ONE, TWO, Life, Recording
from tests.support.golden_steps import Step
from tests.support.placed import placement

from fleetqueue.kube.resources import Object
from fleetqueue.testing import Fleet, namespace

pytestmark = pytest.mark.rule(
    "APPLY-13", "GEN-6", "GEN-7", "DRIFT-1", "DRIFT-3", "DRIFT-4", "ST-14"
)

NAMESPACE = placed.namespace("c7")
CONF = placed.config_map("conf", "c7", a="1")
HASH = "8895dc2c091c0d1001fc4a3dd5c3bbdbaf01759b79514a3d4d90a2ddc192a3f0"
SELECTOR = {"group": "", "version": "v1", "kind": "Namespace", "name": "c7"}
STRATEGY = {
    "type": "RollingUpdate",
    "rollingUpdate": {"unavailablePeriodSeconds": 1},
    "applyStrategy": {"type": "ReportDiff"},
}
ALL_REPORTED = Step(
    "DiffReported",
    "True",
    "AllManifestsDiffReported",
    "All the specified manifests have reported diff",
)
NONE_FOUND = Step(
    "DiffReported",
    "True",
    "NoDiffFound",
    "No diff has been found between the hub cluster and the member cluster",
)
FOUND = Step(
    "DiffReported",
    "True",
    "FoundDiff",
    "Diff has been found between the hub cluster and the member cluster",
)
DIFFERS = {
    ONE: [{"path": "/data/a", "valueInHub": "1", "valueInMember": "other"}],
    TWO: [{"path": "/", "valueInHub": "(the whole object)"}],
}


def listed(name: str) -> Object:
    """What binding and placement say; an object that is missing has no generation."""
    seen = {"targetClusterObservedGeneration": 0} if name == ONE else {}
    entry = {
        **identity(CONF),
        "firstDiffedObservedTime": "<t>",
        "observationTime": "<t>",
        "observedDiffs": DIFFERS[name],
        **seen,
    }
    return {"diffedPlacements": [entry]}


def work_says(name: str, *, is_equal: bool = False) -> Object:
    second = NONE_FOUND if is_equal else FOUND
    said = placed.work_says([ALL_REPORTED], 1, (NAMESPACE, [NONE_FOUND], 0), (CONF, [second], 0))
    if not is_equal:
        seen = {"observedInMemberClusterGeneration": 0} if name == ONE else {}
        details = {
            "firstDiffedObservedTime": "<t>",
            "observationTime": "<t>",
            "observedDiffs": DIFFERS[name],
            **seen,
        }
        said["manifestConditions"][1]["diffDetails"] = details
    return said


def on_hub(told: Placed) -> dict[str, Life]:
    begun, under_way = (
        (steps.DIFF_BEGUN, steps.SOME_NOT_DIFFED)
        if told.is_compatible
        else (steps.DIFFING, steps.SOME_DIFFING)
    )
    lives = {
        **told.placement(
            {
                "resourceSelectors": [{**SELECTOR, **placed.WITH_RESOURCES}],
                "rolling": STRATEGY["rollingUpdate"],
            },
            [
                told.top(steps.SCHEDULING),
                told.top(steps.SOME_UNDECIDED, 2),
                Maybe(told.top(steps.SOME_UNDECIDED, 1)),
                *(Maybe(told.top(steps.SOME_OVERRIDING, count)) for count in (2, 1)),
                told.top(under_way, 2),
                Maybe(told.top(under_way, 1)),
                told.top(steps.ALL_DIFFED),
            ],
            {name: of_cluster(told, name, begun) for name in MEMBERS},
        ),
        **told.policy(),
        **told.snapshot(HASH),
    }
    for name in MEMBERS:
        reported = [told.binds(steps.DIFF_REPORTED, **listed(name))]
        says = [work_says(name)]
        if name == ONE:
            reported.append(told.binds(steps.DIFF_REPORTED))
            says.append(work_says(name, is_equal=True))
        lives |= told.binding(name, [*of_binding(told), *reported], *told.bound())
        lives |= told.in_work(name, says)
    return lives


def of_cluster(told: Placed, name: str, begun: Step) -> list[Any]:
    said = [
        told.on(name, steps.UNDECIDED),
        Maybe(told.on(name, steps.OVERRIDING)),
        told.on(name, begun),
        told.on(name, steps.DIFF_REPORTED, **listed(name)),
    ]
    if told.is_compatible:
        said.insert(3, Maybe(told.on(name, steps.DIFF_UNFINISHED)))
    return [*said, told.on(name, steps.DIFF_REPORTED)] if name == ONE else said


def of_binding(told: Placed) -> list[Any]:
    started, unfinished = told.binds(steps.STARTED), told.binds(steps.DIFF_UNFINISHED)
    if not told.is_compatible:
        return [started, unfinished]
    return [started, told.binds(steps.DIFF_BEGUN), Maybe(unfinished)]


def on_member(told: Placed, name: str) -> dict[str, Life]:
    """It is owned, and else as it was."""
    owned = {f"owner AppliedWork {told.work}": False}
    lives = {
        **told.applied_work(name, listed=()),
        "Namespace c7": Life([{**placed.facts(**NAMESPACE), **owned}], [{"phase": "Active"}]),
    }
    if name == ONE:
        lives["ConfigMap c7/conf"] = Life([{"data.a": "other", **owned}, {"data.a": "1"}])
    return lives


def recorded(*, is_compatible: bool) -> Recording:
    told = Placed(
        "diff", [NAMESPACE, CONF], apply={"type": "ReportDiff"}, is_compatible=is_compatible
    )
    reasons = [name for name in placed.ROLLED_OUT if name.endswith(("Started", "Succeeded"))]
    return Recording(
        {"hub": on_hub(told), **{name: on_member(told, name) for name in MEMBERS}},
        told.events(*reasons, "PlacementWorkSynchronized", "PlacementRolloutCompleted"),
    )


@pytest.mark.parametrize("is_compatible", [True, False], ids=["as recorded", "by default"])
async def test_differences_are_told_and_left(fleet: Fleet, *, is_compatible: bool) -> None:
    replay = await golden_placement.start(fleet, is_compatible=is_compatible)
    for name in MEMBERS:
        await replay.member(name).create(namespace("c7"))
    await replay.member(ONE).create({**CONF, "data": {"a": "other"}})
    await replay.hub.create(NAMESPACE, CONF)
    await replay.passes(1)
    async with replay:
        policy = {"placementType": "PickAll"}
        await replay.hub.create(placement("diff", SELECTOR, policy=policy, strategy=STRATEGY))
        await replay.passes(3.5)
        await replay.by_hand(ONE, CONFIG_MAPS, "conf", {"data": {"a": "1"}}, "c7")
        await replay.passes(8)
    recorded(is_compatible=is_compatible).compare(replay.seen)
    assert await replay.member(TWO).find(CONFIG_MAPS, "conf", "c7") is None
