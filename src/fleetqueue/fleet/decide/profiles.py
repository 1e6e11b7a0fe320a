"""What a ClusterProfile says of a member: its version, how to reach it, and whether it is well."""

import base64
from datetime import datetime, timedelta
from typing import Any

from fleetqueue.api.fleet import labels, properties
from fleetqueue.api.fleet.cluster import AgentType
from fleetqueue.api.fleet.conditions import CONTROL_PLANE_HEALTHY, MemberCondition, ProfileReason
from fleetqueue.api.times import parse_time
from fleetqueue.fleet.decide import conditions
from fleetqueue.fleet.decide.conditions import FALSE, TRUE, UNKNOWN

Json = dict[str, Any]
Health = tuple[str, str, str]
"""Status, reason and message."""


def wanted_labels() -> Json:
    return {labels.CLUSTER_MANAGER: labels.CLUSTER_MANAGER_NAME}


def spec(member: Json) -> Json:
    return {
        "displayName": member["metadata"]["name"],
        "clusterManager": {"name": labels.CLUSTER_MANAGER_NAME},
    }


def is_exported(member: Json) -> bool:
    held = (member.get("status") or {}).get("conditions")
    return conditions.status_of(held, MemberCondition.JOINED) == TRUE


def status(profile: Json, member: Json, now: datetime, unhealthy_after: timedelta) -> Json:
    generation = int(profile["metadata"].get("generation") or 0)
    before = profile.get("status") or {}
    told = health(member, now, unhealthy_after)
    made = conditions.make(CONTROL_PLANE_HEALTHY, *told, generation=generation, now=now)
    return {
        **before,
        **_collected(member),
        "conditions": conditions.put(before.get("conditions"), made),
    }


def health(member: Json, now: datetime, unhealthy_after: timedelta) -> Health:
    """By what the agent of the member says, and by when it said so."""
    agent = _agent_of(member)
    if agent is None:
        text = "The Fleet member agent has not reported its status yet"
        return UNKNOWN, ProfileReason.NO_STATUS, text
    found = conditions.find(agent.get("conditions"), MemberCondition.HEALTHY)
    if found is None:
        text = "The Fleet member agent has reported its status, but the health condition is missing"
        return UNKNOWN, ProfileReason.NO_HEALTH, text
    expiry = expires_at(member, unhealthy_after)
    if expiry is None or now >= expiry:
        text = "The Fleet member agent has lost its heartbeat connection to the Fleet hub cluster"
        return FALSE, ProfileReason.HEARTBEAT_LOST, text
    return _HEALTH.get(str(found.get("status")), _HEALTH[UNKNOWN])


_HEALTH: dict[str, Health] = {
    UNKNOWN: (
        UNKNOWN,
        ProfileReason.NO_HEALTH,
        "The Fleet member agent health check result is out of date or unknown",
    ),
    FALSE: (
        FALSE,
        ProfileReason.API_SERVER_UNHEALTHY,
        "The Fleet member agent reports that the API server is unhealthy",
    ),
    TRUE: (
        TRUE,
        ProfileReason.API_SERVER_HEALTHY,
        "The Fleet member agent reports that the API server is healthy",
    ),
}


def expires_at(member: Json, unhealthy_after: timedelta) -> datetime | None:
    """When the last heartbeat will be too old; None where there was none."""
    agent = _agent_of(member)
    heartbeat = agent and agent.get("lastReceivedHeartbeat")
    return parse_time(heartbeat) + unhealthy_after if heartbeat else None


def _agent_of(member: Json) -> Json | None:
    agents = (member.get("status") or {}).get("agentStatus") or ()
    return next((agent for agent in agents if agent.get("type") == AgentType.MEMBER), None)


def _collected(member: Json) -> Json:
    """Version and address, where the properties are current."""
    status = member.get("status") or {}
    kind = MemberCondition.PROPERTY_COLLECTION_SUCCEEDED
    if conditions.status_of(status.get("conditions"), kind) != TRUE:
        return {}
    found: Json = {}
    if version := _value(status, properties.KUBERNETES_VERSION):
        found["version"] = {"kubernetes": version}
    if server := _value(status, properties.ENTRY_POINT):
        cluster = {"server": server}
        if authority := _value(status, properties.CERTIFICATE_AUTHORITY):
            encoded = base64.b64encode(authority.encode()).decode()
            cluster["certificate-authority-data"] = encoded
        found["accessProviders"] = [{"name": labels.CLUSTER_MANAGER_NAME, "cluster": cluster}]
    return found


def _value(status: Json, name: str) -> str:
    entry = (status.get("properties") or {}).get(name) or {}
    return str(entry.get("value") or "")
