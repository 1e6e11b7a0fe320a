"""The scheduler on a whole server in virtual time: who gets a node, who waits and what it says."""

from typing import Any

import pytest

from fleetqueue.kube.cluster import Cluster
from fleetqueue.kube.errors import Unreachable
from fleetqueue.kube.resources import Object, Resource
from fleetqueue.kube.transport import Answer, Call, Payload
from fleetqueue.runtime.binder import STORAGE_CLASS, Binder
from fleetqueue.runtime.kinds import CLAIM, NODE, POD, PRIORITY_CLASS
from fleetqueue.testing import Fleet, FleetCluster
from fleetqueue.testing.faults import CONFLICT
from support.scheduling import HOST, REQUIRED, node

pytestmark = pytest.mark.rule("jobs C.10")

EVENT = Resource("", "v1", "events", "Event")


@pytest.fixture
async def cluster(fleet: Fleet) -> FleetCluster:
    made = await fleet.add_cluster("one")
    fleet.run(Binder, on=made)
    return made


async def add_node(cluster: FleetCluster, name: str, **options: Any) -> None:
    """A ready one: the taint that the server gives to new nodes is gone."""
    obj = node(name, **options)
    await cluster.client.create({key: obj[key] for key in obj if key != "status"})
    taints = obj["spec"]["taints"]
    await cluster.client.patch(NODE, name, {"spec": {"taints": taints}})
    await cluster.client.patch(NODE, name, {"status": obj["status"]}, subresource="status")


async def add_pod(cluster: FleetCluster, name: str, cpu: str = "1", **spec: Any) -> None:
    metadata: Object = {"name": name, "namespace": "default"}
    if labels := spec.pop("labels", None):
        metadata["labels"] = labels
    container = {"name": "main", "image": "busybox", "resources": {"requests": {"cpu": cpu}}}
    body = {"containers": [container], "terminationGracePeriodSeconds": 30, **spec}
    await cluster.client.create(
        {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": body}
    )


async def pods(cluster: FleetCluster) -> dict[str, str]:
    """The node of each."""
    found = (await cluster.client.list(POD, "default")).items
    return {each["metadata"]["name"]: each["spec"].get("nodeName", "") for each in found}


async def scheduled(cluster: FleetCluster, name: str) -> tuple[str, str, str]:
    pod = await cluster.client.get(POD, name, "default")
    for each in (pod.get("status") or {}).get("conditions") or ():
        if each["type"] == "PodScheduled":
            return each["status"], each.get("reason", ""), each.get("message", "")
    return "", "", ""


async def events(cluster: FleetCluster, name: str) -> list[tuple[str, str, str]]:
    found = (await cluster.client.list(EVENT, "default")).items
    return [
        (each["type"], each["reason"], each["message"])
        for each in found
        if each["involvedObject"]["name"] == name
        and each["reportingComponent"] == "default-scheduler"
    ]


async def test_pods_get_the_least_used_nodes(fleet: Fleet, cluster: FleetCluster) -> None:
    for name in ("a", "b"):
        await add_node(cluster, name)
    for name in ("p", "q", "r"):
        await add_pod(cluster, name)
        await fleet.settle()
    assert await pods(cluster) == {"p": "a", "q": "b", "r": "a"}
    assert (await scheduled(cluster, "p"))[0] == "True"
    await fleet.passes(seconds=1)
    assert await events(cluster, "p") == [
        ("Normal", "Scheduled", "Successfully assigned default/p to a")
    ]


async def test_a_pod_that_fits_nowhere_says_why_once(fleet: Fleet, cluster: FleetCluster) -> None:
    await add_node(cluster, "a", cpu="4")
    await add_node(cluster, "b", cpu="1", is_cordoned=True)
    await add_pod(cluster, "huge", cpu="64")
    await fleet.settle()
    message = (
        "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) were unschedulable. "
        "preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling."
    )
    assert await scheduled(cluster, "huge") == ("False", "Unschedulable", message)
    revision = cluster.instance.core.store.revision
    await cluster.client.patch(NODE, "a", {"metadata": {"annotations": {"seen": "yes"}}})
    await add_pod(cluster, "small")
    await fleet.passes(minutes=10)
    changes = cluster.instance.core.store.revision - revision
    assert changes == len(("annotation", "pod", "binding", "event of the binding"))
    await cluster.client.delete(POD, "small", "default", grace_period_seconds=0)
    await fleet.passes(minutes=10)
    assert await events(cluster, "huge") == [("Warning", "FailedScheduling", message)]
    told = (await cluster.client.list(EVENT, "default")).items
    assert not any(each.get("series") for each in told)


async def test_no_node_at_all(fleet: Fleet, cluster: FleetCluster) -> None:
    await add_pod(cluster, "p")
    await fleet.settle()
    said = await scheduled(cluster, "p")
    assert said == ("False", "Unschedulable", "no nodes available to schedule pods")
    await add_node(cluster, "a")
    await fleet.settle()
    assert await pods(cluster) == {"p": "a"}
    assert (await scheduled(cluster, "p"))[0] == "True"


async def test_gates_keep_a_pod_out_and_other_schedulers_keep_theirs(
    fleet: Fleet, cluster: FleetCluster
) -> None:
    await add_node(cluster, "a")
    await add_pod(cluster, "gated", schedulingGates=[{"name": "example.com/g"}])
    await add_pod(cluster, "theirs", schedulerName="mine")
    await fleet.settle()
    assert await pods(cluster) == {"gated": "", "theirs": ""}
    assert (await scheduled(cluster, "gated"))[1] == "SchedulingGated"
    assert await scheduled(cluster, "theirs") == ("", "", "")
    await cluster.client.patch(POD, "gated", {"spec": {"schedulingGates": None}}, "default")
    await fleet.settle()
    assert (await pods(cluster))["gated"] == "a"


@pytest.mark.parametrize("end", ["Succeeded", "deleted"])
async def test_room_that_becomes_free_is_used_at_once(
    fleet: Fleet, cluster: FleetCluster, end: str
) -> None:
    await add_node(cluster, "a", cpu="1")
    for name in ("p", "q", "r"):
        await add_pod(cluster, name)
    await fleet.settle()
    assert await pods(cluster) == {"p": "a", "q": "", "r": ""}
    if end == "deleted":
        await cluster.client.delete(POD, "p", "default", grace_period_seconds=0)
    else:
        status = {"status": {"phase": end}}
        await cluster.client.patch(POD, "p", status, "default", subresource="status")
    await fleet.settle()
    found = await pods(cluster)
    assert (found["q"], found["r"]) == ("a", "")


CHANGES: dict[str, tuple[Object, str]] = {
    "a label": ({"metadata": {"labels": {"kind": "big"}}}, ""),
    "a taint that goes": ({"spec": {"taints": None}}, ""),
    "an end of a cordon": ({"spec": {"unschedulable": None}}, ""),
    "more capacity": ({"status": {"allocatable": {"cpu": "8"}}}, "status"),
}


@pytest.mark.parametrize(("patch", "subresource"), CHANGES.values(), ids=CHANGES)
async def test_an_edit_of_a_node_is_seen(
    fleet: Fleet, cluster: FleetCluster, patch: Object, subresource: str
) -> None:
    taints = [{"key": "k", "effect": "NoSchedule"}]
    what = next(name for name, case in CHANGES.items() if case[0] is patch)
    await add_node(
        cluster,
        "a",
        cpu="1" if what == "more capacity" else "8",
        taints=taints if what == "a taint that goes" else [],
        is_cordoned=what == "an end of a cordon",
        labels={} if what == "a label" else {"kind": "big"},
    )
    await add_pod(cluster, "p", cpu="2", nodeSelector={"kind": "big"})
    await fleet.settle()
    assert await pods(cluster) == {"p": ""}
    await cluster.client.patch(NODE, "a", patch, subresource=subresource)
    await fleet.settle()
    assert await pods(cluster) == {"p": "a"}


async def add_priority(cluster: FleetCluster, name: str, value: int) -> None:
    await cluster.client.create(
        {
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": {"name": name},
            "value": value,
        },
        resource=PRIORITY_CLASS,
    )


async def test_a_more_important_pod_takes_the_place_of_others(
    fleet: Fleet, cluster: FleetCluster
) -> None:
    await add_priority(cluster, "high", 1000)
    await add_node(cluster, "a", cpu="2")
    for name in ("p", "q"):
        await add_pod(cluster, name)
    await fleet.settle()
    await add_pod(cluster, "urgent", cpu="2", priorityClassName="high")
    await fleet.settle()
    urgent = await cluster.client.get(POD, "urgent", "default")
    assert urgent["status"]["nominatedNodeName"] == "a"
    message = "0/1 nodes are available: 1 Insufficient cpu."
    assert await scheduled(cluster, "urgent") == ("False", "Unschedulable", message)
    victim = await cluster.client.get(POD, "p", "default")
    assert victim["metadata"]["deletionTimestamp"]
    (condition,) = [c for c in victim["status"]["conditions"] if c["type"] == "DisruptionTarget"]
    assert condition["reason"] == "PreemptionByScheduler"
    assert condition["message"] == (
        "default-scheduler: preempting to accommodate a higher priority pod"
    )
    for name in ("p", "q"):
        await cluster.client.delete(POD, name, "default", grace_period_seconds=0)
    await add_pod(cluster, "lesser")
    await fleet.settle()
    assert await pods(cluster) == {"urgent": "a", "lesser": ""}
    await fleet.passes(seconds=1)
    preempted = [each for each in await events(cluster, "p") if each[1] == "Preempted"]
    assert preempted == [
        ("Normal", "Preempted", f"Preempted by pod {urgent['metadata']['uid']} on node a")
    ]


async def test_pods_in_the_queue_go_by_priority(fleet: Fleet, cluster: FleetCluster) -> None:
    await add_priority(cluster, "high", 1000)
    await add_pod(cluster, "early")
    await add_pod(cluster, "important", priorityClassName="high")
    await fleet.settle()
    await add_node(cluster, "a", cpu="1")
    await fleet.settle()
    assert await pods(cluster) == {"early": "", "important": "a"}


async def test_one_pod_for_each_node(fleet: Fleet, cluster: FleetCluster) -> None:
    term = {"labelSelector": {"matchLabels": {"app": "web"}}, "topologyKey": HOST}
    for name in ("a", "b"):
        await add_node(cluster, name)
    for name in ("p", "q", "r"):
        affinity = {"podAntiAffinity": {REQUIRED: [term]}}
        await add_pod(cluster, name, labels={"app": "web"}, affinity=affinity)
    await fleet.settle()
    assert await pods(cluster) == {"p": "a", "q": "b", "r": ""}
    assert (await scheduled(cluster, "r"))[2].startswith(
        "0/2 nodes are available: 2 node(s) didn't match pod anti-affinity rules."
    )
    await cluster.client.delete(POD, "p", "default", grace_period_seconds=0)
    await fleet.settle()
    assert (await pods(cluster))["r"] == "a"


async def test_a_volume_is_made_where_the_pod_will_run(fleet: Fleet, cluster: FleetCluster) -> None:
    await add_node(cluster, "a")
    await cluster.client.create(
        {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "StorageClass",
            "metadata": {"name": "local"},
            "provisioner": "example.com/local",
            "volumeBindingMode": "WaitForFirstConsumer",
        },
        resource=STORAGE_CLASS,
    )
    await cluster.client.create(
        {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": "data", "namespace": "default"},
            "spec": {
                "storageClassName": "local",
                "accessModes": ["ReadWriteOnce"],
                "resources": {"requests": {"storage": "1Gi"}},
            },
        }
    )
    volumes = [{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]
    await add_pod(cluster, "p", volumes=volumes)
    await fleet.settle()
    assert await pods(cluster) == {"p": ""}
    claim = await cluster.client.get(CLAIM, "data", "default")
    assert claim["metadata"]["annotations"]["volume.kubernetes.io/selected-node"] == "a"
    bound = {"status": {"phase": "Bound"}}
    await cluster.client.patch(CLAIM, "data", bound, "default", subresource="status")
    await fleet.settle()
    assert await pods(cluster) == {"p": "a"}


async def test_a_new_scheduler_goes_on_where_the_old_one_stopped(fleet: Fleet) -> None:
    cluster = await fleet.add_cluster("one")
    restart = fleet.run(Binder, on=cluster)
    await add_node(cluster, "a", cpu="1")
    for name in ("p", "q"):
        await add_pod(cluster, name)
    await fleet.settle()
    await restart()
    await fleet.settle()
    assert await pods(cluster) == {"p": "a", "q": ""}
    await cluster.client.delete(POD, "p", "default", grace_period_seconds=0)
    await fleet.settle()
    assert await pods(cluster) == {"q": "a"}


class Flaky:
    """A transport on which the first call of one sort goes wrong; the server does it or not."""

    def __init__(self, inner: Any, method: str, end: str, *, is_done: bool, conflict: bool) -> None:
        self._inner = inner
        self._sort = (method, end)
        self._is_done = is_done
        self._conflict = conflict
        self.calls = 0

    async def request(self, call: Call) -> Answer:
        if (call.method, call.path.rpartition("/")[2]) != self._sort:
            return await self._inner.request(call)  # type: ignore[no-any-return]
        self.calls += 1
        if self.calls > 1 or self._is_done:
            answer: Answer = await self._inner.request(call)
        if self.calls > 1:
            return answer
        if self._conflict:
            return Answer(409, Payload(CONFLICT), {})
        raise Unreachable("lost", sent=True)

    async def stream(self, call: Call) -> Any:
        return await self._inner.stream(call)

    async def close(self) -> None:
        await self._inner.close()


def on_flaky(made: list[Flaky], *sort: str, is_done: bool = False, conflict: bool = False) -> Any:
    def make(cluster: Cluster) -> Binder:
        client: Any = cluster.client
        flaky = Flaky(client.transport, *sort, is_done=is_done, conflict=conflict)
        made.append(flaky)
        client.transport = flaky
        return Binder(cluster)

    return make


@pytest.mark.parametrize(
    ("is_done", "conflict", "calls"), [(True, False, 1), (False, False, 2), (False, True, 2)]
)
async def test_a_binding_that_may_have_happened_is_looked_up(
    fleet: Fleet, is_done: bool, conflict: bool, calls: int
) -> None:
    cluster = await fleet.add_cluster("one")
    await add_node(cluster, "a", cpu="1")
    made: list[Flaky] = []
    fleet.run(on_flaky(made, "POST", "binding", is_done=is_done, conflict=conflict), on=cluster)
    for name in ("p", "q"):
        await add_pod(cluster, name)
    await fleet.settle()
    assert await pods(cluster) == {"p": "a", "q": ""}
    assert made[0].calls == calls


@pytest.mark.parametrize("conflict", [True, False])
async def test_a_pod_that_could_not_be_told_is_told_later(fleet: Fleet, conflict: bool) -> None:
    cluster = await fleet.add_cluster("one")
    made: list[Flaky] = []
    fleet.run(on_flaky(made, "PATCH", "status", conflict=conflict), on=cluster)
    await add_pod(cluster, "p")
    await fleet.settle()
    assert (await scheduled(cluster, "p"))[2] == "no nodes available to schedule pods"


async def test_victims_that_could_not_be_removed_are_removed_later(fleet: Fleet) -> None:
    cluster = await fleet.add_cluster("one")
    await add_priority(cluster, "high", 1000)
    await add_node(cluster, "a", cpu="1")
    made: list[Flaky] = []
    fleet.run(on_flaky(made, "DELETE", "p", conflict=True), on=cluster)
    await add_pod(cluster, "p")
    await fleet.settle()
    await add_pod(cluster, "urgent", priorityClassName="high")
    await fleet.settle()
    assert made[0].calls == 2
    assert (await cluster.client.get(POD, "p", "default"))["metadata"]["deletionTimestamp"]
