"""What a MemberCluster needs on the hub, and what is known of it: the objects that its agent works
through, and the status that follows from what the agents report.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from fleetqueue.api.fleet import labels, naming
from fleetqueue.api.fleet.cluster import AgentType, ClusterState
from fleetqueue.api.fleet.conditions import MemberCondition, MemberReason
from fleetqueue.fleet.decide import conditions
from fleetqueue.fleet.decide.conditions import FALSE, TRUE, UNKNOWN

Json = dict[str, Any]
RBAC = "rbac.authorization.k8s.io"
MEMBER_AGENTS = (AgentType.MEMBER,)
ALL_AGENTS = (AgentType.MEMBER, AgentType.MULTI_CLUSTER_SERVICE, AgentType.SERVICE_EXPORT_IMPORT)
GROUPS = (
    "cluster.kubernetes-fleet.io",
    "placement.kubernetes-fleet.io",
    "networking.fleet.azure.com",
)
"""In which a member may do everything, inside of its namespace."""
EVENT_VERBS = ("get", "list", "update", "patch", "watch", "create")
RULES: Sequence[Json] = (
    *({"apiGroups": [group], "resources": ["*"], "verbs": ["*"]} for group in GROUPS),
    {"apiGroups": [""], "resources": ["events"], "verbs": list(EVENT_VERBS)},
)
HEARTBEAT_SECONDS = 60
REPORTED = ("agentStatus", "resourceUsage", "properties", "namespaces")
"""What is taken over from the report as it is."""


@dataclass(frozen=True, slots=True)
class Told:
    """An event: its reason, its message, and whether it is a warning."""

    reason: str
    message: str
    is_warning: bool = False


# The objects


def namespace_labels() -> Json:
    return {labels.IS_FLEET_RESOURCE: "true"}


def rules() -> list[Json]:
    return [dict(rule) for rule in RULES]


def subjects(member: Json) -> list[Json]:
    """The identity of the member, as a role binding names it."""
    identity = {name: value for name, value in member["spec"]["identity"].items() if value}
    if identity["kind"] in ("User", "Group"):
        identity.setdefault("apiGroup", RBAC)
    return [identity]


def role_reference(cluster: str) -> Json:
    return {"apiGroup": RBAC, "kind": "Role", "name": naming.member_role(cluster)}


def internal_spec(member: Json, state: str) -> Json:
    period = member["spec"].get("heartbeatPeriodSeconds") or HEARTBEAT_SECONDS
    return {"state": state, "heartbeatPeriodSeconds": period}


def wanted_state(member: Json) -> str:
    is_leaving = member["metadata"].get("deletionTimestamp")
    return ClusterState.LEAVE if is_leaving else ClusterState.JOIN


# The status


def status(
    member: Json, internal: Json | None, expected: Sequence[str], now: datetime
) -> tuple[Json, list[Told]]:
    """The status of a MemberCluster, given the report of its agents, and what is new in it."""
    generation = int(member["metadata"].get("generation") or 0)
    before = member.get("status") or {}
    reported = (internal or {}).get("status") or {}
    became: Json = {name: reported[name] for name in REPORTED if reported.get(name)}
    if agents := reported.get("agentStatus"):
        became["agentStatus"] = [_dated(agent, generation) for agent in agents]
    verdict = joined(member, became.get("agentStatus") or (), expected, now)
    held = list(before.get("conditions") or ())
    is_ready = verdict["status"] != FALSE
    if not is_ready or not member["metadata"].get("deletionTimestamp"):
        held = conditions.put(held, _ready(is_ready, generation, now))
    for each in reported.get("conditions") or ():
        held = conditions.put(held, {**each, "observedGeneration": generation})
    held = conditions.put(held, verdict)
    return {"conditions": held, **became}, news(before.get("conditions") or (), held)


def joined(member: Json, agents: Sequence[Json], expected: Sequence[str], now: datetime) -> Json:
    """Whether all agents that are expected say that they have joined, or that they have left."""
    name = member["metadata"]["name"]
    generation = int(member["metadata"].get("generation") or 0)
    kind = MemberCondition.JOINED

    def unknown(message: str) -> Json:
        reason = MemberReason.JOIN_STATE_UNKNOWN
        return conditions.make(kind, UNKNOWN, reason, message, generation=generation, now=now)

    def incomplete(count: int) -> Json:
        what = "has not reported all the expected agents"
        return unknown(f"Member cluster {name} {what}, expected {len(expected)}, got {count}")

    if len(agents) < len(expected):
        return incomplete(len(agents))
    known = [agent for agent in agents if agent.get("type") in expected]
    said: set[str] = set()
    for agent in known:
        if not (state := conditions.status_of(agent.get("conditions"), kind)):
            what = "has not reported the join condition for agent"
            return unknown(f"Member cluster {name} {what} {agent.get('type')}")
        said.add(state)
    if (count := len({agent.get("type") for agent in known})) < len(expected):
        return incomplete(count)
    if said == {TRUE}:
        reason, message = MemberReason.JOINED, "Member cluster has successfully joined the fleet"
        return conditions.make(kind, TRUE, reason, message, generation=generation, now=now)
    if said == {FALSE}:
        reason, message = MemberReason.LEFT, "Member cluster has left the fleet"
        return conditions.make(kind, FALSE, reason, message, generation=generation, now=now)
    return unknown("Member agents are not in a consistent state")


def has_left(member: Json, status: Json) -> bool:
    """Whether its agents have told so since the MemberCluster was changed last."""
    found = conditions.find(status.get("conditions"), MemberCondition.JOINED)
    generation = member["metadata"].get("generation") or 0
    return (
        found is not None
        and found.get("status") == FALSE
        and found.get("observedGeneration") == generation
    )


def news(before: Sequence[Json], after: Sequence[Json]) -> list[Told]:
    """The events that a change of conditions is worth; none where a status stays the same."""
    found = []
    for type, status, told in _NEWS:
        was, now = (conditions.status_of(each, type) for each in (before, after))
        if was != now == status:
            found.append(told)
    return found


_NEWS: Sequence[tuple[str, str, Told]] = (
    (
        MemberCondition.READY_TO_JOIN,
        TRUE,
        Told(MemberReason.READY_TO_JOIN, "member cluster ready to join"),
    ),
    (MemberCondition.JOINED, TRUE, Told(MemberReason.JOINED, "member cluster joined")),
    # KubeFleet tells of both under the one reason.
    (MemberCondition.JOINED, FALSE, Told(MemberReason.JOINED, "member cluster left")),
    (
        MemberCondition.JOINED,
        UNKNOWN,
        Told(MemberReason.JOIN_STATE_UNKNOWN, "member cluster join state unknown", True),
    ),
)


def _ready(is_ready: bool, generation: int, now: datetime) -> Json:
    return conditions.make(
        MemberCondition.READY_TO_JOIN,
        TRUE if is_ready else FALSE,
        MemberReason.READY_TO_JOIN if is_ready else MemberReason.NOT_READY_TO_JOIN,
        f"Member cluster is {'' if is_ready else 'not '}ready to join the fleet",
        generation=generation,
        now=now,
    )


def _dated(agent: Json, generation: int) -> Json:
    """What an agent says, as of this generation of the MemberCluster."""
    if not agent.get("conditions"):
        return agent
    held = [{**each, "observedGeneration": generation} for each in agent["conditions"]]
    return {**agent, "conditions": held}
