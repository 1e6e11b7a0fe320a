"""WorkloadStatus: what became of a workload so far: its quota, its checks, its evictions."""

from enum import StrEnum
from typing import Annotated

from fleetqueue.api.kueue.group import (
    AdmissionCheckReference,
    BoundedConditions,
    ClusterQueueReference,
    PodSetReference,
    ResourceFlavorReference,
    Tolerations,
)
from fleetqueue.api.kueue.v1beta2.topology_assignment import TopologyAssignment
from fleetqueue.api.markers import Rule, Schema, schema
from fleetqueue.api.model import Model, sent
from fleetqueue.api.scalars import Int32, Quantity, Time

Count = Annotated[Int32, Schema(minimum=0)]
GateName = Annotated[str, Schema(min_length=1, max_length=63)]


class DelayedTopologyRequestState(StrEnum):
    """Whether a topology that could not be chosen at reservation is chosen by now."""

    PENDING = "Pending"
    READY = "Ready"


class PodSetAssignment(Model):
    """The flavors that a pod set got, for how many pods, and how much they use in all."""

    name: Annotated[PodSetReference, Schema(default="main")] = sent(default_factory=lambda: "main")
    flavors: dict[str, ResourceFlavorReference] = {}
    resource_usage: dict[str, Quantity] = {}
    count: Count | None = None
    topology_assignment: TopologyAssignment | None = None
    delayed_topology_request: Annotated[
        DelayedTopologyRequestState | None, Schema(max_length=7)
    ] = None


class Admission(Model):
    """The reservation: from which queue, and what each pod set got."""

    cluster_queue: ClusterQueueReference = ""
    pod_set_assignments: Annotated[
        list[PodSetAssignment], Schema(max_items=18, list_type="map", list_keys=("name",))
    ] = []


class RequeueState(Model):
    """How often the workload was put back, and when it may try again."""

    count: Count | None = None
    requeue_at: Time | None = None


class ReclaimablePod(Model):
    """Pods of a set that will not run again, so that their quota is free."""

    name: PodSetReference
    count: Count


class CheckState(StrEnum):
    """A check's answer."""

    PENDING = "Pending"
    READY = "Ready"
    RETRY = "Retry"
    REJECTED = "Rejected"


class PodSetUpdate(Model):
    """What a check changes in the pods of a set."""

    name: PodSetReference
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    node_selector: dict[str, str] = {}
    tolerations: Tolerations = []


class AdmissionCheckState(Model):
    """The state of one check for this workload."""

    name: AdmissionCheckReference
    state: CheckState
    last_transition_time: Time
    message: Annotated[str, Schema(max_length=32768)]
    requeue_after_seconds: Count | None = None
    retry_count: Count | None = None
    pod_set_updates: Annotated[list[PodSetUpdate], Schema(max_items=18, list_type="atomic")] = []


class PodSetRequest(Model):
    """What a pod set asked for when it was last considered."""

    name: PodSetReference
    resources: dict[str, Quantity] = {}


class Eviction(Model):
    """How often the workload was evicted for one reason."""

    reason: Annotated[str, Schema(max_length=316)]
    underlying_cause: Annotated[str, Schema(max_length=316)]
    count: Count


class SchedulingStats(Model):
    """The workload's history."""

    evictions: Annotated[
        list[Eviction],
        Schema(max_items=256, list_type="map", list_keys=("reason", "underlyingCause")),
    ] = []


class UnhealthyNode(Model):
    """A node of the assignment that failed."""

    name: Annotated[str, Schema(max_length=63)]


class GatePosition(StrEnum):
    """A closed gate keeps the workload from preempting others."""

    CLOSED = "Closed"
    OPEN = "Open"


class PreemptionGateState(Model):
    """Whether a preemption gate is open."""

    name: GateName
    position: GatePosition
    last_transition_time: Time


CLUSTER_NAME_RULES = (
    Rule(
        "!has(oldSelf.clusterName) || !has(self.clusterName) ||"
        " self.clusterName == oldSelf.clusterName",
        "clusterName is immutable once set",
    ),
    Rule(
        "!has(self.clusterName) || !has(self.nominatedClusterNames) ||"
        " size(self.nominatedClusterNames) == 0",
        "clusterName and nominatedClusterNames are mutually exclusive",
    ),
)


@schema(*CLUSTER_NAME_RULES)
class WorkloadStatus(Model):
    """How far the workload has come."""

    conditions: BoundedConditions = []
    admission: Admission | None = None
    requeue_state: RequeueState | None = None
    reclaimable_pods: Annotated[
        list[ReclaimablePod], Schema(max_items=18, list_type="map", list_keys=("name",))
    ] = []
    admission_checks: Annotated[
        list[AdmissionCheckState], Schema(max_items=8, list_type="map", list_keys=("name",))
    ] = []
    resource_requests: Annotated[
        list[PodSetRequest], Schema(max_items=18, list_type="map", list_keys=("name",))
    ] = []
    accumulated_past_execution_time_seconds: Int32 | None = None
    scheduling_stats: SchedulingStats | None = None
    nominated_cluster_names: Annotated[
        list[Annotated[str, Schema(max_length=256)]], Schema(max_items=20, list_type="atomic")
    ] = []
    cluster_name: Annotated[str | None, Schema(max_length=256)] = None
    unhealthy_nodes: Annotated[
        list[UnhealthyNode], Schema(max_items=8, list_type="map", list_keys=("name",))
    ] = []
    preemption_gates: Annotated[
        list[PreemptionGateState], Schema(max_items=8, list_type="map", list_keys=("name",))
    ] = []
