"""Workloads that ask for places: they get them, wait for them, and move when a node fails."""

from typing import Any

import pytest

from fleetqueue.admission import kinds
from fleetqueue.api.kueue import topology_encoding
from fleetqueue.kube.resources import Object
from fleetqueue.testing import Fleet
from support.kueue import (
    API,
    NAMESPACE,
    Kueue,
    cluster_queue,
    flavor,
    local_queue,
    pod_set,
    workload,
)

pytestmark = pytest.mark.rule("kueue 13.8")

RACK, HOST = "cloud/rack", "kubernetes.io/hostname"


def topology(*levels: str) -> Object:
    spec = {"levels": [{"nodeLabel": level} for level in levels]}
    return {"apiVersion": API, "kind": "Topology", "metadata": {"name": "tree"}, "spec": spec}


def node(name: str, rack: str, cpu: str = "4", **spec: Any) -> Object:
    labels = {HOST: name, RACK: rack, "pool": "tas"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "spec": spec,
    }


def status(cpu: str = "4", ready: str = "True") -> Object:
    return {
        "status": {
            "allocatable": {"cpu": cpu, "pods": "10"},
            "conditions": [{"type": "Ready", "status": ready}],
        }
    }


async def add_node(kueue: Kueue, name: str, rack: str) -> None:
    """A new node is tainted until it is ready; a node controller would see to that."""
    await kueue.client.create(node(name, rack))
    await kueue.client.patch(kinds.NODE, name, status(), subresource="status")
    await kueue.patch(kinds.NODE, name, {"spec": {"taints": None}})


async def cluster(fleet: Fleet, nodes: dict[str, str], quota: str = "100") -> Kueue:
    """`nodes` and their racks."""
    kueue = await Kueue.start(fleet)
    for name, rack in nodes.items():
        await add_node(kueue, name, rack)
    await kueue.create(
        topology(RACK, HOST),
        flavor("default", nodeLabels={"pool": "tas"}, topologyName="tree"),
        cluster_queue(quota=quota),
        local_queue(),
    )
    return kueue


def placed(name: str, count: int, cpu: str = "1", **request: Any) -> Object:
    return workload(name, sets=[{**pod_set(count=count, cpu=cpu), "topologyRequest": request}])


async def places(kueue: Kueue, name: str) -> str:
    found = await kueue.workload(name)
    [assignment] = found["status"]["admission"]["podSetAssignments"]
    plain = topology_encoding.unpack(assignment["topologyAssignment"])
    return " ".join(f"{'/'.join(each['values'])}:{each['count']}" for each in plain["domains"])


@pytest.mark.rule("kueue 8.5")
async def test_a_rack_that_is_full_keeps_the_next_waiting_until_the_first_is_done(
    fleet: Fleet,
) -> None:
    kueue = await cluster(fleet, {"a": "r1", "b": "r1"})
    await kueue.create(placed("first", 6, required=RACK))
    assert await places(kueue, "first") == "a:4 b:2"

    await kueue.create(placed("second", 3, required=RACK))
    told = await kueue.conditions("second")
    assert told["QuotaReserved"] == (
        "False",
        "WaitingForQuota",
        "couldn't assign flavors to pod set main: "
        'topology "tree" allows to fit only 2 out of 3 pod(s). Total nodes: 2; excluded: '
        'resource "cpu": 1',
    )

    await kueue.finish("first")
    assert await places(kueue, "second") == "a:3"


@pytest.mark.rule("kueue 8.10")
async def test_a_new_node_makes_room(fleet: Fleet) -> None:
    kueue = await cluster(fleet, {"a": "r1"})
    await kueue.create(placed("wide", 6, preferred=RACK))
    assert not await kueue.is_admitted("wide")

    await add_node(kueue, "b", "r2")

    assert await kueue.is_admitted("wide")


@pytest.mark.rule("kueue 8.1")
async def test_what_was_placed_is_known_after_a_restart(fleet: Fleet) -> None:
    kueue = await cluster(fleet, {"a": "r1"})
    await kueue.create(placed("first", 3, required=HOST))

    await kueue.restart()
    await kueue.create(placed("second", 2, required=HOST))

    assert not await kueue.is_admitted("second")


@pytest.mark.rule("kueue 8.8", "kueue 5.8")
async def test_a_node_that_is_deleted_is_replaced_within_its_rack(fleet: Fleet) -> None:
    kueue = await cluster(fleet, {"a": "r1", "b": "r1", "c": "r2", "d": "r2", "e": "r2"})
    await kueue.create(placed("job", 6, required=RACK))
    assert await places(kueue, "job") == "a:4 b:2"

    await add_node(kueue, "f", "r1")
    await kueue.delete(kinds.NODE, "a")
    await fleet.passes(seconds=5)
    await fleet.settle()

    assert await places(kueue, "job") == "b:2 f:4"
    found = await kueue.workload("job")
    assert "unhealthyNodes" not in found["status"]


@pytest.mark.rule("kueue 8.8", "kueue 3.4")
async def test_without_another_place_the_workload_is_evicted(fleet: Fleet) -> None:
    kueue = await cluster(fleet, {"a": "r1"})
    await kueue.create(placed("job", 3, required=RACK))

    await kueue.delete(kinds.NODE, "a")
    await fleet.passes(seconds=5)
    await fleet.settle()

    told = await kueue.conditions("job")
    assert told["Evicted"] == (
        "True",
        "NodeFailures",
        "Workload was evicted as there was no replacement for unhealthy node(s): a",
    )


@pytest.mark.rule("kueue 8.10", "kueue 1.4")
async def test_a_topology_in_use_stays(fleet: Fleet) -> None:
    kueue = await cluster(fleet, {"a": "r1"})

    await kueue.delete(kinds.TOPOLOGY, "tree")
    found = await kueue.get(kinds.TOPOLOGY, "tree")
    assert found["metadata"]["deletionTimestamp"]

    await kueue.delete(kinds.CLUSTER_QUEUE, "queue")
    await kueue.delete(kinds.RESOURCE_FLAVOR, "default")
    left = (await kueue.client.list(kinds.TOPOLOGY)).items
    assert left == []


@pytest.mark.rule("kueue 8.10")
async def test_pods_are_let_go_to_the_places_of_their_ranks(fleet: Fleet) -> None:
    kueue = await cluster(fleet, {"a": "r1", "b": "r1"})
    index = "batch.kubernetes.io/job-completion-index"
    await kueue.create(placed("job", 6, required=RACK, podIndexLabel=index))
    for rank in range(6):
        pod = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": f"pod-{rank}",
                "namespace": NAMESPACE,
                "labels": {index: str(rank), "kueue.x-k8s.io/podset": "main"},
                "annotations": {"kueue.x-k8s.io/workload": "job"},
            },
            "spec": {
                "schedulingGates": [{"name": "kueue.x-k8s.io/topology"}],
                "containers": [{"name": "c", "image": "busybox"}],
            },
        }
        await kueue.client.create(pod)
    await fleet.settle()

    pods = (await kueue.client.list(kinds.POD, NAMESPACE)).items
    where = {pod["metadata"]["name"]: pod["spec"]["nodeSelector"][HOST] for pod in pods}
    assert where == {f"pod-{rank}": "a" if rank < 4 else "b" for rank in range(6)}
    assert not any(pod["spec"].get("schedulingGates") for pod in pods)
