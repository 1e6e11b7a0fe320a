"""ClusterQueue: quota for the whole cluster, and the rules by which workloads get it."""

from enum import StrEnum
from typing import Annotated

from fleetqueue.api.kinds import Column, Kind, Resource
from fleetqueue.api.kueue.group import (
    CONVERSION,
    GROUP,
    AdmissionCheckReference,
    BoundedConditions,
    CohortReference,
    ResourceFlavorReference,
    ResourceName,
)
from fleetqueue.api.kueue.v1beta2.quota import (
    FairSharing,
    FairSharingStatus,
    ResourceGroups,
    StopPolicy,
)
from fleetqueue.api.markers import Rule, Schema, schema
from fleetqueue.api.meta import LabelSelector
from fleetqueue.api.model import Model, sent
from fleetqueue.api.scalars import Int32, Quantity


class QueueingStrategy(StrEnum):
    """Whether a workload that does not fit holds up those behind it."""

    STRICT_FIFO = "StrictFIFO"
    BEST_EFFORT_FIFO = "BestEffortFIFO"


class FlavorFungibilityPolicy(StrEnum):
    """What to do once a flavor would do, but at the price of borrowing or preempting."""

    MAY_STOP_SEARCH = "MayStopSearch"
    TRY_NEXT_FLAVOR = "TryNextFlavor"


class FlavorFungibilityPreference(StrEnum):
    """Which price to pay where several flavors would do."""

    BORROWING_OVER_PREEMPTION = "BorrowingOverPreemption"
    PREEMPTION_OVER_BORROWING = "PreemptionOverBorrowing"


FUNGIBILITY_PREFERENCE = Rule(
    "!has(self.preference) ||"
    " (self.whenCanBorrow == 'TryNextFlavor' && self.whenCanPreempt == 'TryNextFlavor')",
    "preference can only be set when both whenCanBorrow and whenCanPreempt are TryNextFlavor",
)


@schema(FUNGIBILITY_PREFERENCE)
class FlavorFungibility(Model):
    """Whether to look at further flavors before borrowing or preempting in this one."""

    when_can_borrow: Annotated[
        FlavorFungibilityPolicy, Schema(default=FlavorFungibilityPolicy.MAY_STOP_SEARCH)
    ] = FlavorFungibilityPolicy.MAY_STOP_SEARCH
    when_can_preempt: Annotated[
        FlavorFungibilityPolicy, Schema(default=FlavorFungibilityPolicy.TRY_NEXT_FLAVOR)
    ] = FlavorFungibilityPolicy.TRY_NEXT_FLAVOR
    preference: FlavorFungibilityPreference | None = None


class ReclaimPolicy(StrEnum):
    """Which borrowers in the cohort may be preempted to get lent quota back."""

    NEVER = "Never"
    LOWER_PRIORITY = "LowerPriority"
    ANY = "Any"


class PreemptionPolicy(StrEnum):
    """Which workloads of the same queue may be preempted."""

    NEVER = "Never"
    LOWER_PRIORITY = "LowerPriority"
    LOWER_OR_NEWER_EQUAL_PRIORITY = "LowerOrNewerEqualPriority"


class BorrowWithinCohortPolicy(StrEnum):
    """Whether a workload may preempt others even though it will borrow."""

    NEVER = "Never"
    LOWER_PRIORITY = "LowerPriority"


class BorrowWithinCohort(Model):
    """Preempting in the cohort in order to borrow."""

    policy: Annotated[BorrowWithinCohortPolicy, Schema(default=BorrowWithinCohortPolicy.NEVER)] = (
        BorrowWithinCohortPolicy.NEVER
    )
    max_priority_threshold: Int32 | None = None


@schema(
    Rule(
        "self.reclaimWithinCohort != 'Never' ||"
        " !has(self.borrowWithinCohort) || self.borrowWithinCohort.policy == 'Never'",
        "reclaimWithinCohort=Never and borrowWithinCohort.Policy!=Never",
    )
)
class ClusterQueuePreemption(Model):
    """Whom a pending workload may push out."""

    reclaim_within_cohort: Annotated[ReclaimPolicy, Schema(default=ReclaimPolicy.NEVER)] = (
        ReclaimPolicy.NEVER
    )
    borrow_within_cohort: Annotated[BorrowWithinCohort, Schema(default={})] = BorrowWithinCohort()
    within_cluster_queue: Annotated[PreemptionPolicy, Schema(default=PreemptionPolicy.NEVER)] = (
        PreemptionPolicy.NEVER
    )


class AdmissionCheckStrategyRule(Model):
    """A check, and the flavors that it is asked for; for all of them if none is named."""

    name: AdmissionCheckReference
    on_flavors: Annotated[list[ResourceFlavorReference], Schema(max_items=64, list_type="set")] = []


class AdmissionChecksStrategy(Model):
    """The checks that a workload must pass after it has its quota."""

    admission_checks: Annotated[
        list[AdmissionCheckStrategyRule],
        Schema(min_items=1, max_items=64, list_type="map", list_keys=("name",)),
    ]


class AdmissionMode(StrEnum):
    """Whether past usage of a LocalQueue orders its workloads behind others."""

    USAGE_BASED = "UsageBasedAdmissionFairSharing"
    NONE = "NoAdmissionFairSharing"


class AdmissionScope(Model):
    """Fair sharing between the LocalQueues of this queue."""

    admission_mode: AdmissionMode


class MigrationMode(StrEnum):
    """Whether an admitted workload moves on to a flavor that it prefers."""

    TRY_PREFERRED_FLAVORS = "TryPreferredFlavors"
    RETAIN_FIRST_ADMISSION = "RetainFirstAdmission"


class MigrationConstraints(Model):
    """How far down the list of flavors a workload may settle."""

    last_acceptable_flavor_name: ResourceFlavorReference = ""


class Migration(Model):
    """Moving between flavors after the first admission."""

    mode: Annotated[MigrationMode, Schema(max_length=253)]
    constraints: MigrationConstraints | None = None


class ConcurrentAdmissionPolicy(Model):
    """Trying several flavors for one workload at the same time."""

    migration: Migration


@schema(
    Rule(
        "has(self.cohortName) || !has(self.resourceGroups) || self.resourceGroups.all(group,"
        " group.flavors.all(flavor, flavor.resources.all(r, !has(r.borrowingLimit))))",
        "borrowingLimit must be nil when cohort is empty",
    )
)
class ClusterQueueSpec(Model):
    """Quota, and how it is handed out."""

    resource_groups: ResourceGroups = []
    cohort_name: CohortReference = ""
    queueing_strategy: Annotated[
        QueueingStrategy, Schema(default=QueueingStrategy.BEST_EFFORT_FIFO)
    ] = QueueingStrategy.BEST_EFFORT_FIFO
    namespace_selector: LabelSelector | None = None
    flavor_fungibility: Annotated[FlavorFungibility, Schema(default={})] = FlavorFungibility()
    preemption: Annotated[ClusterQueuePreemption, Schema(default={})] = ClusterQueuePreemption()
    admission_checks_strategy: AdmissionChecksStrategy | None = None
    stop_policy: Annotated[StopPolicy, Schema(default=StopPolicy.NONE)] = StopPolicy.NONE
    fair_sharing: FairSharing | None = None
    admission_scope: AdmissionScope | None = None
    concurrent_admission_policy: ConcurrentAdmissionPolicy | None = None


class ResourceUsage(Model):
    """How much of one resource is used, and how much of that is borrowed."""

    name: ResourceName
    total: Quantity = sent(default_factory=lambda: "0")
    borrowed: Quantity = sent(default_factory=lambda: "0")


class FlavorUsage(Model):
    """What is used of one flavor."""

    name: ResourceFlavorReference
    resources: Annotated[
        list[ResourceUsage], Schema(max_items=64, list_type="map", list_keys=("name",))
    ]


FlavorUsages = Annotated[
    list[FlavorUsage], Schema(max_items=64, list_type="map", list_keys=("name",))
]


class ClusterQueueStatus(Model):
    """Whether the queue admits, and what its workloads hold."""

    conditions: BoundedConditions = []
    flavors_reservation: FlavorUsages = []
    flavors_usage: FlavorUsages = []
    pending_workloads: Int32 = sent(default_factory=int)
    reserving_workloads: Int32 = sent(default_factory=int)
    admitted_workloads: Int32 = sent(default_factory=int)
    fair_sharing: FairSharingStatus | None = None


def columns(cohort: str) -> tuple[Column, ...]:
    """What `kubectl get clusterqueues` shows; the cohort's field has another name in v1beta1."""
    return (
        Column("Cohort", cohort),
        Column("Strategy", ".spec.queueingStrategy", priority=1),
        Column("Pending Workloads", ".status.pendingWorkloads", "integer"),
        Column("Admitted Workloads", ".status.admittedWorkloads", "integer", priority=1),
    )


class ClusterQueue(
    Resource,
    kind=Kind(
        GROUP,
        "v1beta2",
        "clusterqueues",
        scope="Cluster",
        short_names=("cq",),
        storage=True,
        status=True,
        columns=columns(".spec.cohortName"),
        conversion=CONVERSION,
    ),
):
    """A pool of quota from which the workloads of many namespaces are admitted."""

    spec: ClusterQueueSpec = ClusterQueueSpec()
    status: ClusterQueueStatus = ClusterQueueStatus()
