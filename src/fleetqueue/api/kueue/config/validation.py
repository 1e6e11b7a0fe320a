"""Checks a configuration that could be read: spans, counts, names, and settings that clash."""

from collections import Counter
from collections.abc import Iterator, Sequence

from fleetqueue.api import names, selectors
from fleetqueue.api.field_errors import (
    FieldError,
    duplicate,
    forbidden,
    required,
    too_many,
    unsupported,
    wrong,
)
from fleetqueue.api.kueue.config.checks import check_count, check_span, is_kind_version_group
from fleetqueue.api.kueue.config.devices import check_devices
from fleetqueue.api.kueue.config.manager import CustomLabel, Metrics
from fleetqueue.api.kueue.config.multikueue import check_multi_kueue
from fleetqueue.api.kueue.config.process import check_process
from fleetqueue.api.kueue.config.reading import NAMESPACE_LABEL
from fleetqueue.api.kueue.config.tls import check_tls
from fleetqueue.api.kueue.config.types import (
    Configuration,
    PreemptionStrategy,
    QuotaCheckStrategy,
    Resources,
)
from fleetqueue.api.model import write

FRAMEWORKS = (
    "batch/job",
    "kubeflow.org/mpijob",
    "ray.io/rayjob",
    "ray.io/rayservice",
    "ray.io/raycluster",
    "jobset.x-k8s.io/jobset",
    "kubeflow.org/paddlejob",
    "kubeflow.org/pytorchjob",
    "kubeflow.org/tfjob",
    "kubeflow.org/xgboostjob",
    "kubeflow.org/jaxjob",
    "trainer.kubeflow.org/trainjob",
    "workload.codeflare.dev/appwrapper",
    "sparkoperator.k8s.io/sparkapplication",
    "pod",
    "deployment",
    "statefulset",
    "leaderworkerset.x-k8s.io/leaderworkerset",
)

LABELLED = ("ClusterQueue", "LocalQueue", "Cohort", "Workload")
"""The kinds whose labels and annotations metrics may have."""
CUSTOM_LABELS_MAX = 20
KIND_LABELS_MAX = 6
WORKLOAD_LABELS_MAX = 2
TRACKED_VALUES_MAX = 12


def validate_configuration(config: Configuration) -> list[FieldError]:
    """Everything that would stop the manager at its start."""
    return [
        *_check_waiting(config),
        *_check_namespaces(config),
        *_check_integrations(config),
        *check_multi_kueue(config.multi_kueue),
        *_check_fair_sharing(config),
        *_check_resources(config.resources),
        *_check_retention(config),
        *(check_tls(config.tls) if config.tls is not None else ()),
        *check_process(config),
        *_check_metrics(config.metrics),
    ]


def _check_waiting(config: Configuration) -> Iterator[FieldError]:
    path, waiting = "waitForPodsReady", config.wait_for_pods_ready
    if waiting is None:
        return
    strategy = waiting.requeuing_strategy
    yield from check_span(waiting.timeout, f"{path}.timeout")
    yield from check_span(waiting.recovery_timeout, f"{path}.recoveryTimeout")
    path = f"{path}.requeuingStrategy"
    yield from check_count(strategy.backoff_limit_count, f"{path}.backoffLimitCount")
    yield from check_count(strategy.backoff_base_seconds, f"{path}.backoffBaseSeconds")
    yield from check_count(strategy.backoff_max_seconds, f"{path}.backoffMaxSeconds")


def _check_namespaces(config: Configuration) -> Iterator[FieldError]:
    """Whoever manages the jobs of its own namespace locks itself out."""
    path, raw = "managedJobsNamespaceSelector", write(config.managed_jobs_namespace_selector)
    if faults := selectors.validate_object(raw, path):
        yield from (FieldError(*fault) for fault in faults)
        return
    selector = selectors.labels_from_object(raw)
    for namespace in dict.fromkeys(("kube-system", config.namespace)):
        if selector.matches({NAMESPACE_LABEL: namespace}):
            yield wrong(path, raw, f'should not match the "{namespace}" namespace')


def _check_integrations(config: Configuration) -> Iterator[FieldError]:
    path, integrations = "integrations", config.integrations
    for index, name in enumerate(integrations.frameworks):
        at = f"{path}.frameworks[{index}]"
        if name not in FRAMEWORKS:
            yield unsupported(at, name, FRAMEWORKS)
        if name in integrations.frameworks[:index]:
            yield duplicate(at, name)
    for index, name in enumerate(integrations.external_frameworks):
        at = f"{path}.externalFrameworks[{index}]"
        if not is_kind_version_group(name):
            yield wrong(at, name, "must be format, 'Kind.version.group.com'")
        if name in integrations.external_frameworks[:index]:
            yield duplicate(at, name)
    for index, key in enumerate(integrations.label_keys_to_copy):
        for message in names.qualified_name(key):
            yield wrong(f"{path}.labelKeysToCopy[{index}]", key, message)


def _check_fair_sharing(config: Configuration) -> Iterator[FieldError]:
    both = list(PreemptionStrategy)
    allowed = [both[:1], both[1:], both]
    if config.fair_sharing is not None:
        path, given = "fairSharing.preemptionStrategies", config.fair_sharing.preemption_strategies
        if not given:
            yield required(path, "must be set when fairSharing is enabled")
        elif given not in allowed:
            listed = [",".join(strategies) for strategies in allowed]
            yield unsupported(path, ",".join(given), listed)
    if sharing := config.admission_fair_sharing:
        path = "admissionFairSharing"
        yield from check_span(sharing.usage_half_life_time, f"{path}.usageHalfLifeTime")
        interval = sharing.usage_sampling_interval
        yield from check_span(interval, f"{path}.usageSamplingInterval", least=1)
        for name, weight in sorted(sharing.resource_weights.items()):
            yield from check_count(weight, f"{path}.resourceWeights[{name}]")


def _check_resources(resources: Resources) -> Iterator[FieldError]:
    ignores = resources.quota_check_strategy == QuotaCheckStrategy.IGNORE_UNDECLARED
    if ignores and resources.exclude_resource_prefixes:
        message = "may not be combined with quotaCheckStrategy IgnoreUndeclared"
        yield forbidden("resources.excludeResourcePrefixes", message)
    inputs = [each.input for each in resources.transformations]
    for index, name in enumerate(inputs):
        if name in inputs[:index]:
            yield duplicate(f"resources.transformations[{index}].input", name)
    yield from check_devices(resources.device_class_mappings)


def _check_retention(config: Configuration) -> Iterator[FieldError]:
    policies = config.object_retention_policies
    if policies and policies.workloads:
        path = "objectRetentionPolicies.workloads"
        workloads = policies.workloads
        yield from check_span(workloads.after_finished, f"{path}.afterFinished")
        at = f"{path}.afterDeactivatedByKueue"
        yield from check_span(workloads.after_deactivated_by_kueue, at)


def _check_metrics(metrics: Metrics) -> Iterator[FieldError]:
    if selector := metrics.local_queue_metrics.local_queue_selector:
        path = "metrics.localQueueMetrics.localQueueSelector"
        for fault in selectors.validate_object(write(selector), path):
            yield FieldError(*fault)
    yield from _check_custom_labels(metrics.custom_labels)


def _check_custom_labels(labels: Sequence[CustomLabel]) -> Iterator[FieldError]:
    path = "metrics.customLabels"
    if len(labels) > CUSTOM_LABELS_MAX:
        yield too_many(path, len(labels), CUSTOM_LABELS_MAX)
    for kind, count in Counter(label.source_kind for label in labels).items():
        most = WORKLOAD_LABELS_MAX if kind == "Workload" else KIND_LABELS_MAX
        if count > most:
            yield too_many(path, count, most)
    for index, label in enumerate(labels):
        yield from _check_custom_label(label, f"{path}[{index}]")


def _check_custom_label(label: CustomLabel, path: str) -> Iterator[FieldError]:
    if bool(label.source_label_key) and bool(label.source_annotation_key):
        message = "sourceLabelKey and sourceAnnotationKey are mutually exclusive"
        yield forbidden(path, message)
    if label.source_kind and label.source_kind not in LABELLED:
        yield unsupported(f"{path}.sourceKind", label.source_kind, LABELLED)
    if label.source_kind != "Workload":
        return
    if not label.tracked_values:
        yield required(f"{path}.trackedValues", "must be set for the source kind Workload")
    elif len(label.tracked_values) > TRACKED_VALUES_MAX:
        yield too_many(f"{path}.trackedValues", len(label.tracked_values), TRACKED_VALUES_MAX)
