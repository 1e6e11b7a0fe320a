"""What workloads use of a topology, whatever is known first: they, or their flavor."""

from dataclasses import replace
from typing import Any

import pytest

from fleetqueue.queueing.model import Flavor
from fleetqueue.queueing.settings import Settings
from fleetqueue.queueing.topology.state import Topologies, Wanted
from fleetqueue.queueing.workload import Domain, Placement, PodSetAssignment, Workload
from support.cycles import waiting
from support.held import entries

pytestmark = pytest.mark.rule("kueue 8.1", "kueue 13.8")

HOST, RACK = "kubernetes.io/hostname", "example.com/rack"
FLAVOR = Flavor("tas", {"pool": "tas"}, topology="tree")


def topologies(level: str, settings: Settings | None = None) -> Topologies:
    """One rack, which is one host, with room for four; its flavor is not known yet."""
    made = Topologies(settings or Settings())
    made.put_topology("tree", [level])
    made.put_node(node("a"))
    return made


def node(name: str) -> dict[str, Any]:
    return {
        "metadata": {"name": name, "labels": {HOST: name, RACK: name, "pool": "tas"}},
        "status": {
            "conditions": [{"type": "Ready", "status": "True"}],
            "allocatable": {"cpu": "4", "pods": "4"},
        },
    }


def pod(node: str) -> dict[str, Any]:
    """One that others placed."""
    container = {"name": "c", "resources": {"requests": {"cpu": "1"}}}
    return {
        "metadata": {"namespace": "default", "name": f"on-{node}"},
        "spec": {"nodeName": node, "containers": [container]},
    }


def running(line: str, level: str, *, on: str = "a", **flavors: str) -> Workload:
    found = waiting(line)
    (pods,) = found.pod_sets
    placement = Placement((level,), (Domain((on,), pods.count),))
    held = PodSetAssignment("main", pods.count, flavors, pods.total(), placement)
    return replace(found, assignments=(held,))


def fits(made: Topologies, count: int) -> bool:
    (pods,) = waiting(f"w@team cpu=1 x{count}").pod_sets
    return not made.find([Wanted(pods, count, "tas")]).failed


@pytest.mark.parametrize(
    ("level", "shares"),
    [(RACK, True), (HOST, True), (HOST, False)],
    ids=["racks", "hosts of all flavors", "hosts of one flavor"],
)
def test_a_workload_that_is_known_before_its_flavor_counts(level: str, shares: bool) -> None:
    made = topologies(level, Settings(shares_nodes=shares))
    first = running("first@team cpu=1 x3", level, cpu="tas", credits="plain")
    made.add(first)
    made.put_flavor(FLAVOR)
    assert fits(made, 1)
    assert not fits(made, 2)

    made.remove(first)
    assert fits(made, 4)
    assert not fits(made, 5)


def test_a_flavor_that_comes_back_is_as_full_as_before() -> None:
    made = topologies(RACK)
    made.put_flavor(FLAVOR)
    made.add(running("first@team cpu=1 x3", RACK, cpu="tas"))
    made.remove_flavor("tas")
    made.put_flavor(FLAVOR)
    assert not fits(made, 2)


def test_pods_that_ask_for_nothing_take_a_place_where_the_others_are() -> None:
    made = topologies(RACK)
    made.put_flavor(FLAVOR)
    both = waiting("both@team leader + workers cpu=1 x2")
    here = [Placement((RACK,), (Domain(("a",), each.count),)) for each in both.pod_sets]
    leader = PodSetAssignment("leader", 1, {}, {}, here[0])
    workers = PodSetAssignment("workers", 2, {"cpu": "tas"}, {"cpu": 2000}, here[1])
    made.add(replace(both, assignments=(leader, workers)))
    assert fits(made, 1)
    assert not fits(made, 2)


@pytest.mark.parametrize("shares", [True, False], ids=["of all flavors", "of one flavor"])
def test_nodes_that_went_leave_nothing_behind(shares: bool) -> None:
    made = topologies(HOST, Settings(shares_nodes=shares))
    made.put_flavor(FLAVOR)
    assert fits(made, 4)
    before = entries(made)
    for name in ("b", "c", "d"):
        there = running("first@team cpu=1 x3", HOST, on=name, cpu="tas")
        made.put_node(node(name))
        made.put_pod(pod(name))
        made.add(there)
        made.forget()
        assert not fits(made, 5)
        made.remove_node(name)
        made.remove(there)
        made.remove_pod("default", f"on-{name}")
        made.forget()
        assert fits(made, 4)

    assert entries(made) == before


def test_what_is_tried_without_a_workload_is_taken_back_on_a_new_node_too() -> None:
    made = topologies(HOST)
    made.put_flavor(FLAVOR)
    there = running("first@team cpu=1 x3", HOST, cpu="tas")
    made.add(there)
    made.forget()
    made.put_node(node("b"))
    start = made.mark()
    made.remove(there)
    assert fits(made, 8)

    made.undo(start)
    assert fits(made, 5)
    assert not fits(made, 6)
