"""The scheduler on a hub whose members the test plays: who is picked, when, and what makes it look
again.
"""

from typing import Any

import pytest
from tests.support import placing
from tests.support.chosen import Stage, decided
from tests.support.placed import config_map, placement, selector, told

from fleetqueue.fleet.hub import evictions, parts, rollout, scheduler
from fleetqueue.fleet.hub import placement as placements
from fleetqueue.fleet.kinds import CLUSTER_SCOPE, NAMESPACED
from fleetqueue.testing import Fleet, namespace

CRP = CLUSTER_SCOPE.placement
SPACE = selector("Namespace", "web")
NODES = "kubernetes-fleet.io/node-count"
MINE = (scheduler.install, rollout.install, evictions.install)


@pytest.fixture
async def stage(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> Stage:
    monkeypatch.setattr(parts, "PARTS", (placements.install, *MINE))
    world = await placing.start(fleet, members=())
    made = Stage(world)
    await world.hub.create(namespace("web"), config_map("conf", "web", a="1"))
    for number, region, env in ((1, "east", "prod"), (2, "east", "canary"), (3, "west", "prod")):
        await made.join(f"cluster-{number}", {"region": region, "env": env})
    await world.settle()
    return made


def east(**more: str) -> dict[str, Any]:
    term = {"labelSelector": {"matchLabels": {"region": "east", **more}}}
    key = "requiredDuringSchedulingIgnoredDuringExecution"
    return {"clusterAffinity": {key: {"clusterSelectorTerms": [term]}}}


async def place(stage: Stage, name: str = "p", **policy: Any) -> None:
    await stage.hub.create(placement(name, SPACE, policy=policy))
    await stage.world.settle()


async def edit(stage: Stage, name: str = "p", **policy: Any) -> None:
    await stage.hub.client.patch(CRP, name, {"spec": {"policy": policy}})
    await stage.world.settle()


async def picked(stage: Stage, name: str = "p") -> list[str]:
    found = await stage.states(name)
    return [each for each, state in found.items() if state != "Unscheduled"]


@pytest.mark.rule("SCH-1")
@pytest.mark.rule("SCH-2")
@pytest.mark.rule("SCH-20")
@pytest.mark.rule("BIND-1")
async def test_a_new_placement_gets_its_clusters(stage: Stage) -> None:
    await place(stage, placementType="PickAll")
    assert await picked(stage) == ["cluster-1", "cluster-2", "cluster-3"]
    found = await stage.hub.get(CRP, "p")
    assert "kubernetes-fleet.io/scheduler-cleanup" in found["metadata"]["finalizers"]
    snapshot = await stage.policy("p")
    assert decided(snapshot) == dict.fromkeys(("cluster-1", "cluster-2", "cluster-3"), True)
    assert snapshot["status"]["observedCRPGeneration"] == found["metadata"]["generation"]
    assert told(snapshot)["Scheduled"] == ("True", "SchedulingPolicyFulfilled")
    one = (await stage.bindings("p"))["cluster-1"]
    assert one["metadata"]["name"].startswith("p-cluster-1-")
    assert "ownerReferences" not in one["metadata"]


@pytest.mark.rule("SCH-1")
@pytest.mark.rule("BIND-3")
async def test_a_placement_that_goes_takes_its_bindings_along(stage: Stage) -> None:
    await place(stage, placementType="PickAll")
    await stage.hub.client.delete(CRP, "p")
    await stage.world.settle()
    assert await stage.hub.all(CLUSTER_SCOPE.binding) == []
    assert await stage.hub.find(CRP, "p") is None


@pytest.mark.rule("SCH-1")
async def test_a_binding_that_others_hold_does_not_hold_its_placement(stage: Stage) -> None:
    await place(stage, placementType="PickN", numberOfClusters=1)
    [binding] = (await stage.bindings("p")).values()
    kept = {"metadata": {"finalizers": [*binding["metadata"]["finalizers"], "example.com/kept"]}}
    await stage.hub.client.patch(CLUSTER_SCOPE.binding, binding["metadata"]["name"], kept)
    await stage.hub.client.delete(CRP, "p")
    await stage.world.settle()
    [left] = await stage.hub.all(CLUSTER_SCOPE.binding)
    assert left["metadata"]["finalizers"] == ["example.com/kept"]
    assert "deletionTimestamp" in left["metadata"]
    assert await stage.hub.find(CRP, "p") is None


@pytest.mark.rule("SCH-1")
@pytest.mark.rule("SCH-24")
async def test_a_namespaced_placement_is_served_alike(stage: Stage) -> None:
    one = selector("ConfigMap", "conf")
    policy = {"placementType": "PickN", "numberOfClusters": 1}
    await stage.hub.create(placement("p", one, namespace="web", policy=policy))
    await place(stage, placementType="PickAll")
    assert await stage.states("p", NAMESPACED, "web") == {"cluster-3": "Bound"}
    assert len(await picked(stage)) == 3
    await stage.hub.client.delete(NAMESPACED.placement, "p", "web")
    await stage.world.settle()
    assert await stage.hub.all(NAMESPACED.binding) == []
    assert len(await picked(stage)) == 3


@pytest.mark.rule("SCH-2")
@pytest.mark.rule("SCH-22")
@pytest.mark.rule("SCH-25")
async def test_pick_n_grows_and_shrinks_with_its_number(stage: Stage) -> None:
    await place(stage, placementType="PickN", numberOfClusters=1)
    assert await picked(stage) == ["cluster-3"]
    await edit(stage, numberOfClusters=2)
    assert await picked(stage) == ["cluster-2", "cluster-3"]
    for name in ("cluster-2", "cluster-3"):
        await stage.deliver("p", name)
    await edit(stage, numberOfClusters=1)
    assert await picked(stage) == ["cluster-3"]
    await edit(stage, numberOfClusters=0)
    assert await picked(stage) == []
    assert told(await stage.policy("p"))["Scheduled"] == ("True", "SchedulingPolicyFulfilled")


@pytest.mark.rule("SCH-41")
@pytest.mark.rule("SCH-3")
async def test_an_unfulfilled_placement_takes_who_comes(stage: Stage) -> None:
    await place(stage, placementType="PickN", numberOfClusters=3, affinity=east())
    assert await picked(stage) == ["cluster-1", "cluster-2"]
    assert told(await stage.policy("p"))["Scheduled"] == ("False", "SchedulingPolicyUnfulfilled")
    await stage.change("cluster-3", metadata={"labels": {"region": "east"}})
    await stage.world.settle()
    assert await picked(stage) == ["cluster-1", "cluster-2", "cluster-3"]
    # One that is fulfilled takes nobody more.
    await stage.join("cluster-4", {"region": "east"})
    await stage.world.settle()
    assert len(await picked(stage)) == 3


@pytest.mark.rule("SCH-3")
@pytest.mark.rule("SCH-4")
async def test_pick_all_takes_members_as_they_become_fit(stage: Stage) -> None:
    key = "requiredDuringSchedulingIgnoredDuringExecution"
    big = {"matchExpressions": [{"name": NODES, "operator": "Ge", "values": ["3"]}]}
    terms = [{"propertySelector": big}]
    affinity = {"clusterAffinity": {key: {"clusterSelectorTerms": terms}}}
    await place(stage, placementType="PickAll", affinity=affinity)
    assert await picked(stage) == []
    await stage.report("cluster-1", properties=nodes(stage, 3))
    await stage.world.settle()
    assert await picked(stage) == ["cluster-1"]
    # What is picked stays, whatever becomes of it.
    await stage.report("cluster-1", properties=nodes(stage, 1))
    await stage.beat("cluster-1", joined="False")
    await stage.world.settle()
    assert await picked(stage) == ["cluster-1"]


@pytest.mark.rule("SCH-3")
async def test_a_member_that_joins_late_or_comes_back_is_picked(stage: Stage) -> None:
    await stage.hub.create(placing.member_cluster("cluster-4"))
    await place(stage, placementType="PickAll")
    assert len(await picked(stage)) == 3
    await stage.beat("cluster-4")
    await stage.world.settle()
    assert "cluster-4" in await picked(stage)


@pytest.mark.rule("SCH-3")
@pytest.mark.rule("SCH-9")
async def test_taints_keep_members_out_and_let_them_in_again(stage: Stage) -> None:
    taint = {"key": "k", "value": "v", "effect": "NoSchedule"}
    await stage.change("cluster-3", spec={"taints": [taint]})
    await place(stage, placementType="PickAll")
    assert await picked(stage) == ["cluster-1", "cluster-2"]
    await stage.change("cluster-1", spec={"taints": [taint]})
    await stage.change("cluster-3", spec={"taints": None})
    await stage.world.settle()
    assert await picked(stage) == ["cluster-1", "cluster-2", "cluster-3"]


@pytest.mark.rule("SCH-3")
async def test_a_cluster_stays_selected_until_its_object_is_gone(stage: Stage) -> None:
    await stage.change("cluster-3", metadata={"finalizers": ["example.com/kept"]})
    await place(stage, placementType="PickAll")
    await stage.leave("cluster-3")
    await stage.world.settle()
    assert len(await picked(stage)) == 3
    await stage.change("cluster-3", metadata={"finalizers": None})
    await stage.world.settle()
    assert await picked(stage) == ["cluster-1", "cluster-2"]
    assert list(decided(await stage.policy("p"))) == ["cluster-1", "cluster-2"]


@pytest.mark.rule("SCH-3")
@pytest.mark.rule("SCH-31")
async def test_pick_fixed_waits_for_who_is_named(stage: Stage) -> None:
    await place(stage, placementType="PickFixed", clusterNames=["cluster-1", "cluster-9"])
    assert await picked(stage) == ["cluster-1"]
    assert told(await stage.policy("p"))["Scheduled"] == ("False", "SchedulingPolicyUnfulfilled")
    await stage.join("cluster-9")
    await stage.world.settle()
    assert await picked(stage) == ["cluster-1", "cluster-9"]
    await stage.leave("cluster-9")
    await stage.world.settle()
    assert await picked(stage) == ["cluster-1"]
    assert decided(await stage.policy("p")) == {"cluster-1": True, "cluster-9": False}


@pytest.mark.rule("SCH-3")
@pytest.mark.rule("SCH-31")
async def test_a_label_of_a_member_makes_who_lacks_members_look_again(stage: Stage) -> None:
    """Such as the one that a hub gives to each new member."""
    await place(stage, "fixed", placementType="PickFixed", clusterNames=["cluster-9"])
    await place(stage, "counted", placementType="PickN", numberOfClusters=4)
    await stage.hub.create(placing.member_cluster("cluster-9"))
    await stage.change("cluster-9", metadata={"labels": {"colour": "red"}})
    await stage.world.settle()
    absent = "cluster is not connected to the fleet: member agent not online yet"
    reason = (await stage.policy("fixed"))["status"]["targetClusters"][-1]["reason"]
    assert reason == f'Cluster "cluster-9" is not eligible for resource placement yet: {absent}'
    last = (await stage.policy("counted"))["status"]["targetClusters"][-1]
    assert (last["clusterName"], last["reason"]) == ("cluster-9", f"ClusterUnschedulable, {absent}")


@pytest.mark.rule("SCH-3")
async def test_any_look_finds_that_another_cluster_is_leaving(stage: Stage) -> None:
    await stage.change("cluster-3", metadata={"finalizers": ["example.com/kept"]})
    await place(stage, placementType="PickAll")
    await stage.leave("cluster-3")
    await stage.change("cluster-1", metadata={"labels": {"colour": "red"}})
    await stage.world.settle()
    assert await picked(stage) == ["cluster-1", "cluster-2"]


@pytest.mark.rule("SCH-3")
@pytest.mark.rule("SCH-32")
async def test_pick_fixed_says_when_a_cluster_that_it_kept_is_back(stage: Stage) -> None:
    await place(stage, placementType="PickFixed", clusterNames=["cluster-1"])
    await stage.world.passes(minutes=6)
    await stage.hub.client.patch(CRP, "p", {"spec": {"revisionHistoryLimit": 5}})
    await stage.world.settle()
    assert told(await stage.policy("p"))["Scheduled"] == ("False", "SchedulingPolicyUnfulfilled")
    assert await stage.states("p") == {"cluster-1": "Bound"}
    await stage.beat("cluster-1")
    await stage.world.settle()
    assert told(await stage.policy("p"))["Scheduled"] == ("True", "SchedulingPolicyFulfilled")


@pytest.mark.rule("SCH-32")
@pytest.mark.rule("BIND-2")
async def test_pick_fixed_moves_with_its_names_and_revives_what_it_gave_up(stage: Stage) -> None:
    await place(stage, placementType="PickFixed", clusterNames=["cluster-1"])
    await stage.deliver("p", "cluster-1", ("Applied", "True", "AllWorkHaveBeenApplied"))
    first = (await stage.bindings("p"))["cluster-1"]
    await edit(stage, clusterNames=["cluster-2"])
    states = await stage.states("p")
    assert states == {"cluster-1": "Unscheduled", "cluster-2": "Bound"}
    given_up = (await stage.bindings("p"))["cluster-1"]
    assert given_up["metadata"]["annotations"] == {
        "kubernetes-fleet.io/previous-binding-state": "Bound"
    }
    await edit(stage, clusterNames=["cluster-1", "cluster-2"])
    assert await stage.states("p") == {"cluster-1": "Bound", "cluster-2": "Bound"}
    again = (await stage.bindings("p"))["cluster-1"]
    assert again["metadata"]["uid"] == first["metadata"]["uid"]
    assert not again["metadata"].get("annotations")
    assert again["spec"]["schedulingPolicySnapshotName"] == "p-2"


@pytest.mark.rule("SCH-33")
async def test_pick_fixed_without_names_stays_pending(stage: Stage) -> None:
    await place(stage, placementType="PickFixed", clusterNames=[])
    assert "status" not in await stage.policy("p")
    found = await stage.hub.get(CRP, "p")
    assert told(found) == {"Scheduled": ("Unknown", "SchedulePending")}
    await edit(stage, clusterNames=["cluster-2"])
    assert await picked(stage) == ["cluster-2"]


@pytest.mark.rule("SCH-12")
async def test_a_spread_placement_gets_all_its_clusters(stage: Stage) -> None:
    constraint = {"topologyKey": "env", "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}
    await place(
        stage,
        placementType="PickN",
        numberOfClusters=2,
        affinity=east(),
        topologySpreadConstraints=[constraint],
    )
    assert await picked(stage) == ["cluster-1", "cluster-2"]
    told_of = decided(await stage.policy("p"))
    assert told_of == {"cluster-1": True, "cluster-2": True, "cluster-3": False}
    text = stage.hub.metrics.text().decode()
    assert 'duration_milliseconds_count{is_failed="false",needs_requeue="true"} 1.0' in text


@pytest.mark.rule("SCH-13")
async def test_a_new_policy_keeps_what_suits_it(stage: Stage) -> None:
    await place(stage, placementType="PickN", numberOfClusters=1, affinity=east())
    assert await picked(stage) == ["cluster-2"]
    before = (await stage.bindings("p"))["cluster-2"]
    await edit(stage, affinity=None)
    after = (await stage.bindings("p"))["cluster-2"]
    assert await picked(stage) == ["cluster-2"]
    assert after["metadata"]["uid"] == before["metadata"]["uid"]
    assert after["spec"]["schedulingPolicySnapshotName"] == "p-1"
    assert after["spec"]["state"] == "Bound"


@pytest.mark.rule("SCH-2")
@pytest.mark.rule("BIND-3")
async def test_a_binding_that_somebody_deletes_is_made_again(stage: Stage) -> None:
    await place(stage, placementType="PickN", numberOfClusters=1)
    before = (await stage.bindings("p"))["cluster-3"]
    await stage.hub.client.delete(CLUSTER_SCOPE.binding, before["metadata"]["name"])
    await stage.world.settle()
    after = (await stage.bindings("p"))["cluster-3"]
    assert after["metadata"]["uid"] != before["metadata"]["uid"]
    assert after["spec"]["state"] == "Bound"


@pytest.mark.rule("SCH-6")
async def test_a_namespaced_placement_goes_where_its_namespace_is(stage: Stage) -> None:
    succeeded = {
        "type": "NamespaceCollectionSucceeded", "status": "True", "reason": "Succeeded",
        "message": "", "lastTransitionTime": stage.now,
    }  # fmt: skip
    for number in (1, 2, 3):
        spaces = {"web": "work"} if number == 1 else {"ops": ""}
        await stage.report(f"cluster-{number}", conditions=[succeeded], namespaces=spaces)
    policy = {"placementType": "PickAll"}
    one = selector("ConfigMap", "conf")
    await stage.hub.create(placement("p", one, namespace="web", policy=policy))
    await stage.world.settle()
    assert list(await stage.states("p", NAMESPACED, "web")) == ["cluster-1"]
    await stage.report("cluster-2", namespaces={"ops": "", "web": "work"})
    await stage.world.settle()
    assert list(await stage.states("p", NAMESPACED, "web")) == ["cluster-1", "cluster-2"]


@pytest.mark.rule("SCH-8")
async def test_a_policy_that_makes_no_sense_disturbs_nobody_else(stage: Stage) -> None:
    name = "resources.kubernetes-fleet.io/available-ephemeral-storage"
    term = {"propertySelector": {"matchExpressions": [
        {"name": name, "operator": "Ge", "values": ["1"]}]}}  # fmt: skip
    key = "requiredDuringSchedulingIgnoredDuringExecution"
    affinity = {"clusterAffinity": {key: {"clusterSelectorTerms": [term]}}}
    await place(stage, "odd", placementType="PickAll", affinity=affinity)
    await place(stage, placementType="PickAll")
    assert "status" not in await stage.policy("odd")
    assert len(await picked(stage)) == 3


@pytest.mark.rule("SCH-3")
async def test_members_that_change_what_nobody_reads_wake_nobody(stage: Stage) -> None:
    await place(stage, placementType="PickAll")
    before = cycles(stage)
    for number in range(1, 4):
        usage = {"available": {"cpu": str(number)}, "observationTime": stage.now}
        await stage.beat(f"cluster-{number}", resourceUsage=usage)
    await stage.world.settle()
    assert cycles(stage) == before


@pytest.mark.rule("BIND-4")
async def test_a_hub_that_starts_again_changes_nothing(stage: Stage) -> None:
    await place(stage, placementType="PickAll")
    before = await stage.bindings("p")
    assert stage.hub.restart is not None
    await stage.hub.restart()
    await stage.world.settle()
    after = await stage.bindings("p")
    assert {name: each["metadata"]["resourceVersion"] for name, each in after.items()} == {
        name: each["metadata"]["resourceVersion"] for name, each in before.items()
    }
    assert "scheduling_active_workers 0.0" in stage.hub.metrics.text().decode()


async def test_a_binding_whose_placement_is_no_more_is_removed(stage: Stage) -> None:
    await place(stage, placementType="PickAll")
    left = (await stage.bindings("p"))["cluster-1"]
    await stage.hub.client.delete(CRP, "p")
    await stage.world.settle()
    fields = ("labels", "finalizers")
    metadata = {"name": "left", **{name: left["metadata"][name] for name in fields}}
    metadata["finalizers"] = ["kubernetes-fleet.io/scheduler-crb-cleanup"]
    await stage.hub.create({**left, "metadata": metadata})
    await stage.world.settle()
    assert await stage.hub.all(CLUSTER_SCOPE.binding) == []


def nodes(stage: Stage, count: int) -> dict[str, Any]:
    return {NODES: {"value": str(count), "observationTime": stage.now}}


def cycles(stage: Stage) -> float:
    """How many cycles were run."""
    name = "scheduling_cycle_duration_milliseconds_count"
    text = stage.hub.metrics.text().decode()
    lines = [line for line in text.splitlines() if line.startswith(name)]
    return sum(float(line.rpartition(" ")[2]) for line in lines)
