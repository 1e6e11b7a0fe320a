"""Stories of selection that KubeFleet's own suite tells, on a whole fleet."""

from dataclasses import replace
from typing import Any

import pytest
from tests.support import placing
from tests.support.placed import config_map, names, placement, selector, told

from fleetqueue.fleet import kinds
from fleetqueue.fleet.kinds import CLUSTER_SCOPE, NAMESPACED
from fleetqueue.kube.resources import CONFIG_MAPS, NAMESPACES, Object
from fleetqueue.testing import Fleet, namespace

CRP, RP = CLUSTER_SCOPE.placement, NAMESPACED.placement
MEMBERS = ("cluster-1", "cluster-2")
QUICK = {"type": "RollingUpdate", "rollingUpdate": {"unavailablePeriodSeconds": 1}}
BLOCKER = "kubernetes-fleet.io/custom-deletion-blocker-finalizer"


@pytest.fixture
async def world(fleet: Fleet) -> placing.World:
    return await placing.start(fleet, members=MEMBERS)


async def place(world: placing.World, name: str, *selectors: Object, where: str = "") -> None:
    await world.hub.create(placement(name, *selectors, namespace=where, strategy=QUICK))
    await at_rest(world)


async def at_rest(world: placing.World) -> None:
    """Time for a roll-out that goes from cluster to cluster."""
    await world.passes(seconds=20)


async def done(world: placing.World, name: str, *, where: str = "") -> list[Any]:
    """What a placement lists, once it is available everywhere."""
    found = await world.hub.get(RP if where else CRP, name, where)
    assert told(found)["Available"] == ("True", "ResourceAvailable"), told(found)
    return names(found)


async def on_members(world: placing.World, kind: Any, name: str, where: str = "") -> list[Any]:
    return [await side.find(kind, name, where) for side in world.members.values()]


async def data_of(world: placing.World, name: str, where: str) -> list[Any]:
    found = await on_members(world, CONFIG_MAPS, name, where)
    return [None if each is None else each.get("data") for each in found]


async def test_a_namespace_by_name_and_all_that_happens_to_it(world: placing.World) -> None:
    hub = world.hub
    await hub.create(namespace("app"), config_map("conf", "app", data="test"))
    await place(world, "crp", selector("Namespace", "app"))
    assert await done(world, "crp") == [("Namespace", "app"), ("ConfigMap", "conf")]
    assert await data_of(world, "conf", "app") == [{"data": "test"}] * 2
    owners = [
        each["metadata"]["ownerReferences"]
        for each in await on_members(world, CONFIG_MAPS, "conf", "app")
    ]
    assert {each[0]["name"] for each in owners} == {"crp-work"}

    await hub.client.patch(NAMESPACES, "app", {"metadata": {"labels": {"tier": "gold"}}})
    await hub.client.patch(CONFIG_MAPS, "conf", {"data": {"data": "new"}}, "app")
    await at_rest(world)
    await done(world, "crp")
    assert await data_of(world, "conf", "app") == [{"data": "new"}] * 2
    labels = [each["metadata"]["labels"] for each in await on_members(world, NAMESPACES, "app")]
    assert [each.get("tier") for each in labels] == ["gold"] * 2
    index = (await hub.get(CRP, "crp"))["status"]["observedResourceIndex"]
    assert int(index) >= 1

    await hub.create(config_map("late", "app", data="late"))
    await at_rest(world)
    assert await done(world, "crp") == [
        ("Namespace", "app"),
        ("ConfigMap", "conf"),
        ("ConfigMap", "late"),
    ]
    assert await data_of(world, "late", "app") == [{"data": "late"}] * 2
    await hub.client.delete(CONFIG_MAPS, "late", "app")
    await at_rest(world)
    assert await done(world, "crp") == [("Namespace", "app"), ("ConfigMap", "conf")]
    assert await data_of(world, "late", "app") == [None] * 2

    held = {
        "metadata": {
            "finalizers": [*(await hub.get(CRP, "crp"))["metadata"]["finalizers"], BLOCKER]
        }
    }
    await hub.client.patch(CRP, "crp", held)
    await hub.client.delete(CRP, "crp")
    await at_rest(world)
    assert (await hub.get(CRP, "crp"))["metadata"]["finalizers"] == [BLOCKER]
    assert await on_members(world, NAMESPACES, "app") == [None] * 2


async def test_a_namespace_by_label_that_begins_and_ceases_to_match(world: placing.World) -> None:
    hub = world.hub
    await hub.create(namespace("app"), config_map("conf", "app", data="test"))
    by_label = selector("Namespace", labelSelector={"matchLabels": {"process": "1"}})
    await place(world, "crp", by_label)
    assert await done(world, "crp") == []
    assert await on_members(world, NAMESPACES, "app") == [None] * 2
    await hub.client.patch(NAMESPACES, "app", {"metadata": {"labels": {"process": "1"}}})
    await at_rest(world)
    assert await done(world, "crp") == [("Namespace", "app"), ("ConfigMap", "conf")]
    assert await data_of(world, "conf", "app") == [{"data": "test"}] * 2
    await hub.client.patch(NAMESPACES, "app", {"metadata": {"labels": {"process": None}}})
    await at_rest(world)
    assert await done(world, "crp") == []
    assert await on_members(world, NAMESPACES, "app") == [None] * 2

    await place(world, "reserved", selector("Namespace", "kube-system"))
    found = await hub.get(CRP, "reserved")
    assert told(found) == {"Scheduled": ("False", "InvalidResourceSelectors")}


async def test_a_namespace_with_some_of_its_objects_or_none(world: placing.World) -> None:
    for name in ("app", "bare"):
        await world.hub.create(namespace(name), config_map("conf", name), config_map("rest", name))
    scope = {"selectionScope": "NamespaceWithResourceSelectors"}
    await place(world, "some", selector("Namespace", "app", **scope), selector("ConfigMap", "conf"))
    await place(world, "none", selector("Namespace", "bare", **scope))
    assert await done(world, "some") == [("Namespace", "app"), ("ConfigMap", "conf")]
    assert all(await on_members(world, CONFIG_MAPS, "conf", "app"))
    assert await on_members(world, CONFIG_MAPS, "rest", "app") == [None] * 2
    assert await done(world, "none") == [("Namespace", "bare")]
    assert await on_members(world, CONFIG_MAPS, "conf", "bare") == [None] * 2


async def test_objects_of_a_namespace_follow_their_own_placement(world: placing.World) -> None:
    hub = world.hub
    await hub.create(namespace("app"), config_map("conf", "app", data="test"))
    await place(world, "home", selector("Namespace", "app", selectionScope="NamespaceOnly"))
    by_label = selector("ConfigMap", labelSelector={"matchLabels": {"process": "1"}})
    await place(world, "named", selector("ConfigMap", "conf"), where="app")
    assert await done(world, "named", where="app") == [("ConfigMap", "conf")]
    assert await data_of(world, "conf", "app") == [{"data": "test"}] * 2
    await hub.create(config_map("other", "app", data="x"))
    await place(world, "labelled", by_label, where="app")
    assert await done(world, "labelled", where="app") == []
    change = {"metadata": {"labels": {"process": "1"}}}
    await hub.client.patch(CONFIG_MAPS, "other", change, "app")
    await at_rest(world)
    assert await done(world, "labelled", where="app") == [("ConfigMap", "other")]
    assert await data_of(world, "other", "app") == [{"data": "x"}] * 2
    change = {"metadata": {"labels": {"process": None}}}
    await hub.client.patch(CONFIG_MAPS, "other", change, "app")
    await at_rest(world)
    assert await done(world, "labelled", where="app") == []
    assert await data_of(world, "other", "app") == [None] * 2
    assert await data_of(world, "conf", "app") == [{"data": "test"}] * 2


@pytest.mark.rule("SNAP-7")
async def test_an_update_reaches_members_only_after_the_wait(fleet: Fleet) -> None:
    settings = replace(placing.IMMEDIATE, snapshot_interval_seconds=30.0, collection_seconds=15.0)
    world = await placing.start(fleet, members=MEMBERS, settings=settings)
    hub = world.hub
    await hub.create(namespace("app"), config_map("conf", "app", data="test"))
    home = selector("Namespace", "app", selectionScope="NamespaceOnly")
    await place(world, "home", home)
    await place(world, "rp", selector("ConfigMap", "conf"), where="app")
    await world.passes(seconds=60)
    await hub.client.patch(CONFIG_MAPS, "conf", {"data": {"data": "new"}}, "app")
    await world.passes(seconds=10)
    found = await hub.get(RP, "rp", "app")
    assert found["status"]["observedResourceIndex"] == "0"
    assert await data_of(world, "conf", "app") == [{"data": "test"}] * 2
    await world.passes(seconds=20)
    assert await data_of(world, "conf", "app") == [{"data": "new"}] * 2
    assert (await hub.get(RP, "rp", "app"))["status"]["observedResourceIndex"] == "1"
    assert len(await hub.all(NAMESPACED.resource_snapshot, "app")) == 2


@pytest.mark.rule("ST-30", "ST-31")
async def test_a_copy_of_the_status_follows_the_placement(world: placing.World) -> None:
    hub = world.hub
    await hub.create(namespace("app"))
    await hub.create(
        placement(
            "crp",
            selector("Namespace", "app", selectionScope="NamespaceOnly"),
            statusReportingScope="NamespaceAccessible",
            policy={"placementType": "PickFixed", "clusterNames": ["cluster-1"]},
            strategy=QUICK,
        ),
        placement(
            "plain", selector("Namespace", "app", selectionScope="NamespaceOnly"), strategy=QUICK
        ),
    )
    await at_rest(world)
    copy = await hub.get(kinds.PLACEMENT_STATUS, "crp", "app")
    assert len(copy["sourceStatus"]["placementStatuses"]) == 1
    more = {"spec": {"policy": {"clusterNames": list(MEMBERS)}}}
    await hub.client.patch(CRP, "crp", more)
    await at_rest(world)
    copy = await hub.get(kinds.PLACEMENT_STATUS, "crp", "app")
    assert len(copy["sourceStatus"]["placementStatuses"]) == 2
    assert told(await hub.get(CRP, "crp"))["StatusSynced"] == ("True", "StatusSyncSucceeded")
    assert [each["metadata"]["name"] for each in await hub.all(kinds.PLACEMENT_STATUS)] == ["crp"]
