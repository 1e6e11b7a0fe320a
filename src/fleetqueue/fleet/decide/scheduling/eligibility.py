"""Whether a member is there at all: joined, heard of lately, and not ill for long."""

from datetime import datetime, timedelta
from typing import Any

from fleetqueue.api.fleet.conditions import MemberCondition
from fleetqueue.api.times import parse_time
from fleetqueue.fleet.decide import conditions

Json = dict[str, Any]
HEARTBEAT_WITHIN = timedelta(minutes=5)
ILL_FOR_AT_MOST = timedelta(minutes=5)
_AGENT = "MemberAgent"
_UNCONNECTED = "cluster is not connected to the fleet: "


def problem(cluster: Json, now: datetime) -> str:
    """Why nothing new is placed there; "" where it may be."""
    if cluster["metadata"].get("deletionTimestamp"):
        return "cluster has left the fleet"
    agent = _agent(cluster)
    if agent is None:
        return f"{_UNCONNECTED}member agent not online yet"
    silence = now - _time(agent.get("lastReceivedHeartbeat"))
    if silence > HEARTBEAT_WITHIN:
        ago = f"last received {_minutes(silence)} minutes ago"
        return f"{_UNCONNECTED}no recent heartbeat signals ({ago})"
    said = agent.get("conditions")
    if conditions.status_of(said, MemberCondition.JOINED) != conditions.TRUE:
        return f"{_UNCONNECTED}member agent not joined yet"
    return _illness(conditions.find(said, MemberCondition.HEALTHY), now)


def _illness(healthy: Json | None, now: datetime) -> str:
    if healthy is None:
        return f"{_UNCONNECTED}health condition from member agent is not available"
    lasting = now - _time(healthy.get("lastTransitionTime"))
    if healthy.get("status") == conditions.TRUE or lasting <= ILL_FOR_AT_MOST:
        return ""
    ago = f"last transitioned {_minutes(lasting)} minutes ago"
    return f"{_UNCONNECTED}unhealthy for a prolonged period of time ({ago})"


def _agent(cluster: Json) -> Json | None:
    agents = (cluster.get("status") or {}).get("agentStatus") or ()
    return next((each for each in agents if each.get("type") == _AGENT), None)


_NEVER = parse_time("0001-01-01T00:00:00Z")


def _time(text: str | None) -> datetime:
    return parse_time(text) if text else _NEVER


def _minutes(span: timedelta) -> str:
    return f"{span.total_seconds() / 60:.2f}"
