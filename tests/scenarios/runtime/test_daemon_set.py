"""DaemonSets on a whole server: nodes come and go, failures back off, updates roll."""

import pytest

from fleetqueue.kube.frame import controller_of
from fleetqueue.kube.resources import Object
from fleetqueue.runtime.controllers import daemon_set
from fleetqueue.runtime.kinds import CONTROLLER_REVISION, DAEMON_SET, NODE
from fleetqueue.testing import Fleet, FleetCluster
from support import apps

pytestmark = pytest.mark.rule("jobs B.2")


async def start(fleet: Fleet, *nodes: str) -> FleetCluster:
    cluster = await fleet.add_cluster("one")
    fleet.run(controller_of(daemon_set.operator()), on=cluster)
    for name in nodes:
        await add_node(cluster, name)
    return cluster


async def add_node(cluster: FleetCluster, name: str) -> None:
    made = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "spec": {}}
    await cluster.client.create(made)
    await cluster.client.patch(NODE, name, {"spec": {"taints": None}})


def target(pod: Object) -> str:
    affinity = pod["spec"]["affinity"]["nodeAffinity"]
    required = affinity["requiredDuringSchedulingIgnoredDuringExecution"]
    return str(required["nodeSelectorTerms"][0]["matchFields"][0]["values"][0])


async def targets(cluster: FleetCluster) -> list[str]:
    found = await apps.pods(cluster.client)
    return sorted(target(pod) for pod in found if not pod["metadata"].get("deletionTimestamp"))


async def step(fleet: Fleet, cluster: FleetCluster) -> None:
    """Deleted pods go, new ones become ready."""
    for pod in await apps.pods(cluster.client):
        if pod["metadata"].get("deletionTimestamp"):
            await apps.remove(cluster.client, pod)
    await fleet.settle()
    await apps.run_all(cluster.client, fleet.clock.now())
    await fleet.settle()


async def read(cluster: FleetCluster) -> Object:
    return dict(await cluster.client.get(DAEMON_SET, "web", "default"))


async def test_every_node_gets_a_pod_and_only_one(fleet: Fleet) -> None:
    cluster = await start(fleet, "a", "b")
    await cluster.client.create(apps.workload("DaemonSet"))
    await fleet.settle()
    assert await targets(cluster) == ["a", "b"]
    await add_node(cluster, "c")
    await fleet.settle()
    assert await targets(cluster) == ["a", "b", "c"]
    await step(fleet, cluster)
    assert (await read(cluster))["status"] == {
        "currentNumberScheduled": 3,
        "desiredNumberScheduled": 3,
        "numberAvailable": 3,
        "numberMisscheduled": 0,
        "numberReady": 3,
        "observedGeneration": 1,
        "updatedNumberScheduled": 3,
    }
    before = cluster.instance.core.store.revision
    await fleet.passes(minutes=30)
    assert cluster.instance.core.store.revision == before


async def test_pods_made_for_a_node_that_is_gone_are_taken_back(fleet: Fleet) -> None:
    cluster = await start(fleet, "a", "b")
    await cluster.client.create(apps.workload("DaemonSet"))
    await fleet.settle()
    await cluster.client.delete(NODE, "b")
    await fleet.settle()
    assert await targets(cluster) == ["a"]


async def test_a_pod_that_fails_again_and_again_is_replaced_more_slowly(fleet: Fleet) -> None:
    cluster = await start(fleet, "a")
    await cluster.client.create(apps.workload("DaemonSet"))
    await fleet.settle()
    counts = []
    for _ in range(4):
        (pod,) = await apps.pods(cluster.client)
        await apps.move(cluster.client, pod, "Failed", ready=False, at=fleet.clock.now())
        begun = fleet.clock.now()
        while (await apps.pods(cluster.client))[0]["metadata"]["name"] == pod["metadata"]["name"]:
            await fleet.passes(seconds=0.5)
        counts.append((fleet.clock.now() - begun).total_seconds())
        await fleet.settle()
    assert counts[0] < counts[2] < counts[3]
    await fleet.passes(seconds=1)
    reasons = [reason for reason, _ in await apps.events(cluster.client)]
    assert "FailedDaemonPod" in reasons


async def test_an_update_replaces_one_node_after_the_other(fleet: Fleet) -> None:
    cluster = await start(fleet, "a", "b", "c")
    await cluster.client.create(apps.workload("DaemonSet"))
    await fleet.settle()
    await step(fleet, cluster)
    patch = {"spec": {"template": apps.template("two")}}
    await cluster.client.patch(DAEMON_SET, "web", patch, "default")
    for _ in range(3):
        await fleet.settle()
        found = await apps.pods(cluster.client)
        assert len(found) == 3
        available = (await read(cluster))["status"].get("numberAvailable", 0)
        assert available >= 2
        await step(fleet, cluster)
    await step(fleet, cluster)
    images = {pod["spec"]["containers"][0]["image"] for pod in await apps.pods(cluster.client)}
    assert images == {"two"}
    revisions = (await cluster.client.list(CONTROLLER_REVISION, "default")).items
    assert sorted(each["revision"] for each in revisions) == [1, 2]


async def test_a_name_that_is_taken_is_a_collision(fleet: Fleet) -> None:
    cluster = await start(fleet, "a")
    made = await cluster.client.create(apps.workload("DaemonSet"))
    await fleet.settle()
    (revision,) = (await cluster.client.list(CONTROLLER_REVISION, "default")).items
    name = revision["metadata"]["name"]
    await cluster.client.delete(DAEMON_SET, "web", "default", propagation="Foreground")
    for pod in await apps.pods(cluster.client):
        await apps.remove(cluster.client, pod)
    await fleet.settle()
    await cluster.client.create(
        {
            "apiVersion": "apps/v1",
            "kind": "ControllerRevision",
            "metadata": {"name": name, "namespace": "default"},
            "data": {"something": "else"},
            "revision": 1,
        }
    )
    assert made
    await cluster.client.create(apps.workload("DaemonSet"))
    await fleet.settle()
    assert (await read(cluster))["status"]["collisionCount"] == 1
    assert await targets(cluster) == ["a"]
