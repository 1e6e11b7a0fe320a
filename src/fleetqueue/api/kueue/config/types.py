"""Configuration as v1beta2 has it, with the defaults that depend on nothing else."""

from enum import StrEnum

from fleetqueue.api.kueue.config.manager import (
    Anything,
    ClientConnection,
    ControllerOptions,
    Health,
    InternalCertManagement,
    LeaderElection,
    Metrics,
    TlsOptions,
    VisibilityServer,
    Webhook,
)
from fleetqueue.api.meta import LabelSelector
from fleetqueue.api.model import Model, sent
from fleetqueue.api.scalars import Duration, Quantity

API_VERSION = "config.kueue.x-k8s.io/v1beta2"
KIND = "Configuration"

ALL_AT_ONCE = "kueue.x-k8s.io/multikueue-dispatcher-all-at-once"
INCREMENTAL = "kueue.x-k8s.io/multikueue-dispatcher-incremental"


class RequeuingTimestamp(StrEnum):
    """Which moment gives a workload its place when it is queued again."""

    EVICTION = "Eviction"
    CREATION = "Creation"


class RequeuingStrategy(Model):
    """How workloads come back after their pods did not get ready."""

    timestamp: RequeuingTimestamp = RequeuingTimestamp.EVICTION
    backoff_limit_count: int | None = None
    backoff_base_seconds: int = 60
    backoff_max_seconds: int = 3600


class WaitForPodsReady(Model):
    """How long the pods of an admitted workload may take to get ready, and to recover."""

    timeout: Duration = "30m"
    recovery_timeout: Duration | None = None
    block_admission: bool = False
    requeuing_strategy: RequeuingStrategy = RequeuingStrategy()


class Integrations(Model):
    """The kinds of jobs that are managed."""

    frameworks: list[str] = sent(default_factory=lambda: ["batch/job"])
    external_frameworks: list[str] = []
    label_keys_to_copy: list[str] = []


class ExternalFramework(Model):
    """A kind of job that has no adapter of its own, as Kind.version.group."""

    name: str = ""


class ExecVariable(Model):
    """An environment variable of a credential program."""

    name: str = ""
    value: str = ""


class ExecConfig(Model):
    """A program that prints credentials."""

    command: str = ""
    args: list[str] = []
    env: list[ExecVariable] = []
    api_version: str = ""
    install_hint: str = ""
    provide_cluster_info: bool = False
    interactive_mode: str = ""


class AccessProvider(Model):
    """How to get credentials for ClusterProfiles of one provider."""

    name: str = ""
    exec_config: ExecConfig = ExecConfig()


class ClusterProfile(Model):
    """Access to clusters that ClusterProfiles describe."""

    access_providers: list[AccessProvider] = []
    credentials_providers: list[AccessProvider] = []


class IncrementalDispatcherConfig(Model):
    """How many clusters are tried at a time."""

    step_size: int = 3


class MultiKueue(Model):
    """Sending workloads to other clusters."""

    gc_interval: Duration = "1m"
    origin: str = "multikueue"
    worker_lost_timeout: Duration = "15m"
    dispatcher_name: str = ALL_AT_ONCE
    external_frameworks: list[ExternalFramework] = []
    cluster_profile: ClusterProfile | None = None
    incremental_dispatcher_config: IncrementalDispatcherConfig | None = None


class PreemptionStrategy(StrEnum):
    """Which shares are compared before a workload is preempted for fairness."""

    LESS_THAN_OR_EQUAL_TO_FINAL_SHARE = "LessThanOrEqualToFinalShare"
    LESS_THAN_INITIAL_SHARE = "LessThanInitialShare"


class FairSharing(Model):
    """Fair sharing between ClusterQueues; off where this is missing."""

    preemption_strategies: list[PreemptionStrategy] = []


class AdmissionFairSharing(Model):
    """Fair sharing between LocalQueues by past usage; off where this is missing."""

    usage_half_life_time: Duration = "0s"
    usage_sampling_interval: Duration = "5m"
    resource_weights: dict[str, float] = {}


class QuotaCheckStrategy(StrEnum):
    """What becomes of resources that a queue does not cover."""

    BLOCK_UNDECLARED = "BlockUndeclared"
    IGNORE_UNDECLARED = "IgnoreUndeclared"


class TransformationStrategy(StrEnum):
    """Whether the input of a transformation still counts."""

    RETAIN = "Retain"
    REPLACE = "Replace"


class ResourceTransformation(Model):
    """Counts a resource as other ones."""

    input: str
    strategy: TransformationStrategy = TransformationStrategy.RETAIN
    outputs: dict[str, Quantity] = {}
    multiply_by: str = ""


class DeviceSource(Model):
    """What of a device is counted; exactly one of the two."""

    counter: Anything = None
    capacity: Anything = None


class DeviceClassMapping(Model):
    """The name under which quota counts devices of some classes."""

    name: str
    device_class_names: list[str] = []
    sources: list[DeviceSource] = []


class Resources(Model):
    """How requests become what quota counts."""

    quota_check_strategy: QuotaCheckStrategy | None = None
    exclude_resource_prefixes: list[str] = []
    transformations: list[ResourceTransformation] = []
    device_class_mappings: list[DeviceClassMapping] = []


class WorkloadRetention(Model):
    """How long workloads are kept that nobody needs; for ever where a span is missing."""

    after_finished: Duration | None = None
    after_deactivated_by_kueue: Duration | None = None


class ObjectRetentionPolicies(Model):
    """What is deleted after a while."""

    workloads: WorkloadRetention | None = None


class Configuration(Model):
    """Everything that can be set in the file."""

    api_version: str = sent(default_factory=lambda: API_VERSION)
    kind: str = sent(default_factory=lambda: KIND)
    namespace: str = ""
    webhook: Webhook = Webhook()
    leader_election: LeaderElection = LeaderElection()
    metrics: Metrics = Metrics()
    health: Health = Health()
    pprof_bind_address: str = ""
    controller: ControllerOptions = ControllerOptions()
    tls: TlsOptions | None = None
    manage_jobs_without_queue_name: bool = False
    managed_jobs_namespace_selector: LabelSelector | None = None
    internal_cert_management: InternalCertManagement = InternalCertManagement()
    wait_for_pods_ready: WaitForPodsReady | None = WaitForPodsReady()
    client_connection: ClientConnection = ClientConnection()
    integrations: Integrations = Integrations()
    multi_kueue: MultiKueue = MultiKueue()
    fair_sharing: FairSharing | None = None
    admission_fair_sharing: AdmissionFairSharing | None = None
    resources: Resources = Resources()
    feature_gates: dict[str, bool] = {}
    object_retention_policies: ObjectRetentionPolicies | None = None
    visibility_server: VisibilityServer = VisibilityServer()
