"""Selectors that match nothing, or that nobody can match: what is empty is rolled out all the same,
and filled when something comes.
"""

from dataclasses import replace
from typing import Any

import pytest
from tests.support import golden_placed as placed
from tests.support import golden_placement, hub_doors
from tests.support import golden_steps as steps
from tests.support.golden_placed import Placed
from tests.support.golden_placement import MEMBERS, TWO, Life, Recording
from tests.support.golden_steps import Step
from tests.support.placed import placement, selector

from fleetqueue.kube.resources import Object
from fleetqueue.testing import Fleet, namespace

pytestmark = pytest.mark.rule(
    "SEL-4", "SEL-5", "SEL-6", "SNAP-4", "SNAP-5", "GEN-2", "SPEC-9", "ST-1", "ST-3"
)

LATER = placed.namespace("c10-later")
NO_HASH = "83ff749c5d8eb5a0b62d714175bcbaef1409b371fc5a229a002db6fcc1f144e1"
LATER_HASH = "fcde49dc898ea8d2ec6228275cf591bf6df307ead2248c4da49bb254d2c542a4"
SELECTORS: dict[str, Object] = {
    "none-ns": selector("Namespace", "c10-later"),
    "none-label": selector("Namespace", labelSelector={"matchLabels": {"no": "such"}}),
    "none-rp": selector("ConfigMap", "missing"),
    "none-rp-cluster": selector("Namespace", "c10"),
    "none-rp-kind": selector("Thing", "x", group="example.com"),
}
INVALID = {
    "none-rp-cluster": ": cannot select cluster-scoped resource Namespace in a resourcePlacement",
    "none-rp-kind": ", failed to get GVR of the selector: no matches for kind "
    '"Thing" in version "example.com/v1"',
}


def told_of(name: str, *, is_compatible: bool) -> Placed:
    space = "c10" if name.startswith("none-rp") else ""
    generation = 2 if space else 1
    return Placed(name, [], space=space, generation=generation, is_compatible=is_compatible)


def asked(name: str) -> Object:
    """A cluster-scoped placement gets everything that it does not ask for; others do not."""
    spec: Object = {"resourceSelectors": [{**SELECTORS[name], **placed.WITH_RESOURCES}]}
    return {**spec, "policy": None, "strategy": None} if name.startswith("none-rp") else spec


def empty(told: Placed) -> dict[str, Life]:
    """All that comes of a selection of nothing, which is applied at once."""
    kept = placed.UNASKED if told.space else None
    policy = placed.OF_NOTHING if told.space else placed.PICK_ALL
    lives = {
        **told.placement(
            asked(told.name),
            [told.top(steps.SCHEDULING), *told.top_round()],
            {name: told.cluster_round(name) for name in MEMBERS},
            kept=kept,
        ),
        **told.policy(policy),
        **told.snapshot(NO_HASH),
    }
    for name in MEMBERS:
        lives |= told.binding(name, told.binding_round(), *told.bound())
        if not told.space:
            lives |= told.in_work(name, [placed.prepared(), placed.applied()])
    return lives


def filled(told: Placed) -> dict[str, Life]:
    """The same until the namespace comes, which the second member has to wait for."""
    later = replace(told, manifests=[LATER])
    lives = {
        **told.placement(
            asked(told.name),
            [told.top(steps.SCHEDULING), *told.top_round(), *later.top_change()],
            {
                name: [*told.cluster_round(name), *told.cluster_change(name, waits=name == TWO)]
                for name in MEMBERS
            },
        ),
        **told.policy(),
        **told.snapshot(NO_HASH, placed.SUPERSEDED),
        **told.snapshot(LATER_HASH, index=1, manifests=[LATER]),
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
            [placed.prepared(), placed.applied(), half_done(), placed.applied(LATER, at=2)],
            {"spec.workload": None, **told.new_manifests(LATER)},
        )
    return lives


def half_done() -> Object:
    done = [steps.ALL_MANIFESTS_APPLIED, steps.ALL_MANIFESTS_AVAILABLE]
    return placed.work_says(done, 1, (LATER, [steps.MANIFEST_PREPARED], 2))


def refused(told: Placed) -> dict[str, Life]:
    """It gets no further than its first finalizer."""
    text = (
        "The resource selectors are invalid: failed to process the request due to a client error: "
        f"invalid placement c10/{told.name}{INVALID[told.name]}"
    )
    step = Step("Scheduled", "False", "InvalidResourceSelectors", text)
    [(title, life)] = told.placement(asked(told.name), [], {}, kept=placed.UNASKED).items()
    return {title: Life(life.told[:2], [told.top(step, index="")])}


def recorded(*, is_compatible: bool) -> Recording:
    told = {name: told_of(name, is_compatible=is_compatible) for name in SELECTORS}
    on_hub = filled(told["none-ns"])
    for name in ("none-label", "none-rp"):
        on_hub |= empty(told[name])
    for name in INVALID:
        on_hub |= refused(told[name])
    events = [
        event
        for name in ("none-ns", "none-label", "none-rp")
        for event in told[name].events(*placed.ROLLED_OUT)
    ]
    return Recording(
        {"hub": on_hub, **{name: on_member(told, name) for name in MEMBERS}},
        events,
        unheeded=[told["none-rp"].work],
    )


def on_member(told: dict[str, Placed], name: str) -> dict[str, Any]:
    return {
        **told["none-ns"].applied_work(name, listed=[LATER]),
        **told["none-label"].applied_work(name),
    }


@pytest.mark.parametrize("is_compatible", [True, False], ids=["as recorded", "by default"])
async def test_nothing_is_placed_until_there_is_something(
    fleet: Fleet, *, is_compatible: bool
) -> None:
    replay = await golden_placement.start(fleet, is_compatible=is_compatible)
    await replay.hub.create(namespace("c10"))
    await replay.passes(1)
    async with replay:
        for name, selected in SELECTORS.items():
            space = "c10" if name.startswith("none-rp") else ""
            await replay.hub.create(placement(name, selected, namespace=space))
        unknown = placement("none-kind", SELECTORS["none-rp-kind"])
        code, reason, text = await hub_doors.refusal_of(replay.hub.client, unknown)
        await replay.passes(7)
        await replay.hub.create(LATER)
        await replay.passes(3)
    recorded(is_compatible=is_compatible).compare(replay.seen)
    assert (code, reason) == (403, "Forbidden")
    assert text.endswith(
        "CRP has invalid fields failed to get GVR of the selector: no matches for kind "
        '"Thing" in version "example.com/v1"'
    )
