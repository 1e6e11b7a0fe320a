"""The snapshots that placements leave: of their policy, and of what they select."""

from dataclasses import replace

import pytest
from tests.support import placed_alone, placing
from tests.support.placed import DONE, Played, config_map, names, placement, selector, told

from fleetqueue.fleet.hub import snapshot_lookup
from fleetqueue.fleet.kinds import CLUSTER_SCOPE, NAMESPACED
from fleetqueue.kube.resources import CONFIG_MAPS, Object
from fleetqueue.testing import Fleet, namespace

CRP = CLUSTER_SCOPE.placement
SNAPSHOT, POLICY = CLUSTER_SCOPE.resource_snapshot, CLUSTER_SCOPE.policy_snapshot
PREFIX = "kubernetes-fleet.io/"
LATEST = f"{PREFIX}is-latest-snapshot"


@pytest.fixture
async def world(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> placing.World:
    return await placed_alone.start(fleet, monkeypatch)


async def change(world: placing.World, **data: str) -> None:
    await world.hub.client.patch(CONFIG_MAPS, "conf", {"data": data}, "web")
    await world.settle()


async def marked(world: placing.World, kind: object = SNAPSHOT) -> dict[str, str]:
    found = await world.hub.all(kind)  # type: ignore[arg-type]
    return {each["metadata"]["name"]: each["metadata"]["labels"].get(LATEST, "") for each in found}


async def place(world: placing.World, **spec: object) -> None:
    await world.hub.create(namespace("web"), config_map("conf", "web", a="1"))
    await world.hub.create(placement("all", selector("Namespace", "web"), **spec))
    await world.settle()


@pytest.mark.rule("SNAP-5", "SNAP-1")
async def test_snapshots_look_as_those_of_kube_fleet(world: placing.World) -> None:
    await place(world, policy={"placementType": "PickN", "numberOfClusters": 2})
    owner = await world.hub.get(CRP, "all")
    assert owner["metadata"]["finalizers"] == [f"{PREFIX}crp-cleanup"]
    policy = await world.hub.get(POLICY, "all-0")
    assert policy["metadata"]["labels"] == {
        f"{PREFIX}parent-CRP": "all",
        f"{PREFIX}policy-index": "0",
        LATEST: "true",
    }
    generation = str(owner["metadata"]["generation"])
    assert policy["metadata"]["annotations"] == {
        f"{PREFIX}CRP-generation": generation,
        f"{PREFIX}number-of-clusters": "2",
    }
    assert policy["spec"]["policy"] == {"placementType": "PickN", "numberOfClusters": 2}
    snapshot = await world.hub.get(SNAPSHOT, "all-0-snapshot")
    metadata = snapshot["metadata"]
    assert metadata["labels"] == {
        f"{PREFIX}parent-CRP": "all",
        f"{PREFIX}resource-index": "0",
        LATEST: "true",
    }
    assert metadata["annotations"][f"{PREFIX}number-of-resource-snapshots"] == "1"
    assert metadata["annotations"][f"{PREFIX}number-of-enveloped-object"] == "0"
    assert metadata["ownerReferences"] == [
        {
            "apiVersion": CRP.api_version,
            "kind": "ClusterResourcePlacement",
            "name": "all",
            "uid": owner["metadata"]["uid"],
            "controller": True,
            "blockOwnerDeletion": True,
        }
    ]
    assert [each["kind"] for each in snapshot["spec"]["selectedResources"]] == [
        "Namespace",
        "ConfigMap",
    ]


@pytest.mark.rule("SNAP-5", "SNAP-6")
async def test_what_was_selected_before_is_never_used_again(world: placing.World) -> None:
    await place(world)
    await change(world, a="2")
    assert await marked(world) == {"all-0-snapshot": "false", "all-1-snapshot": "true"}
    await change(world, a="1")
    assert await marked(world) == {
        "all-0-snapshot": "false",
        "all-1-snapshot": "false",
        "all-2-snapshot": "true",
    }
    assert (await world.hub.get(CRP, "all"))["status"]["observedResourceIndex"] == "2"


@pytest.mark.rule("SNAP-8")
async def test_only_so_many_snapshots_are_kept(world: placing.World) -> None:
    await place(world, revisionHistoryLimit=2)
    for value in ("2", "3", "4"):
        await change(world, a=value)
    assert await marked(world) == {"all-2-snapshot": "false", "all-3-snapshot": "true"}
    await world.hub.client.patch(CRP, "all", {"spec": {"revisionHistoryLimit": 1}})
    await change(world, a="5")
    assert await marked(world) == {"all-4-snapshot": "true"}


@pytest.mark.rule("SNAP-1", "SNAP-3")
async def test_a_policy_that_changes_is_a_new_snapshot_and_old_ones_go(
    world: placing.World,
) -> None:
    await place(
        world, revisionHistoryLimit=2, policy={"placementType": "PickFixed", "clusterNames": ["a"]}
    )
    for names_now in (["b"], ["c"]):
        patch = {"spec": {"policy": {"clusterNames": names_now}}}
        await world.hub.client.patch(CRP, "all", patch)
        await world.settle()
    assert await marked(world, POLICY) == {"all-1": "false", "all-2": "true"}
    assert await marked(world) == {"all-0-snapshot": "true"}


@pytest.mark.rule("SNAP-1")
async def test_another_number_of_clusters_is_noted_on_the_same_snapshot(
    world: placing.World,
) -> None:
    await place(world, policy={"placementType": "PickN", "numberOfClusters": 2})
    patch = {"spec": {"policy": {"numberOfClusters": 3}}}
    changed = await world.hub.client.patch(CRP, "all", patch)
    await world.settle()
    (policy,) = await world.hub.all(POLICY)
    assert policy["metadata"]["annotations"] == {
        f"{PREFIX}CRP-generation": str(changed["metadata"]["generation"]),
        f"{PREFIX}number-of-clusters": "3",
    }


@pytest.mark.rule("SNAP-4")
async def test_a_large_selection_is_split_and_what_is_lost_is_made_again(
    world: placing.World,
) -> None:
    await world.hub.create(namespace("web"))
    for name in ("a", "b", "c"):
        await world.hub.create(config_map(name, "web", text="x" * 500_000))
    await world.hub.create(placement("all", selector("Namespace", "web")))
    await world.settle()
    assert await marked(world) == {"all-0-snapshot": "true", "all-0-0": "", "all-0-1": ""}
    master = await world.hub.get(SNAPSHOT, "all-0-snapshot")
    assert master["metadata"]["annotations"][f"{PREFIX}number-of-resource-snapshots"] == "3"
    assert len(names(await world.hub.get(CRP, "all"))) == 4
    await world.hub.client.delete(SNAPSHOT, "all-0-0")
    await world.settle()
    lost = await world.hub.get(SNAPSHOT, "all-0-0")
    assert [each["metadata"]["name"] for each in lost["spec"]["selectedResources"]] == ["b"]
    assert lost["metadata"]["annotations"] == {f"{PREFIX}subindex-of-resource-snapshot": "0"}


@pytest.mark.rule("SNAP-7", "ST-5")
async def test_changes_are_collected_for_a_while(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = replace(placing.IMMEDIATE, snapshot_interval_seconds=30.0, collection_seconds=15.0)
    world = await placed_alone.start(fleet, monkeypatch, settings)
    await place(world)
    assert await marked(world) == {"all-0-snapshot": "true"}, "the first one is immediate"
    await world.passes(seconds=20)
    await change(world, a="2")
    await world.hub.create(config_map("more", "web"))
    await world.passes(seconds=10)
    found = await world.hub.get(CRP, "all")
    assert await marked(world) == {"all-0-snapshot": "true"}
    assert found["status"]["observedResourceIndex"] == "0"
    assert names(found) == [("Namespace", "web"), ("ConfigMap", "conf")]
    await world.passes(seconds=10)
    assert await marked(world) == {"all-0-snapshot": "false", "all-1-snapshot": "true"}
    assert len(names(await world.hub.get(CRP, "all"))) == 3


@pytest.mark.rule("SNAP-9", "ST-24")
async def test_an_external_roll_out_leaves_snapshots_to_update_runs(world: placing.World) -> None:
    await place(world)
    played = Played(world, "all")
    await played.schedule("cluster-1")
    await played.bind("cluster-1", 0, *DONE)
    await world.settle()
    before = (await world.hub.get(CRP, "all"))["status"]
    patch = {"spec": {"strategy": {"type": "External", "rollingUpdate": None}}}
    await world.hub.client.patch(CRP, "all", patch)
    await world.settle()
    await played.decide("cluster-1")
    await world.settle()
    after = (await world.hub.get(CRP, "all"))["status"]
    assert _without_generations(after) == _without_generations(before)
    await change(world, a="2")
    assert await marked(world) == {"all-0-snapshot": "true"}
    assert (await world.hub.get(CRP, "all"))["status"] == after


@pytest.mark.rule("SNAP-9")
async def test_an_external_placement_shows_its_selection_until_it_is_scheduled(
    world: placing.World,
) -> None:
    await place(world, strategy={"type": "External"})
    found = await world.hub.get(CRP, "all")
    assert names(found) == [("Namespace", "web"), ("ConfigMap", "conf")]
    assert "observedResourceIndex" not in found["status"]
    assert await world.hub.all(SNAPSHOT) == []
    await Played(world, "all").schedule("cluster-1")
    await world.settle()
    found = await world.hub.get(CRP, "all")
    reason = "RolloutControlledByExternalController"
    assert told(found)["RolloutStarted"] == ("Unknown", reason)
    assert names(found) == []


@pytest.mark.rule("SNAP-5")
async def test_a_hub_that_died_between_two_writes_goes_on(world: placing.World) -> None:
    await place(world)
    for kind, name in ((SNAPSHOT, "all-0-snapshot"), (POLICY, "all-0")):
        patch = {"metadata": {"labels": {LATEST: "false"}}}
        await world.hub.client.patch(kind, name, patch)
    stray = await world.hub.get(SNAPSHOT, "all-0-snapshot")
    left = {"name": "all-1-snapshot", "labels": {f"{PREFIX}parent-CRP": "other"}}
    await world.hub.create({**stray, "metadata": left})
    assert world.hub.restart is not None
    await world.hub.restart()
    await world.settle()
    assert (await marked(world))["all-0-snapshot"] == "true"
    assert await marked(world, POLICY) == {"all-0": "true"}
    await change(world, a="2")
    assert (await marked(world))["all-1-snapshot"] == "true"


@pytest.mark.rule("SPEC-9")
async def test_the_first_write_fills_in_the_strategy_of_a_namespaced_placement(
    world: placing.World,
) -> None:
    await world.hub.create(namespace("web"), config_map("conf", "web"))
    bare = placement("bare", selector("ConfigMap", "conf"), namespace="web")
    said = placement(
        "said", selector("ConfigMap", "conf"), namespace="web", strategy={"type": "RollingUpdate"}
    )
    await world.hub.create(bare, said)
    await world.settle()
    found = await world.hub.get(NAMESPACED.placement, "bare", "web")
    assert found["spec"]["strategy"] == {"type": "RollingUpdate"}
    assert found["metadata"]["generation"] == 2
    assert "policy" not in found["spec"]
    policy = await world.hub.get(NAMESPACED.policy_snapshot, "bare-0", "web")
    assert set(policy["spec"]) == {"policyHash"}
    assert policy["metadata"]["annotations"] == {f"{PREFIX}CRP-generation": "2"}
    other = await world.hub.get(NAMESPACED.placement, "said", "web")
    assert other["metadata"]["generation"] == 1


def test_snapshots_are_found_by_their_placement() -> None:
    labels = {f"{PREFIX}parent-CRP": "all"}
    snapshot: Object = {"metadata": {"name": "x", "namespace": "web", "labels": labels}}
    assert list(snapshot_lookup.placements_of(snapshot)) == [("web", "all")]
    assert list(snapshot_lookup.placements_of({"metadata": {"name": "x"}})) == []


def _without_generations(status: Object) -> Object:
    said = [*status["conditions"]]
    for entry in status["placementStatuses"]:
        said += entry["conditions"]
    return {
        "index": status["observedResourceIndex"],
        "names": status["selectedResources"],
        "said": [{name: each[name] for name in ("type", "status", "reason")} for each in said],
    }
