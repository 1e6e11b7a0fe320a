"""Places that are looked for after the checks are done: found, waited for, or made."""

import pytest

from fleetqueue.admission import kinds
from fleetqueue.api.kueue import topology_encoding
from fleetqueue.kube.resources import Object
from fleetqueue.testing import Fleet
from support.kueue import (
    API,
    Kueue,
    admission_check,
    cluster_queue,
    flavor,
    local_queue,
    pod_set,
    workload,
)

pytestmark = pytest.mark.rule("kueue 5.8", "kueue 8.3")

HOST = "kubernetes.io/hostname"
CHECK = "machines"
STATUS = {
    "status": {
        "allocatable": {"cpu": "4", "pods": "10"},
        "conditions": [{"type": "Ready", "status": "True"}],
    }
}


async def add_node(kueue: Kueue, name: str) -> None:
    metadata = {"name": name, "labels": {HOST: name, "pool": "tas"}}
    await kueue.client.create({"apiVersion": "v1", "kind": "Node", "metadata": metadata})
    await kueue.client.patch(kinds.NODE, name, STATUS, subresource="status")
    await kueue.patch(kinds.NODE, name, {"spec": {"taints": None}})


async def cluster(fleet: Fleet, **preemption: str) -> Kueue:
    """One node for four, and a queue whose machines are made once quota is reserved."""
    kueue = await Kueue.start(fleet)
    await add_node(kueue, "a")
    levels = {"levels": [{"nodeLabel": HOST}]}
    checks = {"admissionChecks": [{"name": CHECK}]}
    await kueue.create(
        {"apiVersion": API, "kind": "Topology", "metadata": {"name": "tree"}, "spec": levels},
        flavor("default", nodeLabels={"pool": "tas"}, topologyName="tree"),
        admission_check(CHECK, "kueue.x-k8s.io/provisioning-request"),
        cluster_queue(quota="100", admissionChecksStrategy=checks, preemption=preemption),
        local_queue(),
    )
    await kueue.activate(CHECK)
    return kueue


def placed(name: str, count: int, priority: int = 0) -> Object:
    sets = [{**pod_set(count=count, cpu="1"), "topologyRequest": {"required": HOST}}]
    return workload(name, sets=sets, priority=priority)


async def ask(kueue: Kueue, obj: Object) -> str:
    """Creates it, and its machines are there at once."""
    name = str(obj["metadata"]["name"])
    await kueue.create(obj)
    assert "topologyAssignment" not in (await assignment(kueue, name))
    await kueue.check(name, CHECK, "Ready")
    return name


async def assignment(kueue: Kueue, name: str) -> Object:
    found = await kueue.workload(name)
    [assigned] = found["status"]["admission"]["podSetAssignments"]
    return dict(assigned)


async def later(kueue: Kueue, seconds: float) -> None:
    await kueue.fleet.passes(seconds=seconds)
    await kueue.fleet.settle()


async def places(kueue: Kueue, name: str) -> str:
    assigned = await assignment(kueue, name)
    assert assigned["delayedTopologyRequest"] == "Ready"
    plain = topology_encoding.unpack(assigned["topologyAssignment"])
    return " ".join(f"{'/'.join(each['values'])}:{each['count']}" for each in plain["domains"])


async def test_places_are_found_a_second_after_the_checks(fleet: Fleet) -> None:
    kueue = await cluster(fleet)
    name = await ask(kueue, placed("job", 3))
    assert not await kueue.is_admitted(name)
    await later(kueue, 1.5)
    assert await kueue.is_admitted(name)
    assert await places(kueue, name) == "a:3"


async def test_without_a_place_it_keeps_its_quota_and_is_told_by_an_event(fleet: Fleet) -> None:
    kueue = await cluster(fleet)
    await ask(kueue, placed("first", 3))
    await later(kueue, 1.5)
    name = await ask(kueue, placed("second", 2))
    before = await kueue.workload(name)
    await later(kueue, 10)
    assert await kueue.workload(name) == before
    told = [each for each in await kueue.events(name) if each[1] == "SecondPassFailed"]
    assert told[0] == (
        "Warning",
        "SecondPassFailed",
        "couldn't assign flavors to pod set main: "
        'topology "tree" allows to fit only 1 out of 2 pod(s)',
    )
    await add_node(kueue, "b")
    await later(kueue, 30)
    assert await places(kueue, name) == "b:2"


@pytest.mark.rule("kueue 7.8")
async def test_somebody_less_important_makes_room(fleet: Fleet) -> None:
    kueue = await cluster(fleet, withinClusterQueue="LowerPriority")
    await ask(kueue, placed("low", 3, priority=-1))
    await later(kueue, 1.5)
    assert await kueue.is_admitted("low")
    name = await ask(kueue, placed("high", 2, priority=9))
    await later(kueue, 2)

    uid = (await kueue.workload(name))["metadata"]["uid"]
    message = (
        f"Preempted to accommodate a workload (UID: {uid}, JobUID: UNKNOWN) due to "
        "prioritization in the ClusterQueue; preemptor path: /queue; preemptee path: /queue"
    )
    told = await kueue.conditions("low")
    assert told["Evicted"] == ("True", "Preempted", message)
    assert told["Preempted"] == ("True", "InClusterQueue", message)
    reasons = [each[1] for each in await kueue.events(name)]
    assert {"PreemptedWorkload", "SecondPassFailed"} <= {*reasons}
    failed = next(each for each in await kueue.events(name) if each[1] == "SecondPassFailed")
    assert failed[2].endswith("out of 2 pod(s). Pending the preemption of 1 workload(s)")

    assert await kueue.stop_evicted() == ["low"]
    await later(kueue, 5)
    assert await kueue.is_admitted(name)
    assert await places(kueue, name) == "a:2"


@pytest.mark.rule("kueue 8.8")
async def test_a_node_that_failed_is_replaced_at_nobodys_cost(fleet: Fleet) -> None:
    kueue = await cluster(fleet, withinClusterQueue="LowerPriority")
    await ask(kueue, placed("high", 2, priority=9))
    await later(kueue, 1.5)
    await add_node(kueue, "b")
    await ask(kueue, placed("low", 4, priority=-1))
    await later(kueue, 1.5)
    assert await places(kueue, "low") == "b:4"

    await kueue.delete(kinds.NODE, "a")
    await later(kueue, 5)

    told = await kueue.conditions("high")
    assert told["Evicted"][:2] == ("True", "NodeFailures")
    assert "Evicted" not in await kueue.conditions("low")


async def test_in_a_stopped_queue_it_is_told_so_and_tried_less_and_less_often(fleet: Fleet) -> None:
    kueue = await cluster(fleet)
    await ask(kueue, placed("job", 2))
    await later(kueue, 1.5)
    await add_node(kueue, "b")
    await kueue.patch(kinds.CLUSTER_QUEUE, "queue", {"spec": {"stopPolicy": "Hold"}})

    await kueue.delete(kinds.NODE, "a")
    await later(kueue, 8)
    assert kueue.admission is not None
    tried = kueue.admission.scheduler.cycles
    assert {each for each in await kueue.events("job") if each[0] == "Warning"} == {
        ("Warning", "SecondPassFailed", "ClusterQueue queue is inactive")
    }
    assert "Evicted" not in await kueue.conditions("job")
    await later(kueue, 60)
    assert 2 <= kueue.admission.scheduler.cycles - tried <= 5

    await kueue.patch(kinds.CLUSTER_QUEUE, "queue", {"spec": {"stopPolicy": "None"}})
    await later(kueue, 31)
    moved = (await assignment(kueue, "job"))["topologyAssignment"]
    assert topology_encoding.unpack(moved)["domains"] == [{"values": ["b"], "count": 2}]


async def test_the_next_one_that_is_needed_waits_a_second_again(fleet: Fleet) -> None:
    kueue = await cluster(fleet)
    await ask(kueue, placed("full", 3))
    await later(kueue, 1.5)
    name = await ask(kueue, placed("job", 2))
    await later(kueue, 20)
    assert not await kueue.is_admitted(name)
    await kueue.check(name, CHECK, "Retry")
    assert await kueue.stop_evicted() == [name]
    await kueue.finish("full")

    await kueue.check(name, CHECK, "Ready")
    assert not await kueue.is_admitted(name)
    await later(kueue, 1.5)
    assert await places(kueue, name) == "a:2"


@pytest.mark.rule("kueue 8.8", "kueue 3.9")
async def test_only_the_places_are_written_anew_where_a_node_is_replaced(fleet: Fleet) -> None:
    kueue = await cluster(fleet)
    name = await ask(kueue, placed("job", 4))
    await later(kueue, 1.5)
    done = {"status": {"reclaimablePods": [{"name": "main", "count": 1}]}}
    await kueue.patch(kinds.WORKLOAD, name, done, "status")
    before = await assignment(kueue, name)
    assert (before["count"], before["resourceUsage"]) == (4, {"cpu": "4"})

    await add_node(kueue, "b")
    await kueue.delete(kinds.NODE, "a")
    await later(kueue, 5)

    assert await places(kueue, name) == "b:4"
    after = await assignment(kueue, name)
    moved = after.pop("topologyAssignment")
    assert moved != before.pop("topologyAssignment")
    assert after == before
