"""Workload as v1beta1 has it: the priority class by name and source, and fewer limits."""

from typing import Annotated

from fleetqueue.api.kinds import Resource
from fleetqueue.api.kueue import v1beta2
from fleetqueue.api.kueue.group import LocalQueueName, PodSetReference, deprecated
from fleetqueue.api.kueue.v1beta1.workload_status import WorkloadStatus
from fleetqueue.api.kueue.workload_rules import (
    ASSIGNMENTS_MATCH,
    EXECUTION_TIME,
    MIN_COUNT,
    PRIORITY_SOURCE,
    QUEUE_NAME,
)
from fleetqueue.api.markers import Rule, Schema, schema
from fleetqueue.api.model import Model, sent
from fleetqueue.api.scalars import DnsSubdomain, Int32, PodTemplate

WORKLOAD_PRIORITY_CLASS_SOURCE = "kueue.x-k8s.io/workloadpriorityclass"
POD_PRIORITY_CLASS_SOURCE = "scheduling.k8s.io/priorityclass"


class PodSetTopologyRequest(Model):
    """How close to each other the pods of a set must, or should, be."""

    required: str | None = None
    preferred: str | None = None
    unconstrained: bool | None = None
    pod_index_label: str | None = None
    sub_group_index_label: str | None = None
    sub_group_count: Int32 | None = None
    pod_set_group_name: str | None = None
    pod_set_slice_required_topology: str | None = None
    pod_set_slice_size: Annotated[Int32 | None, Schema(minimum=1)] = None


@schema(MIN_COUNT)
class PodSet(Model):
    """Pods from one template."""

    name: Annotated[PodSetReference, Schema(default="main")] = sent(default_factory=lambda: "main")
    template: PodTemplate
    count: Annotated[Int32, Schema(minimum=0, default=1, required=True)] = sent(
        default_factory=lambda: 1
    )
    min_count: Annotated[Int32 | None, Schema(minimum=1)] = None
    topology_request: PodSetTopologyRequest | None = None


@schema(
    Rule(
        "!has(self.priorityClassName) || has(self.priority)",
        "priority should not be nil when priorityClassName is set",
    )
)
class WorkloadSpec(Model):
    """What is to run, from which queue, and how urgently."""

    pod_sets: Annotated[
        list[PodSet],
        Schema(min_items=1, max_items=18, list_type="map", list_keys=("name",), required=True),
    ] = []
    queue_name: LocalQueueName = ""
    priority_class_name: DnsSubdomain = ""
    priority_class_source: Annotated[
        str,
        Schema(default="", enum=(WORKLOAD_PRIORITY_CLASS_SOURCE, POD_PRIORITY_CLASS_SOURCE, "")),
    ] = ""
    priority: Int32 | None = None
    active: Annotated[bool, Schema(default=True)] = True
    maximum_execution_time_seconds: Annotated[Int32 | None, Schema(minimum=1)] = None


@schema(ASSIGNMENTS_MATCH, *PRIORITY_SOURCE, QUEUE_NAME, EXECUTION_TIME)
class Workload(Resource, kind=deprecated(v1beta2.Workload)):
    """Pods that need quota before they may start."""

    spec: WorkloadSpec = WorkloadSpec()
    status: WorkloadStatus = WorkloadStatus()
