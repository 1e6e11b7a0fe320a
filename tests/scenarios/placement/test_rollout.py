"""The roll-out on a hub whose members the test plays: what reaches whom, and when."""

import asyncio
from typing import Any

import pytest
from tests.support import placing
from tests.support.chosen import Stage
from tests.support.placed import config_map, placement, selector, told

from fleetqueue.fleet import kinds
from fleetqueue.fleet.hub import evictions, overrides, parts, rollout, scheduler
from fleetqueue.fleet.hub import placement as placements
from fleetqueue.fleet.kinds import CLUSTER_SCOPE, NAMESPACED
from fleetqueue.kube.resources import CONFIG_MAPS, Object
from fleetqueue.testing import Fleet, namespace

CRP, BINDING = CLUSTER_SCOPE.placement, CLUSTER_SCOPE.binding
NAMES = ("cluster-1", "cluster-2", "cluster-3")
FAILED = ("Available", "False", "NotAllWorkAreAvailable")
UNTRACKED = ("Available", "True", "NotAllWorkAreAvailabilityTrackable")


@pytest.fixture
async def stage(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> Stage:
    mine = (scheduler.install, rollout.install, evictions.install)
    monkeypatch.setattr(parts, "PARTS", (placements.install, overrides.install, *mine))
    world = await placing.start(fleet, members=())
    made = Stage(world)
    await world.hub.create(namespace("web"), config_map("conf", "web", a="1"))
    for name in NAMES:
        await made.join(name)
    await world.settle()
    return made


async def place(stage: Stage, *, strategy: Object | None = None, **spec: Any) -> None:
    more = {"strategy": strategy} if strategy else {}
    await stage.hub.create(placement("p", selector("Namespace", "web"), **more, **spec))
    await stage.world.settle()


async def deliver(stage: Stage, *names: str, last: tuple[str, str, str] | None = None) -> None:
    for name in names or NAMES:
        await stage.deliver("p", name, *([last] if last else []))
    await stage.world.settle()


async def edit(stage: Stage, value: str) -> None:
    await stage.hub.client.patch(CONFIG_MAPS, "conf", {"data": {"a": value}}, "web")
    await stage.world.settle()


async def rolled(stage: Stage) -> dict[str, tuple[str, str]]:
    """By cluster, the index that its binding has, and what that says of the roll-out."""
    found = await stage.bindings("p")
    return {
        name: (
            found[name]["spec"]["resourceSnapshotName"]
            .removeprefix("p-")
            .removesuffix("-snapshot"),
            told(found[name])["RolloutStarted"][0],
        )
        for name in sorted(found)
    }


@pytest.mark.rule("ROLL-1")
@pytest.mark.rule("ROLL-2")
@pytest.mark.rule("ROLL-10")
async def test_a_first_roll_out(stage: Stage) -> None:
    await place(stage)
    assert await rolled(stage) == dict.fromkeys(NAMES, ("0", "True"))
    one = (await stage.bindings("p"))["cluster-1"]
    assert one["spec"]["applyStrategy"] == {
        "type": "ClientSideApply",
        "comparisonOption": "PartialComparison",
        "whenToApply": "Always",
        "whenToTakeOver": "Always",
    }
    # The strategy comes first, in a write of its own, then the resources.
    assert one["metadata"]["generation"] == 3
    [condition] = one["status"]["conditions"]
    assert condition["observedGeneration"] == 3
    assert condition["message"] == (
        "Detected the new changes on the resources and started the rollout process"
    )


@pytest.mark.rule("ROLL-1")
async def test_a_binding_that_comes_late_is_told_how_to_apply_before_it_is_rolled_out(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, bare = asyncio.Event(), []
    create, patch = scheduler.Scheduler._create, rollout.RolloutController._patch

    async def create_late(self: Any, scope: Any, placement: Any, now: Any, decision: Any) -> None:
        if decision["clusterName"] != "cluster-1":
            await begun.wait()
        await create(self, scope, placement, now, decision)

    async def patch_slowly(self: Any, scope: Any, binding: Object, body: Object, **how: Any) -> Any:
        begun.set()
        spec = body.get("spec") or {}
        if "applyStrategy" in spec:
            await asyncio.sleep(1)
        elif spec and "applyStrategy" not in binding["spec"]:
            bare.append(binding["spec"]["targetCluster"])
        return await patch(self, scope, binding, body, **how)

    monkeypatch.setattr(scheduler.Scheduler, "_create", create_late)
    monkeypatch.setattr(rollout.RolloutController, "_patch", patch_slowly)
    await place(stage)
    await stage.world.passes(seconds=5)
    assert await rolled(stage) == dict.fromkeys(NAMES, ("0", "True"))
    assert bare == []


@pytest.mark.rule("ROLL-7")
@pytest.mark.rule("ROLL-9")
@pytest.mark.rule("ROLL-11")
async def test_an_update_goes_from_cluster_to_cluster(stage: Stage) -> None:
    await place(stage)
    await deliver(stage)
    await edit(stage, "2")
    blocked = ("0", "False")
    assert await rolled(stage) == {
        "cluster-1": ("1", "True"),
        "cluster-2": blocked,
        "cluster-3": blocked,
    }
    await deliver(stage, "cluster-1")
    assert (await rolled(stage))["cluster-2"] == ("1", "True")
    assert (await rolled(stage))["cluster-3"] == blocked
    await deliver(stage, "cluster-2")
    assert await rolled(stage) == dict.fromkeys(NAMES, ("1", "True"))


@pytest.mark.rule("ROLL-6")
@pytest.mark.rule("ROLL-11")
async def test_a_bad_update_stops_and_a_good_one_heals_it(stage: Stage) -> None:
    await place(stage)
    await deliver(stage)
    await edit(stage, "bad")
    await deliver(stage, "cluster-1", last=FAILED)
    await stage.world.passes(minutes=3)
    assert [index for index, _ in (await rolled(stage)).values()] == ["1", "0", "0"]
    await edit(stage, "good")
    assert [index for index, _ in (await rolled(stage)).values()] == ["2", "0", "0"]
    await deliver(stage, "cluster-1")
    assert [index for index, _ in (await rolled(stage)).values()] == ["2", "2", "0"]


@pytest.mark.rule("ROLL-9")
@pytest.mark.rule("ROLL-4")
async def test_what_cannot_be_tracked_is_given_time(stage: Stage) -> None:
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"unavailablePeriodSeconds": 30}}
    await place(stage, strategy=strategy)
    await deliver(stage, last=UNTRACKED)
    await stage.world.passes(seconds=40)
    await edit(stage, "2")
    await deliver(stage, "cluster-1", last=UNTRACKED)
    assert [index for index, _ in (await rolled(stage)).values()] == ["1", "0", "0"]
    await stage.world.passes(seconds=25)
    assert [index for index, _ in (await rolled(stage)).values()] == ["1", "0", "0"]
    await stage.world.passes(seconds=10)
    assert [index for index, _ in (await rolled(stage)).values()] == ["1", "1", "0"]


@pytest.mark.rule("ROLL-1")
@pytest.mark.rule("ROLL-10")
async def test_another_apply_strategy_reaches_everybody_at_once(stage: Stage) -> None:
    await place(stage)
    await deliver(stage)
    change = {"spec": {"strategy": {"applyStrategy": {"type": "ServerSideApply"}}}}
    await stage.hub.client.patch(CRP, "p", change)
    await stage.world.settle()
    for binding in (await stage.bindings("p")).values():
        assert binding["spec"]["applyStrategy"]["type"] == "ServerSideApply"
        assert binding["spec"]["applyStrategy"]["serverSideApplyConfig"] == {"force": False}
        [started] = [c for c in binding["status"]["conditions"] if c["type"] == "RolloutStarted"]
        assert started["status"] == "True"
        assert started["observedGeneration"] == binding["metadata"]["generation"]


@pytest.mark.rule("ROLL-12")
@pytest.mark.rule("ROLL-7")
async def test_what_is_not_wanted_any_more_goes_when_there_is_room(stage: Stage) -> None:
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 0, "maxSurge": 1}}
    policy = {"placementType": "PickFixed", "clusterNames": ["cluster-1"]}
    await place(stage, strategy=strategy, policy=policy)
    await deliver(stage, "cluster-1")
    change = {"spec": {"policy": {"clusterNames": ["cluster-2"]}}}
    await stage.hub.client.patch(CRP, "p", change)
    await stage.world.settle()
    await deliver(stage, "cluster-1")
    assert await stage.states("p") == {"cluster-1": "Unscheduled", "cluster-2": "Bound"}
    await deliver(stage, "cluster-2")
    assert await stage.states("p") == {"cluster-2": "Bound"}


@pytest.mark.rule("ROLL-13")
async def test_a_placement_that_wants_nobody_lets_everybody_go(stage: Stage) -> None:
    await place(stage, policy={"placementType": "PickN", "numberOfClusters": 2})
    await deliver(stage, "cluster-2", "cluster-3", last=FAILED)
    await stage.hub.client.patch(CRP, "p", {"spec": {"policy": {"numberOfClusters": 0}}})
    await stage.world.settle()
    assert await stage.states("p") == {}


@pytest.mark.rule("BIND-4")
async def test_a_cluster_waits_until_it_is_cleaned_up(stage: Stage) -> None:
    await place(stage)
    old = (await stage.bindings("p"))["cluster-1"]
    kept = {"metadata": {"finalizers": [*old["metadata"]["finalizers"], "example.com/kept"]}}
    await stage.hub.client.patch(BINDING, old["metadata"]["name"], kept)
    await stage.hub.client.delete(BINDING, old["metadata"]["name"])
    await stage.world.passes(seconds=30)
    assert (await stage.states("p"))["cluster-1"] == "Scheduled"
    gone = {"metadata": {"finalizers": None}}
    await stage.hub.client.patch(BINDING, old["metadata"]["name"], gone)
    await stage.world.settle()
    assert (await stage.states("p"))["cluster-1"] == "Bound"


@pytest.mark.rule("ROLL-2")
async def test_a_placement_with_an_external_strategy_is_left_alone(stage: Stage) -> None:
    await place(stage, strategy={"type": "External"})
    assert await stage.states("p") == dict.fromkeys(NAMES, "Scheduled")
    for binding in (await stage.bindings("p")).values():
        assert "status" not in binding
        assert "applyStrategy" not in binding["spec"]


@pytest.mark.rule("ROLL-10")
async def test_an_override_that_names_the_placement_is_rolled_out(stage: Stage) -> None:
    await place(stage)
    await deliver(stage)
    rule = {
        "clusterSelector": {"clusterSelectorTerms": []},
        "jsonPatchOverrides": [{"op": "add", "path": "/metadata/labels", "value": {"x": "y"}}],
    }
    override = {
        "apiVersion": kinds.CLUSTER_OVERRIDE.api_version,
        "kind": "ClusterResourceOverride",
        "metadata": {"name": "cro"},
        "spec": {
            "placement": {"name": "p"},
            "clusterResourceSelectors": [selector("Namespace", "web")],
            "policy": {"overrideRules": [rule]},
        },
    }
    await stage.hub.create(override)
    await stage.world.settle()
    found = await stage.bindings("p")
    used = {
        name: found[name]["spec"].get("clusterResourceOverrideSnapshots") for name in sorted(found)
    }
    assert used == {"cluster-1": ["cro-0"], "cluster-2": None, "cluster-3": None}
    await deliver(stage, "cluster-1")
    await deliver(stage, "cluster-2")
    await deliver(stage, "cluster-3")
    await stage.hub.client.delete(kinds.CLUSTER_OVERRIDE, "cro")
    await stage.world.settle()
    await deliver(stage, "cluster-1")
    await deliver(stage, "cluster-2")
    for binding in (await stage.bindings("p")).values():
        assert "clusterResourceOverrideSnapshots" not in binding["spec"]


@pytest.mark.rule("ROLL-10")
async def test_a_namespaced_placement_is_rolled_out_alike(stage: Stage) -> None:
    policy = {"placementType": "PickN", "numberOfClusters": 1}
    one = selector("ConfigMap", "conf")
    await stage.hub.create(placement("p", one, namespace="web", policy=policy))
    await stage.world.settle()
    where = {"scope": NAMESPACED, "namespace": "web"}
    await stage.deliver("p", "cluster-3", **where)
    await edit(stage, "2")
    [binding] = (await stage.bindings("p", **where)).values()
    assert binding["spec"]["resourceSnapshotName"] == "p-1-snapshot"
    assert binding["metadata"]["generation"] == 4
