"""WorkloadStatus as v1beta1 has it: domains one by one, and fewer limits."""

from typing import Annotated

from fleetqueue.api.kueue.group import (
    ClusterQueueReference,
    PodSetReference,
    ResourceFlavorReference,
)
from fleetqueue.api.kueue.v1beta2.workload_status import (
    CLUSTER_NAME_RULES,
    CheckState,
    Count,
    Eviction,
    PodSetRequest,
    PodSetUpdate,
    ReclaimablePod,
    RequeueState,
)
from fleetqueue.api.markers import Schema, schema
from fleetqueue.api.meta import Conditions
from fleetqueue.api.model import Model
from fleetqueue.api.scalars import Int32, Quantity, Time


class TopologyDomainAssignment(Model):
    """So many pods in one domain, named by its value on each level."""

    values: Annotated[list[str], Schema(min_items=1, max_items=16, list_type="atomic")]
    count: Annotated[Int32, Schema(minimum=1)]


class TopologyAssignment(Model):
    """The domains of a pod set, in order."""

    levels: Annotated[list[str], Schema(min_items=1, max_items=16, list_type="atomic")]
    domains: list[TopologyDomainAssignment]


class PodSetAssignment(Model):
    """The flavors that a pod set got, for how many pods, and how much they use in all."""

    name: Annotated[PodSetReference, Schema(default="main")]
    flavors: dict[str, ResourceFlavorReference] = {}
    resource_usage: dict[str, Quantity] = {}
    count: Count | None = None
    topology_assignment: TopologyAssignment | None = None
    delayed_topology_request: str | None = None


class Admission(Model):
    """The reservation: from which queue, and what each pod set got."""

    cluster_queue: ClusterQueueReference
    pod_set_assignments: Annotated[
        list[PodSetAssignment], Schema(max_items=18, list_type="map", list_keys=("name",))
    ]


class AdmissionCheckState(Model):
    """The state of one check for this workload."""

    name: Annotated[str, Schema(max_length=316)]
    state: CheckState
    last_transition_time: Time
    message: Annotated[str, Schema(max_length=32768)]
    requeue_after_seconds: Count | None = None
    retry_count: Count | None = None
    pod_set_updates: Annotated[list[PodSetUpdate], Schema(max_items=18, list_type="atomic")] = []


class SchedulingStats(Model):
    """The workload's history."""

    evictions: Annotated[
        list[Eviction], Schema(list_type="map", list_keys=("reason", "underlyingCause"))
    ] = []


class UnhealthyNode(Model):
    """A node of the assignment that failed."""

    name: str


@schema(*CLUSTER_NAME_RULES)
class WorkloadStatus(Model):
    """How far the workload has come."""

    conditions: Conditions = []
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
    # The wire has this misspelling.
    accumulated_past_exexcution_time_seconds: Int32 | None = None
    scheduling_stats: SchedulingStats | None = None
    nominated_cluster_names: Annotated[list[str], Schema(max_items=20, list_type="atomic")] = []
    cluster_name: str | None = None
    unhealthy_nodes: list[UnhealthyNode] = []
