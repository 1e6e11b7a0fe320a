"""Where pods go: the worked examples, and what each rule adds to them."""

from typing import Any

import pytest

from fleetqueue.queueing.model import Flavor
from fleetqueue.queueing.topology.state import Topologies, Wanted
from fleetqueue.queueing.workload import PodSet, TopologyRequest

pytestmark = pytest.mark.rule("kueue 8.5")

HOST = "kubernetes.io/hostname"
RACK = "example.com/rack"
BLOCK = "example.com/block"


def node(name: str, cpu: int, **changes: Any) -> dict[str, Any]:
    """`name` may be a path of block, rack and host."""
    *above, host = name.split("/")
    labels = {HOST: host, "pool": "tas"}
    labels |= dict(zip((RACK, BLOCK), reversed(above), strict=False))
    return {
        "metadata": {"name": host, "labels": labels | changes.pop("labels", {})},
        "spec": changes.pop("spec", {}),
        "status": {
            "conditions": [{"type": "Ready", "status": changes.pop("ready", "True")}],
            "allocatable": {"cpu": str(cpu), "pods": "110"},
        },
    }


def topologies(levels: list[str], nodes: dict[str, int]) -> Topologies:
    made = Topologies()
    made.put_topology("tree", levels)
    made.put_flavor(Flavor("tas", {"pool": "tas"}, topology="tree"))
    for name, cpu in nodes.items():
        made.put_node(node(name, cpu))
    return made


def pods(count: int, name: str = "main", cpu: int = 1, **request: Any) -> Wanted:
    needs = {"cpu": cpu * 1000}
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


ABC = {"a": 4, "b": 2, "c": 3}
# fmt: off
ONE_LEVEL = {
    "the smallest host that is large enough": (pods(2, required=HOST), "b:2"),
    "none is large enough": (
        pods(5, required=HOST), 'topology "tree" allows to fit only 4 out of 5 pod(s)'),
    "preferred spreads at the top": (pods(5, preferred=HOST), "a:4 b:1"),
    "unconstrained takes the fullest that fits": (pods(3, is_unconstrained=True), "c:3"),
    "unconstrained fills up what is left": (pods(6, is_unconstrained=True), "a:1 b:2 c:3"),
    "nothing asked is unconstrained": (pods(3), "c:3"),
    "too many for all": (
        pods(10, is_unconstrained=True), 'topology "tree" allows to fit only 9 out of 10 pod(s)'),
    "none at all": (
        pods(2, cpu=9, required=HOST),
        'topology "tree" doesn\'t allow to fit any of 2 pod(s). Total nodes: 3; excluded: '
        'resource "cpu": 3'),
    "no such level": (pods(1, required="shelf"), "no requested topology level: shelf"),
}
# fmt: on


@pytest.mark.parametrize(("wanted", "found"), ONE_LEVEL.values(), ids=ONE_LEVEL.keys())
def test_one_level(wanted: Wanted, found: str) -> None:
    assert answer(topologies([HOST], ABC), wanted) == found


def test_two_levels_pool_the_hosts_of_all_chosen_racks() -> None:
    made = topologies([RACK, HOST], {"r1/x1": 2, "r1/x2": 2, "r2/x3": 3})

    assert answer(made, pods(5, preferred=RACK)) == "x1:2 x3:3"


def test_a_topology_without_hosts_names_all_levels() -> None:
    made = topologies([BLOCK, RACK], {"b1/r1/x1": 2, "b1/r1/x2": 2, "b1/r2/x3": 3})

    assert answer(made, pods(3, required=RACK)) == "b1/r2:3"
    assert answer(made, pods(4, required=RACK)) == "b1/r1:4"


def test_earlier_sets_take_from_later_ones() -> None:
    made = topologies([HOST], {"a": 4, "b": 2})

    assert answer(made, pods(3, "first", required=HOST), pods(2, "second", required=HOST)) == (
        "a:3 | b:2"
    )
    assert answer(made, pods(4, "first"), pods(3, "second", required=HOST)) == (
        'topology "tree" allows to fit only 2 out of 3 pod(s). Total nodes: 2; excluded: '
        'resource "cpu": 1'
    )


def test_the_search_leaves_everything_as_it_was() -> None:
    made = topologies([HOST], ABC)

    assert answer(made, pods(6)) == answer(made, pods(6))


def test_slices_do_not_straddle_racks() -> None:
    made = topologies([RACK, HOST], {"r1/x1": 3, "r2/x2": 3})

    assert answer(made, pods(4, slice_level=RACK, slice_size=2)) == "x1:2 x2:2"
    anywhere = pods(4, slice_level=RACK, slice_size=2, is_unconstrained=True)
    assert answer(made, anywhere) == "x1:2 x2:2"
    assert answer(made, pods(6, slice_level=RACK, slice_size=2)) == (
        'topology "tree" allows to fit only 2 out of 3 slice(s)'
    )


@pytest.mark.rule("kueue 8.6")
def test_a_leader_goes_where_its_workers_go() -> None:
    made = topologies([RACK, HOST], {"r1/x1": 2, "r1/x2": 2, "r2/x3": 9})
    group = {"required": RACK, "group": "both"}

    found = made.find([pods(1, "leader", **group), pods(3, "workers", **group)]).found
    assert {each.values[0] for one in found.values() for each in one.domains} <= {"x1", "x2"}
    assert sum(each.count for each in found["workers"].domains) == 3
    assert sum(each.count for each in found["leader"].domains) == 1


@pytest.mark.rule("kueue 8.1")
def test_nodes_that_are_closed_or_foreign_have_no_place() -> None:
    made = topologies([HOST], {"a": 2})
    made.put_node(node("closed", 9, spec={"unschedulable": True}))
    made.put_node(node("broken", 9, ready="False"))
    made.put_node(node("other", 9, labels={"pool": "none"}))

    assert answer(made, pods(3, required=HOST)) == (
        'topology "tree" allows to fit only 2 out of 3 pod(s)'
    )


@pytest.mark.rule("kueue 8.1")
def test_pods_that_nobody_placed_take_room_until_they_end() -> None:
    made = topologies([HOST], {"a": 2})
    pod: dict[str, Any] = {
        "metadata": {"namespace": "x", "name": "p"},
        "spec": {
            "nodeName": "a",
            "containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}],
        },
        "status": {"phase": "Running"},
    }
    assert not made.put_pod(pod)
    assert answer(made, pods(2, required=HOST)).startswith('topology "tree" allows to fit only 1')

    assert made.put_pod({**pod, "status": {"phase": "Succeeded"}})
    assert answer(made, pods(2, required=HOST)) == "a:2"


@pytest.mark.rule("kueue 8.4")
def test_taints_selectors_and_affinity_leave_nodes_out_and_are_counted() -> None:
    made = topologies([HOST], {})
    made.put_node(
        node("a", 4, spec={"taints": [{"key": "gpu", "value": "x", "effect": "NoSchedule"}]})
    )
    made.put_node(node("b", 4, labels={"disk": "hdd"}))
    made.put_node(node("c", 4, labels={"disk": "ssd", "zone": "1"}))
    rule = {"key": "zone", "operator": "In", "values": ["2"]}
    affinity = {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [{"matchExpressions": [rule]}]
            }
        }
    }
    spec = {"nodeSelector": {"disk": "ssd"}, "affinity": affinity}
    needs = {"cpu": 1000}
    wanted = Wanted(PodSet("main", 1, needs, needs, spec, topology=None), 1, "tas")

    assert answer(made, wanted) == (
        'topology "tree" doesn\'t allow to fit any of 1 pod(s). Total nodes: 3; excluded: '
        'affinity: 1, nodeSelector: 1, taint "gpu=x:NoSchedule": 1'
    )
