"""The types and reasons of KubeFleet's conditions about membership, properties and placement."""

from enum import StrEnum


class MemberCondition(StrEnum):
    """Conditions of a MemberCluster and of the agents on it."""

    READY_TO_JOIN = "ReadyToJoin"
    JOINED = "Joined"
    HEALTHY = "Healthy"
    PROPERTY_PROVIDER_STARTED = "ClusterPropertyProviderStarted"
    PROPERTY_COLLECTION_SUCCEEDED = "ClusterPropertyCollectionSucceeded"
    COST_COLLECTION_SUCCEEDED = "AKSClusterCostPropertiesCollectionSucceeded"
    NAMESPACE_COLLECTION_SUCCEEDED = "NamespaceCollectionSucceeded"


class MemberReason(StrEnum):
    """Why a MemberCluster is as it is; also the reasons of its events."""

    READY_TO_JOIN = "MemberClusterReadyToJoin"
    NOT_READY_TO_JOIN = "MemberClusterNotReadyToJoin"
    JOINED = "MemberClusterJoined"
    LEFT = "MemberClusterLeft"
    JOIN_STATE_UNKNOWN = "MemberClusterJoinStateUnknown"


class AgentReason(StrEnum):
    """Why an agent on a member is as it is; also the reasons of its events."""

    HEALTHY = "InternalMemberClusterHealthy"
    UNHEALTHY = "InternalMemberClusterUnhealthy"
    JOINED = "InternalMemberClusterJoined"
    LEFT = "InternalMemberClusterLeft"
    FAILED_TO_JOIN = "InternalMemberClusterFailedToJoin"
    FAILED_TO_LEAVE = "InternalMemberClusterFailedToLeave"


class PropertyReason(StrEnum):
    """How the collection of a member's properties goes."""

    STARTED = "Started"
    TIMED_OUT = "TimedOut"
    FAILED_TO_START = "FailedToStart"
    COLLECTED = "PropertiesCollected"
    TOO_MANY_CALLS = "TooManyCalls"
    COSTS_CALCULATED = "CostsCalculated"
    COSTS_DEGRADED = "CostsCalculationDegraded"
    COSTS_FAILED = "CostsCalculationFailed"
    NAMESPACES_COLLECTED = "Succeeded"
    NAMESPACES_DEGRADED = "Degraded"


CONTROL_PLANE_HEALTHY = "ControlPlaneHealthy"
"""The condition of a ClusterProfile."""


class ProfileReason(StrEnum):
    """Why a ClusterProfile is healthy or not."""

    NO_STATUS = "MemberAgentReportedNoStatus"
    NO_HEALTH = "MemberAgentReportedNoHealthInfo"
    HEARTBEAT_LOST = "MemberAgentHeartbeatLost"
    API_SERVER_UNHEALTHY = "MemberClusterAPIServerUnhealthy"
    API_SERVER_HEALTHY = "MemberClusterAPIServerHealthy"


class PlacementAspect(StrEnum):
    """How far a placement is on one cluster; bindings and Works use the same words."""

    SCHEDULED = "Scheduled"
    ROLLOUT_STARTED = "RolloutStarted"
    OVERRIDDEN = "Overridden"
    WORK_SYNCHRONIZED = "WorkSynchronized"
    APPLIED = "Applied"
    AVAILABLE = "Available"
    DIFF_REPORTED = "DiffReported"

    def of(self, kind: str) -> str:
        """The type of the condition that says so for a whole placement of this kind."""
        return f"{kind}{self}"


STATUS_TRIMMED = "StatusTrimmed"
"""A condition of a Work whose status was too long."""


class OverrideReason(StrEnum):
    """Whether a binding's overrides could be applied."""

    SUCCEEDED = "OverriddenSucceeded"
    FAILED = "OverriddenFailed"


class WorkReason(StrEnum):
    """Why Works are not written: of a binding, and of the placement."""

    SYNC_FAILED = "SyncWorkFailed"
    NOT_SYNCHRONIZED_YET = "WorkNotSynchronizedYet"
