"""What the reports of agents make of a MemberCluster."""

from datetime import UTC, datetime
from typing import Any

import pytest

from fleetqueue.fleet.decide import membership

Json = dict[str, Any]
NOW = datetime(2026, 1, 1, tzinfo=UTC)
EARLIER = "2025-12-31T00:00:00Z"
ONE, TWO = "MemberAgent", "MultiClusterServiceAgent"


def member(**status: Any) -> Json:
    return {"metadata": {"name": "m", "generation": 7}, "spec": {}, "status": status}


def agent(type: str, joined: str) -> Json:
    held = [{"type": "Joined", "status": joined, "reason": "r", "observedGeneration": 1}]
    return {"type": type, "conditions": held if joined else []}


INCOMPLETE = "Member cluster m has not reported all the expected agents, expected 2, got"
SILENT = "Member cluster m has not reported the join condition for agent"
# fmt: off
VERDICTS: dict[str, tuple[list[Json], str, str]] = {
    "nobody said anything": ([], "Unknown", f"{INCOMPLETE} 0"),
    "one is missing": ([agent(ONE, "True")], "Unknown", f"{INCOMPLETE} 1"),
    "one is missing, and the other has not said whether": (
        [agent(ONE, "")], "Unknown", f"{INCOMPLETE} 1"),
    "another one does not count": (
        [agent(ONE, "True"), agent("Stranger", "True")], "Unknown", f"{INCOMPLETE} 1"),
    "one has not said whether": (
        [agent(ONE, "True"), agent(TWO, "")], "Unknown", f"{SILENT} {TWO}"),
    "all joined": (
        [agent(ONE, "True"), agent(TWO, "True")],
        "True", "Member cluster has successfully joined the fleet"),
    "all left": (
        [agent(ONE, "False"), agent(TWO, "False")], "False", "Member cluster has left the fleet"),
    "they differ": (
        [agent(ONE, "True"), agent(TWO, "False")],
        "Unknown", "Member agents are not in a consistent state"),
    "one does not know": (
        [agent(ONE, "True"), agent(TWO, "Unknown")],
        "Unknown", "Member agents are not in a consistent state"),
}
# fmt: on


@pytest.mark.rule("MC-7", "MC-8")
@pytest.mark.parametrize(("agents", "status", "message"), VERDICTS.values(), ids=VERDICTS.keys())
def test_whether_a_member_has_joined(agents: list[Json], status: str, message: str) -> None:
    found = membership.joined(member(), agents, (ONE, TWO), NOW)

    assert (found["status"], found["message"]) == (status, message)
    reasons = {"True": "MemberClusterJoined", "False": "MemberClusterLeft"}
    assert found["reason"] == reasons.get(status, "MemberClusterJoinStateUnknown")
    assert found["observedGeneration"] == 7


@pytest.mark.rule("MC-6")
def test_the_report_is_taken_over_as_of_the_members_generation() -> None:
    seen = {"value": "3", "observationTime": EARLIER}
    own = {"type": "Own", "status": "True", "reason": "r", "lastTransitionTime": EARLIER}
    report = {
        "agentStatus": [agent(ONE, "True") | {"lastReceivedHeartbeat": EARLIER}],
        "properties": {"kubernetes-fleet.io/node-count": seen},
        "resourceUsage": {"capacity": {"cpu": "1"}},
        "namespaces": {"default": ""},
        "conditions": [{**own, "observedGeneration": 1}],
    }

    status, _ = membership.status(member(), {"status": report}, (ONE,), NOW)

    for name in ("properties", "resourceUsage", "namespaces"):
        assert status[name] == report[name]
    assert status["agentStatus"][0]["lastReceivedHeartbeat"] == EARLIER
    assert status["agentStatus"][0]["conditions"][0]["observedGeneration"] == 7
    assert [each["type"] for each in status["conditions"]] == ["ReadyToJoin", "Own", "Joined"]
    assert status["conditions"][1] == {**own, "observedGeneration": 7}


@pytest.mark.rule("MC-6")
def test_a_status_that_says_nothing_new_stays_the_same() -> None:
    internal = {"status": {"agentStatus": [agent(ONE, "True")]}}
    status, told = membership.status(member(), internal, (ONE,), NOW)
    later = NOW.replace(hour=1)

    again, told_again = membership.status(member(**status), internal, (ONE,), later)

    assert again == status
    assert [each.message for each in told] == [
        "member cluster ready to join",
        "member cluster joined",
    ]
    assert told_again == []


@pytest.mark.rule("MC-8")
def test_a_member_that_left_is_not_ready_to_join() -> None:
    internal = {"status": {"agentStatus": [agent(ONE, "False")]}}

    status, told = membership.status(member(), internal, (ONE,), NOW)
    again, _ = membership.status(member(**status), internal, (ONE,), NOW.replace(hour=1))

    ready = status["conditions"][0]
    assert (ready["status"], ready["reason"]) == ("False", "MemberClusterNotReadyToJoin")
    assert ready["message"] == "Member cluster is not ready to join the fleet"
    assert [(each.reason, each.message) for each in told] == [
        ("MemberClusterJoined", "member cluster left")
    ]
    assert again == status


@pytest.mark.rule("MC-10")
@pytest.mark.parametrize(("status", "generation", "left"), [
    ("False", 7, True), ("False", 6, False), ("True", 7, False),
])  # fmt: skip
def test_only_what_was_told_since_the_last_change_counts(
    status: str, generation: int, left: bool
) -> None:
    held = {"type": "Joined", "status": status, "observedGeneration": generation}

    assert membership.has_left(member(), {"conditions": [held]}) is left


@pytest.mark.rule("MC-4")
@pytest.mark.parametrize(("identity", "subject"), [
    ({"kind": "User", "name": "u"},
     {"kind": "User", "name": "u", "apiGroup": "rbac.authorization.k8s.io"}),
    ({"kind": "Group", "name": "g", "apiGroup": "example.org"},
     {"kind": "Group", "name": "g", "apiGroup": "example.org"}),
    ({"kind": "ServiceAccount", "name": "s", "namespace": "n", "apiGroup": ""},
     {"kind": "ServiceAccount", "name": "s", "namespace": "n"}),
])  # fmt: skip
def test_who_may_act_for_the_member(identity: Json, subject: Json) -> None:
    assert membership.subjects({"spec": {"identity": identity}}) == [subject]
