"""What workloads use of a topology, whatever is known first: they, or their flavor."""

from dataclasses import replace

import pytest

from fleetqueue.queueing.model import Flavor
from fleetqueue.queueing.settings import Settings
from fleetqueue.queueing.topology.state import Topologies, Wanted
from fleetqueue.queueing.workload import Domain, Placement, PodSetAssignment, Workload
from support.cycles import waiting

pytestmark = pytest.mark.rule("kueue 8.1", "kueue 13.8")

HOST, RACK = "kubernetes.io/hostname", "example.com/rack"
FLAVOR = Flavor("tas", {"pool": "tas"}, topology="tree")


def topologies(level: str, settings: Settings | None = None) -> Topologies:
    """One rack, which is one host, with room for four; its flavor is not known yet."""
    made = Topologies(settings or Settings())
    made.put_topology("tree", [level])
    made.put_node(
        {
            "metadata": {"name": "a", "labels": {HOST: "a", RACK: "a", "pool": "tas"}},
            "status": {
                "conditions": [{"type": "Ready", "status": "True"}],
                "allocatable": {"cpu": "4", "pods": "4"},
            },
        }
    )
    return made


def running(line: str, level: str, **flavors: str) -> Workload:
    found = waiting(line)
    (pods,) = found.pod_sets
    placement = Placement((level,), (Domain(("a",), pods.count),))
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
