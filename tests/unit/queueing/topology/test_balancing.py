"""Pods that are spread evenly over siblings: who takes part, and how much each gets."""

from typing import Any

import pytest

from fleetqueue.queueing.model import Flavor
from fleetqueue.queueing.settings import Settings
from fleetqueue.queueing.topology.balancing import Offer, smallest_set
from fleetqueue.queueing.topology.state import Topologies, Wanted
from fleetqueue.queueing.topology.tree import Domain
from fleetqueue.queueing.workload import PodSet, TopologyRequest

pytestmark = pytest.mark.rule("kueue 8.7")

HOST = "kubernetes.io/hostname"
RACK = "example.com/rack"
BLOCK = "example.com/block"


def topologies(nodes: dict[str, int], *, balances: bool = True) -> Topologies:
    """Nodes by block, rack and host, and the pods that fit on each."""
    made = Topologies(Settings(balances_placement=balances))
    made.put_topology("tree", [BLOCK, RACK, HOST])
    made.put_flavor(Flavor("tas", {}, topology="tree"))
    for path, cpu in nodes.items():
        block, rack, host = path.split("/")
        labels = {BLOCK: block, RACK: f"{block}-{rack}", HOST: host}
        status = {
            "conditions": [{"type": "Ready", "status": "True"}],
            "allocatable": {"cpu": str(cpu), "pods": "110"},
        }
        made.put_node({"metadata": {"name": host, "labels": labels}, "status": status})
    return made


def pods(count: int, name: str = "main", **request: Any) -> Wanted:
    needs = {"cpu": 1000}
    made = PodSet(name, count, needs, needs, {}, topology=TopologyRequest(**request))
    return Wanted(made, count, "tas")


def answer(made: Topologies, *wanted: Wanted) -> str:
    found = made.find(list(wanted))
    if found.failed:
        return found.why
    return " | ".join(
        " ".join(f"{'/'.join(each.values)}:{each.count}" for each in placement.domains)
        for placement in found.found.values()
    )


TWO_BLOCKS = {
    "b1/r1/a1": 6, "b1/r2/a2": 6, "b1/r3/a3": 6,
    "b2/r1/c1": 9, "b2/r2/c2": 1, "b2/r3/c3": 1,
}  # fmt: skip
# fmt: off
EVEN = {
    "racks of a block get the same": (10, RACK, "a1:5 a2:5"),
    "one that is too many goes to the front": (11, RACK, "a1:6 a2:5"),
    "three racks where two are too few": (15, RACK, "a1:5 a2:5 a3:5"),
    "one is enough, and the smallest of those": (6, RACK, "a1:6"),
    "the block with the higher threshold": (9, RACK, "c1:9"),
    "blocks are siblings as well": (20, BLOCK, "a1:6 a2:4 c1:9 c2:1"),
    "more than there is": (
        30, RACK, 'topology "tree" allows to fit only 29 out of 30 pod(s)'),
}
# fmt: on


@pytest.mark.parametrize(("count", "level", "found"), EVEN.values(), ids=EVEN.keys())
def test_siblings_share_evenly(count: int, level: str, found: str) -> None:
    assert answer(topologies(TWO_BLOCKS), pods(count, preferred=level)) == found


def test_without_the_gate_the_first_is_filled() -> None:
    made = topologies(TWO_BLOCKS, balances=False)
    assert answer(made, pods(10, preferred=RACK)) != "a1:5 a2:5"


@pytest.mark.parametrize("request_of", [{"required": BLOCK}, {"is_unconstrained": True}, {}])
def test_only_what_is_preferred_is_spread(request_of: dict[str, Any]) -> None:
    wanted = pods(10, **request_of)
    plain = topologies(TWO_BLOCKS, balances=False)
    assert answer(topologies(TWO_BLOCKS), wanted) == answer(plain, wanted)


def test_where_no_block_holds_all_it_is_as_without() -> None:
    wanted = pods(19, preferred=RACK)
    assert answer(topologies(TWO_BLOCKS), wanted) == answer(
        topologies(TWO_BLOCKS, balances=False), wanted
    )


def test_a_set_with_less_to_spare_is_taken() -> None:
    made = topologies({"b/r1/x": 8, "b/r2/y": 7, "b/r3/z": 6, "b/r4/w": 1})
    assert answer(made, pods(13, preferred=RACK)) == "y:7 z:6"
    assert answer(made, pods(14, preferred=RACK)) == "x:7 y:7"


def test_what_a_rack_got_stays_in_it() -> None:
    made = topologies({"b/r1/x1": 2, "b/r1/x2": 3, "b/r2/y1": 4, "b/r2/y2": 1})
    assert answer(made, pods(8, preferred=RACK)) == "x1:1 x2:3 y1:4"


def test_slices_are_spread_one_level_lower() -> None:
    nodes = {"b1/r1/a": 8, "b1/r2/c": 4, "b2/r1/d": 6, "b2/r2/e": 6}
    request = {"preferred": BLOCK, "slice_level": RACK, "slice_size": 2}
    assert answer(topologies(nodes), pods(12, **request)) == "d:6 e:6"
    assert answer(topologies(nodes), pods(8, **request)) == "a:8"


def test_of_equal_blocks_the_more_even_one_is_taken() -> None:
    nodes = {"b1/r1/a": 8, "b1/r2/c": 4, "b2/r1/d": 6, "b2/r2/e": 6}
    request = {"preferred": BLOCK, "slice_level": HOST, "slice_size": 2}
    assert answer(topologies(nodes), pods(12, **request)) == "d:6 e:6"


@pytest.mark.rule("kueue 8.6")
def test_the_leader_is_with_one_of_the_even_parts() -> None:
    made = topologies({"b/r1/x": 5, "b/r2/y": 5})
    group = {"preferred": RACK, "group": "both"}
    found = answer(made, pods(1, "leader", **group), pods(8, "workers", **group))
    assert found == "x:4 y:4 | x:1"


@pytest.mark.rule("kueue 8.6")
def test_the_leader_goes_where_workers_still_have_their_part() -> None:
    made = topologies({"b/r1/x": 4, "b/r2/y": 6})
    group = {"preferred": RACK, "group": "both"}
    found = answer(made, pods(1, "leader", **group), pods(8, "workers", **group))
    assert found == "x:4 y:4 | y:1"


def offers(*rooms: int) -> list[Offer]:
    return [Offer(Domain(0, (str(at),)), room) for at, room in enumerate(rooms)]


def test_hundreds_of_hosts_are_compared_quickly() -> None:
    found = smallest_set(1990, 0, offers(*(7 if at % 3 else 8 for at in range(600))))
    assert found is not None
    assert sum(each.room for each in found) == 1990


def test_too_many_to_compare_is_nobody() -> None:
    assert smallest_set(5000, 0, offers(*[1] * 6000)) is None
