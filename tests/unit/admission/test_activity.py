"""Whether a ClusterQueue may admit, and what it says where it may not."""

from typing import Any

import pytest

from fleetqueue.admission.activity import READY, Known, judge
from fleetqueue.queueing.model import CheckRule, ClusterQueue, Flavor, ResourceGroup

pytestmark = pytest.mark.rule("kueue 4.6")

MULTI, PROVISION = "kueue.x-k8s.io/multikueue", "kueue.x-k8s.io/provisioning-request"


def check(controller: str = "x", active: str = "True") -> dict[str, Any]:
    conditions = [{"type": "Active", "status": active}]
    return {"spec": {"controllerName": controller}, "status": {"conditions": conditions}}


KNOWN = Known(
    {"a": Flavor("a"), "b": Flavor("b"), "tas": Flavor("tas", topology="tree")},
    {
        "good": check(),
        "idle": check(active="False"),
        "far": check(MULTI),
        "further": check(MULTI),
        "more": check(PROVISION),
    },
    frozenset(),
)


def queue(*flavors: str, checks: tuple[CheckRule, ...] = (), stop: Any = "None") -> ClusterQueue:
    groups = (ResourceGroup(("cpu",), flavors or ("a",)),)
    return ClusterQueue("q", groups=groups, checks=checks, stop_policy=stop)


def rules(*names: str) -> tuple[CheckRule, ...]:
    return tuple(CheckRule(name) for name in names)


# fmt: off
CASES = {
    "stopped": (queue(stop="Hold"), "Stopped", "is stopped"),
    "flavors, in their order": (
        queue("z", "a", "y"), "FlavorNotFound", "references missing ResourceFlavor(s): z,y"),
    "no such check": (
        queue(checks=rules("no", "also")), "AdmissionCheckNotFound",
        "references missing AdmissionCheck(s): also,no"),
    "a check that sleeps": (
        queue(checks=rules("idle", "good")), "AdmissionCheckInactive",
        "references inactive AdmissionCheck(s): idle"),
    "two ways out": (
        queue(checks=rules("further", "far")), "MultipleMultiKueueAdmissionChecks",
        "Cannot use multiple MultiKueue AdmissionChecks on the same ClusterQueue, "
        "found: far,further"),
    "a way out for some flavors": (
        queue("a", "b", checks=(CheckRule("far", frozenset({"a"})),)),
        "MultiKueueAdmissionCheckAppliedPerFlavor",
        "Cannot specify MultiKueue AdmissionCheck per flavor, found: far"),
    "a way out and more nodes": (
        queue(checks=rules("far", "more")), "MultiKueueWithProvisioningRequest",
        "Cannot use both MultiKueue and ProvisioningRequest AdmissionChecks together, "
        "found: far, more"),
    "no such topology": (
        queue("tas"), "TopologyNotFound", 'there is no Topology "tree" for TAS flavor "tas"'),
}
# fmt: on


@pytest.mark.rule("CQ-1")
@pytest.mark.rule("CQ-2")
@pytest.mark.rule("CQ-3")
@pytest.mark.parametrize(("made", "reason", "part"), CASES.values(), ids=CASES.keys())
def test_what_keeps_a_queue_from_admitting(made: ClusterQueue, reason: str, part: str) -> None:
    found = judge(made, KNOWN)

    assert (found.is_active, found.reason) == (False, reason)
    assert found.message == f"Can't admit new workloads: {part}."


def test_the_first_reason_counts_and_all_are_told() -> None:
    found = judge(queue("z", stop="Hold"), KNOWN)

    assert found.reason == "Stopped"
    parts = "is stopped, references missing ResourceFlavor(s): z"
    assert found.message == f"Can't admit new workloads: {parts}."


@pytest.mark.rule("CQ-2")
def test_a_way_out_for_all_flavors_by_name_is_one_for_all() -> None:
    assert judge(queue("a", "b", checks=(CheckRule("far", frozenset({"a", "b"})),)), KNOWN) == READY


@pytest.mark.rule("CQ-5")
def test_a_topology_that_nobody_needs_is_told_of_beside_other_reasons() -> None:
    found = judge(queue("tas", checks=rules("far"), stop="Hold"), KNOWN)
    assert found.reason == "Stopped"
    assert 'there is no Topology "tree"' in found.message


@pytest.mark.rule("CQ-4")
def test_other_checks_may_come_beside_a_way_out() -> None:
    assert judge(queue("a", checks=rules("far", "good")), KNOWN) == READY


@pytest.mark.rule("CQ-5")
def test_nothing_wrong_is_ready_and_a_way_out_needs_no_topology() -> None:
    assert judge(queue("a", "b", checks=rules("good")), KNOWN) == READY
    assert judge(queue("tas", checks=rules("far")), KNOWN) == READY
