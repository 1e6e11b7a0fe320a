"""LocalQueue: the queue of a namespace, and what its workloads hold of a ClusterQueue."""

from typing import Annotated

from fleetqueue.api.kinds import Column, Kind, Resource
from fleetqueue.api.kueue.group import (
    CONVERSION,
    GROUP,
    IMMUTABLE,
    BoundedConditions,
    ClusterQueueReference,
    ResourceFlavorReference,
    ResourceName,
)
from fleetqueue.api.kueue.v1beta2.quota import FairSharing, FairSharingStatus, StopPolicy
from fleetqueue.api.markers import Schema
from fleetqueue.api.model import Model, sent
from fleetqueue.api.scalars import Int32, Quantity, Time


class LocalQueueSpec(Model):
    """Which ClusterQueue serves this queue."""

    cluster_queue: Annotated[ClusterQueueReference, IMMUTABLE] = ""
    stop_policy: Annotated[StopPolicy, Schema(default=StopPolicy.NONE)] = StopPolicy.NONE
    fair_sharing: FairSharing | None = None


class LocalQueueResourceUsage(Model):
    """How much of one resource is used."""

    name: ResourceName
    total: Quantity = sent(default_factory=lambda: "0")


class LocalQueueFlavorUsage(Model):
    """What is used of one flavor."""

    name: ResourceFlavorReference
    resources: Annotated[
        list[LocalQueueResourceUsage], Schema(max_items=64, list_type="map", list_keys=("name",))
    ]


LocalQueueFlavorUsages = Annotated[
    list[LocalQueueFlavorUsage], Schema(max_items=64, list_type="map", list_keys=("name",))
]


class AdmissionFairSharingStatus(Model):
    """What a queue used in the past; older usage counts less and less."""

    consumed_resources: dict[str, Quantity]
    last_update: Time


class LocalQueueFairSharingStatus(FairSharingStatus):
    """How a LocalQueue stands against its siblings."""

    admission_fair_sharing_status: AdmissionFairSharingStatus | None = None


class LocalQueueStatus(Model):
    """Whether workloads can be submitted, and what those submitted hold."""

    conditions: BoundedConditions = []
    pending_workloads: Int32 = sent(default_factory=int)
    reserving_workloads: Int32 = sent(default_factory=int)
    admitted_workloads: Int32 = sent(default_factory=int)
    flavors_reservation: LocalQueueFlavorUsages = []
    flavors_usage: LocalQueueFlavorUsages = []
    fair_sharing: LocalQueueFairSharingStatus | None = None


class LocalQueue(
    Resource,
    kind=Kind(
        GROUP,
        "v1beta2",
        "localqueues",
        short_names=("queue", "queues", "lq"),
        storage=True,
        status=True,
        columns=(
            Column("ClusterQueue", ".spec.clusterQueue"),
            Column("Pending Workloads", ".status.pendingWorkloads", "integer"),
            Column("Admitted Workloads", ".status.admittedWorkloads", "integer"),
        ),
        conversion=CONVERSION,
    ),
):
    """A queue that the users of one namespace submit to."""

    spec: LocalQueueSpec = LocalQueueSpec()
    status: LocalQueueStatus = LocalQueueStatus()
