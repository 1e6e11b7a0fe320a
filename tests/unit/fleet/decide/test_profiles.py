"""What the inventory says of a member."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from fleetqueue.fleet.decide import profiles

Json = dict[str, Any]
NOW = datetime(2026, 1, 1, 0, 1, 0, tzinfo=UTC)
THRESHOLD = timedelta(seconds=60)
FRESH, OLD = "2026-01-01T00:00:01Z", "2026-01-01T00:00:00Z"


def member(*, agent: Json | None = None, collected: str = "", **properties: str) -> Json:
    held = [{"type": "ClusterPropertyCollectionSucceeded", "status": collected}]
    return {
        "metadata": {"name": "m"},
        "status": {
            "agentStatus": [] if agent is None else [{"type": "MemberAgent", **agent}],
            "conditions": held if collected else [],
            "properties": {
                f"k8s.io/{name.replace('_', '-')}": {"value": value}
                for name, value in properties.items()
            },
        },
    }


def agent(health: str, heartbeat: str = FRESH) -> Json:
    held = [{"type": "Healthy", "status": health}] if health else []
    return {"conditions": held, "lastReceivedHeartbeat": heartbeat}


WELL = "The Fleet member agent"
# fmt: off
HEALTH: dict[str, tuple[Json | None, str, str, str]] = {
    "no agent": (
        None, "Unknown", "MemberAgentReportedNoStatus", f"{WELL} has not reported its status yet"),
    "no health": (
        agent(""), "Unknown", "MemberAgentReportedNoHealthInfo",
        f"{WELL} has reported its status, but the health condition is missing"),
    "no heartbeat for long": (
        agent("True", OLD), "False", "MemberAgentHeartbeatLost",
        f"{WELL} has lost its heartbeat connection to the Fleet hub cluster"),
    "unknown": (
        agent("Unknown"), "Unknown", "MemberAgentReportedNoHealthInfo",
        f"{WELL} health check result is out of date or unknown"),
    "unhealthy": (
        agent("False"), "False", "MemberClusterAPIServerUnhealthy",
        f"{WELL} reports that the API server is unhealthy"),
    "healthy": (
        agent("True"), "True", "MemberClusterAPIServerHealthy",
        f"{WELL} reports that the API server is healthy"),
}
# fmt: on


@pytest.mark.rule("CP-3")
@pytest.mark.parametrize("case", HEALTH.values(), ids=HEALTH.keys())
def test_whether_the_control_plane_is_healthy(case: Any) -> None:
    told, *expected = case

    assert list(profiles.health(member(agent=told), NOW, THRESHOLD)) == expected


KNOWN = {
    "k8s_version": "v1.34.4",
    "cluster_entrypoint": "https://m:6443",
    "cluster_certificate_authority_data": "PEM",
}
PROFILE: Json = {"metadata": {"generation": 2}}


@pytest.mark.rule("CP-2")
def test_version_and_address_come_from_the_properties() -> None:
    found = profiles.status(PROFILE, member(collected="True", **KNOWN), NOW, THRESHOLD)

    assert found["version"] == {"kubernetes": "v1.34.4"}
    cluster = {"server": "https://m:6443", "certificate-authority-data": "UEVN"}
    assert found["accessProviders"] == [{"name": "KubeFleet", "cluster": cluster}]


@pytest.mark.rule("CP-2")
@pytest.mark.parametrize("collected", ["", "False"])
def test_properties_that_are_not_current_are_not_told(collected: str) -> None:
    found = profiles.status(PROFILE, member(collected=collected, **KNOWN), NOW, THRESHOLD)

    assert list(found) == ["conditions"]
