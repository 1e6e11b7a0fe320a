"""Staged update runs from their beginning to their end, with approvals, stops and roll-backs."""

from typing import Any

import pytest
from tests.support import placing
from tests.support.placing import World

from fleetqueue.fleet import kinds
from fleetqueue.fleet.hub.selecting import Selector
from fleetqueue.fleet.kinds import CLUSTER_SCOPE, NAMESPACED, Scope
from fleetqueue.kube.cluster import Cluster
from fleetqueue.kube.controller import DONE, Controller, Result
from fleetqueue.kube.errors import CredentialFailure
from fleetqueue.kube.resources import CONFIG_MAPS, Object
from fleetqueue.testing import Fleet, config_map, named, namespace

APPROVED = {
    "type": "Approved",
    "status": "True",
    "reason": "byHand",
    "message": "approved",
    "lastTransitionTime": "2026-01-01T00:00:00Z",
    "observedGeneration": 1,
}


def placement(scope: Scope = CLUSTER_SCOPE, **policy: Any) -> Object:
    kind = scope.placement
    selector = {"group": "", "version": "v1", "kind": "Namespace", "name": "web"}
    if scope.is_namespaced:
        selector |= {"kind": "ConfigMap", "name": "conf"}
    spec = {
        "resourceSelectors": [selector],
        "policy": {"placementType": "PickAll", **policy},
        "strategy": {"type": "External"},
    }
    return named(kind.kind, kind.api_version, "staged", home(scope), spec=spec)


def strategy(*stages: Object, scope: Scope = CLUSTER_SCOPE) -> Object:
    kind = scope.update_strategy
    spec = {"stages": list(stages)}
    return named(kind.kind, kind.api_version, "two-stages", home(scope), spec=spec)


def stage(name: str, **more: Any) -> Object:
    return {"name": name, "labelSelector": {"matchLabels": {"stage": name}}, **more}


def run(name: str, scope: Scope = CLUSTER_SCOPE, **spec: Any) -> Object:
    kind = scope.update_run
    told = {"placementName": "staged", "stagedRolloutStrategyName": "two-stages", **spec}
    return named(kind.kind, kind.api_version, name, home(scope), spec=told)


def home(scope: Scope) -> str:
    return "web" if scope.is_namespaced else ""


CANARY = stage(
    "canary", afterStageTasks=[{"type": "TimedWait", "waitTime": "3s"}, {"type": "Approval"}]
)
PROD = stage("prod", beforeStageTasks=[{"type": "Approval"}])


async def staged_world(fleet: Fleet, members: int = 2) -> World:
    """`cluster-1` is the canary, all others are in production."""
    names = [f"cluster-{number + 1}" for number in range(members)]
    world = await placing.start(fleet, members=names)
    for name in names:
        value = "canary" if name == "cluster-1" else "prod"
        labels = {"metadata": {"labels": {"stage": value}}}
        await world.hub.client.patch(kinds.MEMBER_CLUSTER, name, labels)
    await world.hub.create(namespace("web"), config_map("conf", {"a": "1"}, namespace="web"))
    await world.settle()
    return world


async def told(world: World, name: str, scope: Scope = CLUSTER_SCOPE) -> dict[str, Object]:
    """By type, the conditions of a run."""
    found = await world.hub.get(scope.update_run, name, home(scope))
    return {each["type"]: each for each in found["status"]["conditions"]}


async def words(world: World, name: str, scope: Scope = CLUSTER_SCOPE) -> list[str]:
    found = await told(world, name, scope)
    return [f"{each['type']}={each['status']}/{each['reason']}" for each in found.values()]


async def stages_of(world: World, name: str) -> dict[str, list[str]]:
    found = await world.hub.get(CLUSTER_SCOPE.update_run, name)
    whole = [*found["status"]["stagesStatus"], found["status"]["deletionStageStatus"]]
    return {
        each["stageName"]: [
            f"{one['type']}={one['status']}/{one['reason']}" for one in each.get("conditions") or ()
        ]
        for each in whole
    }


async def data(world: World, member: str) -> Object | None:
    found = await world.members[member].find(CONFIG_MAPS, "conf", "web")
    return None if found is None else dict(found["data"])


async def approve(world: World, name: str, scope: Scope = CLUSTER_SCOPE) -> None:
    await world.hub.client.patch(
        scope.approval_request,
        name,
        {"status": {"conditions": [APPROVED]}},
        home(scope),
        subresource="status",
    )
    await world.settle()


async def set_state(world: World, name: str, state: str) -> None:
    await world.hub.client.patch(CLUSTER_SCOPE.update_run, name, {"spec": {"state": state}})
    await world.settle()


class Recorder(Controller[Any]):
    """Keeps how every state of a run said that it progresses, once each time it changes."""

    kind = CLUSTER_SCOPE.update_run

    def __init__(self, cluster: Cluster, seen: list[str]) -> None:
        self._seen = seen
        cluster.informer(self.kind).listen(self._record)

    def _record(self, old: Object | None, new: Object | None) -> None:
        told = ((new or {}).get("status") or {}).get("conditions") or ()
        for reason in (each["reason"] for each in told if each["type"] == "Progressing"):
            if self._seen[-1:] != [reason]:
                self._seen.append(reason)

    async def reconcile(self, obj: Object, /) -> Result:
        return DONE


@pytest.mark.rule("RUN-1")
@pytest.mark.rule("RUN-6")
@pytest.mark.rule("RUN-8")
@pytest.mark.rule("RUN-10")
@pytest.mark.rule("RUN-12")
@pytest.mark.rule("RUN-13")
@pytest.mark.rule("RUN-15")
@pytest.mark.rule("RUN-19")
@pytest.mark.rule("RUN-30")
async def test_a_run_goes_from_stage_to_stage_as_people_approve(fleet: Fleet) -> None:
    world = await staged_world(fleet)
    seen: list[str] = []
    fleet.run(lambda cluster: Recorder(cluster, seen), world.hub.cluster)
    await world.hub.create(strategy(CANARY, PROD), placement())
    await world.settle()
    await world.hub.create(run("run1", state="Initialize"))
    await world.settle()

    first = await world.hub.get(CLUSTER_SCOPE.update_run, "run1")
    assert first["metadata"]["generation"] == 2
    assert first["spec"]["resourceSnapshotIndex"] == ""
    assert await words(world, "run1") == ["Initialized=True/UpdateRunInitializedSuccessfully"]
    status = first["status"]
    assert status["policySnapshotIndexUsed"] == status["resourceSnapshotIndexUsed"] == "0"
    assert status["policyObservedClusterCount"] == 2
    assert status["stagesStatus"] == [
        {
            "stageName": "canary",
            "clusters": [{"clusterName": "cluster-1"}],
            "afterStageTaskStatus": [
                {"type": "TimedWait"},
                {"type": "Approval", "approvalRequestName": "run1-after-canary"},
            ],
        },
        {
            "stageName": "prod",
            "clusters": [{"clusterName": "cluster-2"}],
            "beforeStageTaskStatus": [
                {"type": "Approval", "approvalRequestName": "run1-before-prod"}
            ],
        },
    ]
    assert status["deletionStageStatus"] == {
        "stageName": "kubernetes-fleet.io/deleteStage",
        "clusters": [],
    }
    assert await data(world, "cluster-1") is None

    await set_state(world, "run1", "Run")
    assert await data(world, "cluster-1") == {"a": "1"}
    assert await data(world, "cluster-2") is None
    assert (await told(world, "run1"))["Progressing"]["message"] == (
        "The updateRun is waiting for after-stage tasks in stage canary to complete"
    )
    assert (await told(world, "run1"))["Initialized"]["observedGeneration"] == 3
    request = await world.hub.get(CLUSTER_SCOPE.approval_request, "run1-after-canary")
    assert request["spec"] == {"parentStageRollout": "run1", "targetStage": "canary"}
    assert request["metadata"]["labels"] == {
        "kubernetes-fleet.io/targetUpdateRun": "run1",
        "kubernetes-fleet.io/targetUpdatingStage": "canary",
        "kubernetes-fleet.io/taskType": "afterStage",
        "kubernetes-fleet.io/isLatestUpdateRunApproval": "true",
    }
    binding = next(
        each
        for each in await world.hub.all(CLUSTER_SCOPE.binding)
        if each["spec"]["targetCluster"] == "cluster-1"
    )
    assert binding["status"]["conditions"][0]["message"] == (
        "Detected the new changes on the resources and started the rollout process,"
        " resourceSnapshotIndex: , updateRun: run1"
    )

    await world.hub.client.delete(CLUSTER_SCOPE.approval_request, "run1-after-canary")
    await world.settle()
    await approve(world, "run1-after-canary")
    accepted = await world.hub.get(CLUSTER_SCOPE.approval_request, "run1-after-canary")
    assert accepted["status"]["conditions"][-1]["type"] == "ApprovalAccepted"
    await world.passes(seconds=4)
    assert (await stages_of(world, "run1"))["canary"] == [
        "Progressing=False/StageUpdatingSucceeded",
        "Succeeded=True/StageUpdatingSucceeded",
    ]
    assert (await stages_of(world, "run1"))["prod"] == ["Progressing=False/StageUpdatingWaiting"]
    assert await data(world, "cluster-2") is None

    await approve(world, "run1-before-prod")
    assert await data(world, "cluster-2") == {"a": "1"}
    assert await words(world, "run1") == [
        "Initialized=True/UpdateRunInitializedSuccessfully",
        "Progressing=False/UpdateRunSucceeded",
        "Succeeded=True/UpdateRunSucceeded",
    ]
    assert (await stages_of(world, "run1"))["kubernetes-fleet.io/deleteStage"] == [
        "Progressing=False/StageUpdatingSucceeded",
        "Succeeded=True/StageUpdatingSucceeded",
    ]
    assert seen == [
        "UpdateRunProgressing",
        "UpdateRunWaiting",
        "UpdateRunProgressing",
        "UpdateRunWaiting",
        "UpdateRunProgressing",
        "UpdateRunSucceeded",
    ]
    text = world.hub.metrics.text().decode()
    assert 'condition="Succeeded",failureType="none",name="run1"' in text
    assert "fleet_workload_update_run_approval_request_latency_seconds_count" in text
    assert "fleet_workload_update_run_stage_cluster_updating_duration_seconds_count" in text

    await world.hub.create(run("run2", stagedRolloutStrategyName="no-such", state="Run"))
    await world.settle()
    failed = await told(world, "run2")
    assert list(failed) == ["Initialized"]
    assert failed["Initialized"]["message"] == (
        "cannot continue the updateRun: failed to validate the updateRun: failed to process the"
        " request due to a client error: referenced updateStrategy not found: `/no-such`"
    )
    assert failed["Initialized"]["reason"] == "UpdateRunInitializedFailed"

    await world.hub.client.delete(CLUSTER_SCOPE.update_run, "run1")
    await world.settle()
    assert await world.hub.find(CLUSTER_SCOPE.update_run, "run1") is None
    assert await world.hub.all(CLUSTER_SCOPE.approval_request) == []
    assert await data(world, "cluster-2") == {"a": "1"}
    assert 'name="run1"' not in world.hub.metrics.text().decode()


@pytest.mark.rule("RUN-6")
@pytest.mark.rule("RUN-11")
@pytest.mark.rule("RUN-16")
@pytest.mark.rule("RUN-17")
@pytest.mark.rule("RUN-18")
@pytest.mark.rule("RUN-21")
async def test_changes_roll_back_stop_and_take_clusters_away(fleet: Fleet) -> None:
    world = await staged_world(fleet, members=3)
    fixed = {"placementType": "PickFixed", "clusterNames": ["cluster-1", "cluster-2", "cluster-3"]}
    await world.hub.create(strategy(stage("canary"), stage("prod")), placement(**fixed))
    await world.settle()
    await world.hub.create(run("run1", state="Run"))
    await world.settle()
    assert [await data(world, name) for name in world.members] == [{"a": "1"}] * 3

    await world.hub.client.patch(CONFIG_MAPS, "conf", {"data": {"a": "2"}}, "web")
    await world.settle()
    assert await data(world, "cluster-1") == {"a": "1"}
    await world.hub.create(run("run2", state="Run"))
    await world.settle()
    assert [await data(world, name) for name in world.members] == [{"a": "2"}] * 3
    second = await world.hub.get(CLUSTER_SCOPE.update_run, "run2")
    assert second["status"]["resourceSnapshotIndexUsed"] == "1"

    await world.hub.create(run("run3", state="Run", resourceSnapshotIndex="0"))
    await world.settle()
    assert [await data(world, name) for name in world.members] == [{"a": "1"}] * 3

    await world.hub.client.patch(
        CLUSTER_SCOPE.placement,
        "staged",
        {"spec": {"policy": {"clusterNames": ["cluster-2", "cluster-3"]}}},
    )
    await world.settle()
    assert await data(world, "cluster-1") == {"a": "1"}
    await world.hub.create(run("run4", state="Initialize"))
    await world.settle()
    await set_state(world, "run4", "Run")
    await world.passes(seconds=40)
    assert await words(world, "run4") == [
        "Initialized=True/UpdateRunInitializedSuccessfully",
        "Progressing=False/UpdateRunSucceeded",
        "Succeeded=True/UpdateRunSucceeded",
    ]
    assert (await stages_of(world, "run4"))["canary"] == [
        "Progressing=False/StageUpdatingSkippedNoClusters",
        "Succeeded=True/StageUpdatingSkippedNoClusters",
    ]
    assert await data(world, "cluster-1") is None
    assert await data(world, "cluster-3") == {"a": "2"}


async def rollout(world: World) -> Object:
    """What the placement says of its roll-out."""
    found = await world.hub.get(CLUSTER_SCOPE.placement, "staged")
    return next(
        dict(each)
        for each in found["status"]["conditions"]
        if each["type"] == "ClusterResourcePlacementRolloutStarted"
    )


@pytest.mark.rule("kubefleet 12.11")
@pytest.mark.rule("RUN-6")
async def test_nothing_changes_without_a_run(fleet: Fleet) -> None:
    world = await staged_world(fleet, members=3)
    names = list(world.members)
    told = placement(placementType="PickFixed", clusterNames=names[:2])
    rolling = {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "100%"}}
    told["spec"]["strategy"] = rolling
    await world.hub.create(strategy(stage("canary"), stage("prod")), told)
    await world.settle()
    assert [await data(world, name) for name in names] == [{"a": "1"}, {"a": "1"}, None]

    patch = {"spec": {"strategy": {"type": "External", "rollingUpdate": None}}}
    await world.hub.client.patch(CLUSTER_SCOPE.placement, "staged", patch)
    await world.hub.client.patch(CONFIG_MAPS, "conf", {"data": {"a": "2"}}, "web")
    await world.settle()
    assert (await rollout(world))["status"] == "True"
    assert len(await world.hub.all(CLUSTER_SCOPE.resource_snapshot)) == 1
    grown = {"spec": {"policy": {"clusterNames": names}}}
    await world.hub.client.patch(CLUSTER_SCOPE.placement, "staged", grown)
    await world.settle()
    assert [await data(world, name) for name in names] == [{"a": "1"}, {"a": "1"}, None]
    assert (await rollout(world))["reason"] == "RolloutControlledByExternalController"

    await world.hub.create(run("run1", state="Run"))
    await world.settle()
    assert [await data(world, name) for name in names] == [{"a": "2"}] * 3
    assert (await rollout(world))["status"] == "True"


@pytest.mark.rule("RUN-10")
@pytest.mark.rule("RUN-18")
@pytest.mark.rule("RUN-30")
async def test_a_stopped_run_begins_nothing_and_resumes_where_it_was(fleet: Fleet) -> None:
    world = await staged_world(fleet)
    await world.hub.create(strategy(stage("canary"), PROD), placement())
    await world.settle()
    await world.hub.create(run("run1", state="Run"))
    await world.settle()
    assert (await told(world, "run1"))["Progressing"]["reason"] == "UpdateRunWaiting"

    await set_state(world, "run1", "Stop")
    assert (await told(world, "run1"))["Progressing"]["reason"] == "UpdateRunStopped"
    assert (await stages_of(world, "run1"))["prod"] == ["Progressing=False/StageUpdatingStopped"]
    await approve(world, "run1-before-prod")
    assert await data(world, "cluster-2") is None

    await set_state(world, "run1", "Run")
    assert await data(world, "cluster-2") == {"a": "1"}
    assert (await told(world, "run1"))["Succeeded"]["status"] == "True"


@pytest.mark.rule("RUN-1")
@pytest.mark.rule("RUN-13")
async def test_runs_of_a_namespace_roll_its_placements_out_whatever_dies(fleet: Fleet) -> None:
    world = await staged_world(fleet)
    for member in world.members.values():
        await member.create(namespace("web"))
    await world.hub.create(strategy(CANARY, stage("prod"), scope=NAMESPACED), placement(NAMESPACED))
    await world.settle()
    await world.hub.create(run("run1", NAMESPACED, state="Run"))
    assert world.hub.restart is not None
    for milliseconds in (1, 5, 20):
        await fleet.passes(seconds=milliseconds / 1000)
        await world.hub.restart()
    await world.settle()
    assert await data(world, "cluster-1") == {"a": "1"}
    await approve(world, "run1-after-canary", NAMESPACED)
    await world.passes(seconds=4)
    assert await data(world, "cluster-2") == {"a": "1"}
    assert (await words(world, "run1", NAMESPACED))[-1] == "Succeeded=True/UpdateRunSucceeded"


@pytest.mark.rule("RUN-20")
async def test_a_run_ends_where_what_it_rests_on_changes(fleet: Fleet) -> None:
    world = await staged_world(fleet)
    await world.hub.create(strategy(CANARY, PROD), placement())
    await world.settle()
    await world.hub.create(run("run1", state="Run"))
    await world.settle()
    await world.hub.client.patch(
        CLUSTER_SCOPE.placement,
        "staged",
        {"spec": {"strategy": {"applyStrategy": {"whenToApply": "IfNotDrifted"}}}},
    )
    await world.settle()
    await approve(world, "run1-after-canary")
    found = await told(world, "run1")
    assert found["Progressing"]["message"] == (
        "The stages are aborted due to a non-recoverable error"
    )
    assert found["Succeeded"]["reason"] == "UpdateRunFailed"
    assert found["Succeeded"]["message"].startswith(
        "cannot continue the updateRun: failed to validate the updateRun: the applyStrategy in the"
        " updateRun is outdated,"
    )


@pytest.mark.rule("RUN-13")
async def test_a_cluster_is_not_updated_while_what_it_needs_waits_for_its_namesake(
    fleet: Fleet,
) -> None:
    def envelope(value: str) -> Object:
        inner = {"one.yaml": config_map("wrapped", {"a": value}, namespace="web")}
        kind = kinds.ENVELOPE
        return named(kind.kind, kind.api_version, "narrow", "web", data=inner)

    world = await staged_world(fleet, members=1)
    await world.hub.create(envelope("1"), strategy(stage("canary")), placement())
    await world.settle()
    await world.hub.create(run("first", state="Run"))
    await world.passes(seconds=20)
    member = world.members["cluster-1"]
    held = {"metadata": {"finalizers": ["example.com/hold"]}}
    await member.client.patch(CONFIG_MAPS, "wrapped", held, "web")
    await world.hub.client.delete(kinds.ENVELOPE, "narrow", "web")
    await world.settle()
    await world.hub.create(run("second", state="Run"))
    await world.passes(seconds=20)
    await world.hub.create(envelope("2"))
    await world.settle()
    await world.hub.create(run("third", state="Run"))
    await world.passes(seconds=20)
    assert "Succeeded" not in await told(world, "third")

    free = {"metadata": {"finalizers": None}}
    await member.client.patch(CONFIG_MAPS, "wrapped", free, "web")
    await world.passes(seconds=60)
    assert (await told(world, "third"))["Succeeded"]["status"] == "True"
    assert (await member.get(CONFIG_MAPS, "wrapped", "web"))["data"] == {"a": "2"}


@pytest.mark.rule("RUN-6")
async def test_a_run_outlives_a_failure_of_the_hubs_own_credentials(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = await staged_world(fleet, members=1)
    await world.hub.create(strategy(stage("canary")), placement())
    await world.settle()
    select, failures = Selector.select, ["the plugin does not answer"]

    async def select_later(self: Selector, *about: Any) -> Any:
        if failures:
            raise CredentialFailure(failures.pop())
        return await select(self, *about)

    monkeypatch.setattr(Selector, "select", select_later)
    await world.hub.create(run("r", state="Run"))
    await world.passes(seconds=60)
    assert not failures
    assert (await told(world, "r"))["Succeeded"]["status"] == "True"
