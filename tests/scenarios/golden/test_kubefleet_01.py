"""A namespace with a ConfigMap is placed on all members, the ConfigMap changes, and the placement
is deleted.
"""

import pytest
from tests.support import golden_owners, golden_placement, recorder
from tests.support import golden_placed as placed
from tests.support import golden_steps as steps
from tests.support.golden_placed import GOING, GONE, MAY_BE_GONE, Placed
from tests.support.golden_placement import MEMBERS, TWO, Life, Recording
from tests.support.placed import placement

from fleetqueue.fleet.kinds import CLUSTER_SCOPE, WORK
from fleetqueue.kube.resources import CONFIG_MAPS, Object
from fleetqueue.testing import Fleet

pytestmark = pytest.mark.rule(
    "SNAP-1", "SNAP-5", "BIND-1", "BIND-3", "ROLL-2", "GEN-1", "GEN-2", "GEN-5", "APPLY-1",
    "APPLY-2", "APPLY-4", "ST-3", "ST-12", "ST-40",
)  # fmt: skip

NAMESPACE = placed.namespace("c1")
FIRST, SECOND = (placed.config_map("conf", "c1", a=value) for value in ("1", "2"))
HASHES = (
    "ac2e1ae7734e068259d64211ee97911505d6984961e8196367f6fef16e7fa4fe",
    "9aaeefb6c449dd83a549241181b94f200d40fc6d83ad6773ba3cd2c30aca730f",
)
SELECTOR = {"group": "", "version": "v1", "kind": "Namespace", "name": "c1"}
ROLLING = {"unavailablePeriodSeconds": 1}


def on_hub(told: Placed) -> dict[str, Life]:
    """One binding is updated first; the other has to wait for it."""
    lives = {
        **told.placement(
            {"resourceSelectors": [{**SELECTOR, **placed.WITH_RESOURCES}], "rolling": ROLLING},
            [told.top(steps.SCHEDULING), *told.top_round(), *told.top_change()],
            {
                name: [*told.cluster_round(name), *told.cluster_change(name, waits=name == TWO)]
                for name in MEMBERS
            },
            {"generation": 2, **GOING},
            {"finalizers": [f"{placed.FLEET}/scheduler-cleanup"]},
            GONE,
        ),
        **told.policy(placed.PICK_ALL, None, GONE),
        **told.snapshot(HASHES[0], placed.SUPERSEDED, GONE),
        **told.snapshot(HASHES[1], GONE, index=1, manifests=[NAMESPACE, SECOND]),
    }
    for name in MEMBERS:
        lives |= told.binding(
            name,
            [*told.binding_round(), *told.binding_change(waits=name == TWO)],
            *told.bound(),
            told.updated(),
            {"finalizers": [placed.WORKING]},
            {"generation": 5, **GOING},
            MAY_BE_GONE,
        )
        lives |= told.in_work(
            name,
            [
                placed.prepared(NAMESPACE, FIRST),
                placed.applied(NAMESPACE, FIRST),
                placed.applied(NAMESPACE, SECOND, at=2),
            ],
            told.new_manifests(NAMESPACE, SECOND),
            {"generation": 3, **GOING},
            MAY_BE_GONE,
        )
    return lives


def on_member(told: Placed, name: str) -> dict[str, Life]:
    leaves = {"deletionTimestamp": "<t>"}
    return {
        **told.applied_work(
            name, {"generation": 2, **GOING, "finalizers": ["foregroundDeletion"]}, MAY_BE_GONE
        ),
        "Namespace c1": told.namespace(leaves, MAY_BE_GONE, phases="Active Terminating"),
        "ConfigMap c1/conf": Life(
            [
                told.arrived(FIRST, placed.ONLY_A["1"]),
                told.changed(SECOND, placed.ONLY_A["2"]),
                GONE,
            ]
        ),
    }


def recorded(*, is_compatible: bool) -> Recording:
    told = Placed("crp-all", [NAMESPACE, FIRST], is_compatible=is_compatible)
    return Recording(
        {"hub": on_hub(told), **{name: on_member(told, name) for name in MEMBERS}},
        told.events(*placed.EVENTS),
    )


def asked() -> Object:
    return placement(
        "crp-all",
        SELECTOR,
        policy={"placementType": "PickAll"},
        strategy={"type": "RollingUpdate", "rollingUpdate": ROLLING},
    )


async def replay(fleet: Fleet, *, is_compatible: bool) -> None:
    replay = await golden_placement.start(fleet, is_compatible=is_compatible)
    await replay.hub.create(NAMESPACE, FIRST)
    kind = CLUSTER_SCOPE.placement
    async with replay:
        await replay.hub.create(asked())
        await replay.passes(2)
        await replay.hub.client.patch(CONFIG_MAPS, "conf", {"data": {"a": "2"}}, "c1")
        await replay.passes(3)
        await replay.hub.client.delete(kind, "crp-all")
        await replay.passes(3)
    recorded(is_compatible=is_compatible).compare(replay.seen)


async def test_a_placement_is_rolled_out_changed_and_deleted_as_recorded(fleet: Fleet) -> None:
    await replay(fleet, is_compatible=True)


async def test_a_first_roll_out_is_under_way_and_not_failed(fleet: Fleet) -> None:
    await replay(fleet, is_compatible=False)


STATUS, SPEC = ("Update", "status"), ("Update", "")
ASPECTS = ("Scheduled", "RolloutStarted", "Overridden", "WorkSynchronized", "Applied", "Available")


def owned(obj: Object) -> dict[tuple[str, str], set[str]]:
    """By operation and subresource, what is not the user's."""
    found: dict[tuple[str, str], set[str]] = {}
    for (manager, *how), paths in recorder.owned(obj).items():
        if manager != "tests":
            found.setdefault((how[0], how[1]), set()).update(paths)
    return found


def finalizers(*names: str) -> set[str]:
    return {"metadata.finalizers", *(f'metadata.finalizers."{placed.FLEET}/{it}"' for it in names)}


def labels(kind: str, *names: str) -> set[str]:
    return golden_owners.under(f"metadata.{kind}", *(f"{placed.FLEET}/{name}" for name in names))


@pytest.mark.rule("SNAP-1", "BIND-1", "GEN-2")
async def test_all_that_placement_writes_is_its_own_by_update_as_recorded(fleet: Fleet) -> None:
    replay = await golden_placement.start(fleet)
    hub = replay.hub
    await hub.create(NAMESPACE, FIRST, asked())
    await replay.passes(2)
    kind = CLUSTER_SCOPE.placement.kind
    types = [f"{kind}{aspect}" for aspect in ASPECTS]
    said = golden_owners.under("status", "conditions")
    assert owned(await hub.get(CLUSTER_SCOPE.placement, "crp-all")) == {
        SPEC: finalizers("crp-cleanup", "scheduler-cleanup"),
        STATUS: {
            *said,
            *golden_owners.conditions(*types),
            *(
                f"status.{name}"
                for name in ("observedResourceIndex", "placementStatuses", "selectedResources")
            ),
        },
    }
    decision = golden_owners.under("spec.clusterDecision", "clusterName", "reason", "selected")
    score = golden_owners.under(
        "spec.clusterDecision.clusterScore", "affinityScore", "priorityScore"
    )
    for binding in await hub.all(CLUSTER_SCOPE.binding):
        assert owned(binding) == {
            SPEC: {
                *finalizers("scheduler-crb-cleanup", "work-cleanup"),
                *labels("labels", "parent-CRP"),
                *golden_owners.under(
                    "spec",
                    "resourceSnapshotName",
                    "schedulingPolicySnapshotName",
                    "state",
                    "targetCluster",
                ),
                *golden_owners.under("spec.applyStrategy", *placed.APPLY),
                *decision,
                *score,
            },
            STATUS: {*said, *golden_owners.conditions(*ASPECTS[1:])},
        }
    for work in await hub.all(WORK):
        parents = ("parent-CRP", "parent-resource-binding", "parent-resource-snapshot-index")
        assert owned(work) == {
            SPEC: {
                *finalizers("work-cleanup"),
                *labels("labels", *parents),
                *labels(
                    "annotations",
                    "parent-cluster-resource-override-snapshot-hash",
                    "parent-resource-override-snapshot-hash",
                    "parent-resource-snapshot-name",
                ),
                *golden_owners.under("spec", "workload", "workload.manifests"),
                *golden_owners.under("spec.applyStrategy", *placed.APPLY),
            },
            STATUS: {*golden_owners.under("status", "conditions", "manifestConditions")},
        }
