"""Slices and Endpoints of Services on a whole server."""

import pytest

from fleetqueue.kube.errors import NotFound
from fleetqueue.kube.frame import controller_of
from fleetqueue.kube.resources import Object
from fleetqueue.runtime.controllers import endpoint_slices, endpoints
from fleetqueue.runtime.kinds import ENDPOINT_SLICE, ENDPOINTS, POD, SERVICE
from fleetqueue.testing import Fleet, FleetCluster
from support import apps

pytestmark = pytest.mark.rule("jobs B.2.5")


async def start(fleet: Fleet) -> FleetCluster:
    cluster = await fleet.add_cluster("one")
    for operator in (endpoint_slices.OPERATOR, *endpoints.OPERATORS):
        fleet.run(controller_of(operator), on=cluster)
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "a"}, "spec": {}}
    await cluster.client.create(node)
    return cluster


def service(**spec: object) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "front", "namespace": "default"},
        "spec": {"selector": {"app": "web"}, "ports": [{"port": 80}], **spec},
    }


async def add_pod(fleet: Fleet, cluster: FleetCluster, number: int, *, ready: bool = True) -> None:
    made = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": f"p-{number}", "namespace": "default", "labels": {"app": "web"}},
        "spec": {"nodeName": "a", "containers": [{"name": "c", "image": "i"}]},
    }
    await cluster.client.create(made)
    address = f"10.1.{number // 250}.{number % 250 + 1}"
    patch = {"status": {"podIP": address, "podIPs": [{"ip": address}]}}
    await cluster.client.patch(POD, f"p-{number}", patch, "default", subresource="status")
    await apps.move(cluster.client, made, "Running", ready=ready, at=fleet.clock.now())


async def slices(cluster: FleetCluster) -> list[Object]:
    return [dict(each) for each in (await cluster.client.list(ENDPOINT_SLICE, "default")).items]


async def ours(cluster: FleetCluster) -> list[Object]:
    found = await slices(cluster)
    label = "kubernetes.io/service-name"
    return [each for each in found if each["metadata"]["labels"].get(label) == "front"]


async def test_a_slice_holds_a_hundred_endpoints_at_most(fleet: Fleet) -> None:
    cluster = await start(fleet)
    await cluster.client.create(service())
    for number in range(130):
        await add_pod(fleet, cluster, number)
    await fleet.passes(seconds=2)
    assert sorted(len(each["endpoints"]) for each in await ours(cluster)) == [30, 100]
    for number in range(40):
        await apps.remove(cluster.client, {"metadata": {"name": f"p-{number}"}})
    await fleet.passes(seconds=2)
    found = await ours(cluster)
    assert sum(len(each["endpoints"]) for each in found) == 90
    assert all(len(each["endpoints"]) for each in found)


async def test_only_ready_pods_are_ready_endpoints_unless_it_says_otherwise(fleet: Fleet) -> None:
    cluster = await start(fleet)
    await cluster.client.create(service())
    await add_pod(fleet, cluster, 0)
    await add_pod(fleet, cluster, 1, ready=False)
    await fleet.settle()
    (slice,) = await ours(cluster)
    ready = {each["targetRef"]["name"]: each["conditions"] for each in slice["endpoints"]}
    assert ready["p-0"] == {"ready": True, "serving": True, "terminating": False}
    assert ready["p-1"] == {"ready": False, "serving": False, "terminating": False}
    found = await cluster.client.get(ENDPOINTS, "front", "default")
    (subset,) = found["subsets"]
    assert [each["ip"] for each in subset["addresses"]] == ["10.1.0.1"]
    assert [each["ip"] for each in subset["notReadyAddresses"]] == ["10.1.0.2"]
    patch = {"spec": {"publishNotReadyAddresses": True}}
    await cluster.client.patch(SERVICE, "front", patch, "default")
    await fleet.settle()
    (slice,) = await ours(cluster)
    assert all(each["conditions"]["ready"] for each in slice["endpoints"])


async def test_a_pod_that_is_deleted_is_terminating_until_it_is_gone(fleet: Fleet) -> None:
    cluster = await start(fleet)
    await cluster.client.create(service())
    await add_pod(fleet, cluster, 0)
    await fleet.settle()
    await cluster.client.delete(POD, "p-0", "default")
    await fleet.settle()
    (slice,) = await ours(cluster)
    assert slice["endpoints"][0]["conditions"] == {
        "ready": False,
        "serving": True,
        "terminating": True,
    }
    assert not (await cluster.client.get(ENDPOINTS, "front", "default")).get("subsets")
    await apps.remove(cluster.client, {"metadata": {"name": "p-0"}})
    await fleet.settle()
    (slice,) = await ours(cluster)
    assert not slice["endpoints"]


async def test_endpoints_go_with_their_service(fleet: Fleet) -> None:
    cluster = await start(fleet)
    await cluster.client.create(service())
    await fleet.settle()
    assert await cluster.client.get(ENDPOINTS, "front", "default")
    await cluster.client.delete(SERVICE, "front", "default")
    await fleet.settle()
    with pytest.raises(NotFound):
        await cluster.client.get(ENDPOINTS, "front", "default")


async def test_a_service_that_selects_nothing_is_left_alone(fleet: Fleet) -> None:
    cluster = await start(fleet)
    await cluster.client.create(service(selector=None))
    await add_pod(fleet, cluster, 0)
    await fleet.settle()
    assert not await ours(cluster)
