"""What an agent writes about itself and its cluster."""

from datetime import UTC, datetime
from typing import Any

import pytest

from fleetqueue.fleet.decide import agent, conditions
from fleetqueue.fleet.decide.agent import Report
from fleetqueue.fleet.decide.properties import Collected, Remark

Json = dict[str, Any]
NOW = datetime(2026, 1, 1, tzinfo=UTC)
AT = "2026-01-01T00:00:00Z"


def internal(**status: Any) -> Json:
    return {"metadata": {"name": "m", "generation": 3}, "spec": {}, "status": status}


@pytest.mark.rule("IMC-3")
def test_the_entry_of_the_agent_has_its_type_and_generation() -> None:
    status, told = agent.status(internal(), Report([agent.health(200), agent.JOINED]), NOW)

    (own,) = status["agentStatus"]
    assert own["type"] == "MemberAgent"
    assert own["lastReceivedHeartbeat"] == AT
    assert [(e["type"], e["status"], e["reason"], e["message"]) for e in own["conditions"]] == [
        ("Healthy", "True", "InternalMemberClusterHealthy", ""),
        ("Joined", "True", "InternalMemberClusterJoined", ""),
    ]
    assert {each["observedGeneration"] for each in own["conditions"]} == {3}
    assert [(each.reason, each.message, each.is_warning) for each in told] == [
        ("InternalMemberClusterHealthy", "internal member cluster healthy", False),
        ("InternalMemberClusterJoined", "internal member cluster joined", False),
    ]


@pytest.mark.rule("IMC-3")
def test_events_tell_of_changes_only() -> None:
    report = Report([agent.health(200), agent.JOINED])
    status, _ = agent.status(internal(), report, NOW)

    again, told = agent.status(internal(**status), report, NOW.replace(minute=1))

    assert told == []
    held = again["agentStatus"][0]["conditions"]
    assert {each["lastTransitionTime"] for each in held} == {AT}


VERDICTS = {
    "unhealthy": (agent.health(500), "False", "InternalMemberClusterUnhealthy",
                  "health probe failed with status code 500",
                  ("internal member cluster unhealthy", True)),
    "left": (agent.LEFT, "False", "InternalMemberClusterLeft", "",
             ("internal member cluster left", False)),
    "cannot join": (agent.failed_to_join("why"), "Unknown", "InternalMemberClusterFailedToJoin",
                    "why", ("internal member cluster failed to join", False)),
    "cannot leave": (agent.failed_to_leave("why"), "Unknown", "InternalMemberClusterFailedToLeave",
                     "why", ("internal member cluster failed to leave", False)),
}  # fmt: skip


@pytest.mark.rule("IMC-1", "IMC-2", "IMC-3")
@pytest.mark.parametrize("case", VERDICTS.values(), ids=VERDICTS.keys())
def test_what_is_said_when_things_go_otherwise(case: Any) -> None:
    verdict, status, reason, message, event = case

    became, told = agent.status(internal(), Report([verdict]), NOW)

    (held,) = became["agentStatus"][0]["conditions"]
    assert (held["status"], held["reason"], held["message"]) == (status, reason, message)
    assert [(each.message, each.is_warning) for each in told] == [event]
    assert told[0].reason == reason


def test_other_agents_are_left_alone() -> None:
    other = {"type": "ServiceExportImportAgent", "conditions": []}

    status, _ = agent.status(internal(agentStatus=[other]), Report([agent.JOINED]), NOW)

    assert [each["type"] for each in status["agentStatus"]] == [other["type"], "MemberAgent"]
    assert status["agentStatus"][0] == other


COLLECTED = Collected(
    {"a": "1"}, {"capacity": {"cpu": "2"}, "available": {"cpu": "1"}}, namespaces={"n": "w"}
)


@pytest.mark.rule("PROP-1")
def test_properties_carry_the_time_of_their_observation() -> None:
    status, _ = agent.status(internal(), Report([], collected=COLLECTED), NOW)

    assert status["properties"] == {"a": {"value": "1", "observationTime": AT}}
    assert status["resourceUsage"] == {
        "capacity": {"cpu": "2"},
        "available": {"cpu": "1"},
        "observationTime": AT,
    }
    assert status["namespaces"] == {"n": "w"}
    assert agent.says_same(status, COLLECTED)
    assert not agent.says_same(status, Collected({"a": "2"}, COLLECTED.usage))
    assert not agent.says_same(status, Collected({"a": "1"}, {}))
    assert not agent.says_same(status, Collected({"a": "1"}, COLLECTED.usage, namespaces={}))


@pytest.mark.rule("PROP-1")
def test_what_could_not_be_collected_stays_as_it_was() -> None:
    status, _ = agent.status(internal(), Report([], collected=COLLECTED), NOW)

    again, _ = agent.status(internal(**status), Report([]), NOW.replace(hour=1))

    assert again["properties"] == status["properties"]
    assert again["resourceUsage"] == status["resourceUsage"]


REMARKS = {
    "started": (agent.STARTED, "ClusterPropertyProviderStarted", "True", "Started",
                "The property provider has started successfully"),
    "starts too slowly": (agent.START_TIMED_OUT, "ClusterPropertyProviderStarted", "False",
                          "TimedOut", "The property provider does not start up in time"),
    "does not start": (agent.failed_to_start("no key"), "ClusterPropertyProviderStarted", "False",
                       "FailedToStart", "Failed to start the property provider: no key"),
    "collected": (agent.COLLECTED, "ClusterPropertyCollectionSucceeded", "True",
                  "PropertiesCollected",
                  "The property provider has returned the latest cluster properties"),
    "too slow": (agent.COLLECTION_TIMED_OUT, "ClusterPropertyCollectionSucceeded", "False",
                 "TimedOut", "The property provider does not respond in time"),
    "too many": (agent.TOO_MANY_CALLS, "ClusterPropertyCollectionSucceeded", "False",
                 "TooManyCalls", "There are too many on-going calls to the property provider; "
                 "will retry if some calls return"),
}  # fmt: skip


@pytest.mark.rule("PROP-3")
@pytest.mark.parametrize("case", REMARKS.values(), ids=REMARKS.keys())
def test_what_is_said_of_providers(case: tuple[Remark, str, str, str, str]) -> None:
    remark, type, status, reason, message = case

    became, _ = agent.status(internal(), Report([], [remark]), NOW)

    held = conditions.find(became["conditions"], type)
    assert held is not None
    assert (held["status"], held["reason"], held["message"]) == (status, reason, message)
    assert held["observedGeneration"] == 3
