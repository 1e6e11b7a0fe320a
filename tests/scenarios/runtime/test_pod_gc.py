"""Pods that nobody ends, on a whole server."""

import pytest

from fleetqueue.kube.errors import NotFound
from fleetqueue.kube.frame import controller_of
from fleetqueue.kube.resources import Object
from fleetqueue.runtime.controllers import pod_gc
from fleetqueue.runtime.kinds import NODE, POD
from fleetqueue.testing import Fleet, FleetCluster
from support import apps

pytestmark = pytest.mark.rule("jobs C.5")


async def start(fleet: Fleet, **periods: int) -> FleetCluster:
    cluster = await fleet.add_cluster("one")
    operator = pod_gc.operator(pod_gc.Periods(**periods))
    fleet.run(controller_of(operator), on=cluster)
    await cluster.client.create(
        {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "a"}, "spec": {}}
    )
    return cluster


def pod(name: str, node: str = "a", **metadata: object) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", **metadata},
        "spec": {"nodeName": node, "containers": [{"name": "c", "image": "i"}]},
    }


async def test_pods_of_a_node_that_is_gone_fail_and_go(fleet: Fleet) -> None:
    cluster = await start(fleet)
    await cluster.client.create(pod("kept", finalizers=["example.com/keep"]))
    await cluster.client.create(pod("lost"))
    await fleet.passes(minutes=2)
    assert len(await apps.pods(cluster.client)) == 2
    await cluster.client.delete(NODE, "a")
    await fleet.passes(seconds=35)
    assert not (await apps.pods(cluster.client))[0]["metadata"].get("deletionTimestamp")
    await fleet.passes(seconds=30)
    (kept,) = await apps.pods(cluster.client)
    assert kept["status"]["phase"] == "Failed"
    (condition,) = [
        each for each in kept["status"]["conditions"] if each["type"] == "DisruptionTarget"
    ]
    assert (condition["status"], condition["reason"], condition["message"]) == (
        "True",
        "DeletionByPodGC",
        "PodGC: node no longer exists",
    )


async def test_a_node_that_comes_back_keeps_its_pods(fleet: Fleet) -> None:
    cluster = await start(fleet)
    await cluster.client.create(pod("kept"))
    await fleet.passes(seconds=5)
    await cluster.client.delete(NODE, "a")
    await fleet.passes(seconds=25)
    await cluster.client.create(
        {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "a"}, "spec": {}}
    )
    await fleet.passes(minutes=5)
    assert (await apps.pods(cluster.client))[0]["status"]["phase"] == "Pending"


async def test_a_deleted_pod_on_a_node_out_of_service_goes(fleet: Fleet) -> None:
    cluster = await start(fleet)
    await cluster.client.create(pod("stuck"))
    await cluster.client.delete(POD, "stuck", "default")
    await fleet.passes(minutes=2)
    assert len(await apps.pods(cluster.client)) == 1
    taint = {"key": "node.kubernetes.io/out-of-service", "effect": "NoExecute"}
    await cluster.client.patch(NODE, "a", {"spec": {"taints": [taint]}})
    await fleet.passes(seconds=25)
    assert not await apps.pods(cluster.client)


async def test_a_deleted_pod_that_never_had_a_node_is_failed(fleet: Fleet) -> None:
    cluster = await start(fleet)
    made = pod("waiting", finalizers=["example.com/keep"])
    del made["spec"]["nodeName"]
    await cluster.client.create(made)
    await cluster.client.delete(POD, "waiting", "default")
    await fleet.passes(seconds=25)
    (found,) = await apps.pods(cluster.client)
    assert found["status"]["phase"] == "Failed"


async def test_too_many_ended_pods_go_the_oldest_first(fleet: Fleet) -> None:
    cluster = await start(fleet, ended_max=2)
    for name in ("d", "c", "b", "a"):
        await cluster.client.create(pod(name))
        await apps.move(cluster.client, pod(name), "Succeeded", ready=False, at=fleet.clock.now())
        await fleet.passes(seconds=2)
    await cluster.client.create(pod("running"))
    await fleet.passes(seconds=25)
    left = [each["metadata"]["name"] for each in await apps.pods(cluster.client)]
    assert left == ["a", "b", "running"]
    with pytest.raises(NotFound):
        await cluster.client.get(POD, "d", "default")
