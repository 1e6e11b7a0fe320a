"""Pods that need a place while others of their set keep theirs."""

import pytest

from fleetqueue.queueing.model import Flavor
from fleetqueue.queueing.topology.state import Topologies, Wanted
from fleetqueue.queueing.workload import Domain, Placement, PodSet

HOST = "kubernetes.io/hostname"


def topologies() -> Topologies:
    """Two hosts with room for two each."""
    made = Topologies()
    made.put_topology("tree", [HOST])
    made.put_flavor(Flavor("tas", {}, topology="tree"))
    for name in ("a", "b"):
        made.put_node(
            {
                "metadata": {"name": name, "labels": {HOST: name}},
                "status": {
                    "conditions": [{"type": "Ready", "status": "True"}],
                    "allocatable": {"cpu": "2", "pods": "9"},
                },
            }
        )
    return made


def kept(count: int, failed_node: str = "", **places: int) -> Wanted:
    """Pods of which some have a place."""
    needs = {"cpu": 1000}
    domains = tuple(Domain((name,), number) for name, number in places.items())
    held = Placement((HOST,), domains)
    pod_set = PodSet("main", count, needs, needs, {})
    return Wanted(pod_set, count, "tas", kept=held, failed_node=failed_node)


def placed(wanted: Wanted) -> dict[str, int]:
    found = topologies().find([wanted])
    assert not found.failed, found.why
    return {each.values[0]: each.count for each in found.found["main"].domains}


@pytest.mark.rule("kueue 8.11")
def test_pods_that_come_on_top_leave_the_others_where_they_are() -> None:
    assert placed(kept(2, b=1)) == {"a": 1, "b": 1}


@pytest.mark.rule("kueue 8.11")
def test_all_are_placed_anew_where_some_were_on_a_node_that_is_no_more() -> None:
    assert placed(kept(2, b=1, lost=1)) == {"a": 2}


@pytest.mark.rule("kueue 8.8")
def test_a_failed_node_is_not_replaced_where_another_is_no_more() -> None:
    found = topologies().find([kept(3, "a", a=1, b=1, lost=1)])
    assert found.why == (
        "Cannot replace the node, because the existing topologyAssignment is invalid, "
        "as it contains the stale domain lost"
    )
