"""What the configuration and its gates mean for dispatching, read once into one frozen value."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from fleetqueue.api.kueue.config import Configuration
from fleetqueue.api.kueue.config.types import AccessProvider
from fleetqueue.api.times import parse_duration
from fleetqueue.jobs.settings import JobSettings, external_kind
from fleetqueue.kube.resources import Resource

NAMESPACE = "kueue-system"
KUBECONFIG_DIRECTORY = "/etc/multikueue/kubeconfigs"
STEP_SIZE = 3
ROUND_SECONDS = 300.0
PREEMPTION_SECONDS = 300.0
BATCH_SECONDS = 0.02
"""How long changes on workers are gathered before a workload is looked at. Kueue takes a second,
which is most of what a job waits there."""


@dataclass(frozen=True, slots=True)
class DispatchGates:
    """The gates that dispatching depends on."""

    external_frameworks: bool = True
    path_validation: bool = True
    cluster_profiles: bool = False
    orchestrated_preemption: bool = False
    step_size: bool = True
    config_order: bool = True
    quota_automation: bool = False
    spec_sync: bool = True
    identifier_annotations: bool = True
    slices: bool = True
    merge_patches: bool = False
    """WorkloadRequestUseMergePatch."""


@dataclass(frozen=True, slots=True)
class DispatchSettings:
    """One for all of dispatching."""

    jobs: JobSettings
    namespace: str = NAMESPACE
    """Where secrets and profiles are read."""
    origin: str = "multikueue"
    gc_seconds: float = 60.0
    """0: leftovers on workers are not looked for."""
    worker_lost_seconds: float = 900.0
    dispatcher: str = ""
    step_size: int = STEP_SIZE
    round_seconds: float = ROUND_SECONDS
    """How long the Incremental dispatcher waits before it nominates more workers."""
    preemption_seconds: float = PREEMPTION_SECONDS
    """How long a worker that may preempt has, before another may."""
    external: tuple[Resource, ...] = ()
    providers: tuple[AccessProvider, ...] = ()
    kubeconfig_directory: str = KUBECONFIG_DIRECTORY
    batch_seconds: float = BATCH_SECONDS
    tolerates_missing_kinds: bool = False
    """Whether a worker that lacks a kind of job is used for the others."""
    gates: DispatchGates = field(default_factory=DispatchGates)

    def seconds_left(self, lost_since: datetime | None, now: datetime) -> float:
        """How long a worker that is lost may still come back; None: it was lost just now."""
        until = (lost_since or now) + timedelta(seconds=self.worker_lost_seconds)
        return (until - now).total_seconds()


def read_settings(
    config: Configuration, resolved: Mapping[str, bool], jobs: JobSettings
) -> DispatchSettings:
    """`resolved`: every gate with its value."""
    said = config.multi_kueue
    profile, steps = said.cluster_profile, said.incremental_dispatcher_config
    providers = () if profile is None else profile.access_providers or profile.credentials_providers
    gates = _gates(resolved)
    has_steps = gates.step_size and steps is not None
    return DispatchSettings(
        jobs=jobs,
        namespace=config.namespace or NAMESPACE,
        origin=said.origin,
        gc_seconds=parse_duration(said.gc_interval).total_seconds(),
        worker_lost_seconds=parse_duration(said.worker_lost_timeout).total_seconds(),
        dispatcher=said.dispatcher_name,
        step_size=steps.step_size if has_steps and steps is not None else STEP_SIZE,
        external=tuple(external_kind(each.name) for each in said.external_frameworks),
        providers=tuple(providers),
        gates=gates,
    )


def _gates(resolved: Mapping[str, bool]) -> DispatchGates:
    return DispatchGates(
        external_frameworks=resolved["MultiKueueAdaptersForCustomJobs"],
        path_validation=resolved["MultiKueueKubeConfigPathValidation"],
        cluster_profiles=resolved["MultiKueueClusterProfile"],
        orchestrated_preemption=resolved["MultiKueueOrchestratedPreemption"],
        step_size=resolved["MultiKueueIncrementalDispatcherConfig"],
        config_order=resolved["MultiKueueIncrementalDispatcherRespectConfigOrder"],
        quota_automation=resolved["MultiKueueManagerQuotaAutomation"],
        spec_sync=resolved["MultiKueueRemoteSpecSync"],
        identifier_annotations=resolved["WorkloadIdentifierAnnotations"],
        slices=resolved["ElasticJobsViaWorkloadSlices"],
        merge_patches=resolved["WorkloadRequestUseMergePatch"],
    )
