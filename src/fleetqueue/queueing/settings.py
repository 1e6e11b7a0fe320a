"""What the configuration file and the feature gates say about deciding, read once."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Literal


@dataclass(frozen=True, slots=True)
class FairSharing:
    """Queues are compared by their dominant resource share; the strategies are tried in order."""

    strategies: tuple[Literal["LessThanOrEqualToFinalShare", "LessThanInitialShare"], ...] = (
        "LessThanOrEqualToFinalShare",
        "LessThanInitialShare",
    )
    preempts_within_nominal: bool = True
    prefers_non_borrowing: bool = True


@dataclass(frozen=True, slots=True)
class UsageSharing:
    """LocalQueues of one ClusterQueue are ordered by what they used in the past."""

    half_life: timedelta = timedelta(0)
    sampling: timedelta = timedelta(minutes=5)
    weights: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Settings:
    """Each field picks one of two behaviours; the defaults are those of Kueue's gates."""

    fair_sharing: FairSharing | None = None
    usage_sharing: UsageSharing | None = None
    ignores_undeclared: bool = False
    """Resources that a queue does not cover do not count, instead of keeping a workload out."""
    tries_flavors: bool = True
    """FlavorFungibility."""
    keeps_scan_progress: bool = True
    """FlavorFungibilityPreserveScanProgress."""
    admits_partially: bool = True
    sorts_by_priority: bool = True
    """PrioritySortingWithinCohort."""
    prefers_preemptors: bool = False
    """PrioritizePreemptorWorkloads."""
    recomputes_placement: bool = True
    """TASRecomputeAssignmentWithinSchedulingCycle."""
    recomputes_overlap: bool = True
    """RecomputeAssignmentUponPreemptionTargetsOverlap."""
    hashes_equivalents: bool = True
    """SchedulingEquivalenceHashing."""
    explains_waiting: bool = True
    """UnadmittedWorkloadsObservability: a reason of its own for each cause."""
    honors_gates: bool = True
    """AdmissionGatedBy."""
    honors_preemption_gates: bool = False
    """MultiKueueOrchestratedPreemption or ConcurrentAdmission."""
    admits_concurrently: bool = False
    """ConcurrentAdmission."""
    places_pods: bool = True
    """TopologyAwareScheduling."""
    mixes_profiles: bool = True
    """TASProfileMixed: unconstrained pods fill the least free domains first."""
    balances_placement: bool = False
    """TASBalancedPlacement."""
    honors_preferred_affinity: bool = False
    """TASRespectNodeAffinityPreferred."""
    shares_nodes: bool = True
    """TASHandleOverlappingFlavors."""
    replaces_nodes: bool = True
    """TASFailedNodeReplacement."""
    fails_fast: bool = True
    """TASFailedNodeReplacementFailFast."""
    leaves_single_pods: bool = True
    """SkipReassignmentForPodOwnedWorkloads."""
    packs_by_prefix: bool = True
    """TASAssignmentsEncodingByHostnamePrefix."""
    places_elastic: bool = False
    """ElasticJobsViaWorkloadSlicesWithTAS."""
    sorts_by_eviction: bool = True
    """requeuingStrategy.timestamp is Eviction."""
    blocks_admission: bool = False
    """waitForPodsReady.blockAdmission."""


DEFAULTS = Settings()
