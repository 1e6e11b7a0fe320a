"""Rules about nodes that nobody can follow: pods that have such rules get no place."""

from typing import Any

import pytest

from fleetqueue.queueing.model import Flavor
from fleetqueue.queueing.topology.state import Topologies, Wanted
from fleetqueue.queueing.workload import PodSet

pytestmark = pytest.mark.rule("kueue 8.5")

HOST, RACK = "kubernetes.io/hostname", "example.com/rack"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def topologies(*levels: str) -> Topologies:
    made = Topologies()
    made.put_topology("tree", levels)
    made.put_flavor(Flavor("tas", {}, topology="tree"))
    for name in ("a", "b"):
        made.put_node(
            {
                "metadata": {"name": name, "labels": {HOST: name, RACK: "r", "zone": "1"}},
                "status": {
                    "conditions": [{"type": "Ready", "status": "True"}],
                    "allocatable": {"cpu": "2", "pods": "9"},
                },
            }
        )
    return made


def pods(spec: dict[str, Any], **selector: str) -> Wanted:
    """`selector`: what checks add."""
    needs = {"cpu": 1000}
    return Wanted(PodSet("main", 1, needs, needs, spec), 1, "tas", node_selector=selector)


def liking(**rule: Any) -> dict[str, Any]:
    terms = {"nodeSelectorTerms": [{"matchExpressions": [{"key": "zone", **rule}]}]}
    return {"affinity": {"nodeAffinity": {REQUIRED: terms}}}


CONFLICT = (
    "invalid podSetUpdate for PodSet main, error: invalid admission check PodSetUpdate: "
    "conflict for nodeSelector: conflict for key=zone, value1=1, value2=2"
)
CASES = {
    "a check that agrees": (pods({"nodeSelector": {"zone": "1"}}, zone="1"), ""),
    "a check that adds": (pods({"nodeSelector": {HOST: "a"}}, zone="1"), ""),
    "a check that disagrees": (pods({"nodeSelector": {"zone": "1"}}, zone="2"), CONFLICT),
    "no label can be that": (
        pods({"nodeSelector": {"zone": "x y"}}), "invalid node selectors: "),
    "a number that is none": (
        pods(liking(operator="Gt")), "invalid affinity node selectors: "),
    "nobody knows how": (
        pods(liking(operator="Near", values=["1"])), "invalid affinity node selectors: "),
    "a rule that is good": (pods(liking(operator="In", values=["1"])), ""),
}  # fmt: skip


@pytest.mark.parametrize(("wanted", "why"), CASES.values(), ids=CASES)
def test_rules_about_hosts(wanted: Wanted, why: str) -> None:
    found = topologies(RACK, HOST).find([wanted])
    assert found.why.startswith(why)
    assert bool(found.failed) is bool(why)


def test_where_hosts_do_not_matter_only_checks_can_be_wrong() -> None:
    made = topologies(RACK)
    assert not made.find([pods({"nodeSelector": {"zone": "x y"}})]).failed
    assert made.find([pods({"nodeSelector": {"zone": "1"}}, zone="2")]).why == CONFLICT
