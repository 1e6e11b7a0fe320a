"""Reference stories of placements on a whole fleet: which policies lead to which members, how they
follow the fleet, and how far a bad update gets. Numbers are those of the reference list.
"""

from typing import Any

import pytest
from tests.support import placing
from tests.support.chosen import Stage
from tests.support.placed import config_map, placement, selector, told
from tests.support.placing import World

from fleetqueue.fleet import kinds
from fleetqueue.fleet.kinds import CLUSTER_SCOPE, NAMESPACED
from fleetqueue.kube.resources import CONFIG_MAPS, Object, Resource
from fleetqueue.testing import Fleet, namespace

CRP = CLUSTER_SCOPE.placement
DEPLOYMENTS = Resource("apps", "v1", "deployments", "Deployment")
COUNT = "kubernetes-fleet.io/node-count"
COUNTS = ("updatedReplicas", "availableReplicas")
TAINT = {"key": "k", "value": "v", "effect": "NoSchedule"}
ALL = ["cluster-1", "cluster-2", "cluster-3"]
LABELS = {
    "cluster-1": {"region": "east", "env": "prod"},
    "cluster-2": {"region": "east", "env": "canary"},
    "cluster-3": {"region": "west", "env": "prod"},
}
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


@pytest.fixture
async def world(fleet: Fleet) -> World:
    """Three members with 2, 3 and 4 nodes, one that fell silent and one that is leaving."""
    made = await placing.start(fleet, joined=False)
    stage = Stage(made)
    for number, (name, labels) in enumerate(LABELS.items(), 2):
        for node in range(number):
            metadata = {"name": f"node-{node}"}
            await made.members[name].create(
                {"apiVersion": "v1", "kind": "Node", "metadata": metadata}
            )
        await made.hub.create(placing.member_cluster(name, labels=labels))
    await stage.join("unhealthy", {"region": "east"})
    await stage.report("unhealthy", agentStatus=[])
    left = placing.member_cluster("left")
    left["metadata"]["finalizers"] = ["example.com/kept"]
    await made.hub.create(left)
    await stage.leave("left")
    await made.hub.create(namespace("web"), config_map("conf", "web", a="1"))
    await made.passes(seconds=20)
    return made


def required(**term: Any) -> Object:
    return {"clusterAffinity": {REQUIRED: {"clusterSelectorTerms": [term]}}}


def labelled(**labels: str) -> Object:
    return required(labelSelector={"matchLabels": labels})


async def place(world: World, name: str = "p", **policy: Any) -> None:
    space = selector("Namespace", "web")
    await world.hub.create(placement(name, space, policy=policy))
    await world.settle()


async def edit(world: World, **policy: Any) -> None:
    await world.hub.client.patch(CRP, "p", {"spec": {"policy": policy}})
    await world.passes(seconds=40)


async def remove(world: World, name: str = "p") -> None:
    await world.hub.client.delete(CRP, name)
    await world.settle()
    assert await on_members(world) == []


async def on_members(world: World) -> list[str]:
    """Who has the ConfigMap."""
    found = []
    for name, side in sorted(world.members.items()):
        if await side.find(CONFIG_MAPS, "conf", "web") is not None:
            found.append(name)
    return found


async def listed(world: World, name: str = "p") -> tuple[list[str], int]:
    """Which clusters the placement's status names, and how many nameless entries it has."""
    found = await world.hub.get(CRP, name)
    entries = found["status"].get("placementStatuses") or []
    names = sorted(each["clusterName"] for each in entries if each.get("clusterName"))
    return names, len(entries) - len(names)


async def scheduled(world: World, name: str = "p") -> str:
    return told(await world.hub.get(CRP, name))["Scheduled"][0]


@pytest.mark.rule("SCH-20")
async def test_pick_all(world: World) -> None:
    """33 to 37: all that are well, by label, by another label, by none, by property."""
    await place(world, placementType="PickAll")
    assert (await listed(world), await on_members(world)) == ((ALL, 0), ALL)
    await remove(world)
    await place(world, placementType="PickAll", affinity=labelled(region="east", env="prod"))
    assert (await listed(world), await on_members(world)) == ((["cluster-1"], 0), ["cluster-1"])
    await edit(world, affinity=labelled(region="west"))
    assert (await listed(world), await on_members(world)) == ((["cluster-3"], 0), ["cluster-3"])
    await remove(world)
    await place(world, placementType="PickAll", affinity=labelled(region="north"))
    assert told(await world.hub.get(CRP, "p")) == {
        "Scheduled": ("True", "SchedulingPolicyFulfilled")
    }
    assert await listed(world) == ([], 0)
    await remove(world)
    big = {"matchExpressions": [{"name": COUNT, "operator": "Ge", "values": ["3"]}]}
    await place(world, placementType="PickAll", affinity=required(propertySelector=big))
    assert await on_members(world) == ["cluster-2", "cluster-3"]


@pytest.mark.rule("SCH-31")
@pytest.mark.rule("SCH-32")
async def test_pick_fixed(world: World) -> None:
    """38 to 40, 47: who is named, who is named later, who is not there; whatever the taints."""
    for name in ALL:
        await world.hub.client.patch(kinds.MEMBER_CLUSTER, name, {"spec": {"taints": [TAINT]}})
    await place(world, placementType="PickFixed", clusterNames=["cluster-1"])
    assert (await listed(world), await on_members(world)) == ((["cluster-1"], 0), ["cluster-1"])
    await edit(world, clusterNames=["cluster-2"])
    assert (await listed(world), await on_members(world)) == ((["cluster-2"], 0), ["cluster-2"])
    await remove(world)
    await place(world, placementType="PickFixed", clusterNames=["unhealthy", "no-such-cluster"])
    assert await listed(world) == ([], 2)
    assert told(await world.hub.get(CRP, "p")) == {
        "Scheduled": ("False", "SchedulingPolicyUnfulfilled")
    }


@pytest.mark.rule("SCH-14")
@pytest.mark.rule("SCH-22")
@pytest.mark.rule("SCH-24")
async def test_pick_n(world: World) -> None:
    """41 to 46: the largest name, more, fewer; spread; too few; the fewest nodes."""
    await place(world, placementType="PickN", numberOfClusters=1)
    assert await on_members(world) == ["cluster-3"]
    await edit(world, numberOfClusters=2)
    assert await on_members(world) == ["cluster-2", "cluster-3"]
    await edit(world, numberOfClusters=1)
    assert (await listed(world), await on_members(world)) == ((["cluster-3"], 0), ["cluster-3"])
    await remove(world)
    east = {"placementType": "PickN", "affinity": labelled(region="east")}
    spread = [{"topologyKey": "env", "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}]
    await place(world, numberOfClusters=2, topologySpreadConstraints=spread, **east)
    assert await on_members(world) == ["cluster-1", "cluster-2"]
    await remove(world)
    await place(world, numberOfClusters=5, **east)
    assert await listed(world) == (["cluster-1", "cluster-2"], 3)
    assert await scheduled(world) == "False"
    await remove(world)
    few = {"propertySorter": {"name": COUNT, "sortOrder": "Ascending"}}
    affinity = {"clusterAffinity": {PREFERRED: [{"weight": 20, "preference": few}]}}
    await place(world, placementType="PickN", numberOfClusters=2, affinity=affinity)
    assert await on_members(world) == ["cluster-1", "cluster-2"]


@pytest.mark.rule("SCH-9")
@pytest.mark.rule("SCH-4")
async def test_taints(world: World) -> None:
    """48, 49: tainted clusters are skipped until they are tolerated; the picked ones stay."""
    for name in ALL[:2]:
        await world.hub.client.patch(kinds.MEMBER_CLUSTER, name, {"spec": {"taints": [TAINT]}})
    await place(world, placementType="PickAll")
    assert await on_members(world) == ["cluster-3"]
    await world.hub.client.patch(kinds.MEMBER_CLUSTER, "cluster-3", {"spec": {"taints": [TAINT]}})
    await world.settle()
    assert await on_members(world) == ["cluster-3"]
    await edit(world, tolerations=[{"key": "k", "operator": "Exists"}])
    assert await on_members(world) == ALL


@pytest.mark.rule("SCH-3")
@pytest.mark.rule("SCH-4")
async def test_pick_all_follows_the_fleet(world: World) -> None:
    """50 to 55: who joins, fits, gets well; who stops to fit, falls ill, leaves."""
    stage = Stage(world)
    await place(world, "everybody", placementType="PickAll")
    await place(world, placementType="PickFixed", clusterNames=["cluster-4"])
    assert await listed(world) == ([], 1)
    await world.add_member("cluster-4")
    await world.hub.create(placing.member_cluster("cluster-4"))
    await world.passes(seconds=20)
    assert (await listed(world, "everybody"))[0] == [*ALL, "cluster-4"]
    assert await listed(world) == (["cluster-4"], 0)
    await stage.beat("unhealthy")
    await world.settle()
    assert (await listed(world, "everybody"))[0] == [*ALL, "cluster-4", "unhealthy"]
    await stage.report("unhealthy", agentStatus=[])
    await stage.change("cluster-1", metadata={"labels": {"region": "north"}})
    await world.settle()
    assert (await listed(world, "everybody"))[0] == [*ALL, "cluster-4", "unhealthy"]
    await stage.leave("cluster-4")
    await world.passes(minutes=20)
    assert (await listed(world, "everybody"))[0] == [*ALL, "unhealthy"]
    assert await listed(world) == ([], 1)
    side = world.members["cluster-4"]
    assert await side.find(CONFIG_MAPS, "conf", "web") is not None


@pytest.mark.rule("SCH-3")
async def test_pick_n_follows_the_fleet(world: World) -> None:
    """58 to 61: it takes who comes while it lacks some, and replaces who is gone."""
    stage = Stage(world)
    await place(world, placementType="PickN", numberOfClusters=3, affinity=labelled(region="east"))
    assert await listed(world) == (["cluster-1", "cluster-2"], 1)
    await stage.change("cluster-3", metadata={"labels": {"region": "east"}})
    await world.settle()
    assert await listed(world) == (ALL, 0)
    await stage.change("cluster-3", metadata={"labels": {"region": "west"}})
    await world.settle()
    assert (await listed(world), await scheduled(world)) == ((ALL, 0), "True")
    await stage.change("cluster-2", metadata={"finalizers": ["example.com/kept"]})
    await stage.leave("cluster-2")
    await world.passes(minutes=2)
    assert (await listed(world), await scheduled(world)) == ((ALL, 0), "True")
    await stage.change("cluster-2", metadata={"finalizers": None})
    await world.passes(minutes=2)
    names, nameless = await listed(world)
    assert (names, await scheduled(world)) == (["cluster-1", "cluster-3"], "False")
    assert nameless == 1


@pytest.mark.rule("ROLL-11")
async def test_a_bad_update_reaches_one_cluster(world: World) -> None:
    """63, and 65 at its end: the others stay on what they have; a good update heals it."""
    await world.hub.create(_deployment("good"))
    await place(world, placementType="PickAll")
    await _run(world, *ALL)
    assert told(await world.hub.get(CRP, "p"))["Available"][0] == "True"
    await _set_image(world, "bad")
    await world.passes(minutes=3)
    images = {name: await _image(world, name) for name in ALL}
    assert images == {"cluster-1": "bad", "cluster-2": "good", "cluster-3": "good"}
    assert told(await world.hub.get(CRP, "p"))["RolloutStarted"] == (
        "False",
        "RolloutNotStartedYet",
    )
    await _set_image(world, "better")
    await world.passes(seconds=30)
    assert await _image(world, "cluster-1") == "better"
    for name in ALL:
        await _run(world, name)
    assert {await _image(world, name) for name in ALL} == {"better"}
    assert told(await world.hub.get(CRP, "p"))["Available"][0] == "True"


@pytest.mark.rule("SCH-6")
@pytest.mark.rule("SCH-24")
async def test_namespaced_placements(world: World) -> None:
    """110, 116, 117: the same for objects of a namespace, which is there already."""
    for side in world.members.values():
        await side.create(namespace("web"))
    one = selector("ConfigMap", "conf")
    policy = {"placementType": "PickN", "numberOfClusters": 1}
    await world.hub.create(placement("p", one, namespace="web", policy=policy))
    await world.settle()
    assert await on_members(world) == ["cluster-3"]
    change = {"spec": {"policy": {"numberOfClusters": 3}}}
    await world.hub.client.patch(NAMESPACED.placement, "p", change, "web")
    await world.settle()
    assert await on_members(world) == ALL
    await world.hub.client.delete(NAMESPACED.placement, "p", "web")
    await world.settle()
    assert await on_members(world) == []


def _deployment(image: str) -> Object:
    labels = {"app": "web"}
    container = {"name": "main", "image": image}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [container]}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "web"},
        "spec": {"replicas": 1, "selector": {"matchLabels": labels}, "template": template},
    }


async def _set_image(world: World, image: str) -> None:
    spec = {"template": {"spec": {"containers": [{"name": "main", "image": image}]}}}
    await world.hub.client.patch(DEPLOYMENTS, "web", {"spec": spec}, "web")
    await world.passes(seconds=10)


async def _image(world: World, name: str) -> str:
    found = await world.members[name].get(DEPLOYMENTS, "web", "web")
    return str(found["spec"]["template"]["spec"]["containers"][0]["image"])


async def _run(world: World, *names: str) -> None:
    """As the controllers of the members would: what is asked for is there."""
    for name in names:
        side = world.members[name]
        found = await side.get(DEPLOYMENTS, "web", "web")
        counts = dict.fromkeys(("replicas", "readyReplicas", *COUNTS), 1)
        status = {"observedGeneration": found["metadata"]["generation"], **counts}
        await side.client.patch(DEPLOYMENTS, "web", {"status": status}, "web", subresource="status")
    await world.passes(seconds=30)
