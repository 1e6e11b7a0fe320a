"""The stories about overrides and envelopes that KubeFleet's own suite tells."""

from typing import Any

import pytest
from tests.support import placing
from tests.support.placing import World

from fleetqueue.fleet import kinds
from fleetqueue.fleet.kinds import CLUSTER_SCOPE, NAMESPACED, Scope
from fleetqueue.kube.resources import CONFIG_MAPS, NAMESPACES, Object, Resource
from fleetqueue.testing import Fleet, config_map, named, namespace

APP = "application-1"
QUOTAS = Resource("", "v1", "resourcequotas", "ResourceQuota")
GROUP = "placement.kubernetes-fleet.io"
REGIONS = {"cluster-1": "east", "cluster-2": "east", "cluster-3": "west"}
NAMESPACE = {"group": "", "version": "v1", "kind": "Namespace", "name": APP}
CONFIG = {"group": "", "version": "v1", "kind": "ConfigMap", "name": "app-config-1"}
QUICK = {"maxUnavailable": "100%", "unavailablePeriodSeconds": 1}


def crp(selector: Object = NAMESPACE, **spec: Any) -> Object:
    kind = CLUSTER_SCOPE.placement
    told = {
        "resourceSelectors": [selector],
        "policy": {"placementType": "PickAll"},
        "strategy": {"type": "RollingUpdate", "rollingUpdate": QUICK},
        **spec,
    }
    return named(kind.kind, kind.api_version, "crp-1", spec=told)


def rp(selector: Object = CONFIG) -> Object:
    kind = NAMESPACED.placement
    told = {
        "resourceSelectors": [selector],
        "policy": {"placementType": "PickAll"},
        "strategy": {"type": "RollingUpdate", "rollingUpdate": QUICK},
    }
    return named(kind.kind, kind.api_version, "rp-1", APP, spec=told)


def rule(value: Any = None, path: str = "/metadata/annotations", region: str = "") -> Object:
    """Without a value it keeps the object away."""
    terms = [{"labelSelector": {"matchLabels": {"region": region}}}] if region else []
    where: Object = {"clusterSelector": {"clusterSelectorTerms": terms}}
    if value is None:
        return {**where, "overrideType": "Delete"}
    return {**where, "jsonPatchOverrides": [{"op": "add", "path": path, "value": value}]}


def cro(*rules: Object, placement: str = "crp-1") -> Object:
    kind = kinds.CLUSTER_OVERRIDE
    spec = {
        "placement": {"name": placement},
        "clusterResourceSelectors": [NAMESPACE],
        "policy": {"overrideRules": list(rules)},
    }
    return named(kind.kind, kind.api_version, "cro-1", spec=spec)


def ro(*rules: Object, placement: Object | None = None) -> Object:
    kind = kinds.OVERRIDE
    spec = {
        "placement": placement or {"name": "crp-1"},
        "resourceSelectors": [CONFIG],
        "policy": {"overrideRules": list(rules)},
    }
    return named(kind.kind, kind.api_version, "ro-1", APP, spec=spec)


async def three_members(fleet: Fleet) -> World:
    world = await placing.start(fleet)
    for name, region in REGIONS.items():
        labels = {"metadata": {"labels": {"region": region}}}
        await world.hub.client.patch(kinds.MEMBER_CLUSTER, name, labels)
    await world.hub.create(
        namespace(APP), config_map("app-config-1", {"data": "test"}, namespace=APP)
    )
    await world.settle()
    return world


async def change(world: World, kind: Resource, *rules: Object) -> None:
    name, home = ("ro-1", APP) if kind.namespaced else ("cro-1", "")
    patch = {"spec": {"policy": {"overrideRules": list(rules)}}}
    await world.hub.client.patch(kind, name, patch, home)
    await world.settle()
    await world.passes(seconds=2)


async def notes(world: World, member: str, kind: Resource = CONFIG_MAPS) -> Object | None:
    """The annotations of tests on a placed object; None where it is not there."""
    name, home = (APP, "") if kind is NAMESPACES else ("app-config-1", APP)
    found = await world.members[member].find(kind, name, home)
    if found is None:
        return None
    told = found["metadata"].get("annotations") or {}
    return {key: value for key, value in told.items() if "/" not in key}


async def status(world: World, scope: Scope = CLUSTER_SCOPE) -> Object:
    name, home = ("rp-1", APP) if scope.is_namespaced else ("crp-1", "")
    return dict((await world.hub.get(scope.placement, name, home))["status"])


async def reasons(world: World) -> dict[str, str]:
    """By cluster, the last condition of the placement there."""
    entries = (await status(world))["placementStatuses"]
    return {each["clusterName"]: each["conditions"][-1]["reason"] for each in entries}


@pytest.mark.rule("kubefleet 12.9")
@pytest.mark.rule("OVR-4")
@pytest.mark.rule("OVR-8")
async def test_cluster_resource_overrides(fleet: Fleet) -> None:
    world = await three_members(fleet)
    await world.hub.create(cro(rule({"k": "one"})), crp())
    await world.settle()
    for member in REGIONS:
        assert await notes(world, member, NAMESPACES) == {"k": "one"}
        assert await notes(world, member) == {"k": "one"}
    told = await status(world)
    assert told["observedResourceIndex"] == "0"
    for entry in told["placementStatuses"]:
        assert entry["applicableClusterResourceOverrides"] == ["cro-1-0"]

    await change(
        world,
        kinds.CLUSTER_OVERRIDE,
        rule({"k": "east"}, region="east"),
        rule({"k": "west"}, region="west"),
    )
    assert {name: await notes(world, name) for name in REGIONS} == {
        name: {"k": region} for name, region in REGIONS.items()
    }
    assert (await status(world))["observedResourceIndex"] == "0"

    await change(world, kinds.CLUSTER_OVERRIDE, rule("x", "/metadata/nothing/deep"))
    assert set((await reasons(world)).values()) == {"OverriddenFailed"}
    assert (await status(world))["conditions"][-1]["message"] == (
        "Failed to override resources in 3 cluster(s)"
    )

    await change(world, kinds.CLUSTER_OVERRIDE, rule(region="west"), rule({"k": "two"}))
    assert await notes(world, "cluster-3") is None
    assert await notes(world, "cluster-1") == {"k": "two"}

    await world.hub.client.delete(kinds.CLUSTER_OVERRIDE, "cro-1")
    await world.settle()
    await world.passes(seconds=5)
    for entry in (await status(world))["placementStatuses"]:
        assert await notes(world, entry["clusterName"]) == {}
        assert entry["conditions"][2]["reason"] == "NoOverrideSpecified"


@pytest.mark.rule("kubefleet 12.9")
@pytest.mark.rule("OVR-6")
@pytest.mark.rule("OVR-7")
async def test_resource_overrides(fleet: Fleet) -> None:
    world = await three_members(fleet)
    await world.hub.create(
        cro(rule({"k": "cluster"})), ro(rule({"k": "${MEMBER-CLUSTER-NAME}"})), crp()
    )
    await world.settle()
    for member in REGIONS:
        assert await notes(world, member) == {"k": member}
        assert await notes(world, member, NAMESPACES) == {"k": "cluster"}
    entry = (await status(world))["placementStatuses"][0]
    assert entry["applicableResourceOverrides"] == [{"name": "ro-1-0", "namespace": APP}]

    await change(world, kinds.OVERRIDE, rule(region="west"))
    assert await notes(world, "cluster-3") is None
    assert await notes(world, "cluster-3", NAMESPACES) == {"k": "cluster"}
    assert await notes(world, "cluster-1") == {"k": "cluster"}

    await change(world, kinds.OVERRIDE, rule("x", "/data/nothing/deep"))
    assert set((await reasons(world)).values()) == {"OverriddenFailed"}


@pytest.mark.rule("kubefleet 12.12")
@pytest.mark.rule("OVR-3")
@pytest.mark.rule("ENV-1")
async def test_overrides_and_envelopes_of_resource_placements(fleet: Fleet) -> None:
    world = await three_members(fleet)
    own = {"name": "rp-1", "scope": "Namespaced"}
    only = {**NAMESPACE, "selectionScope": "NamespaceOnly"}
    await world.hub.create(crp(only))
    await world.settle()
    await world.hub.create(
        ro(rule({"k": "${MEMBER-CLUSTER-NAME}"}), rule(region="west"), placement=own), rp()
    )
    await world.settle()
    assert {name: await notes(world, name) for name in REGIONS} == {
        "cluster-1": {"k": "cluster-1"},
        "cluster-2": {"k": "cluster-2"},
        "cluster-3": None,
    }
    await world.hub.client.delete(NAMESPACED.placement, "rp-1", APP)
    await world.settle()
    await world.passes(seconds=60)

    inner = {"c.yaml": config_map("app-config-1", {"data": "wrapped"}, namespace=APP)}
    envelope = named("ResourceEnvelope", f"{GROUP}/v1beta1", "e", APP, data=inner)
    selector = {"group": GROUP, "version": "v1beta1", "kind": "ResourceEnvelope", "name": "e"}
    await world.hub.create(envelope, rp(selector))
    await world.settle()
    member = world.members["cluster-1"]
    placed = await member.get(CONFIG_MAPS, "app-config-1", APP)
    assert placed["data"] == {"data": "wrapped"}
    found = (await status(world, NAMESPACED))["selectedResources"]
    assert [each["kind"] for each in found] == ["ResourceEnvelope"]

    await world.hub.client.delete(NAMESPACED.placement, "rp-1", APP)
    await world.settle()
    await world.passes(seconds=60)
    assert await member.find(CONFIG_MAPS, "app-config-1", APP) is None
    assert await member.find(NAMESPACES, APP) is not None


@pytest.mark.rule("kubefleet 12.7")
@pytest.mark.rule("ENV-2")
@pytest.mark.rule("ENV-5")
async def test_a_broken_object_in_an_envelope_fails_and_heals(fleet: Fleet) -> None:
    world = await three_members(fleet)
    quota = named("ResourceQuota", "v1", "q", APP, spec={"hard": {"pods": "many"}})
    data = {"q.yaml": quota, "c.yaml": config_map("other", {"a": "1"}, namespace=APP)}
    await world.hub.create(named("ResourceEnvelope", f"{GROUP}/v1beta1", "e", APP, data=data))
    await world.hub.create(crp())
    await world.settle()
    told = await status(world)
    assert told["conditions"][-1]["reason"] == "ApplyFailed"
    for entry in told["placementStatuses"]:
        [failed] = entry["failedPlacements"]
        assert (failed["kind"], failed["name"]) == ("ResourceQuota", "q")
        assert failed["envelope"] == {"name": "e", "namespace": APP, "type": "ResourceEnvelope"}
        assert failed["condition"]["type"] == "Applied"
    assert await world.members["cluster-1"].find(CONFIG_MAPS, "other", APP) is not None

    fixed = {"data": {"q.yaml": {"spec": {"hard": {"pods": "10"}}}}}
    await world.hub.client.patch(kinds.ENVELOPE, "e", fixed, APP)
    await world.settle()
    await world.passes(seconds=60)
    assert (await status(world))["conditions"][-1]["reason"] == "ResourceAvailable"
    for member in world.members.values():
        assert await member.find(QUOTAS, "q", APP) is not None

    stray = namespace("stray")
    await world.hub.client.patch(kinds.ENVELOPE, "e", {"data": {"n.yaml": stray}}, APP)
    await world.settle()
    assert "SyncWorkFailed" in set((await reasons(world)).values())
