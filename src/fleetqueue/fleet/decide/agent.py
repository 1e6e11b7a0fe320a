"""What the agent of a member says of itself and of its cluster, on the InternalMemberCluster."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from fleetqueue.api.fleet.cluster import AgentType
from fleetqueue.api.fleet.conditions import AgentReason, MemberCondition, PropertyReason
from fleetqueue.api.times import format_time
from fleetqueue.fleet.decide import conditions
from fleetqueue.fleet.decide.conditions import FALSE, TRUE, UNKNOWN
from fleetqueue.fleet.decide.membership import Told
from fleetqueue.fleet.decide.properties import Collected, Remark

Json = dict[str, Any]
READY = 200


@dataclass(frozen=True, slots=True)
class Verdict:
    """A condition of the agent, and the event that tells of it where it is new."""

    type: str
    status: str
    reason: str
    message: str
    told: Told


def health(status_code: int) -> Verdict:
    """By what the member's API server answers when it is asked whether it is ready."""
    kind = MemberCondition.HEALTHY
    if status_code == READY:
        reason, text = AgentReason.HEALTHY, "internal member cluster healthy"
        return Verdict(kind, TRUE, reason, "", Told(reason, text))
    reason, text = AgentReason.UNHEALTHY, "internal member cluster unhealthy"
    message = f"health probe failed with status code {status_code}"
    return Verdict(kind, FALSE, reason, message, Told(reason, text, is_warning=True))


def _membership(status: str, reason: AgentReason, message: str, text: str) -> Verdict:
    told = Told(reason, f"internal member cluster {text}")
    return Verdict(MemberCondition.JOINED, status, reason, message, told)


JOINED = _membership(TRUE, AgentReason.JOINED, "", "joined")
LEFT = _membership(FALSE, AgentReason.LEFT, "", "left")


def failed_to_join(error: str) -> Verdict:
    return _membership(UNKNOWN, AgentReason.FAILED_TO_JOIN, error, "failed to join")


def failed_to_leave(error: str) -> Verdict:
    return _membership(UNKNOWN, AgentReason.FAILED_TO_LEAVE, error, "failed to leave")


# What providers do

STARTED = Remark(
    MemberCondition.PROPERTY_PROVIDER_STARTED,
    True,
    PropertyReason.STARTED,
    "The property provider has started successfully",
)
START_TIMED_OUT = Remark(
    MemberCondition.PROPERTY_PROVIDER_STARTED,
    False,
    PropertyReason.TIMED_OUT,
    "The property provider does not start up in time",
)
COLLECTED = Remark(
    MemberCondition.PROPERTY_COLLECTION_SUCCEEDED,
    True,
    PropertyReason.COLLECTED,
    "The property provider has returned the latest cluster properties",
)
COLLECTION_TIMED_OUT = Remark(
    MemberCondition.PROPERTY_COLLECTION_SUCCEEDED,
    False,
    PropertyReason.TIMED_OUT,
    "The property provider does not respond in time",
)
TOO_MANY_CALLS = Remark(
    MemberCondition.PROPERTY_COLLECTION_SUCCEEDED,
    False,
    PropertyReason.TOO_MANY_CALLS,
    "There are too many on-going calls to the property provider; will retry if some calls return",
)


def failed_to_start(error: str) -> Remark:
    return Remark(
        MemberCondition.PROPERTY_PROVIDER_STARTED,
        False,
        PropertyReason.FAILED_TO_START,
        f"Failed to start the property provider: {error}",
    )


# The status


@dataclass(frozen=True, slots=True)
class Report:
    """One look of the agent at itself and at its cluster."""

    verdicts: Sequence[Verdict]
    remarks: Sequence[Remark] = ()
    """In the order in which they are told."""
    collected: Collected | None = None
    """None: nothing new is known, what was told before stays."""
    has_heartbeat: bool = True


def status(internal: Json, report: Report, now: datetime) -> tuple[Json, list[Told]]:
    """The status of the InternalMemberCluster after that look, and what is new in it."""
    generation = int(internal["metadata"].get("generation") or 0)
    before = internal.get("status") or {}
    agents = [dict(agent) for agent in before.get("agentStatus") or ()]
    own = next((agent for agent in agents if agent.get("type") == AgentType.MEMBER), None)
    if own is None:
        own = {"type": str(AgentType.MEMBER)}
        agents.append(own)
    if report.has_heartbeat:
        own["lastReceivedHeartbeat"] = format_time(now)
    was = own.get("conditions") or []
    own["conditions"] = _with_verdicts(was, report.verdicts, generation, now)
    became = {**before, "agentStatus": agents}
    if held := _with_remarks(before.get("conditions") or [], report.remarks, generation, now):
        became["conditions"] = held
    if report.collected is not None:
        became |= described(before, report.collected, now)
    told = [each.told for each in report.verdicts if _is_new(was, each.type, each.status)]
    return became, told


def described(before: Json, collected: Collected, now: datetime) -> Json:
    at = format_time(now)
    values = {
        name: {"value": value, "observationTime": at} for name, value in collected.values.items()
    }
    found: Json = {"properties": values}
    if collected.usage:
        found["resourceUsage"] = {**_plain(collected.usage), "observationTime": at}
    if collected.namespaces is not None:
        found["namespaces"] = dict(collected.namespaces)
    return found


def says_same(status: Json, collected: Collected) -> bool:
    """Whether the status tells just that already, whenever it was observed."""
    known = status.get("properties") or {}
    values = {name: entry.get("value") for name, entry in known.items()}
    usage = dict(status.get("resourceUsage") or {})
    usage.pop("observationTime", None)
    spaces = status.get("namespaces") or {}
    return (
        values == dict(collected.values)
        and usage == _plain(collected.usage)
        and (collected.namespaces is None or spaces == dict(collected.namespaces))
    )


def _plain(usage: Mapping[str, Mapping[str, str]]) -> Json:
    return {name: dict(amounts) for name, amounts in usage.items()}


def _with_verdicts(
    held: Sequence[Json], verdicts: Sequence[Verdict], generation: int, now: datetime
) -> list[Json]:
    found = list(held)
    for each in verdicts:
        made = conditions.make(
            each.type, each.status, each.reason, each.message, generation=generation, now=now
        )
        found = conditions.put(found, made)
    return found


def _with_remarks(
    held: Sequence[Json], remarks: Sequence[Remark], generation: int, now: datetime
) -> list[Json]:
    found = list(held)
    for each in remarks:
        status = TRUE if each.is_true else FALSE
        made = conditions.make(
            each.type, status, each.reason, each.message, generation=generation, now=now
        )
        found = conditions.put(found, made)
    return found


def _is_new(held: Sequence[Json], type: str, status: str) -> bool:
    return conditions.status_of(held, type) != status
