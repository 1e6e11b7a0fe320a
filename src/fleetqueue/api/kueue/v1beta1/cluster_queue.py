"""ClusterQueue as v1beta1 has it; what is not here is the same in v1beta2."""

from enum import StrEnum
from typing import Annotated

from fleetqueue.api.kinds import Resource
from fleetqueue.api.kueue import v1beta2
from fleetqueue.api.kueue.group import (
    CohortReference,
    ResourceFlavorReference,
    deprecated,
)
from fleetqueue.api.kueue.v1beta1.fair_sharing import FairSharingStatus
from fleetqueue.api.kueue.v1beta2.cluster_queue import (
    FUNGIBILITY_PREFERENCE,
    ClusterQueuePreemption,
    FlavorFungibilityPreference,
    FlavorUsages,
    QueueingStrategy,
    columns,
)
from fleetqueue.api.kueue.v1beta2.quota import FairSharing, ResourceGroups, StopPolicy
from fleetqueue.api.markers import Rule, Schema, schema
from fleetqueue.api.meta import Conditions, LabelSelector
from fleetqueue.api.model import Model, sent
from fleetqueue.api.scalars import Int32, Time

CheckName = Annotated[str, Schema(max_length=316)]


class WhenCanBorrow(StrEnum):
    """Adds the older word for MayStopSearch."""

    MAY_STOP_SEARCH = "MayStopSearch"
    TRY_NEXT_FLAVOR = "TryNextFlavor"
    BORROW = "Borrow"


class WhenCanPreempt(StrEnum):
    """Adds the older word for MayStopSearch."""

    MAY_STOP_SEARCH = "MayStopSearch"
    TRY_NEXT_FLAVOR = "TryNextFlavor"
    PREEMPT = "Preempt"


@schema(FUNGIBILITY_PREFERENCE)
class FlavorFungibility(Model):
    """Whether to look at further flavors before borrowing or preempting in this one."""

    when_can_borrow: Annotated[WhenCanBorrow, Schema(default=WhenCanBorrow.MAY_STOP_SEARCH)] = (
        WhenCanBorrow.MAY_STOP_SEARCH
    )
    when_can_preempt: Annotated[WhenCanPreempt, Schema(default=WhenCanPreempt.TRY_NEXT_FLAVOR)] = (
        WhenCanPreempt.TRY_NEXT_FLAVOR
    )
    preference: FlavorFungibilityPreference | None = None


class AdmissionCheckStrategyRule(Model):
    """A check, and the flavors that it is asked for."""

    name: CheckName
    on_flavors: list[ResourceFlavorReference] = []


class AdmissionChecksStrategy(Model):
    """The checks that a workload must pass after it has its quota."""

    admission_checks: list[AdmissionCheckStrategyRule] = []


class AdmissionScope(Model):
    """Fair sharing between the LocalQueues of this queue."""

    admission_mode: str


@schema(
    Rule(
        "has(self.cohort) || !has(self.resourceGroups) || self.resourceGroups.all(group,"
        " group.flavors.all(flavor, flavor.resources.all(r, !has(r.borrowingLimit))))",
        "borrowingLimit must be nil when cohort is empty",
    )
)
class ClusterQueueSpec(Model):
    """Quota, and how it is handed out."""

    resource_groups: ResourceGroups = []
    cohort: CohortReference = ""
    queueing_strategy: Annotated[
        QueueingStrategy, Schema(default=QueueingStrategy.BEST_EFFORT_FIFO)
    ] = QueueingStrategy.BEST_EFFORT_FIFO
    namespace_selector: LabelSelector | None = None
    flavor_fungibility: Annotated[FlavorFungibility, Schema(default={})] = FlavorFungibility()
    preemption: Annotated[ClusterQueuePreemption, Schema(default={})] = ClusterQueuePreemption()
    admission_checks: list[CheckName] = []
    admission_checks_strategy: AdmissionChecksStrategy | None = None
    stop_policy: Annotated[StopPolicy, Schema(default=StopPolicy.NONE)] = StopPolicy.NONE
    fair_sharing: FairSharing | None = None
    admission_scope: AdmissionScope | None = None


class ClusterQueuePendingWorkload(Model):
    """A workload that waits at the head of the queue."""

    name: str
    namespace: str


class ClusterQueuePendingWorkloadsStatus(Model):
    """The head of the queue; nothing fills it any more."""

    cluster_queue_pending_workload: Annotated[
        list[ClusterQueuePendingWorkload], Schema(list_type="atomic")
    ] = []
    last_change_time: Time


class ClusterQueueStatus(Model):
    """Whether the queue admits, and what its workloads hold."""

    conditions: Conditions = []
    flavors_reservation: FlavorUsages = []
    flavors_usage: FlavorUsages = []
    pending_workloads: Int32 = sent(default_factory=int)
    reserving_workloads: Int32 = sent(default_factory=int)
    admitted_workloads: Int32 = sent(default_factory=int)
    pending_workloads_status: ClusterQueuePendingWorkloadsStatus | None = None
    fair_sharing: FairSharingStatus | None = None


class ClusterQueue(Resource, kind=deprecated(v1beta2.ClusterQueue, columns(".spec.cohort"))):
    """A pool of quota from which the workloads of many namespaces are admitted."""

    spec: ClusterQueueSpec = ClusterQueueSpec()
    status: ClusterQueueStatus = ClusterQueueStatus()
