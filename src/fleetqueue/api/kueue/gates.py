"""Kueue's feature gates: their defaults, which of them are locked, and which need another one."""

from collections.abc import Mapping

from fleetqueue.errors import InvalidInput

ON = frozenset(
    [
        "PartialAdmission",
        "FlavorFungibility",
        "VisibilityOnDemand",
        "PrioritySortingWithinCohort",
        "FairSharingPreemptWithinNominal",
        "FairSharingPrioritizeNonBorrowing",
        "MultiKueue",
        "TopologyAwareScheduling",
        "LocalQueueMetrics",
        "TASProfileMixed",
        "AdmissionFairSharing",
        "TASFailedNodeReplacement",
        "TASFailedNodeReplacementFailFast",
        "TASReplaceNodeOnPodTermination",
        "TASReplaceNodeOnNodeTaints",
        "SkipReassignmentForPodOwnedWorkloads",
        "ElasticJobsViaWorkloadSlices",
        "ManagedJobsNamespaceSelectorAlwaysRespected",
        "TASAssignmentsEncodingByHostnamePrefix",
        "KueueDRAIntegration",
        "KueueDRAIntegrationExtendedResource",
        "KueueDRAIntegrationPartitionableDevices",
        "KueueDRARejectWorkloadsWhenDRADisabled",
        "MultiKueueAdaptersForCustomJobs",
        "MultiKueueKubeConfigPathValidation",
        "ReclaimablePods",
        "TLSOptions",
        "RemoveFinalizersWithStrictPatch",
        "AssignQueueLabelsForPods",
        "TASMultiLayerTopology",
        "SchedulingEquivalenceHashing",
        "AdmissionGatedBy",
        "FinishOrphanedWorkloads",
        "MultiKueueIncrementalDispatcherConfig",
        "MultiKueueIncrementalDispatcherRespectConfigOrder",
        "QuotaCheckStrategy",
        "MetricForWorkloadCreationLatency",
        "WorkloadIdentifierAnnotations",
        "WorkloadPriorityClassDefaulting",
        "MetricsForCohorts",
        "CleanupProvisioningRequestsOnEviction",
        "TASHandleOverlappingFlavors",
        "UnadmittedWorkloadsObservability",
        "TASRecomputeAssignmentWithinSchedulingCycle",
        "DeferRayServiceFinalizationForRedisCleanup",
        "TASCacheNodeMatchResults",
        "TASCachingRemainingResources",
        "TASCacheTopologyTree",
        "VectorizedResourceRequests",
        "WorkloadValidateResourcesAreNonNegative",
        "TASValidateWorkloadSliceSize",
        "WorkloadValidationForPodSetMetadata",
        "LWSImmutableGroupSize",
        "FlavorFungibilityPreserveScanProgress",
        "SkipAncestorCheckForDeletedWorkloads",
        "MultiKueueRemoteSpecSync",
        "RecomputeAssignmentUponPreemptionTargetsOverlap",
        "PodIntegrationValidateGroupOwner",
        "ValidateRayAndSparkJobUpdates",
        "JobManagedBy",
    ]
)

OFF = frozenset(
    [
        "DisableWaitForPodsReady",
        "ElasticJobsViaWorkloadSlicesWithTAS",
        "TASReplaceNodeDueToNotReadyOverFixedTime",
        "TASBalancedPlacement",
        "KueueDRAIntegrationConsumableCapacity",
        "WorkloadRequestUseMergePatch",
        "MultiKueueClusterProfile",
        "FailureRecoveryPolicy",
        "CustomMetricLabels",
        "SparkApplicationIntegration",
        "MultiKueueOrchestratedPreemption",
        "PriorityBoost",
        "ShortWorkloadNames",
        "FastQuotaReleaseInPodIntegration",
        "RejectUpdatesToCQWithInvalidOnFlavors",
        "ConcurrentAdmission",
        "TASRespectNodeAffinityPreferred",
        "MultiKueueManagerQuotaAutomation",
        "UnadmittedWorkloadsExplicitStatus",
        "SchedulerLibraryIntegration",
        "PrioritizePreemptorWorkloads",
    ]
)

SETTLED = frozenset(
    [
        "HierarchicalCohorts",
        "ObjectRetentionPolicies",
        "PropagateBatchJobLabelsToWorkload",
        "SkipFinalizersForPodsSuspendedByParent",
    ]
)
"""On for good: nothing asks for them any more, but files may still name them."""
LOCKED = SETTLED | {"ManagedJobsNamespaceSelectorAlwaysRespected", "TLSOptions"}

BOTH_GIVEN = "feature gates for CLI and configuration cannot both specified"

DEFAULTS: Mapping[str, bool] = dict.fromkeys(ON | SETTLED, True) | dict.fromkeys(OFF, False)

_TAS = "TopologyAwareScheduling"
_REPLACEMENT = "TASFailedNodeReplacement"
_DRA = "KueueDRAIntegration"

NEEDS: Mapping[str, frozenset[str]] = {
    **{gate: frozenset({_TAS}) for gate in DEFAULTS if gate.startswith("TAS")},
    **{gate: frozenset({_DRA}) for gate in DEFAULTS if gate.startswith(_DRA) and gate != _DRA},
    "TASFailedNodeReplacementFailFast": frozenset({_TAS, _REPLACEMENT}),
    "TASReplaceNodeOnPodTermination": frozenset({_TAS, _REPLACEMENT}),
    "TASReplaceNodeDueToNotReadyOverFixedTime": frozenset({_TAS, _REPLACEMENT}),
    "ElasticJobsViaWorkloadSlicesWithTAS": frozenset({"ElasticJobsViaWorkloadSlices"}),
    "UnadmittedWorkloadsExplicitStatus": frozenset({"UnadmittedWorkloadsObservability"}),
    "FlavorFungibilityPreserveScanProgress": frozenset({"FlavorFungibility"}),
}


def resolve(wanted: Mapping[str, bool]) -> dict[str, bool]:
    """Every gate with its value; a gate that lacks its base is refused if it was asked for, and
    off if it was not. What comes of it may be resolved again.
    """
    for name, value in wanted.items():
        if name not in DEFAULTS:
            raise InvalidInput(f"unrecognized feature gate: {name}")
        if name in LOCKED and not value:
            raise InvalidInput(
                f"cannot set feature gate {name} to false, feature is locked to true"
            )
    gates = {**DEFAULTS, **wanted}
    for name, bases in NEEDS.items():
        if name not in wanted and not all(gates[base] for base in bases):
            gates[name] = False
    for name, value in wanted.items():
        missing = sorted(base for base in NEEDS.get(name, ()) if not gates[base])
        if value and missing:
            raise InvalidInput(
                f"{name} is enabled, but depends on features that are disabled: {missing}".replace(
                    "'", ""
                )
            )
    return gates


def read_gates(text: str) -> dict[str, bool]:
    """Gates as a command line has them: `A=true,B=false`."""
    found: dict[str, bool] = {}
    for part in filter(None, (each.strip() for each in text.split(","))):
        name, equals, value = part.partition("=")
        if not equals:
            raise InvalidInput(f"missing bool value for feature gate {name}: write {name}=true")
        if value.lower() not in _BOOLS:
            raise InvalidInput(
                f'"{value}" is no value for feature gate {name}: write true or false'
            )
        found[name.strip()] = _BOOLS[value.lower()]
    return found


_BOOLS = {"true": True, "1": True, "t": True, "false": False, "0": False, "f": False}
