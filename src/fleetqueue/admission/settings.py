"""What the configuration file and the gates mean for admission, read once into frozen values."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from fractions import Fraction

from fleetqueue.admission import metric_settings
from fleetqueue.admission.life_settings import LifeSettings, PodsReadyRules
from fleetqueue.admission.metric_settings import MetricSettings
from fleetqueue.admission.node_health import NodeRules
from fleetqueue.api.kueue import gates, workload_names
from fleetqueue.api.kueue.admission_status import EXPLICIT, LEGACY
from fleetqueue.api.kueue.config import Configuration
from fleetqueue.api.kueue.config.types import (
    RequeuingTimestamp,
    ResourceTransformation,
    TransformationStrategy,
    WaitForPodsReady,
)
from fleetqueue.api.quantity import Quantity
from fleetqueue.api.times import parse_duration
from fleetqueue.queueing.device_claims import DeviceRules
from fleetqueue.queueing.reading import ReadingRules
from fleetqueue.queueing.requests import RequestRules, Transformation
from fleetqueue.queueing.settings import FairSharing, Settings, UsageSharing


@dataclass(frozen=True, slots=True)
class AdmissionSettings:
    """All of it."""

    queueing: Settings = field(default_factory=Settings)
    reading: ReadingRules = field(default_factory=ReadingRules)
    life: LifeSettings = field(default_factory=LifeSettings)
    metrics: MetricSettings = field(default_factory=MetricSettings)
    nodes: NodeRules = field(default_factory=NodeRules)
    recovers_pods: bool = False
    """FailureRecoveryPolicy."""


def read_settings(
    config: Configuration, wanted: Mapping[str, bool] | None = None
) -> AdmissionSettings:
    """`wanted`: gates of the command line; those of the file count where there are none."""
    on = gates.resolve(config.feature_gates if wanted is None else wanted)
    waits = None if on["DisableWaitForPodsReady"] else config.wait_for_pods_ready
    return AdmissionSettings(
        queueing=_queueing(config, on, waits),
        reading=ReadingRules(
            requests=_requests(config),
            sorts_by_eviction=_sorts_by_eviction(waits),
            sorts_by_preemption=not on["PrioritySortingWithinCohort"],
            hashes=on["SchedulingEquivalenceHashing"],
            boosts_priority=on["PriorityBoost"],
            devices=_devices(config, on),
        ),
        life=LifeSettings(
            pods_ready=None if waits is None else _pods_ready(waits),
            after_finished=_retention(config),
            wording=EXPLICIT if on["UnadmittedWorkloadsObservability"] else LEGACY,
            explains_waiting=on["UnadmittedWorkloadsObservability"],
            honors_gates=on["AdmissionGatedBy"],
            says_at_once=on["UnadmittedWorkloadsExplicitStatus"],
            finishes_orphans=on["FinishOrphanedWorkloads"],
            mirrors_preemption_gates=_has_preemption_gates(on),
            workload_name_length_max=(
                workload_names.SHORT_LENGTH_MAX
                if on["ShortWorkloadNames"]
                else workload_names.LENGTH_MAX
            ),
        ),
        metrics=metric_settings.read_settings(config, on),
        nodes=NodeRules(
            counts_ended_pods=on["TASReplaceNodeOnPodTermination"],
            counts_taints=on["TASReplaceNodeOnNodeTaints"],
            counts_time=on["TASReplaceNodeDueToNotReadyOverFixedTime"],
        ),
        recovers_pods=on["FailureRecoveryPolicy"],
    )


def _queueing(
    config: Configuration, on: Mapping[str, bool], waits: WaitForPodsReady | None
) -> Settings:
    strategy = config.resources.quota_check_strategy
    return Settings(
        fair_sharing=_fair_sharing(config, on),
        usage_sharing=_usage_sharing(config, on),
        ignores_undeclared=on["QuotaCheckStrategy"] and strategy == "IgnoreUndeclared",
        tries_flavors=on["FlavorFungibility"],
        keeps_scan_progress=on["FlavorFungibilityPreserveScanProgress"],
        admits_partially=on["PartialAdmission"],
        sorts_by_priority=on["PrioritySortingWithinCohort"],
        prefers_preemptors=on["PrioritizePreemptorWorkloads"],
        recomputes_placement=on["TASRecomputeAssignmentWithinSchedulingCycle"],
        recomputes_overlap=on["RecomputeAssignmentUponPreemptionTargetsOverlap"],
        hashes_equivalents=on["SchedulingEquivalenceHashing"],
        explains_waiting=on["UnadmittedWorkloadsObservability"],
        honors_gates=on["AdmissionGatedBy"],
        honors_preemption_gates=_has_preemption_gates(on),
        admits_concurrently=on["ConcurrentAdmission"],
        places_pods=on["TopologyAwareScheduling"],
        mixes_profiles=on["TASProfileMixed"],
        balances_placement=on["TASBalancedPlacement"],
        honors_preferred_affinity=on["TASRespectNodeAffinityPreferred"],
        shares_nodes=on["TASHandleOverlappingFlavors"],
        replaces_nodes=on["TASFailedNodeReplacement"],
        fails_fast=on["TASFailedNodeReplacementFailFast"],
        leaves_single_pods=on["SkipReassignmentForPodOwnedWorkloads"],
        packs_by_prefix=on["TASAssignmentsEncodingByHostnamePrefix"],
        places_elastic=on["ElasticJobsViaWorkloadSlicesWithTAS"],
        sorts_by_eviction=_sorts_by_eviction(waits),
        blocks_admission=waits is not None and waits.block_admission,
    )


def _fair_sharing(config: Configuration, on: Mapping[str, bool]) -> FairSharing | None:
    if config.fair_sharing is None:
        return None
    return FairSharing(
        tuple(each.value for each in config.fair_sharing.preemption_strategies),
        preempts_within_nominal=on["FairSharingPreemptWithinNominal"],
        prefers_non_borrowing=on["FairSharingPrioritizeNonBorrowing"],
    )


def _usage_sharing(config: Configuration, on: Mapping[str, bool]) -> UsageSharing | None:
    wanted = config.admission_fair_sharing
    if wanted is None or not on["AdmissionFairSharing"]:
        return None
    return UsageSharing(
        parse_duration(wanted.usage_half_life_time),
        parse_duration(wanted.usage_sampling_interval),
        wanted.resource_weights,
    )


def _requests(config: Configuration) -> RequestRules:
    return RequestRules(
        tuple(config.resources.exclude_resource_prefixes),
        {each.input: _transformation(each) for each in config.resources.transformations},
    )


def _devices(config: Configuration, on: Mapping[str, bool]) -> DeviceRules:
    return DeviceRules(
        is_on=on["KueueDRAIntegration"],
        refuses_when_off=on["KueueDRARejectWorkloadsWhenDRADisabled"],
        counts_extended=on["KueueDRAIntegrationExtendedResource"],
        resources={
            name: mapping.name
            for mapping in config.resources.device_class_mappings
            for name in mapping.device_class_names
        },
    )


def _transformation(rule: ResourceTransformation) -> Transformation:
    return Transformation(
        {name: _fraction(value) for name, value in rule.outputs.items()},
        keeps_input=rule.strategy is TransformationStrategy.RETAIN,
        multiply_by=rule.multiply_by,
    )


def _fraction(value: str | int) -> Fraction:
    quantity = Quantity.of(value)
    return Fraction(quantity.unscaled) * Fraction(10) ** quantity.exponent


def _pods_ready(rules: WaitForPodsReady) -> PodsReadyRules:
    timeout = parse_duration(rules.timeout)
    recovery = timeout if rules.recovery_timeout is None else parse_duration(rules.recovery_timeout)
    strategy = rules.requeuing_strategy
    return PodsReadyRules(
        timeout=timeout,
        recovery_timeout=recovery or None,
        retries_max=strategy.backoff_limit_count,
        backoff_base_seconds=strategy.backoff_base_seconds,
        backoff_seconds_max=strategy.backoff_max_seconds,
    )


def _sorts_by_eviction(waits: WaitForPodsReady | None) -> bool:
    return waits is None or waits.requeuing_strategy.timestamp is RequeuingTimestamp.EVICTION


def _retention(config: Configuration) -> timedelta | None:
    policies = config.object_retention_policies
    span = policies.workloads.after_finished if policies and policies.workloads else None
    return None if span is None else parse_duration(span)


def _has_preemption_gates(on: Mapping[str, bool]) -> bool:
    return on["MultiKueueOrchestratedPreemption"] or on["ConcurrentAdmission"]
