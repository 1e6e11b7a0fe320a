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


def node(name: str, rack: str, host: str = "", **spec: Any) -> Object:
    labels = {HOST: host or name, RACK: rack, "pool": "tas"}
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


async def add_node(kueue: Kueue, name: str, rack: str, host: str = "") -> None:
    """A new node is tainted until it is ready; a node controller would see to that."""
    await kueue.client.create(node(name, rack, host))
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


@pytest.mark.rule("kueue 8.1")
@pytest.mark.parametrize("name", ["default", "other"], ids=["same flavor", "same nodes"])
async def test_ta11_places_that_become_free_are_for_all_queues(fleet: Fleet, name: str) -> None:
    kueue = await cluster(fleet, {"a": "r1"})
    if name == "other":
        await kueue.create(flavor(name, nodeLabels={RACK: "r1"}, topologyName="tree"))
    await kueue.create(cluster_queue("two", {name: {"cpu": "100"}}), local_queue("second", "two"))
    await kueue.create(placed("first", 3, required=HOST))
    await kueue.create(workload("next", "2", queue="second"))
    assert not await kueue.is_admitted("next")

    await kueue.finish("first")
    await fleet.passes(seconds=2)
    assert await places(kueue, "next") == "a:1"


@pytest.mark.rule("kueue 8.5")
@pytest.mark.parametrize("request_", [{"required": RACK}, {}], ids=["asked for", "for everybody"])
async def test_ta13_pods_that_ask_for_none_are_placed(fleet: Fleet, request_: Object) -> None:
    kueue = await cluster(fleet, {"a": "r1"})
    await kueue.create(placed("idle", 2, cpu="0", **request_))
    assert await places(kueue, "idle") == "a:2"


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


async def assert_evicted_for(kueue: Kueue, host: str) -> None:
    told = await kueue.conditions("job")
    text = f"Workload was evicted as there was no replacement for unhealthy node(s): {host}"
    assert told["Evicted"] == ("True", "NodeFailures", text)


@pytest.mark.rule("kueue 8.8", "kueue 3.4")
async def test_without_another_place_the_workload_is_evicted(fleet: Fleet) -> None:
    kueue = await cluster(fleet, {"a": "r1"})
    await kueue.create(placed("job", 3, required=RACK))

    await kueue.delete(kinds.NODE, "a")
    await fleet.passes(seconds=5)
    await fleet.settle()

    await assert_evicted_for(kueue, "a")


@pytest.mark.rule("kueue 8.1", "kueue 8.8")
async def test_a_node_may_have_another_name_than_its_host(fleet: Fleet) -> None:
    kueue = await cluster(fleet, {})
    await add_node(kueue, "machine-7", "r1", host="x")
    await kueue.create(placed("job", 3, required=HOST))
    await fleet.passes(seconds=5)
    await fleet.settle()
    assert await places(kueue, "job") == "x:3"
    assert "unhealthyNodes" not in (await kueue.workload("job"))["status"]
    assert "Evicted" not in await kueue.conditions("job")

    await kueue.delete(kinds.NODE, "machine-7")
    await fleet.passes(seconds=5)
    await fleet.settle()

    await assert_evicted_for(kueue, "x")


@pytest.mark.rule("kueue 8.8")
async def test_a_pod_that_waits_where_its_workload_has_no_place_any_more_is_ended(
    fleet: Fleet,
) -> None:
    kueue = await cluster(fleet, {"a": "r1", "b": "r1"})
    await kueue.create(placed("job", 4, required=HOST))
    assert await places(kueue, "job") == "a:4"
    await kueue.create(pod("right", "job", at="a"), pod("stray", "job", at="b"))

    left = await kueue.get(kinds.POD, "right")
    assert left["status"]["phase"] == "Pending"
    ended = await kueue.get(kinds.POD, "stray")
    assert ended["status"]["phase"] == "Failed"
    [why] = [each for each in ended["status"]["conditions"] if each["type"] == "TerminatedByKueue"]
    assert (why["status"], why["reason"]) == ("True", "UnschedulableOnAssignedNode")


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


def pod(name: str, of: str, at: str = "", **annotations: str) -> Object:
    """One that waits, or one that was let go to a node already."""
    notes = {"kueue.x-k8s.io/workload": of, **annotations}
    spec: Object = {"containers": [{"name": "c", "image": "busybox"}]}
    if at:
        spec["nodeSelector"] = {HOST: at}
    else:
        spec["schedulingGates"] = [{"name": "kueue.x-k8s.io/topology"}]
    metadata = {"name": name, "namespace": NAMESPACE, "annotations": notes}
    metadata["labels"] = {"kueue.x-k8s.io/podset": "main"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


@pytest.mark.rule("kueue 8.10", "kueue 8.11")
async def test_pods_of_earlier_slices_have_their_places(fleet: Fleet) -> None:
    kueue = await cluster(fleet, {"a": "r1", "b": "r1"})
    shared = {"kueue.x-k8s.io/workload-slice-name": "first"}
    second = placed("second", 2, "3", unconstrained=True)
    second["metadata"]["annotations"] = shared
    await kueue.create(second)
    assert await places(kueue, "second") == "a:1 b:1"

    old, new = pod("old", "first", at="a", **shared), pod("new", "first", **shared)
    await kueue.create(old, new)

    gone = await kueue.get(kinds.POD, "new")
    assert gone["spec"].get("nodeSelector") == {HOST: "b"}
    assert not gone["spec"].get("schedulingGates")


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
