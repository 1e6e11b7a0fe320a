"""Workload: sets of pods that are admitted together or not at all."""

from typing import Annotated

from fleetqueue.api.kinds import AGE, Column, Kind, Resource
from fleetqueue.api.kueue.group import CONVERSION, GROUP, LocalQueueName, PodSetReference
from fleetqueue.api.kueue.v1beta2.workload_status import GateName, WorkloadStatus
from fleetqueue.api.kueue.workload_rules import (
    ASSIGNMENTS_MATCH,
    EXECUTION_TIME,
    MIN_COUNT,
    PRIORITY_REFERENCE,
    QUEUE_NAME,
)
from fleetqueue.api.markers import Rule, Schema, schema
from fleetqueue.api.model import Model, sent
from fleetqueue.api.scalars import DnsSubdomain, Int32, PodTemplate

LevelLabel = Annotated[str, Schema(max_length=63)]
IndexLabel = Annotated[str, Schema(max_length=317)]


class SliceConstraint(Model):
    """So many pods at a time must share a domain of this level."""

    topology: Annotated[str, Schema(min_length=1, max_length=63)]
    size: Annotated[Int32, Schema(minimum=1)]


class PodSetTopologyRequest(Model):
    """How close to each other the pods of a set must, or should, be."""

    required: LevelLabel | None = None
    preferred: LevelLabel | None = None
    unconstrained: bool | None = None
    pod_index_label: IndexLabel | None = None
    sub_group_index_label: IndexLabel | None = None
    sub_group_count: Annotated[Int32 | None, Schema(minimum=0)] = None
    pod_set_group_name: Annotated[str | None, Schema(max_length=256)] = None
    pod_set_slice_required_topology: LevelLabel | None = None
    pod_set_slice_size: Annotated[Int32 | None, Schema(minimum=1)] = None
    podset_slice_required_topology_constraints: Annotated[
        list[SliceConstraint], Schema(max_items=3, list_type="atomic")
    ] = []


@schema(MIN_COUNT)
class PodSet(Model):
    """Pods from one template."""

    name: Annotated[PodSetReference, Schema(default="main")] = sent(default_factory=lambda: "main")
    template: PodTemplate
    count: Annotated[Int32, Schema(minimum=0, default=1)] = sent(default_factory=lambda: 1)
    min_count: Annotated[Int32 | None, Schema(minimum=1)] = None
    topology_request: PodSetTopologyRequest | None = None


@schema(
    Rule(
        "self.group != 'scheduling.k8s.io' || self.kind == 'PriorityClass'",
        "only the PriorityClass kind is allowed for the scheduling.k8s.io group",
    ),
    Rule(
        "self.group != 'kueue.x-k8s.io' || self.kind == 'WorkloadPriorityClass'",
        "only the WorkloadPriorityClass kind is allowed for the kueue.x-k8s.io group",
    ),
)
class PriorityClassReference(Model):
    """The class that the priority comes from."""

    group: Annotated[str, Schema(enum=("kueue.x-k8s.io", "scheduling.k8s.io"))]
    kind: Annotated[str, Schema(enum=("WorkloadPriorityClass", "PriorityClass"))]
    name: Annotated[DnsSubdomain, Schema(min_length=1)]


class PreemptionGate(Model):
    """Something that must happen before the workload may preempt others."""

    name: GateName


@schema(
    Rule(
        "!has(self.priorityClassRef) || has(self.priority)",
        "priority should not be nil when priorityClassRef is set",
    )
)
class WorkloadSpec(Model):
    """What is to run, from which queue, and how urgently."""

    pod_sets: Annotated[
        list[PodSet],
        Schema(min_items=1, max_items=18, list_type="map", list_keys=("name",)),
    ] = []
    queue_name: LocalQueueName = ""
    priority_class_ref: PriorityClassReference | None = None
    priority: Int32 | None = None
    active: Annotated[bool, Schema(default=True)] = True
    maximum_execution_time_seconds: Annotated[Int32 | None, Schema(minimum=1)] = None
    preemption_gates: Annotated[
        list[PreemptionGate], Schema(max_items=8, list_type="map", list_keys=("name",))
    ] = []


@schema(ASSIGNMENTS_MATCH, *PRIORITY_REFERENCE, QUEUE_NAME, EXECUTION_TIME)
class Workload(
    Resource,
    kind=Kind(
        GROUP,
        "v1beta2",
        "workloads",
        short_names=("kwl", "kueueworkload", "kueueworkloads"),
        storage=True,
        status=True,
        columns=(
            Column("Queue", ".spec.queueName"),
            Column("Reserved in", ".status.admission.clusterQueue"),
            Column("Admitted", ".status.conditions[?(@.type=='Admitted')].status"),
            Column("Finished", ".status.conditions[?(@.type=='Finished')].status"),
            AGE,
        ),
        selectable=(".status.admission.clusterQueue",),
        conversion=CONVERSION,
    ),
):
    """Pods that need quota before they may start."""

    spec: WorkloadSpec = WorkloadSpec()
    status: WorkloadStatus = WorkloadStatus()
