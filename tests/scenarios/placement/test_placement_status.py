"""What placements tell: conditions, events, the copy in a namespace, a metric; and how they go."""

import pytest
from tests.support import placed_alone, placing
from tests.support.placed import (
    APPLIED,
    DONE,
    STARTED,
    SYNCED,
    UNTOUCHED,
    Played,
    config_map,
    names,
    placement,
    selector,
    told,
    words,
)

from fleetqueue.fleet import kinds
from fleetqueue.fleet.kinds import CLUSTER_SCOPE, NAMESPACED
from fleetqueue.kube.resources import EVENTS, Object
from fleetqueue.testing import Fleet, namespace

CRP, RP = CLUSTER_SCOPE.placement, NAMESPACED.placement
COPY = kinds.PLACEMENT_STATUS
ALL_EVENTS = [
    ("Normal", "PlacementRolloutStarted", "Started rolling out the latest resources"),
    ("Normal", "PlacementOverriddenSucceeded", "Placement has been successfully overridden"),
    (
        "Normal",
        "PlacementWorkSynchronized",
        "Work(s) have been created or updated successfully for the selected cluster(s)",
    ),
    ("Normal", "PlacementApplied", "Resources have been applied to the selected cluster(s)"),
    ("Normal", "PlacementAvailable", "Resources are available on the selected cluster(s)"),
    (
        "Normal",
        "PlacementRolloutCompleted",
        "Placement has finished the rollout process and reached the desired status",
    ),
]


@pytest.fixture
async def world(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> placing.World:
    return await placed_alone.start(fleet, monkeypatch)


async def place(world: placing.World, **spec: object) -> Played:
    await world.hub.create(namespace("web"), config_map("conf", "web", a="1"))
    await world.hub.create(placement("all", selector("Namespace", "web"), **spec))
    await world.settle()
    return Played(world, "all")


async def found(world: placing.World) -> Object:
    await world.settle()
    return await world.hub.get(CRP, "all")


@pytest.mark.rule("ST-1", "ST-3", "ST-12")
async def test_a_placement_is_told_of_from_its_first_word_to_its_last(world: placing.World) -> None:
    played = await place(world)
    assert told(await found(world)) == {"Scheduled": ("Unknown", "SchedulePending")}
    await played.schedule("cluster-1", "cluster-2")
    assert told(await found(world)) == {
        "Scheduled": ("True", "SchedulingPolicyFulfilled"),
        "RolloutStarted": ("Unknown", "RolloutStartedUnknown"),
    }
    await played.bind("cluster-1", 0, STARTED)
    text = words(await found(world))["RolloutStarted"]
    assert text.startswith("There are still 1 cluster(s)")
    await played.bind("cluster-2", 0, STARTED)
    assert told(await found(world))["Overridden"] == ("Unknown", "OverriddenPending")
    started = (STARTED, UNTOUCHED, SYNCED)
    await played.report("cluster-1", *started, ("Applied", "False", "ApplyInProgress"))
    await played.report("cluster-2", *started, ("Applied", "False", "ApplyInProgress"))
    assert told(await found(world))["Applied"] == ("Unknown", "ApplyPending")
    await played.report("cluster-1", *DONE)
    await played.report("cluster-2", *started, APPLIED)
    assert told(await found(world))["Available"] == ("Unknown", "ResourceAvailableUnknown")
    await played.report("cluster-2", *DONE)
    end = await found(world)
    assert told(end)["Available"] == ("True", "ResourceAvailable")
    assert [each["clusterName"] for each in end["status"]["placementStatuses"]] == [
        "cluster-1",
        "cluster-2",
    ]
    assert await world.hub.events("all") == ALL_EVENTS


@pytest.mark.rule("ST-3")
async def test_a_change_is_told_of_until_every_cluster_has_it(world: placing.World) -> None:
    played = await place(world)
    await played.schedule("cluster-1")
    await played.bind("cluster-1", 0, *DONE)
    await world.settle()
    await world.hub.create(config_map("more", "web"))
    now = await found(world)
    assert told(now)["RolloutStarted"] == ("Unknown", "RolloutStartedUnknown")
    assert now["status"]["placementStatuses"][0]["observedResourceIndex"] == "1"
    await played.report("cluster-1", ("RolloutStarted", "False", "RolloutNotStartedYet"))
    assert told(await found(world))["RolloutStarted"] == ("False", "RolloutNotStartedYet")
    await played.bind("cluster-1", 1, *DONE)
    assert told(await found(world))["Available"] == ("True", "ResourceAvailable")
    events = await world.hub.client.list(EVENTS, "")
    counts = {each["reason"]: each.get("count") for each in events.items}
    assert counts == {reason: 2 for _, reason, _ in ALL_EVENTS}


@pytest.mark.rule("ST-10")
async def test_a_placement_that_finds_too_few_clusters_says_why(world: placing.World) -> None:
    played = await place(world, policy={"placementType": "PickN", "numberOfClusters": 3})
    await played.schedule("cluster-1", unselected=("cluster-2",), is_fulfilled=False)
    await played.bind("cluster-1", 0, *DONE)
    now = await found(world)
    assert told(now)["Scheduled"] == ("False", "SchedulingPolicyUnfulfilled")
    assert told(now)["Available"] == ("True", "ResourceAvailable")
    nameless = now["status"]["placementStatuses"][1]
    assert "clusterName" not in nameless
    (said,) = nameless["conditions"]
    assert (said["status"], said["reason"]) == ("False", "ScheduleFailed")
    assert said["message"] == "ClusterUnschedulable, no"
    assert await world.hub.events("all") == ALL_EVENTS[:-1]


@pytest.mark.rule("ST-4")
async def test_nothing_is_written_while_nothing_changes(world: placing.World) -> None:
    played = await place(world)
    await played.schedule("cluster-1", unselected=("cluster-2",))
    await played.bind("cluster-1", 0, *DONE)
    before = await found(world)
    await world.passes(hours=2)
    assert (await found(world))["metadata"]["resourceVersion"] == (
        before["metadata"]["resourceVersion"]
    )
    assert world.hub.restart is not None
    await world.hub.restart()
    assert (await found(world)) == before


async def test_a_status_that_somebody_else_writes_is_mended(world: placing.World) -> None:
    played = await place(world)
    await played.schedule("cluster-1")
    await played.bind("cluster-1", 0, *DONE)
    before = (await found(world))["status"]
    change = {"status": {"observedResourceIndex": "77"}}
    await world.hub.client.patch(CRP, "all", change, subresource="status")
    assert (await found(world))["status"] == before


async def test_conditions_that_others_set_stay(world: placing.World) -> None:
    played = await place(world)
    await played.schedule("cluster-1")
    now = await found(world)
    other = {**now["status"]["conditions"][0], "type": "SomethingElse"}
    change = {"status": {"conditions": [*now["status"]["conditions"], other]}}
    await world.hub.client.patch(CRP, "all", change, subresource="status")
    await played.bind("cluster-1", 0, *DONE)
    assert "SomethingElse" in told(await found(world))


@pytest.mark.rule("ST-40")
async def test_a_placement_takes_its_snapshots_along_and_leaves_other_finalizers(
    world: placing.World,
) -> None:
    await place(world)
    blocked = {"metadata": {"finalizers": ["kubernetes-fleet.io/crp-cleanup", "example.com/mine"]}}
    await world.hub.client.patch(CRP, "all", blocked)
    await world.settle()
    await world.hub.client.delete(CRP, "all")
    now = await found(world)
    assert now["metadata"]["finalizers"] == ["example.com/mine"]
    assert await world.hub.all(CLUSTER_SCOPE.policy_snapshot) == []
    assert await world.hub.all(CLUSTER_SCOPE.resource_snapshot) == []
    assert (await world.hub.events("all"))[-1] == (
        "Normal",
        "PlacementCleanupFinalizerRemoved",
        "Deleted the snapshots and removed the placement cleanup finalizer",
    )
    await world.hub.client.patch(CRP, "all", {"metadata": {"finalizers": None}})
    await world.settle()
    assert await world.hub.find(CRP, "all") is None


@pytest.mark.rule("ST-20", "ST-21", "ST-22", "ST-23")
async def test_a_roll_out_by_update_runs_is_told_of_as_the_clusters_agree(
    world: placing.World,
) -> None:
    played = await place(world)
    await world.hub.create(config_map("more", "web"))
    await world.settle()
    change = {"spec": {"strategy": {"type": "External", "rollingUpdate": None}}}
    await world.hub.client.patch(CRP, "all", change)
    await world.settle()
    await played.schedule("cluster-1", "cluster-2")
    assert "no resource snapshot name is observed" in words(await found(world))["RolloutStarted"]
    await played.bind("cluster-1", 1, *DONE)
    now = await found(world)
    assert "different resource snapshot versions" in words(now)["RolloutStarted"]
    assert "observedResourceIndex" not in now["status"]
    await played.bind("cluster-2", 1)
    text = words(await found(world))["RolloutStarted"]
    assert text.endswith("cluster cluster-2 is in RolloutStarted Unknown state")
    await played.report("cluster-2", *DONE)
    now = await found(world)
    assert told(now)["Available"] == ("True", "ResourceAvailable")
    assert now["status"]["observedResourceIndex"] == "1"
    assert names(now) == [("Namespace", "web"), ("ConfigMap", "conf"), ("ConfigMap", "more")]


@pytest.mark.rule("ST-30", "ST-31")
async def test_a_status_is_copied_to_the_namespace_it_speaks_of(world: placing.World) -> None:
    played = await place(world, statusReportingScope="NamespaceAccessible")
    await played.schedule("cluster-1")
    await played.bind("cluster-1", 0, *DONE)
    now = await found(world)
    assert told(now)["StatusSynced"] == ("True", "StatusSyncSucceeded")
    copy = await world.hub.get(COPY, "all", "web")
    assert copy["sourceStatus"] == {**now["status"], "conditions": _without_copy(now)}
    assert copy["metadata"]["ownerReferences"][0]["uid"] == now["metadata"]["uid"]
    await world.hub.client.delete(COPY, "all", "web")
    await world.settle()
    again = await world.hub.get(COPY, "all", "web")
    assert again["sourceStatus"] == copy["sourceStatus"]
    await world.hub.client.delete(CRP, "all")
    await world.passes(seconds=1)
    assert await world.hub.find(COPY, "all", "web") is None


@pytest.mark.rule("ST-30")
async def test_a_status_stays_with_the_cluster_unless_asked(world: placing.World) -> None:
    await place(world)
    assert await world.hub.all(COPY) == []


@pytest.mark.rule("ST-31")
async def test_a_copy_heals_when_its_namespace_comes(world: placing.World) -> None:
    await world.hub.create(
        placement("all", selector("Namespace", "web"), statusReportingScope="NamespaceAccessible")
    )
    assert told(await found(world))["StatusSynced"] == ("False", "StatusSyncFailed")
    text = words(await found(world))["StatusSynced"]
    assert text.startswith("Failed to create or update ClusterResourcePlacementStatus: ")
    await world.hub.create(namespace("web"))
    assert told(await found(world))["StatusSynced"] == ("True", "StatusSyncSucceeded")


@pytest.mark.rule("ST-32")
async def test_a_placement_stays_with_the_namespace_it_picked(world: placing.World) -> None:
    played = await place(world, statusReportingScope="NamespaceAccessible")
    await played.schedule("cluster-1")
    await played.bind("cluster-1", 0, *DONE)
    before = await found(world)
    await world.hub.create(namespace("other"))
    await _select(world, "other")
    now = await found(world)
    assert told(now)["Scheduled"] == ("False", "InvalidResourceSelectors")
    assert words(now)["Scheduled"] == (
        "namespace resource selector is choosing a different namespace 'other' from what was"
        " originally picked 'web'. This is not allowed for NamespaceAccessible"
        " ClusterResourcePlacement"
    )
    assert now["status"]["conditions"][1:] == before["status"]["conditions"][1:]
    assert now["status"]["conditions"][0]["observedGeneration"] == now["metadata"]["generation"]
    await _select(world, "web")
    await world.settle()
    await played.decide("cluster-1")
    assert told(await found(world)) == told(before)


async def test_the_metric_tells_how_far_a_placement_is(world: placing.World) -> None:
    played = await place(world)
    await played.schedule("cluster-1")
    await world.settle()
    generation = str((await found(world))["metadata"]["generation"])
    place_now = (generation, "ClusterResourcePlacementRolloutStarted", "Unknown")
    assert _measured(world)[-1][2:5] == place_now
    await played.bind("cluster-1", 0, *DONE)
    await world.settle()
    assert _measured(world)[-1][2:6] == (generation, "Completed", "True", "Completed")
    wrong = {"spec": {"resourceSelectors": [selector("Namespace", "default")]}}
    changed = await world.hub.client.patch(CRP, "all", wrong)
    await world.settle()
    generation = str(changed["metadata"]["generation"])
    refused = ("ClusterResourcePlacementScheduled", "False", "InvalidResourceSelectors")
    assert _measured(world)[-1][2:6] == (generation, *refused)
    await world.hub.client.delete(CRP, "all")
    await world.settle()
    assert _measured(world) == []


async def test_metrics_count_the_looks_at_placements(world: placing.World) -> None:
    await place(world)
    text = world.hub.metrics.text().decode()
    name = 'controller="cluster-resource-placement-controller-v1beta1"'
    for metric in (
        f"fleet_workload_reconcile_total{{{name},",
        f"fleet_workload_reconcile_errors_total{{{name}",
        f"fleet_workload_reconcile_time_seconds_count{{{name}",
        f"fleet_workload_max_concurrent_reconciles{{{name}",
        f"fleet_workload_active_workers{{{name}",
        "fleet_workload_placement_status_last_timestamp_seconds{",
    ):
        assert metric in text, metric


async def test_a_namespaced_placement_speaks_of_itself_by_its_own_kind(
    world: placing.World,
) -> None:
    await world.hub.create(namespace("web"), config_map("conf", "web"))
    await world.hub.create(placement("rp", selector("ConfigMap", "conf"), namespace="web"))
    await world.settle()
    played = Played(world, "rp", NAMESPACED, "web")
    await played.schedule("cluster-1")
    await played.bind("cluster-1", 0, *DONE)
    await world.settle()
    now = await world.hub.get(RP, "rp", "web")
    assert [each["type"] for each in now["status"]["conditions"]] == [
        f"ResourcePlacement{step}"
        for step in (
            "Scheduled",
            "RolloutStarted",
            "Overridden",
            "WorkSynchronized",
            "Applied",
            "Available",
        )
    ]
    assert await world.hub.events("rp") == ALL_EVENTS


async def _select(world: placing.World, name: str) -> None:
    change = {"spec": {"resourceSelectors": [selector("Namespace", name)]}}
    await world.hub.client.patch(CRP, "all", change)
    await world.settle()


def _without_copy(now: Object) -> list[Object]:
    return [
        each
        for each in now["status"]["conditions"]
        if each["type"] != "ClusterResourcePlacementStatusSynced"
    ]


def _measured(world: placing.World) -> list[tuple[str, ...]]:
    name = "fleet_workload_placement_status_last_timestamp_seconds"
    return [
        labels
        for source in world.hub.metrics.sources
        for found_name, labels, _ in source()
        if found_name == name
    ]
