"""Nodes that pods would rather have: they come before larger ones, and never keep anybody out."""

from typing import Any

import pytest

from fleetqueue.queueing.model import Flavor
from fleetqueue.queueing.settings import Settings
from fleetqueue.queueing.topology.state import Topologies, Wanted
from fleetqueue.queueing.workload import PodSet, TopologyRequest

pytestmark = pytest.mark.rule("kueue 8.4")

HOST = "kubernetes.io/hostname"
RACK = "example.com/rack"
LIKES = "preferredDuringSchedulingIgnoredDuringExecution"


def preferring(**weights: int) -> dict[str, Any]:
    """A pod spec that likes nodes with a disk of some kind."""
    terms = [
        {
            "weight": weight,
            "preference": {
                "matchExpressions": [{"key": "disk", "operator": "In", "values": [kind]}]
            },
        }
        for kind, weight in weights.items()
    ]
    return {"affinity": {"nodeAffinity": {LIKES: terms}}}


def topologies(
    nodes: dict[str, tuple[int, str]], levels: list[str], *, honors: bool = True
) -> Topologies:
    """Hosts by rack, with the pods that fit and the kind of disk."""
    made = Topologies(Settings(honors_preferred_affinity=honors))
    made.put_topology("tree", levels)
    made.put_flavor(Flavor("tas", {}, topology="tree"))
    for path, (cpu, disk) in nodes.items():
        rack, host = path.split("/")
        status = {
            "conditions": [{"type": "Ready", "status": "True"}],
            "allocatable": {"cpu": str(cpu), "pods": "110"},
        }
        labels = {RACK: rack, HOST: host, "disk": disk}
        made.put_node({"metadata": {"name": host, "labels": labels}, "status": status})
    return made


def pods(count: int, spec: dict[str, Any], **request: Any) -> Wanted:
    needs = {"cpu": 1000}
    made = PodSet("main", count, needs, needs, spec, topology=TopologyRequest(**request))
    return Wanted(made, count, "tas")


def answer(made: Topologies, wanted: Wanted) -> str:
    found = made.find([wanted])
    if found.failed:
        return found.why
    domains = found.found["main"].domains
    return " ".join(f"{'/'.join(each.values)}:{each.count}" for each in domains)


NODES = {"r1/a": (4, "slow"), "r1/b": (2, "slow"), "r2/c": (3, "fast"), "r2/d": (8, "none")}
FAST = preferring(fast=10, slow=1)
# fmt: off
LIKED = {
    "the liked one before one that is just large enough": (
        pods(2, FAST, required=HOST), "c:2", "b:2"),
    "of those that are large enough the liked one": (pods(4, FAST, required=HOST), "a:4", "a:4"),
    "a liking never keeps out": (pods(8, FAST, required=HOST), "d:8", "d:8"),
    "unconstrained": (pods(2, FAST), "c:2", "b:2"),
    "several, the liked ones first": (
        pods(12, FAST, preferred=HOST), "a:4 b:2 c:3 d:3", "a:4 d:8"),
    "racks by the sum of their hosts": (pods(3, FAST, required=RACK), "c:3", "a:3"),
    "without a liking as ever": (pods(2, {}, required=HOST), "b:2", "b:2"),
}
# fmt: on


@pytest.mark.parametrize(("wanted", "liked", "plain"), LIKED.values(), ids=LIKED.keys())
def test_what_is_liked_comes_first(wanted: Wanted, liked: str, plain: str) -> None:
    assert answer(topologies(NODES, [RACK, HOST]), wanted) == liked
    assert answer(topologies(NODES, [RACK, HOST], honors=False), wanted) == plain


def test_how_many_fit_is_told_of_the_largest_not_of_the_liked() -> None:
    made = topologies(NODES, [RACK, HOST])
    assert answer(made, pods(9, FAST, required=HOST)) == (
        'topology "tree" allows to fit only 8 out of 9 pod(s)'
    )


def test_a_full_host_is_not_liked() -> None:
    nodes = {"r1/a": (2, "slow"), "r1/b": (0, "fast"), "r2/c": (4, "slow"), "r2/d": (4, "slow")}
    made = topologies(nodes, [RACK, HOST])
    assert answer(made, pods(2, FAST, required=RACK)) == "c:2"


def test_likings_are_about_hosts() -> None:
    made = topologies(NODES, [RACK])
    assert answer(made, pods(3, FAST, required=RACK)) == "r1:3"
