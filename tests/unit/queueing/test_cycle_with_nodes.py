"""Cycles on real topologies: quota and places are given together."""

from dataclasses import replace
from typing import Any

import pytest

from fleetqueue.queueing.plan import Evict, Place, Preempt, Wait
from fleetqueue.queueing.workload import TopologyRequest, Workload
from support.cycles import Scene, scene, told, waiting

pytestmark = [pytest.mark.rule("kueue 8.3"), pytest.mark.rule("kueue 5.7")]

RACK, HOST = "rack", "kubernetes.io/hostname"
ONE_RACK = TopologyRequest(required=RACK)


def node(name: str, rack: str, cpu: int) -> dict[str, Any]:
    return {
        "metadata": {"name": name, "labels": {HOST: name, RACK: rack, "pool": "tas"}},
        "spec": {},
        "status": {
            "allocatable": {"cpu": str(cpu), "pods": "110"},
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }


def cluster(picture: str) -> Scene:
    """Two racks with two nodes of two cpus each."""
    found = scene(picture)
    found.state.topologies.put_topology("racks", (RACK, HOST))
    found.flavor("tas", node_labels={"pool": "tas"}, topology="racks")
    for number in range(4):
        found.state.topologies.put_node(node(f"n{number}", f"r{number // 2}", 2))
    return found


def asking(line: str, topology: TopologyRequest = ONE_RACK, **said: Any) -> Workload:
    pending = waiting(line)
    sets = tuple(replace(each, topology=topology) for each in pending.pod_sets)
    return replace(pending, pod_sets=sets, **said)


def hosts(workload: Workload) -> dict[str, int]:
    placement = workload.assignments[0].placement
    assert placement is not None
    return {each.values[-1]: each.count for each in placement.domains}


def test_two_queues_get_a_rack_each_in_one_cycle() -> None:
    found = cluster("a tas:cpu=8\nb tas:cpu=8")
    plan = found.plan(asking("v@a cpu=1 x4 created=1"), asking("w@b cpu=1 x4 created=2"))
    racks = [set(hosts(each.held)) for each in plan.admitted()]
    assert sorted(map(sorted, racks)) == [["n0", "n1"], ["n2", "n3"]]
    found.carry_out(plan)
    assert found.cycle(asking("x@a cpu=1")) == ["x: wait WaitingForQuota"]


def test_a_rack_that_is_too_small_is_told() -> None:
    (decision,) = cluster("a tas:cpu=8").plan(asking("w@a cpu=1 x5")).decisions
    assert isinstance(decision, Wait)
    assert decision.reason == "TopologyPlacementFailed"
    assert decision.message.startswith("couldn't assign flavors to pod set main: topology")


def test_a_whole_rack_is_made_free() -> None:
    found = cluster("a tas:cpu=8 within=LowerPriority")
    for name in ("low-1", "low-2", "low-3", "low-4"):
        found.carry_out(found.plan(asking(f"{name}@a cpu=2 priority=-1")))
    (decision,) = found.plan(asking("w@a cpu=2 x2")).decisions
    assert isinstance(decision, Preempt)
    gone = {host for each in decision.targets for host in hosts(each.workload)}
    assert gone in ({"n0", "n1"}, {"n2", "n3"})
    found.carry_out(found.plan(asking("w@a cpu=2 x2")))
    (admitted,) = found.plan(asking("w@a cpu=2 x2")).admitted()
    assert set(hosts(admitted.held)) == gone


@pytest.mark.rule("kueue 8.8")
@pytest.mark.parametrize(("pods", "moves"), [(2, True), (3, False)])
def test_pods_of_a_node_that_failed_move_within_the_rack(pods: int, moves: bool) -> None:
    found = cluster("a tas:cpu=8")
    for number in (0, 2):
        found.state.topologies.put_node(node(f"n{number}", f"r{number // 2}", 1))
    plan = found.plan(asking(f"w@a cpu=1 x{pods}"))
    found.carry_out(plan)
    (admitted,) = plan.admitted()
    failed = next(iter(hosts(admitted.held)))
    found.state.topologies.remove_node(failed)
    lost = replace(admitted.held, unhealthy_nodes=(failed,), needs_second_pass=True)
    (decision,) = found.plan(lost).decisions
    assert isinstance(decision, Place if moves else Evict)
    if isinstance(decision, Place):
        assert sum(hosts(decision.held).values()) == pods
        assert failed not in hosts(decision.held)
    else:
        assert told(decision) == "w: evict NodeFailures"
