"""What the configuration and its gates mean for jobs, read once into one frozen value."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from fleetqueue.api import selectors
from fleetqueue.api.kueue import gates
from fleetqueue.api.kueue.admission_status import EXPLICIT, LEGACY, Wording
from fleetqueue.api.kueue.config import Configuration
from fleetqueue.api.kueue.config.manager import CustomLabel
from fleetqueue.api.model import write
from fleetqueue.api.times import parse_duration
from fleetqueue.errors import InvalidInput
from fleetqueue.kube.resources import Object, Resource

DEFAULT_QUEUE = "default"
DEFAULT_PRIORITY_CLASS = "default"
MULTIKUEUE = "kueue.x-k8s.io/multikueue"
NAME_LENGTH_MAX = 253
SHORT_NAME_LENGTH_MAX = 63
SYSTEM_NAMESPACES = ("kube-system", "kueue-system")

_EXCLUDED = {
    "matchExpressions": [
        {
            "key": "kubernetes.io/metadata.name",
            "operator": "NotIn",
            "values": list(SYSTEM_NAMESPACES),
        }
    ]
}


@dataclass(frozen=True, slots=True)
class Gates:
    """The gates that jobs depend on."""

    topology: bool = True
    multi_layer_topology: bool = True
    slices: bool = True
    partial_admission: bool = True
    reclaimable_pods: bool = True
    multikueue: bool = True
    admission_gated_by: bool = True
    default_priority_class: bool = True
    finish_orphans: bool = True
    identifier_annotations: bool = True
    queue_labels_for_pods: bool = True
    short_names: bool = False
    defer_ray_service: bool = True
    validate_ray_updates: bool = True
    skip_reassignment: bool = True
    group_owners: bool = True
    fast_quota_release: bool = False
    fixed_group_size: bool = True
    training_managed_by: bool = True
    skips_ancestors_of_deleted: bool = True


@dataclass(frozen=True, slots=True)
class JobSettings:
    """One for all kinds."""

    frameworks: frozenset[str] = frozenset({"batch/job"})
    external: tuple[Resource, ...] = ()
    """Kinds that controllers outside of here handle; they count as owners that are managed."""
    manages_without_queue_name: bool = False
    namespaces: selectors.LabelSelector = field(
        default_factory=lambda: selectors.labels_from_object(_EXCLUDED)
    )
    """Jobs elsewhere are never looked at."""
    label_keys_to_copy: tuple[str, ...] = ()
    annotation_keys_to_copy: tuple[str, ...] = ()
    waits_for_pods_ready: bool = True
    blocks_admission: bool = False
    """Whether nobody else is admitted until pods are ready."""
    deletes_deactivated_after: timedelta | None = None
    gates: Gates = field(default_factory=Gates)
    wording: Wording = EXPLICIT
    blueprints: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    """By framework: what an operator would make of a job, where no path in the job says that."""
    is_placed: Callable[[Resource, Object], bool] = lambda kind, obj: False
    """Whether something brings an object of this cluster to others, for them to deal with it."""

    @property
    def workload_name_length_max(self) -> int:
        return SHORT_NAME_LENGTH_MAX if self.gates.short_names else NAME_LENGTH_MAX

    def has_namespace(self, namespace: Object | None) -> bool:
        labels = {} if namespace is None else namespace["metadata"].get("labels") or {}
        return namespace is not None and bool(self.namespaces.matches(labels))


def read_settings(
    config: Configuration,
    wanted: Mapping[str, bool] | None = None,
    blueprints: Mapping[str, Callable[..., Any]] | None = None,
) -> JobSettings:
    """`wanted`: gates of the command line; those of the file count where there are none."""
    resolved = gates.resolve(config.feature_gates if wanted is None else wanted)
    retention = config.object_retention_policies
    kept = retention.workloads if retention is not None else None
    after = kept.after_deactivated_by_kueue if kept is not None else None
    ready = config.wait_for_pods_ready
    waits = ready is not None and not resolved["DisableWaitForPodsReady"]
    selector = config.managed_jobs_namespace_selector
    raw = _EXCLUDED if selector is None else write(selector)
    integrations = config.integrations
    measured = config.metrics.custom_labels if resolved["CustomMetricLabels"] else ()
    labels, annotations = measured_keys(measured)
    return JobSettings(
        frameworks=frozenset(integrations.frameworks or ["batch/job"]),
        external=tuple(external_kind(each) for each in integrations.external_frameworks),
        manages_without_queue_name=config.manage_jobs_without_queue_name,
        namespaces=selectors.labels_from_object(raw),
        label_keys_to_copy=tuple(dict.fromkeys([*integrations.label_keys_to_copy, *labels])),
        annotation_keys_to_copy=annotations,
        waits_for_pods_ready=waits,
        blocks_admission=waits and ready is not None and bool(ready.block_admission),
        deletes_deactivated_after=None if after is None else parse_duration(after),
        gates=_gates(resolved),
        wording=EXPLICIT if resolved["UnadmittedWorkloadsObservability"] else LEGACY,
        blueprints=blueprints or {},
    )


def measured_keys(custom: Iterable[CustomLabel]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Labels and annotations that metrics read of Workloads, which have them from their jobs."""
    of_workloads = [each for each in custom if each.source_kind == "Workload"]
    annotations = [each.source_annotation_key for each in of_workloads]
    labels = [
        each.source_label_key or each.name
        for each in of_workloads
        if not each.source_annotation_key
    ]
    return tuple(labels), tuple(filter(None, annotations))


def external_kind(text: str) -> Resource:
    """A kind given as `Kind.version.group`; what it is served as is for the server to say."""
    kind, _, rest = text.partition(".")
    version, _, group = rest.partition(".")
    if not (kind and version and group):
        raise InvalidInput(f'"{text}" is no framework: write Kind.version.group')
    return Resource(group, version, _plural(kind.lower()), kind, is_guess=True)


def _plural(word: str) -> str:
    """As code generators form it."""
    if word.endswith(("s", "x", "ch", "sh")):
        return f"{word}es"
    if word.endswith("y") and word[-2:-1] not in "aeiou":
        return f"{word[:-1]}ies"
    return f"{word}s"


def _gates(resolved: Mapping[str, bool]) -> Gates:
    return Gates(
        topology=resolved["TopologyAwareScheduling"],
        multi_layer_topology=resolved["TASMultiLayerTopology"],
        slices=resolved["ElasticJobsViaWorkloadSlices"],
        partial_admission=resolved["PartialAdmission"],
        reclaimable_pods=resolved["ReclaimablePods"],
        multikueue=resolved["MultiKueue"],
        admission_gated_by=resolved["AdmissionGatedBy"],
        default_priority_class=resolved["WorkloadPriorityClassDefaulting"],
        finish_orphans=resolved["FinishOrphanedWorkloads"],
        identifier_annotations=resolved["WorkloadIdentifierAnnotations"],
        queue_labels_for_pods=resolved["AssignQueueLabelsForPods"],
        short_names=resolved["ShortWorkloadNames"],
        defer_ray_service=resolved["DeferRayServiceFinalizationForRedisCleanup"],
        validate_ray_updates=resolved["ValidateRayAndSparkJobUpdates"],
        skip_reassignment=resolved["SkipReassignmentForPodOwnedWorkloads"],
        group_owners=resolved["PodIntegrationValidateGroupOwner"],
        fast_quota_release=resolved["FastQuotaReleaseInPodIntegration"],
        fixed_group_size=resolved["LWSImmutableGroupSize"],
        training_managed_by=resolved["JobManagedBy"],
        skips_ancestors_of_deleted=resolved["SkipAncestorCheckForDeletedWorkloads"],
    )
