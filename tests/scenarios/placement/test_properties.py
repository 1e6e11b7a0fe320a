"""What members tell of themselves: nodes, what is left of them, queues, costs, namespaces."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest
from tests.support import placing

from fleetqueue.api.crds import all_crds
from fleetqueue.fleet import kinds
from fleetqueue.fleet.decide import conditions
from fleetqueue.fleet.decide.properties import HOURLY_COST, Collected
from fleetqueue.fleet.member.properties import registry
from fleetqueue.fleet.member.properties.fallback import NODES
from fleetqueue.fleet.member.properties.provider import Site
from fleetqueue.fleet.settings import MemberSettings
from fleetqueue.kube.resources import NAMESPACES, PODS, Object
from fleetqueue.testing import Fleet, namespace, pod

ONE = "cluster-1"
STANDARD = MemberSettings("", provider="fleetqueue")


async def start(fleet: Fleet, settings: MemberSettings | None = None) -> placing.World:
    world = await placing.start(fleet, members=[ONE], agent=settings)
    await world.members[ONE].create(namespace("apps"))
    return world


def node(name: str, *, cost: str = "", size: str = "", **amounts: str) -> Object:
    metadata: Object = {"name": name}
    if cost:
        metadata["annotations"] = {HOURLY_COST: cost}
    if size:
        metadata["labels"] = {"beta.kubernetes.io/instance-type": size}
    held = {"pods": "110", **amounts}
    status = {"capacity": held, "allocatable": held}
    return {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "status": status}


def running(name: str, on: str = "n1", **requests: str) -> Object:
    made = pod(name, namespace="apps")
    made["spec"]["nodeName"] = on
    made["spec"]["containers"][0]["resources"] = {"requests": requests}
    return made


async def status_of(world: placing.World) -> Object:
    member = await world.hub.get(kinds.MEMBER_CLUSTER, ONE)
    found: Object = member["status"]
    return found


async def property_of(world: placing.World, name: str) -> str | None:
    entry = (await status_of(world))["properties"].get(name)
    return None if entry is None else str(entry["value"])


def said(status: Object, type: str) -> tuple[str, str] | None:
    found = conditions.find(status.get("conditions"), type)
    return None if found is None else (found["status"], found["reason"])


@pytest.mark.rule("PROP-1")
async def test_without_a_provider_the_agent_counts_nodes_and_what_is_left(fleet: Fleet) -> None:
    world = await start(fleet)
    side = world.members[ONE]
    await side.create(node("n1", cpu="4", memory="8Gi"), node("n2", cpu="4", memory="8Gi"))
    await side.create(running("web", cpu="1500m", memory="1Gi"), running("idle", on="n2"))
    await world.passes(seconds=16)

    status = await status_of(world)
    assert await property_of(world, "kubernetes-fleet.io/node-count") == "2"
    usage = status["resourceUsage"]
    assert usage["capacity"] == usage["allocatable"] == {"cpu": "8", "memory": "16Gi"}
    assert usage["available"] == {"cpu": "6500m", "memory": "15Gi"}
    assert said(status, "ClusterPropertyProviderStarted") is None
    assert said(status, "ClusterPropertyCollectionSucceeded") is None


@pytest.mark.rule("PROP-1")
async def test_without_a_provider_a_hundred_pods_are_looked_at(fleet: Fleet) -> None:
    world = await start(fleet)
    await world.members[ONE].create(node("n1", cpu="200", memory="8Gi"))
    await world.members[ONE].create(*(running(f"p{i}", cpu="1") for i in range(120)))
    await world.passes(seconds=16)

    assert (await status_of(world))["resourceUsage"]["available"]["cpu"] == "100"


@pytest.mark.rule("PROP-2", "PROP-3", "PROP-4", "PROP-6")
async def test_a_provider_tells_all_pods_extended_resources_and_the_server(fleet: Fleet) -> None:
    settings = MemberSettings(
        "", provider="fleetqueue", server_url="https://m", certificate_authority="PEM"
    )
    world = await start(fleet, settings)
    gpus = {"nvidia.com/gpu": "8"}
    await world.members[ONE].create(node("n1", cpu="200", memory="8Gi", **gpus))
    await world.members[ONE].create(*(running(f"p{i}", cpu="1") for i in range(120)))
    await world.passes(seconds=2)

    status = await status_of(world)
    assert status["resourceUsage"]["available"] == {"cpu": "80", "memory": "8Gi", **gpus}
    assert await property_of(world, "k8s.io/cluster-entrypoint") == "https://m"
    assert await property_of(world, "k8s.io/cluster-certificate-authority-data") == "PEM"
    version = await property_of(world, "k8s.io/k8s-version")
    assert version is not None
    assert version.startswith("v1.")
    assert said(status, "ClusterPropertyProviderStarted") == ("True", "Started")
    done = ("True", "PropertiesCollected")
    assert said(status, "ClusterPropertyCollectionSucceeded") == done
    told = ("Normal", "Started", "The property provider has started successfully")
    assert told in await world.hub.events(ONE)


async def test_news_are_told_before_the_next_heartbeat(fleet: Fleet) -> None:
    world = await start(fleet, STANDARD)
    side = world.members[ONE]
    await side.create(node("n1", cpu="4", memory="8Gi"))
    await world.passes(seconds=2)
    assert (await status_of(world))["resourceUsage"]["available"]["cpu"] == "4"

    await side.create(running("web", cpu="1"))
    await world.passes(seconds=2)
    assert (await status_of(world))["resourceUsage"]["available"]["cpu"] == "3"

    await side.client.delete(PODS, "web", "apps", grace_period_seconds=0)
    await world.passes(seconds=2)
    assert (await status_of(world))["resourceUsage"]["available"]["cpu"] == "4"


async def test_a_pod_that_changes_nothing_is_no_news(fleet: Fleet) -> None:
    world = await start(fleet, STANDARD)
    await world.members[ONE].create(node("n1", cpu="4", memory="8Gi"), running("idle"))
    await world.passes(seconds=2)
    before = await world.hub.get(kinds.MEMBER_CLUSTER, ONE)

    patch = {"metadata": {"labels": {"color": "red"}}}
    await world.members[ONE].client.patch(PODS, "idle", patch, "apps")
    await world.members[ONE].client.patch(NODES, "n1", patch)
    await world.passes(seconds=5)

    after = await world.hub.get(kinds.MEMBER_CLUSTER, ONE)
    assert before["metadata"]["resourceVersion"] == after["metadata"]["resourceVersion"]


@pytest.mark.rule("KJ-8")
@pytest.mark.parametrize("is_aware", [True, False])
async def test_the_queues_of_a_member_are_told_where_it_has_them(
    fleet: Fleet, is_aware: bool
) -> None:
    """And not in the compatible mode: KubeFleet knows of none."""
    world = await start(fleet, replace(STANDARD, is_job_aware=is_aware))
    assert await property_of(world, "fleetqueue.io/pending-workloads") is None
    side = world.members[ONE]
    for crd in all_crds():
        if crd["metadata"]["name"] == "clusterqueues.kueue.x-k8s.io":
            await side.create({**crd, "spec": {**crd["spec"], "conversion": {"strategy": "None"}}})
    resources = [{"name": "cpu", "nominalQuota": "9"}]
    group = {"coveredResources": ["cpu"], "flavors": [{"name": "f", "resources": resources}]}
    await side.create(
        {
            "apiVersion": "kueue.x-k8s.io/v1beta2",
            "kind": "ClusterQueue",
            "metadata": {"name": "q"},
            "spec": {"namespaceSelector": {}, "resourceGroups": [group]},
        }
    )
    await world.passes(seconds=16)

    told = {"pending-workloads": "0", "unused-quota-cpu": "9"} if is_aware else {}
    for name in ("pending-workloads", "unused-quota-cpu"):
        assert await property_of(world, f"fleetqueue.io/{name}") == told.get(name)


@pytest.mark.rule("PROP-3", "PROP-4")
async def test_costs_machines_and_namespaces_as_in_azure(fleet: Fleet) -> None:
    settings = MemberSettings("", provider="azure", collects_namespaces=True, prices={"D4": 2.0})
    world = await start(fleet, settings)
    await world.members[ONE].create(node("n1", size="D4", cpu="4", memory="16Gi"))
    await world.passes(seconds=2)

    status = await status_of(world)
    assert await property_of(world, "kubernetes.azure.com/vm-sizes/D4/count") == "1"
    assert await property_of(world, "kubernetes.azure.com/per-cpu-core-cost") == "0.500"
    assert await property_of(world, "kubernetes.azure.com/per-gb-memory-cost") == "0.125"
    collection = [
        each["type"]
        for each in status["conditions"]
        if each["type"].endswith("CollectionSucceeded")
    ]
    assert collection == [
        "ClusterPropertyCollectionSucceeded",
        "AKSClusterCostPropertiesCollectionSucceeded",
        "NamespaceCollectionSucceeded",
    ]


async def test_costs_are_told_where_nodes_tell_them(fleet: Fleet) -> None:
    world = await start(fleet, STANDARD)
    await world.members[ONE].create(node("n1", cost="4", cpu="4", memory="16Gi"))
    await world.passes(seconds=2)

    assert await property_of(world, "kubernetes.azure.com/per-cpu-core-cost") == "1.000"


@pytest.mark.rule("PROP-5")
async def test_namespaces_are_told_and_forgotten(fleet: Fleet) -> None:
    settings = MemberSettings("", provider="fleetqueue", collects_namespaces=True)
    world = await start(fleet, settings)
    await world.passes(seconds=2)
    status = await status_of(world)
    assert status["namespaces"]["apps"] == ""
    assert said(status, "NamespaceCollectionSucceeded") == ("True", "Succeeded")

    await world.members[ONE].client.delete(NAMESPACES, "apps")
    await world.passes(seconds=5)
    assert "apps" not in (await status_of(world))["namespaces"]


class Stubborn:
    """A provider that takes as long as it is told to."""

    start_seconds = 0.0
    start_error: Exception | None = None
    collect_seconds = 0.0

    def __init__(self, site: Site) -> None:
        self.site = site

    async def start(self) -> None:
        await asyncio.sleep(self.start_seconds)
        if self.start_error is not None:
            raise self.start_error

    async def collect(self) -> Collected:
        await asyncio.sleep(self.collect_seconds)
        return Collected({"example.org/mood": "42"})


@pytest.fixture
def stubborn(monkeypatch: pytest.MonkeyPatch) -> type[Any]:
    class Own(Stubborn):
        """The test's own, so that what it changes is forgotten."""

    monkeypatch.setattr(registry, "OWN", {"stubborn": Own})
    return Own


OWN = MemberSettings("", provider="stubborn")


@pytest.mark.rule("PROP-2", "PROP-3")
async def test_a_provider_may_tell_anything(fleet: Fleet, stubborn: type[Any]) -> None:
    world = await start(fleet, OWN)

    assert await property_of(world, "example.org/mood") == "42"
    assert await property_of(world, "kubernetes-fleet.io/node-count") is None


@pytest.mark.rule("PROP-2", "PROP-3", "PROP-4")
@pytest.mark.parametrize(("told", "reason", "message"), [
    ({"start_seconds": 11.0}, "TimedOut", "The property provider does not start up in time"),
    ({"start_error": OSError("no key")}, "FailedToStart",
     "Failed to start the property provider: no key"),
])  # fmt: skip
async def test_a_provider_that_does_not_start_is_done_without(
    fleet: Fleet, stubborn: type[Any], told: Any, reason: str, message: str
) -> None:
    for name, value in told.items():
        setattr(stubborn, name, value)
    world = await start(fleet, OWN)
    await world.passes(seconds=40)

    status = await status_of(world)
    assert said(status, "ClusterPropertyProviderStarted") == ("False", reason)
    assert said(status, "ClusterPropertyCollectionSucceeded") is None
    assert said(status, "Joined") == ("True", "MemberClusterJoined")
    assert await property_of(world, "kubernetes-fleet.io/node-count") == "0"
    assert (await world.hub.events(ONE)).count(("Warning", reason, message)) == 1


@pytest.mark.rule("PROP-2", "PROP-3", "PROP-4")
async def test_a_provider_that_hangs_does_not_hold_up_heartbeats(
    fleet: Fleet, stubborn: type[Any]
) -> None:
    stubborn.collect_seconds = 200.0
    world = await start(fleet, OWN)
    status = await status_of(world)
    failed = "ClusterPropertyCollectionSucceeded"
    assert said(status, failed) == ("False", "TimedOut")
    assert said(status, "Joined") == ("True", "MemberClusterJoined")
    message = "The property provider does not respond in time"
    await world.passes(seconds=1)
    assert ("Warning", "TimedOut", message) in await world.hub.events(ONE)

    await world.passes(seconds=90)
    assert said(await status_of(world), failed) == ("False", "TooManyCalls")

    stubborn.collect_seconds = 0.0
    await world.passes(seconds=250)
    assert said(await status_of(world), failed) == ("True", "PropertiesCollected")
    assert await property_of(world, "example.org/mood") == "42"
