"""Placements that do not find the clusters they want: too many wanted, one that does not exist,
labels that nobody has, a tainted fleet. All select the same objects, and one of them gets them.
"""

import pytest
from tests.support import golden_placed as placed
from tests.support import golden_placement
from tests.support import golden_steps as steps
from tests.support.golden_placed import FLEET, Placed, identity
from tests.support.golden_placement import MEMBERS, ONE, TWO, Life, Recording
from tests.support.golden_steps import Step
from tests.support.placed import placement

from fleetqueue.fleet import kinds
from fleetqueue.kube.resources import Object
from fleetqueue.testing import Fleet

pytestmark = pytest.mark.rule(
    "SCH-3", "SCH-7", "SCH-9", "SCH-20", "SCH-24", "SCH-31", "SCH-40", "SCH-41", "ST-2", "ST-10",
    "APPLY-12", "APPLY-19",
)  # fmt: skip

NAMESPACE = placed.namespace("c9")
CONF = placed.config_map("conf", "c9", a="1")
OBJECTS = [NAMESPACE, CONF]
HASH = "851d03cfc14598ff16ae4c83f4a15c9075ff67f659b975d97be3f4f1b1e62c81"
PICK_N_HASH = "479f405eb7808cfc58366b2648680a3a815ef914fe6756ae8df0d6f74885416a"
FIXED_HASH = "15e3d3caaa9b3451b27be3a76efe663cf83f21949f1f86dbe591f9552f1de520"
AFFINITY_HASH = "5a202bc6afd638b782460f60cdb2b75a53de8793b4519c946d8aeaa43f2f510c"
SELECTOR = {"group": "", "version": "v1", "kind": "Namespace", "name": "c9"}
TERMS = [{"labelSelector": {"matchLabels": {"region": "nowhere"}}}]
NOWHERE = {
    "clusterAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": {"clusterSelectorTerms": TERMS}
    }
}
POLICIES: dict[str, Object] = {
    "un-pickn5": {"placementType": "PickN", "numberOfClusters": 5},
    "un-fixed": {"placementType": "PickFixed", "clusterNames": [ONE, "no-such-cluster"]},
    "un-affinity": {"placementType": "PickAll", "affinity": NOWHERE},
    "un-taint": {"placementType": "PickN", "numberOfClusters": 1},
}
NOT_FOUND = 'Specified cluster "no-such-cluster" is not found'
NO_MATCH = (
    "ClusterUnschedulable, cluster does not match with any of the required cluster affinity terms"
)
TAINTED = "ClusterUnschedulable, taint &{Key:k Value:v Effect:NoSchedule} cannot be tolerated"


def told_of(name: str, *clusters: str, is_compatible: bool) -> Placed:
    scores = None if name == "un-fixed" else {}
    return Placed(name, OBJECTS, clusters=clusters, scores=scores, is_compatible=is_compatible)


def unpicked(cluster: str, reason: str) -> Object:
    return {"clusterName": cluster, "reason": reason, "selected": False}


def missing(reason: str) -> Object:
    """What is listed in the place of a cluster."""
    return {"conditions": [placed.line(Step("Scheduled", "False", "ScheduleFailed", reason), 1)]}


def asked(name: str) -> Object:
    selector = {**SELECTOR, **placed.WITH_RESOURCES}
    return {"resourceSelectors": [selector], "policy": POLICIES[name]}


def wanted(count: int) -> Object:
    return {f"{FLEET}/number-of-clusters": str(count)}


def owned_already(*, is_compatible: bool) -> Object:
    """KubeFleet prints where in its memory the truth is."""
    blocks = "<pointer>" if is_compatible else "true"
    owner = (
        "{APIVersion:placement.kubernetes-fleet.io/v1beta1 Kind:AppliedWork Name:un-fixed-work "
        f"UID:<uid> Controller:<nil> BlockOwnerDeletion:{blocks}}}"
    )
    text = (
        "Failed to apply the manifest (error: failed to take over a pre-existing object: the object"
        " is already owned by some other sources(s) and co-ownership is disallowed "
        f"(existingOwnerRefs: [{owner}]))"
    )
    failed = placed.line(Step("Applied", "False", "FailedToTakeOver", text), 0)
    return {"failedPlacements": [{**identity(each), "condition": failed} for each in OBJECTS]}


def too_many(*, is_compatible: bool) -> dict[str, Life]:
    """Both are taken, and five were wanted."""
    told = told_of("un-pickn5", TWO, ONE, is_compatible=is_compatible)
    listed = owned_already(is_compatible=is_compatible)
    scheduled = steps.UNFULFILLED
    says = [
        told.top(steps.SCHEDULING),
        *told.top_round(scheduled=scheduled)[:-1],
        told.top(steps.SOME_FAILED, 1, scheduled=scheduled),
    ]
    if is_compatible:
        # It ends as it looks on the way.
        del says[-2]
    return {
        **told.placement(
            asked("un-pickn5"),
            says,
            {
                ONE: [
                    *told.cluster_round(ONE)[:-1],
                    told.on(ONE, steps.FAILED, **listed),
                ],
                TWO: told.cluster_round(TWO),
            },
        ),
        **told.policy(
            PICK_N_HASH, [told.decided(scheduled)], notes=wanted(5), **POLICIES["un-pickn5"]
        ),
        **told.snapshot(HASH),
        **told.binding(ONE, told.binding_round(steps.FAILED, **listed), *told.bound()),
        **told.binding(TWO, told.binding_round(), *told.bound()),
    }


def unknown_name(*, is_compatible: bool) -> dict[str, Life]:
    told = told_of("un-fixed", ONE, is_compatible=is_compatible)
    scheduled = steps.UNFULFILLED
    lost = unpicked("no-such-cluster", NOT_FOUND)
    return {
        **told.placement(
            asked("un-fixed"),
            [told.top(steps.SCHEDULING), *told.top_round(scheduled=scheduled)],
            {ONE: told.cluster_round(ONE), "missing 1": [missing(NOT_FOUND)]},
        ),
        **told.policy(FIXED_HASH, [told.decided(scheduled, [lost])], **POLICIES["un-fixed"]),
        **told.snapshot(HASH),
        **told.binding(ONE, told.binding_round(), *told.bound()),
    }


def no_match(*, is_compatible: bool) -> dict[str, Life]:
    """All that match are none, which is what was wanted."""
    told = told_of("un-affinity", is_compatible=is_compatible)
    decided = told.decided(others=[unpicked(name, NO_MATCH) for name in MEMBERS])
    return {
        **told.placement(
            asked("un-affinity"), [told.top(steps.SCHEDULING), told.top(steps.FULFILLED)], {}
        ),
        **told.policy(AFFINITY_HASH, [decided], **POLICIES["un-affinity"]),
        **told.snapshot(HASH),
    }


def tainted(*, is_compatible: bool) -> dict[str, Life]:
    """Nobody at first; then the first whose taint is taken away, and it stays."""
    told = told_of("un-taint", ONE, is_compatible=is_compatible)
    none = told_of("un-taint", is_compatible=is_compatible)
    listed = owned_already(is_compatible=is_compatible)
    all_tainted = none.decided(steps.UNFULFILLED, [unpicked(name, TAINTED) for name in MEMBERS])
    says = [*told.top_round()[:-1], told.top(steps.SOME_FAILED, 1)]
    if is_compatible:
        del says[-2]
    return {
        **told.placement(
            asked("un-taint"),
            [told.top(steps.SCHEDULING), none.top(steps.UNFULFILLED), *says],
            {
                "missing 0": [missing(TAINTED)],
                ONE: [
                    *told.cluster_round(ONE)[:-1],
                    told.on(ONE, steps.FAILED, **listed),
                ],
            },
        ),
        **told.policy(
            PICK_N_HASH,
            [all_tainted, told.decided(others=[unpicked(TWO, TAINTED)]), told.decided()],
            notes=wanted(1),
            **POLICIES["un-taint"],
        ),
        **told.snapshot(HASH),
        **told.binding(ONE, told.binding_round(steps.FAILED, **listed), *told.bound()),
    }


def recorded(*, is_compatible: bool) -> Recording:
    every = (too_many, unknown_name, no_match, tainted)
    on_hub = {key: life for of in every for key, life in of(is_compatible=is_compatible).items()}
    events = told_of("un-fixed", ONE, is_compatible=True).events(*placed.ROLLED_OUT[:5])
    for name in ("un-pickn5", "un-taint"):
        told = told_of(name, ONE, is_compatible=True)
        events += told.events(*placed.ROLLED_OUT[:3])
    works = [f"{name}-work" for name in POLICIES]
    return Recording({"hub": on_hub, ONE: {}, TWO: {}}, events, unheeded=works)


@pytest.mark.parametrize("is_compatible", [True, False], ids=["as recorded", "by default"])
async def test_what_cannot_be_scheduled_says_why(fleet: Fleet, *, is_compatible: bool) -> None:
    replay = await golden_placement.start(fleet, is_compatible=is_compatible)
    client = replay.hub.client
    await replay.hub.create(*OBJECTS)
    await replay.passes(1)

    async def ask(name: str) -> None:
        await replay.hub.create(placement(name, SELECTOR, policy=POLICIES[name]))

    async def taint(cluster: str, taints: list[Object] | None) -> None:
        await client.patch(kinds.MEMBER_CLUSTER, cluster, {"spec": {"taints": taints}})

    async with replay:
        # Who comes first gets the objects: in the recording it was this one.
        await ask("un-fixed")
        await replay.passes(0.5)
        await ask("un-pickn5")
        await ask("un-affinity")
        await replay.passes(8)
        for name in MEMBERS:
            await taint(name, [{"key": "k", "value": "v", "effect": "NoSchedule"}])
        await ask("un-taint")
        await replay.passes(4)
        for name in MEMBERS:
            await taint(name, None)
        await replay.passes(6)
    recorded(is_compatible=is_compatible).compare(replay.seen)
