"""MemberCluster and InternalMemberCluster: who is in the fleet, how it fares, what it has."""

from enum import StrEnum
from typing import Annotated

from fleetqueue.api.fleet.group import SHORT_NAME, cluster_kind, condition_column
from fleetqueue.api.kinds import AGE, Column, Resource
from fleetqueue.api.markers import Schema, schema
from fleetqueue.api.meta import Condition, Conditions
from fleetqueue.api.model import Model
from fleetqueue.api.scalars import Int32, Quantity, Time


class TaintEffect(StrEnum):
    """What a taint keeps away."""

    NO_SCHEDULE = "NoSchedule"


class DeleteValidationMode(StrEnum):
    """Whether deleting a member is refused while something still depends on it."""

    SKIP = "Skip"
    STRICT = "Strict"


class ClusterState(StrEnum):
    """What the hub wants of a member; the schema leaves the field free."""

    JOIN = "Join"
    LEAVE = "Leave"


class AgentType(StrEnum):
    """The agents that may run on a member; the schema leaves the field free."""

    MEMBER = "MemberAgent"
    MULTI_CLUSTER_SERVICE = "MultiClusterServiceAgent"
    SERVICE_EXPORT_IMPORT = "ServiceExportImportAgent"


HeartbeatPeriod = Annotated[Int32, Schema(default=60, minimum=1, maximum=600)]


@schema(Schema(map_type="atomic"))
class Subject(Model):
    """The identity that a member's agents use towards the hub."""

    kind: str
    name: str
    api_group: str = ""
    namespace: str = ""


class Taint(Model):
    """Keeps placements away that do not tolerate it."""

    key: str
    value: str = ""
    effect: TaintEffect


class DeleteOptions(Model):
    """How a member may be deleted."""

    validation_mode: Annotated[
        DeleteValidationMode, Schema(default=DeleteValidationMode.STRICT)
    ] = DeleteValidationMode.STRICT


class StableMemberClusterSpec(Model):
    """Who the member is and what the hub expects of it, as v1 has it."""

    identity: Subject
    heartbeat_period_seconds: HeartbeatPeriod = 60
    taints: Annotated[list[Taint], Schema(max_items=100)] = []


class MemberClusterSpec(StableMemberClusterSpec):
    """Who the member is and what the hub expects of it."""

    delete_options: DeleteOptions | None = None


class PropertyValue(Model):
    """A fact about a cluster, and when it was seen."""

    value: str
    observation_time: Time


class ResourceUsage(Model):
    """What a cluster has in all, what pods can get, and what is left."""

    capacity: dict[str, Quantity] = {}
    allocatable: dict[str, Quantity] = {}
    available: dict[str, Quantity] = {}
    observation_time: Time | None = None


class AgentStatus(Model):
    """What one agent on the member says of itself."""

    type: str
    conditions: Conditions = []
    last_received_heartbeat: Time | None = None


class StableMemberClusterStatus(Model):
    """What the member reports, as v1 has it."""

    conditions: Conditions = []
    properties: dict[str, PropertyValue] = {}
    resource_usage: ResourceUsage | None = None
    agent_status: list[AgentStatus] = []


class MemberClusterStatus(StableMemberClusterStatus):
    """What the member reports; namespaces map to the AppliedWork that owns them, or to ""."""

    namespaces: dict[str, str] = {}


class InternalMemberClusterSpec(Model):
    """What the hub asks of the member's agent."""

    state: str
    heartbeat_period_seconds: HeartbeatPeriod = 60


class StableInternalMemberClusterStatus(Model):
    """What the agent reports, as v1 has it."""

    conditions: list[Condition] = []
    properties: dict[str, PropertyValue] = {}
    resource_usage: ResourceUsage | None = None
    agent_status: list[AgentStatus] = []


class InternalMemberClusterStatus(StableInternalMemberClusterStatus):
    """What the agent reports; namespaces map to the AppliedWork that owns them, or to ""."""

    namespaces: dict[str, str] = {}


COLUMNS = (
    condition_column("Joined", "Joined"),
    AGE,
    Column(
        "Member-Agent-Last-Seen",
        '.status.agentStatus[?(@.type=="MemberAgent")].lastReceivedHeartbeat',
        "date",
    ),
    Column("Node-Count", r".status.properties.kubernetes-fleet\.io/node-count.value"),
    Column("Available-CPU", ".status.resourceUsage.available.cpu"),
    Column("Available-Memory", ".status.resourceUsage.available.memory"),
    Column("Allocatable-CPU", ".status.resourceUsage.allocatable.cpu", priority=1),
    Column("Allocatable-Memory", ".status.resourceUsage.allocatable.memory", priority=1),
)


@schema(SHORT_NAME)
class MemberCluster(
    Resource,
    kind=cluster_kind(
        "memberclusters", scope="Cluster", short_names=("cluster",), status=True, columns=COLUMNS
    ),
):
    """A cluster of the fleet, as the hub sees it."""

    spec: MemberClusterSpec
    status: MemberClusterStatus | None = None


class InternalMemberCluster(
    Resource,
    kind=cluster_kind("internalmemberclusters", short_names=("imc",), status=True, columns=(AGE,)),
):
    """The side of a MemberCluster that its own agent reads and writes."""

    spec: InternalMemberClusterSpec
    status: InternalMemberClusterStatus | None = None
