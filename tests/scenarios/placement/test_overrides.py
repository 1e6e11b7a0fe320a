"""Overrides on their way: snapshots of them, what they change per member, and what happens where a
rule does not fit.
"""

from typing import Any

import pytest
from tests.support import placing
from tests.support.placing import World

from fleetqueue.fleet import kinds
from fleetqueue.kube.resources import CONFIG_MAPS, NAMESPACES, Object
from fleetqueue.testing import Fleet, config_map, namespace

WHERE = "/metadata/labels/where"


def override(name: str, about: str, *rules: Object, placement: str = "", **more: Any) -> Object:
    """Of a ConfigMap in `web`, or of the namespace itself."""
    is_wide = about == "web"
    kind = kinds.CLUSTER_OVERRIDE if is_wide else kinds.OVERRIDE
    selector = {
        "group": "",
        "version": "v1",
        "kind": "Namespace" if is_wide else "ConfigMap",
        "name": about,
    }
    return {
        "apiVersion": kind.api_version,
        "kind": kind.kind,
        "metadata": {"name": name, **({} if is_wide else {"namespace": "web"})},
        "spec": {
            **({"placement": {"name": placement}} if placement else {}),
            "clusterResourceSelectors" if is_wide else "resourceSelectors": [selector],
            "policy": {"overrideRules": list(rules)},
            **more,
        },
    }


def rule(region: str, *patches: Object, **more: Any) -> Object:
    """`region`: "" for every cluster."""
    terms = [{"labelSelector": {"matchLabels": {"region": region}}}] if region else []
    told = {"jsonPatchOverrides": list(patches)} if patches else {}
    return {"clusterSelector": {"clusterSelectorTerms": terms}, **told, **more}


def patch(op: str, path: str, value: Any) -> Object:
    return {"op": op, "path": path, "value": value}


def placement(name: str = "web", **strategy: Any) -> Object:
    kind = kinds.CLUSTER_SCOPE.placement
    selector = {"group": "", "version": "v1", "kind": "Namespace", "name": "web"}
    rolling = {"unavailablePeriodSeconds": 1, "maxUnavailable": "100%"}
    return {
        "apiVersion": kind.api_version,
        "kind": kind.kind,
        "metadata": {"name": name},
        "spec": {
            "resourceSelectors": [selector],
            "policy": {"placementType": "PickAll"},
            "strategy": {"type": "RollingUpdate", "rollingUpdate": rolling, **strategy},
        },
    }


async def two_members(fleet: Fleet) -> World:
    """`cluster-1` in the east, `cluster-2` in the west; a namespace with two ConfigMaps."""
    world = await placing.start(fleet, members=("cluster-1", "cluster-2"))
    for name, region in (("cluster-1", "east"), ("cluster-2", "west")):
        await world.hub.client.patch(
            kinds.MEMBER_CLUSTER, name, {"metadata": {"labels": {"region": region}}}
        )
    await world.hub.create(
        namespace("web", labels={"app": "x"}),
        *(
            config_map(name, {"a": "1"}, namespace="web", labels={"app": "x"})
            for name in ("conf", "only-one")
        ),
    )
    await world.settle()
    return world


async def overridden(world: World, cluster: str) -> Object:
    """The Overridden condition of the placement on that cluster."""
    entry = await entry_of(world, cluster)
    return next(each for each in entry["conditions"] if each["type"] == "Overridden")


async def entry_of(world: World, cluster: str) -> Object:
    found = await world.hub.get(kinds.CLUSTER_SCOPE.placement, "web")
    entries = found["status"]["placementStatuses"]
    return dict(next(each for each in entries if each["clusterName"] == cluster))


@pytest.mark.rule("OVR-1")
@pytest.mark.rule("OVR-2")
@pytest.mark.rule("OVR-4")
@pytest.mark.rule("OVR-6")
@pytest.mark.rule("OVR-7")
@pytest.mark.rule("OVR-11")
async def test_each_member_gets_the_objects_as_the_overrides_make_them(fleet: Fleet) -> None:
    world = await two_members(fleet)
    await world.hub.create(
        override("wide", "web", rule("east", patch("add", WHERE, "east")), placement="web"),
        override(
            "narrow",
            "conf",
            rule(
                "",
                patch("replace", "/data/a", "${MEMBER-CLUSTER-NAME}"),
                patch("add", "/data/region", "${MEMBER-CLUSTER-LABEL-KEY-region}"),
            ),
            placement="web",
        ),
        override("gone", "only-one", rule("west", overrideType="Delete"), placement="web"),
        placement(),
    )
    await world.settle()

    east, west = world.members["cluster-1"], world.members["cluster-2"]
    assert (await east.get(CONFIG_MAPS, "conf", "web"))["data"] == {
        "a": "cluster-1",
        "region": "east",
    }
    assert (await west.get(CONFIG_MAPS, "conf", "web"))["data"] == {
        "a": "cluster-2",
        "region": "west",
    }
    assert (await east.get(CONFIG_MAPS, "only-one", "web"))["metadata"]["labels"]["where"] == "east"
    assert await west.find(CONFIG_MAPS, "only-one", "web") is None
    assert (await east.get(NAMESPACES, "web"))["metadata"]["labels"]["where"] == "east"
    assert "where" not in (await west.get(NAMESPACES, "web"))["metadata"]["labels"]

    first, second = await entry_of(world, "cluster-1"), await entry_of(world, "cluster-2")
    assert first["applicableClusterResourceOverrides"] == ["wide-0"]
    assert first["applicableResourceOverrides"] == [{"name": "narrow-0", "namespace": "web"}]
    assert "applicableClusterResourceOverrides" not in second
    assert second["applicableResourceOverrides"] == [
        {"name": "gone-0", "namespace": "web"},
        {"name": "narrow-0", "namespace": "web"},
    ]
    told = await overridden(world, "cluster-1")
    assert (told["status"], told["reason"], told["message"]) == (
        "True",
        "OverriddenSucceeded",
        "Successfully applied the override rules on the resources",
    )


@pytest.mark.rule("OVR-8")
@pytest.mark.rule("OVR-10")
async def test_a_rule_that_does_not_fit_is_told_and_mended_by_a_change(fleet: Fleet) -> None:
    world = await two_members(fleet)
    fine = rule("", patch("replace", "/data/a", "2"))
    await world.hub.create(override("narrow", "conf", fine, placement="web"), placement())
    await world.settle()
    bad = rule("", patch("replace", "/data/missing/deep", "x"))
    await change(world, bad)
    for cluster in ("cluster-1", "cluster-2"):
        told = await overridden(world, cluster)
        assert (told["status"], told["reason"], told["message"]) == (
            "False",
            "OverriddenFailed",
            "Failed to apply the override rules on the resources: ResourceOverrideSnapshot"
            ' "narrow-1" failed to apply on ConfigMap "conf" in namespace "web": replace operation'
            " does not apply: doc is missing path: /data/missing/deep: missing value",
        )
    member = world.members["cluster-1"]
    assert (await member.get(CONFIG_MAPS, "conf", "web"))["data"] == {"a": "2"}

    await change(world, rule("", patch("replace", "/data/a", "3")))
    assert (await member.get(CONFIG_MAPS, "conf", "web"))["data"] == {"a": "3"}
    assert (await overridden(world, "cluster-1"))["status"] == "True"


async def change(world: World, new: Object) -> None:
    await world.hub.client.patch(
        kinds.OVERRIDE, "narrow", {"spec": {"policy": {"overrideRules": [new]}}}, "web"
    )
    await world.settle()


@pytest.mark.rule("OVR-1")
async def test_an_override_that_goes_takes_its_snapshots_and_its_effects_along(
    fleet: Fleet,
) -> None:
    world = await two_members(fleet)
    await world.hub.create(
        override("narrow", "conf", rule("", patch("replace", "/data/a", "2")), placement="web"),
        placement(),
    )
    await world.settle()
    await change(world, rule("", patch("replace", "/data/a", "3")))
    found = await world.hub.all(kinds.OVERRIDE_SNAPSHOT)
    assert [
        (
            each["metadata"]["name"],
            each["metadata"]["labels"]["kubernetes-fleet.io/is-latest-snapshot"],
        )
        for each in found
    ] == [("narrow-0", "false"), ("narrow-1", "true")]

    await world.hub.client.delete(kinds.OVERRIDE, "narrow", "web")
    await world.settle()
    await world.passes(seconds=5)
    assert await world.hub.all(kinds.OVERRIDE_SNAPSHOT) == []
    assert await world.hub.find(kinds.OVERRIDE, "narrow", "web") is None
    member = world.members["cluster-1"]
    assert (await member.get(CONFIG_MAPS, "conf", "web"))["data"] == {"a": "1"}
    assert (await overridden(world, "cluster-1"))["reason"] == "NoOverrideSpecified"


@pytest.mark.rule("OVR-10")
async def test_an_override_for_all_takes_effect_at_the_next_roll_out(fleet: Fleet) -> None:
    world = await two_members(fleet)
    await world.hub.create(placement())
    await world.settle()
    await world.hub.create(override("narrow", "conf", rule("", patch("add", "/data/b", "2"))))
    await world.settle()
    await world.hub.client.patch(CONFIG_MAPS, "conf", {"data": {"c": "3"}}, "web")
    await world.settle()
    member = world.members["cluster-2"]
    assert (await member.get(CONFIG_MAPS, "conf", "web"))["data"] == {"a": "1", "b": "2", "c": "3"}


@pytest.mark.rule("OVR-9")
async def test_metadata_that_is_no_metadata_fails_when_the_work_is_written(fleet: Fleet) -> None:
    world = await two_members(fleet)
    await world.hub.create(
        override(
            "narrow",
            "conf",
            rule("", patch("add", "/metadata/annotations", "nonsense")),
            placement="web",
        ),
        placement(),
    )
    await world.settle()
    assert (await overridden(world, "cluster-1"))["reason"] == "OverriddenSucceeded"
    entry = await entry_of(world, "cluster-1")
    told = entry["conditions"][-1]
    assert (told["type"], told["status"], told["reason"]) == (
        "WorkSynchronized",
        "False",
        "SyncWorkFailed",
    )
    assert told["message"].startswith("Failed to synchronize the work to the latest: ")
    whole = (await world.hub.get(kinds.CLUSTER_SCOPE.placement, "web"))["status"]["conditions"][-1]
    assert (whole["status"], whole["reason"]) == ("False", "WorkNotSynchronizedYet")
