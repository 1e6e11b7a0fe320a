"""Simulated pods and nodes on a whole server in virtual time."""

from typing import Any

import pytest
from tests.support.recorder import owned

from fleetqueue.kube.cluster import Cluster
from fleetqueue.kube.errors import NotFound
from fleetqueue.kube.resources import Object, Resource
from fleetqueue.runtime.binder import Binder
from fleetqueue.runtime.kinds import CONFIG_MAP, LEASE, NODE, POD
from fleetqueue.runtime.machine import Machine
from fleetqueue.runtime.node_keeper import NodeKeeper
from fleetqueue.runtime.node_lifecycle import NodeLifecycle
from fleetqueue.runtime.nodes import NodeSpec, Site
from fleetqueue.runtime.simulated import SimulatedPods
from fleetqueue.runtime.stages import Profile
from fleetqueue.runtime.taint_eviction import TaintEviction
from fleetqueue.testing import Fleet, FleetCluster

EVENT = Resource("", "v1", "events", "Event")
SITE = Site(Machine("box", 4, 2**33, 2**36))
CONTROLLERS = "kube-controller-manager"
READY_STATUS = "status.conditions[type=Ready].status"


class World:
    """A cluster of simulated nodes with everything that places and moves pods."""

    def __init__(self, fleet: Fleet, cluster: FleetCluster, *specs: NodeSpec) -> None:
        self.fleet = fleet
        self.cluster = cluster
        self.client = cluster.client
        self.keepers: list[NodeKeeper] = []
        self.specs = specs or (NodeSpec("sim", mode="simulated"),)

    async def start(self, profile: Profile | None = None) -> "World":
        fleet = self.fleet
        fleet.run(Binder, on=self.cluster)
        self.restart_pods = fleet.run(
            lambda cluster: SimulatedPods(cluster, profile or Profile()), on=self.cluster
        )
        fleet.run(self._keeper, on=self.cluster)
        fleet.run(NodeLifecycle, on=self.cluster)
        fleet.run(TaintEviction, on=self.cluster)
        await self.keepers[0].register()
        await fleet.settle()
        return self

    def _keeper(self, cluster: Cluster) -> NodeKeeper:
        self.keepers.append(NodeKeeper(cluster, self.specs, SITE))
        return self.keepers[-1]

    async def add_pod(self, name: str, notes: Object | None = None, **more: Any) -> None:
        metadata = {
            "name": name,
            "namespace": "default",
            "annotations": {f"fleetqueue.io/sim-{key}": v for key, v in (notes or {}).items()},
            **more.pop("metadata", {}),
        }
        spec = {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}], **more}
        await self.client.create(
            {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
        )

    async def pod(self, name: str) -> Object:
        return await self.client.get(POD, name, "default")

    async def phase(self, name: str) -> str:
        return str((await self.pod(name))["status"]["phase"])

    async def node(self, name: str = "sim") -> Object:
        return await self.client.get(NODE, name)

    @property
    def revision(self) -> int:
        return self.cluster.instance.core.store.revision


@pytest.fixture
async def world(fleet: Fleet) -> World:
    return await World(fleet, await fleet.add_cluster("one")).start()


def condition(obj: Object, type: str) -> Object:
    (found,) = [each for each in obj["status"]["conditions"] if each["type"] == type]
    return dict(found)


@pytest.mark.rule("jobs C.11")
async def test_a_pod_needs_three_writes_from_its_creation_to_its_end(
    fleet: Fleet, world: World
) -> None:
    before = world.revision
    await world.add_pod("p", {"run-seconds": "5"})
    await fleet.passes(seconds=1)
    pod = await world.pod("p")
    assert pod["status"]["phase"] == "Running"
    assert condition(pod, "Ready")["status"] == "True"
    assert pod["status"]["podIP"].startswith("10.244.")
    assert pod["status"]["hostIP"] == "127.0.0.1"
    assert pod["spec"]["nodeName"] == "sim"
    await fleet.passes(seconds=5)
    ended = await world.pod("p")
    assert ended["status"]["phase"] == "Succeeded"
    assert ended["status"]["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 0
    made = ("creation", "binding", "running", "end", "event of the binding")
    assert world.revision - before == len(made)


@pytest.mark.rule("jobs C.11")
async def test_no_pod_ends_unseen(fleet: Fleet, world: World) -> None:
    before = world.revision
    await world.add_pod("p", {"run-seconds": "0"})
    await fleet.passes(seconds=1)
    assert await world.phase("p") == "Succeeded"
    made = ("creation", "binding", "running", "end", "event of the binding")
    assert world.revision - before == len(made)


@pytest.mark.rule("jobs C.11")
async def test_a_plain_pod_runs_until_it_is_deleted(fleet: Fleet, world: World) -> None:
    await world.add_pod("p")
    await fleet.passes(hours=2)
    assert await world.phase("p") == "Running"
    await world.client.delete(POD, "p", "default")
    await fleet.settle()
    with pytest.raises(NotFound):
        await world.pod("p")


@pytest.mark.rule("jobs C.11")
async def test_a_pod_goes_when_its_delay_is_over(fleet: Fleet, world: World) -> None:
    notes = {"pod-delete.stage.kwok.x-k8s.io/delay": "10s"}
    await world.add_pod("p", metadata={"annotations": notes})
    await fleet.passes(seconds=1)
    await world.client.delete(POD, "p", "default")
    await fleet.passes(seconds=5)
    assert (await world.pod("p"))["metadata"]["deletionTimestamp"]
    await fleet.passes(seconds=6)
    with pytest.raises(NotFound):
        await world.pod("p")


@pytest.mark.rule("jobs C.2")
async def test_a_pod_that_is_held_back_says_how_it_ended(fleet: Fleet, world: World) -> None:
    await world.add_pod("p", metadata={"finalizers": ["example.com/tracking"]})
    await fleet.passes(seconds=1)
    await world.client.delete(POD, "p", "default")
    await fleet.settle()
    pod = await world.pod("p")
    assert pod["status"]["phase"] == "Failed"
    assert pod["status"]["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 143
    await world.client.patch(POD, "p", {"metadata": {"finalizers": None}}, "default")
    with pytest.raises(NotFound):
        await world.pod("p")


@pytest.mark.rule("jobs C.11")
async def test_a_simulation_that_starts_again_goes_on(fleet: Fleet, world: World) -> None:
    await world.add_pod("first")
    await world.add_pod("p", {"run-seconds": "60"})
    await fleet.passes(seconds=30)
    await world.client.delete(POD, "first", "default")
    await fleet.settle()
    address = (await world.pod("p"))["status"]["podIP"]
    await world.restart_pods()
    await world.add_pod("q")
    await fleet.passes(seconds=28)
    assert await world.phase("p") == "Running"
    assert (await world.pod("q"))["status"]["podIP"] != address
    await fleet.passes(seconds=3)
    ended = await world.pod("p")
    assert (ended["status"]["phase"], ended["status"]["podIP"]) == ("Succeeded", address)


@pytest.mark.rule("jobs C.11")
async def test_the_first_pods_of_an_index_fail(fleet: Fleet, world: World) -> None:
    owner = await world.client.create(
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "owner", "namespace": "default"},
        },
        resource=CONFIG_MAP,
    )
    reference = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "name": "owner",
        "uid": owner["metadata"]["uid"],
        "controller": True,
    }
    phases = []
    for name, index in (("a0", "0"), ("a1", "0"), ("b0", "1"), ("a2", "0")):
        metadata = {
            "ownerReferences": [reference],
            "labels": {"batch.kubernetes.io/job-completion-index": index},
            "annotations": {
                "fleetqueue.io/sim-fail-attempts": "2",
                "fleetqueue.io/sim-run-seconds": "1",
            },
        }
        await world.add_pod(name, metadata=metadata)
        await fleet.passes(seconds=2)
        phases.append(await world.phase(name))
        if name == "a1":
            await world.client.delete(POD, "a0", "default")
            await fleet.settle()
    assert phases == ["Failed", "Failed", "Failed", "Succeeded"]


@pytest.mark.rule("jobs C.1")
async def test_pods_of_other_nodes_are_left_alone_unless_they_ask(fleet: Fleet) -> None:
    cluster = await fleet.add_cluster("one")
    world = await World(fleet, cluster, NodeSpec("box")).start()
    await world.add_pod("real")
    notes = {"fleetqueue.io/simulate": "true"}
    await world.add_pod("simulated", metadata={"annotations": notes})
    await fleet.settle()
    assert (await world.phase("real"), await world.phase("simulated")) == ("Pending", "Running")


@pytest.mark.rule("jobs C.11")
async def test_time_can_be_compressed(fleet: Fleet) -> None:
    cluster = await fleet.add_cluster("one")
    world = await World(fleet, cluster).start(Profile(speed=100.0))
    await world.add_pod("p", {"run-seconds": "1000"})
    await fleet.passes(seconds=9)
    assert await world.phase("p") == "Running"
    await fleet.passes(seconds=2)
    assert await world.phase("p") == "Succeeded"


@pytest.mark.rule("jobs C.11")
async def test_a_node_made_for_kwok_is_kept(fleet: Fleet, world: World) -> None:
    taint = {"key": "kwok.x-k8s.io/node", "value": "fake", "effect": "NoSchedule"}
    await world.client.create(
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {
                "name": "kwok",
                "annotations": {"kwok.x-k8s.io/node": "fake"},
                "labels": {"type": "kwok"},
            },
            "spec": {"taints": [taint]},
        }
    )
    await fleet.settle()
    node = await world.node("kwok")
    assert node["status"]["allocatable"] == {"cpu": "1k", "memory": "1Ti", "pods": "1M"}
    assert node["spec"]["taints"] == [taint]
    await world.add_pod("p", nodeSelector={"type": "kwok"}, tolerations=[{"operator": "Exists"}])
    await fleet.settle()
    assert (await world.pod("p"))["spec"]["nodeName"] == "kwok"


@pytest.mark.rule("jobs C.10")
async def test_a_node_registers_and_renews_its_lease(fleet: Fleet, world: World) -> None:
    node = await world.node()
    assert condition(node, "Ready")["status"] == "True"
    assert not node["spec"].get("taints")
    first = await world.client.get(LEASE, "sim", "kube-node-lease")
    version = (await world.node())["metadata"]["resourceVersion"]
    await fleet.passes(seconds=35)
    lease = await world.client.get(LEASE, "sim", "kube-node-lease")
    assert lease["spec"]["renewTime"] > first["spec"]["renewTime"]
    assert lease["spec"]["holderIdentity"] == "sim"
    assert (await world.node())["metadata"]["resourceVersion"] == version


@pytest.mark.rule("jobs C.10")
async def test_edits_of_a_node_survive_and_take_effect(fleet: Fleet, world: World) -> None:
    patch = {"metadata": {"labels": {"zone": "z"}}, "spec": {"unschedulable": True}}
    await world.client.patch(NODE, "sim", patch)
    status = {"status": {"capacity": {"example.com/dongle": "4", "cpu": "16"}}}
    await world.client.patch(NODE, "sim", status, subresource="status")
    await fleet.passes(minutes=1)
    node = await world.node()
    assert node["metadata"]["labels"]["zone"] == "z"
    assert node["status"]["allocatable"]["example.com/dongle"] == "4"
    assert node["status"]["allocatable"]["cpu"] == "16"
    (taint,) = node["spec"]["taints"]
    assert (taint["key"], taint["effect"]) == ("node.kubernetes.io/unschedulable", "NoSchedule")
    await world.keepers[0].register()
    await world.client.patch(NODE, "sim", {"spec": {"unschedulable": None}})
    await fleet.settle()
    again = await world.node()
    assert not again["spec"].get("taints")
    assert again["status"]["capacity"]["cpu"] == "16"


@pytest.mark.rule("jobs C.10")
async def test_a_node_that_is_declared_anew_has_what_is_declared(
    fleet: Fleet, world: World
) -> None:
    other = NodeSpec("sim", mode="simulated", capacity={"cpu": "2"})
    keepers: list[NodeKeeper] = []

    def make(cluster: Cluster) -> NodeKeeper:
        keepers.append(NodeKeeper(cluster, (other,), SITE))
        return keepers[-1]

    fleet.run(make, on=world.cluster)
    await keepers[0].register()
    await fleet.settle()
    assert (await world.node())["status"]["allocatable"]["cpu"] == "2"


async def test_pods_that_outlive_their_node_give_their_addresses_back(fleet: Fleet) -> None:
    cluster = await fleet.add_cluster("one")
    world = World(fleet, cluster)
    fleet.run(lambda cluster: SimulatedPods(cluster, network="10.9.0.0/31"), on=cluster)
    labels = {"fleetqueue.io/runtime": "simulated"}
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "sim", "labels": labels}}
    for name in ("first", "second"):
        await world.client.create(node)
        await world.add_pod(name, nodeName="sim")
        await fleet.settle()
        assert (await world.pod(name))["status"]["podIP"] == "10.9.0.1"
        await world.client.delete(NODE, "sim")
        await fleet.settle()
        await world.client.delete(POD, name, "default", grace_period_seconds=0)
        await fleet.settle()


@pytest.mark.rule("jobs C.5")
async def test_pods_leave_a_node_that_fell_silent(fleet: Fleet) -> None:
    cluster = await fleet.add_cluster("one")
    spec = NodeSpec("sim", mode="simulated", count=2)
    world = await World(fleet, cluster, spec).start()
    await world.add_pod("p")
    await world.add_pod("forever", tolerations=[{"operator": "Exists"}])
    await fleet.settle()
    home = (await world.pod("p"))["spec"]["nodeName"]
    down = {"metadata": {"annotations": {"fleetqueue.io/sim-node-down": "true"}}}
    for name in ("sim-0", "sim-1"):
        await world.client.patch(NODE, name, down)
    await fleet.passes(seconds=35)
    assert condition(await world.node(home), "Ready")["status"] == "True"
    await fleet.passes(seconds=20)
    node = await world.node(home)
    ready = condition(node, "Ready")
    assert (ready["status"], ready["reason"], ready["message"]) == (
        "Unknown",
        "NodeStatusUnknown",
        "Kubelet stopped posting node status.",
    )
    assert {(each["key"], each["effect"]) for each in node["spec"]["taints"]} == {
        ("node.kubernetes.io/unreachable", "NoExecute"),
        ("node.kubernetes.io/unreachable", "NoSchedule"),
    }
    assert condition(await world.pod("p"), "Ready")["status"] == "False"
    assert "spec.taints" in owned(node)[CONTROLLERS, "Update", ""]
    for silent in (node, await world.pod("p")):
        assert READY_STATUS in owned(silent)[CONTROLLERS, "Update", "status"]
    await fleet.passes(seconds=250)
    assert "deletionTimestamp" not in (await world.pod("p"))["metadata"]
    await fleet.passes(seconds=60)
    pod = await world.pod("p")
    assert pod["metadata"]["deletionTimestamp"]
    target = condition(pod, "DisruptionTarget")
    assert (target["reason"], target["message"]) == (
        "DeletionByTaintManager",
        "Taint manager: deleting due to NoExecute taint",
    )
    marked = "status.conditions[type=DisruptionTarget].reason"
    assert marked in owned(pod)[CONTROLLERS, "Update", "status"]
    assert "deletionTimestamp" not in (await world.pod("forever"))["metadata"]
    for name in ("sim-0", "sim-1"):
        up = {"metadata": {"annotations": {"fleetqueue.io/sim-node-down": None}}}
        await world.client.patch(NODE, name, up)
    await fleet.passes(seconds=5)
    with pytest.raises(NotFound):
        await world.pod("p")
    assert condition(await world.pod("forever"), "Ready")["status"] == "True"
    assert not (await world.node(home))["spec"].get("taints")


@pytest.mark.rule("jobs C.5")
async def test_a_node_that_comes_back_in_time_keeps_its_pods(fleet: Fleet, world: World) -> None:
    await world.add_pod("p")
    await fleet.settle()
    down = {"metadata": {"annotations": {"fleetqueue.io/sim-node-down": "true"}}}
    await world.client.patch(NODE, "sim", down)
    await fleet.passes(seconds=120)
    up = {"metadata": {"annotations": {"fleetqueue.io/sim-node-down": None}}}
    await world.client.patch(NODE, "sim", up)
    await fleet.passes(minutes=20)
    pod = await world.pod("p")
    assert "deletionTimestamp" not in pod["metadata"]
    assert condition(pod, "Ready")["status"] == "True"
    events = (await world.client.list(EVENT, "default")).items
    told = [each["message"] for each in events if each["reason"] == "TaintManagerEviction"]
    assert told == ["Cancelling deletion of Pod default/p"]


@pytest.mark.rule("jobs C.5")
async def test_a_taint_of_a_user_chases_pods_at_once(fleet: Fleet, world: World) -> None:
    await world.add_pod("p")
    await world.add_pod(
        "patient",
        tolerations=[
            {"key": "k", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 30}
        ],
    )
    await fleet.settle()
    taint = {"key": "k", "value": "v", "effect": "NoExecute"}
    await world.client.patch(NODE, "sim", {"spec": {"taints": [taint]}})
    await fleet.passes(seconds=20)
    with pytest.raises(NotFound):
        await world.pod("p")
    assert await world.phase("patient") == "Running"
    await fleet.passes(seconds=15)
    with pytest.raises(NotFound):
        await world.pod("patient")


@pytest.mark.rule("jobs C.11")
async def test_many_pods_cost_a_few_writes_each(fleet: Fleet) -> None:
    cluster = await fleet.add_cluster("one")
    world = await World(fleet, cluster, NodeSpec("sim", mode="simulated", count=10)).start()
    before = world.revision
    for number in range(100):
        await world.add_pod(f"p-{number}", {"run-seconds": "3"})
    await fleet.passes(seconds=5)
    pods = (await world.client.list(POD, "default")).items
    assert {pod["status"]["phase"] for pod in pods} == {"Succeeded"}
    assert len({pod["status"]["podIP"] for pod in pods}) == 100
    assert world.revision - before <= 5 * 100 + 10


async def test_a_node_has_its_pods_while_its_object_is_gone(fleet: Fleet) -> None:
    specs = NodeSpec("box"), NodeSpec("sim", mode="simulated")
    world = await World(fleet, await fleet.add_cluster("one"), *specs).start()
    keeper = world.keepers[0]

    def runs(node: str) -> bool:
        return keeper.runs_as_process({"metadata": {"name": "a"}, "spec": {"nodeName": node}})

    assert (runs("box"), runs("sim"), runs("stranger")) == (True, False, False)
    for name in ("box", "sim"):
        await world.client.delete(NODE, name)
    await fleet.settle()
    assert (runs("box"), runs("sim")) == (True, False)


@pytest.mark.rule("jobs C.5")
async def test_a_node_that_comes_back_tainted_gives_its_pods_their_time_anew(fleet: Fleet) -> None:
    cluster = await fleet.add_cluster("one")
    world = World(fleet, cluster)
    fleet.run(TaintEviction, on=cluster)
    taint = {"key": "k", "effect": "NoExecute"}
    spec = {"taints": [taint]}
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "sim"}, "spec": spec}
    tolerations = [{**taint, "tolerationSeconds": 30}]

    await world.client.create(node)
    await world.add_pod("first", nodeName="sim", tolerations=tolerations)
    await fleet.passes(seconds=20)
    await world.client.delete(NODE, "sim")
    await fleet.settle()
    await world.client.create(node)
    await world.add_pod("second", nodeName="sim", tolerations=tolerations)
    await fleet.passes(seconds=20)
    assert "deletionTimestamp" not in (await world.pod("second"))["metadata"]

    await fleet.passes(seconds=11)
    assert (await world.pod("second"))["metadata"]["deletionTimestamp"]
