"""The stories about apply strategies, take-over, drifts and differences that KubeFleet's own suite
tells.
"""

from typing import Any

import pytest
from tests.support import placing
from tests.support.placing import World

from fleetqueue.fleet.kinds import CLUSTER_SCOPE
from fleetqueue.kube.resources import CONFIG_MAPS, NAMESPACES, Object, Resource
from fleetqueue.testing import Fleet, config_map, named, namespace

pytestmark = pytest.mark.rule("kubefleet 12.8")
APP, CONF = "application-1", "app-config-1"
ONE, TWO = "cluster-1", "cluster-2"
QUICK = {"maxUnavailable": "100%", "unavailablePeriodSeconds": 1}
STABLE = Resource("placement.kubernetes-fleet.io", "v1", "clusterresourceplacements",
                  "ClusterResourcePlacement", namespaced=False)  # fmt: skip


def crp(name: str = "crp-1", **strategy: Any) -> Object:
    kind = CLUSTER_SCOPE.placement
    spec = {
        "resourceSelectors": [{"group": "", "version": "v1", "kind": "Namespace", "name": APP}],
        "policy": {"placementType": "PickAll"},
        "strategy": {
            "type": "RollingUpdate",
            "rollingUpdate": QUICK,
            "applyStrategy": strategy,
        },
    }
    return named(kind.kind, kind.api_version, name, spec=spec)


async def start(fleet: Fleet) -> World:
    world = await placing.start(fleet, members=(ONE, TWO))
    await world.hub.create(namespace(APP), conf())
    await world.settle()
    return world


def conf(data: str = "test", **labels: str) -> Object:
    made = config_map(CONF, {"data": data}, namespace=APP)
    made["metadata"]["labels"] = labels
    return made


async def place(world: World, *placements: Object) -> None:
    await world.hub.create(*placements)
    await world.settle()
    await world.passes(seconds=3)


async def entries(world: World, name: str = "crp-1", kind: Resource | None = None) -> Object:
    """By cluster, what the placement says of it."""
    found = await world.hub.get(kind or CLUSTER_SCOPE.placement, name)
    return {each["clusterName"]: each for each in found["status"]["placementStatuses"]}


def last(entry: Object) -> tuple[str, str, str]:
    found = entry["conditions"][-1]
    return found["type"], found["status"], found["reason"]


def failures(entry: Object) -> list[tuple[str, str]]:
    return [
        (each["kind"], each["condition"]["reason"]) for each in entry.get("failedPlacements") or ()
    ]


async def data(world: World, member: str) -> Any:
    found = await world.members[member].find(CONFIG_MAPS, CONF, APP)
    return None if found is None else found["data"]["data"]


async def foreign(world: World, member: str) -> Object:
    """An owner of its own, and a namespace that it owns."""
    made = await world.members[member].create(namespace("owner"))
    owner = {"apiVersion": "v1", "kind": "Namespace", "name": "owner",
             "uid": made["metadata"]["uid"]}  # fmt: skip
    mine = namespace(APP)
    mine["metadata"]["ownerReferences"] = [owner]
    await world.members[member].create(mine)
    return owner


AVAILABLE = ("Available", "True", "AllWorkAreAvailable")


async def test_an_owned_namespace_is_shared_where_that_is_allowed(fleet: Fleet) -> None:
    world = await start(fleet)
    owner = await foreign(world, ONE)
    await place(world, crp(allowCoOwnership=True))
    told = await entries(world)
    assert {name: last(each) for name, each in told.items()} == {ONE: AVAILABLE, TWO: AVAILABLE}
    await world.hub.client.delete(CLUSTER_SCOPE.placement, "crp-1")
    await world.passes(seconds=5)
    left = await world.members[ONE].get(NAMESPACES, APP)
    assert left["metadata"]["ownerReferences"] == [owner]
    assert await data(world, ONE) is None
    assert await world.members[TWO].find(NAMESPACES, APP) is None


async def test_an_owned_namespace_is_refused_and_others_are_not_disturbed(fleet: Fleet) -> None:
    world = await start(fleet)
    await foreign(world, ONE)
    await place(world, crp(type="ServerSideApply"))
    told = await entries(world)
    assert last(told[ONE]) == ("Applied", "False", "NotAllWorkHaveBeenApplied")
    assert failures(told[ONE]) == [("Namespace", "FailedToTakeOver")]
    assert last(told[TWO]) == AVAILABLE
    await world.hub.client.patch(CONFIG_MAPS, CONF, {"data": {"data": "new"}}, APP)
    await world.passes(seconds=5)
    assert (await data(world, ONE), await data(world, TWO)) == ("new", "new")


async def test_two_placements_never_place_one_object(fleet: Fleet) -> None:
    world = await start(fleet)
    await place(world, crp())
    await place(world, crp("crp-2"))
    for name in (ONE, TWO):
        assert last((await entries(world))[name]) == AVAILABLE
        assert failures((await entries(world, "crp-2"))[name]) == [
            ("Namespace", "FailedToTakeOver"),
            ("ConfigMap", "FailedToTakeOver"),
        ]
        found = await world.members[name].get(CONFIG_MAPS, CONF, APP)
        assert [each["name"] for each in found["metadata"]["ownerReferences"]] == ["crp-1-work"]


async def test_only_equal_objects_are_taken_over_and_the_rest_is_told(fleet: Fleet) -> None:
    world = await start(fleet)
    await world.members[ONE].create(namespace(APP), conf("other"))
    await world.members[TWO].create(namespace(APP), conf("test", extra="1"))
    await place(world, crp(whenToTakeOver="IfNoDiff"))
    told = await entries(world)
    assert failures(told[ONE]) == [("ConfigMap", "FailedToTakeOver")]
    diffed = told[ONE]["diffedPlacements"]
    assert [each["observedDiffs"] for each in diffed] == [
        [{"path": "/data/data", "valueInHub": "test", "valueInMember": "other"}]
    ]
    assert last(told[TWO]) == AVAILABLE
    same = await entries(world, kind=STABLE)
    assert same == told, "v1 shows the same"


async def test_drifts_are_put_right_or_spared_and_told(fleet: Fleet) -> None:
    world = await start(fleet)
    await place(world, crp(comparisonOption="FullComparison"))
    edit = {"data": {"data": "edited"}, "metadata": {"labels": {"extra": "1"}}}
    await world.members[ONE].client.patch(CONFIG_MAPS, CONF, edit, APP)
    await world.passes(seconds=5)
    told = (await entries(world))[ONE]
    assert last(told) == AVAILABLE
    assert await data(world, ONE) == "test"
    assert [each["observedDrifts"] for each in told["driftedPlacements"]] == [
        [{"path": "/metadata/labels/extra", "valueInMember": "1"}]
    ]
    spares = {"whenToApply": "IfNotDrifted", "comparisonOption": "PartialComparison"}
    patch = {"spec": {"strategy": {"applyStrategy": spares}}}
    await world.hub.client.patch(CLUSTER_SCOPE.placement, "crp-1", patch)
    await world.passes(seconds=5)
    await world.members[ONE].client.patch(CONFIG_MAPS, CONF, edit, APP)
    await world.passes(seconds=5)
    told = (await entries(world))[ONE]
    assert failures(told) == [("ConfigMap", "FoundDrifts")]
    assert [each["observedDrifts"] for each in told["driftedPlacements"]] == [
        [{"path": "/data/data", "valueInHub": "test", "valueInMember": "edited"}]
    ]
    assert await data(world, ONE) == "edited"


async def test_differences_are_reported_until_there_are_none(fleet: Fleet) -> None:
    world = await start(fleet)
    await world.members[ONE].create(namespace(APP), conf("other"))
    await place(world, crp(type="ReportDiff", whenToTakeOver="Never"))
    told = await entries(world)
    reported = ("DiffReported", "True", "AllWorkHaveDiffReported")
    assert {name: last(each) for name, each in told.items()} == {ONE: reported, TWO: reported}
    assert [each["observedDiffs"] for each in told[ONE]["diffedPlacements"]] == [
        [{"path": "/data/data", "valueInHub": "test", "valueInMember": "other"}]
    ]
    whole = [{"path": "/", "valueInHub": "(the whole object)"}]
    assert [each["observedDiffs"] for each in told[TWO]["diffedPlacements"]] == [whole, whole]
    assert await world.members[TWO].find(NAMESPACES, APP) is None
    await world.members[ONE].client.patch(CONFIG_MAPS, CONF, {"data": {"data": "test"}}, APP)
    await world.passes(seconds=5)
    assert not (await entries(world))[ONE].get("diffedPlacements")


async def test_an_envelope_with_an_unknown_kind_delivers_the_rest(fleet: Fleet) -> None:
    world = await start(fleet)
    unknown = {"apiVersion": "test.io/v1", "kind": "Foo",
               "metadata": {"name": "foo", "namespace": APP}}  # fmt: skip
    wrapped = config_map("wrapped", {"a": "1"}, namespace=APP)
    envelope = named(
        "ResourceEnvelope", "placement.kubernetes-fleet.io/v1beta1", "env", APP,
        data={"foo.yaml": unknown, "conf.yaml": wrapped},
    )  # fmt: skip
    await world.hub.create(envelope)
    await place(world, crp())
    told = (await entries(world))[ONE]
    assert failures(told) == [("Foo", "DecodingErred")]
    failed = told["failedPlacements"][0]
    assert failed["envelope"] == {"name": "env", "namespace": APP, "type": "ResourceEnvelope"}
    assert not failed["condition"].get("observedGeneration")
    assert await world.members[ONE].find(CONFIG_MAPS, "wrapped", APP) is not None
