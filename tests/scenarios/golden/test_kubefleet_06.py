"""Overrides of a namespace, of a ConfigMap with the names of the cluster in it, and one that keeps
a ConfigMap away; then one of them cannot be applied any more.
"""

from typing import Any

import pytest
from tests.support import golden_overrides, golden_placement
from tests.support import golden_placed as placed
from tests.support import golden_steps as steps
from tests.support.golden import Maybe
from tests.support.golden_overrides import Overriding
from tests.support.golden_placed import Placed
from tests.support.golden_placement import MEMBERS, ONE, TWO, Life, Recording

from fleetqueue.kube.resources import Object
from fleetqueue.testing import Fleet

pytestmark = pytest.mark.rule(
    "OVR-1", "OVR-2", "OVR-3", "OVR-4", "OVR-6", "OVR-7", "OVR-8", "OVR-10", "OVR-11", "ST-6",
    "ST-12", "ST-14",
)  # fmt: skip

LABELS = {"app": "x"}
NAMESPACE = placed.namespace("c6n", **LABELS)
CONF = placed.config_map("conf", "c6n", labels=LABELS, a="1")
ONLY_ONE = placed.config_map("only-one", "c6n", labels=LABELS, a="1")
OVERRIDES = Overriding(
    "c6n",
    "override",
    (
        "3c18f08af6c89150f9b721b888d780ab552df5e1f964819683e6cbc3f151f04a",
        "d8ea1508128e113dbdaadaeb871d2b08f83bdddbc1c90a47d13bfd08cd1beefe",
        "6ebc1158a818799eaf2b3df30b8b04d1792e006c2aeb3da3785dee9b17b21c9a",
        "3480876ec543fcef65e3874599e7e127a061f5e0f2a2259c775c531ff85f4081",
    ),
)
SNAPSHOT_HASH = "eb904a393515dbea099f21c376706f25a0e9d37c3fe76d357fc2192cba3c746f"
LIST_HASHES = {
    ONE: (
        "b8f616faee1ed3de3b3246a33fe724d70390086ac2b079689546902f1e391500",
        "3540d283d7f25cf94350f1c91acbaf46d907ab40bcaf9b5a621af973a801f964",
    ),
    TWO: (
        placed.OF_NOTHING,
        "243703dddb628218932860c3471f901969ad02b337ae6fcff2a150ce281a0498",
    ),
}
OBJECT_HASHES = {
    ONE: (
        "289bbc4a65a92a745116bffcb64393eb2c57c46a4c2a49e1a5879feeee52acd3",
        "f0b65b12c50566e72fca5f6fb955cd87f9b5d643cb5c3380ad811a8ff2278b20",
        "b3613531f9902006488eb3b73bc87be8c28db592dee1e3dae38327f47f394aac",
    ),
    TWO: (
        "088f80aafd39a062a496f8d7acab13338d9111179a5ee55d94a7b9588580df0c",
        "1b8e8905fc7c4be4b462524b876993c06edb2d097c3bf3235aab800825d9932a",
    ),
}
NO_PATH = golden_overrides.failed(
    'ResourceOverrideSnapshot "c6-ro-1" failed to apply on ConfigMap "conf" in namespace "c6n": '
    "replace operation does not apply: doc is missing path: /data/missing/deep: missing value"
)


def manifests(cluster: str) -> list[Object]:
    """In one region everything has a label more; in the other a ConfigMap is left out."""
    filled = OVERRIDES.filled(CONF, cluster)
    if cluster == TWO:
        return [NAMESPACE, filled]
    return [labelled(each) for each in (NAMESPACE, filled, ONLY_ONE)]


def labelled(manifest: Object) -> Object:
    metadata = manifest["metadata"]
    labels = {**metadata["labels"], "where": "east"}
    return {**manifest, "metadata": {**metadata, "labels": labels}}


def on_hub(told: Placed) -> dict[str, Life]:
    lives = {
        **OVERRIDES.lives(),
        **told.placement(
            OVERRIDES.asked(),
            [
                told.top(steps.SCHEDULING),
                *told.top_round(),
                Maybe(told.top(steps.SOME_UNDECIDED, 1)),
                told.top(steps.SOME_BLOCKED, 1),
            ],
            golden_overrides.everywhere(lambda name: of_cluster(told, name)),
        ),
        **told.policy(),
        **told.snapshot(SNAPSHOT_HASH),
    }
    breaks = [
        told.binds(steps.AVAILABLE, newer=4),
        {"conditions": [placed.line(each, 4) for each in (steps.STARTED, NO_PATH)]},
    ]
    waits = [told.binds(steps.AVAILABLE, first=steps.KEPT_BACK)]
    for name in MEMBERS:
        lives |= told.binding(
            name,
            [*told.binding_round(), *(breaks if name == ONE else waits)],
            *OVERRIDES.bound(told, name),
            *([OVERRIDES.rebound()] if name == ONE else ()),
        )
        wanted = manifests(name)
        lives |= told.in_work(
            name,
            [placed.prepared(*wanted), placed.applied(*wanted)],
            manifests=wanted,
            hashes=LIST_HASHES[name],
        )
    return lives


def of_cluster(told: Placed, name: str) -> list[Any]:
    """One is broken by the change; the other is kept back because of it."""
    rolled_out = told.cluster_round(name, **OVERRIDES.listed(name))
    if name == TWO:
        return [*rolled_out, told.on(name, steps.KEPT_BACK)]
    listed = OVERRIDES.listed(name, 1)
    return [
        *rolled_out,
        Maybe(told.on(name, steps.UNDECIDED)),
        told.on(name, steps.OVERRIDING, **listed),
        told.on(name, NO_PATH, **listed),
    ]


def on_member(told: Placed, name: str) -> dict[str, Life]:
    wanted = manifests(name)
    lives = told.applied_work(name, listed=wanted)
    for manifest, hash in zip(wanted, OBJECT_HASHES[name], strict=True):
        says = [{"phase": "Active"}] if manifest["kind"] == "Namespace" else []
        lives[golden_placement.title(manifest)] = Life([told.arrived(manifest, hash)], says)
    return lives


def recorded(*, is_compatible: bool) -> Recording:
    told = Placed(
        "override",
        [NAMESPACE, CONF, ONLY_ONE],
        overridden=steps.OVERRIDDEN,
        is_compatible=is_compatible,
    )
    return Recording(
        {"hub": on_hub(told), **golden_overrides.everywhere(lambda name: on_member(told, name))},
        told.events(*placed.ROLLED_OUT),
    )


@pytest.mark.parametrize("is_compatible", [True, False], ids=["as recorded", "by default"])
async def test_overrides_apply_until_one_is_broken(fleet: Fleet, *, is_compatible: bool) -> None:
    replay = await golden_placement.start(fleet, is_compatible=is_compatible)
    await OVERRIDES.begin(replay, NAMESPACE, CONF, ONLY_ONE)
    async with replay:
        await OVERRIDES.place(replay)
    recorded(is_compatible=is_compatible).compare(replay.seen)
