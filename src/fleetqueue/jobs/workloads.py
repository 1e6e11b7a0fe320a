"""The Workload that stands for a job in the queue."""

from collections.abc import Mapping

from fleetqueue.api import names as label_rules
from fleetqueue.api.kueue import labels
from fleetqueue.jobs import identity, names
from fleetqueue.jobs.kind import JobKind, Sight
from fleetqueue.jobs.priorities import Priority
from fleetqueue.jobs.resources import WORKLOAD
from fleetqueue.kube.plan import child
from fleetqueue.kube.resources import Object


def build(
    kind: JobKind,
    sight: Sight,
    pod_sets: list[Object],
    priority: Priority,
    annotations: Mapping[str, str] | None = None,
) -> Object:
    """A new Workload that the job controls; `annotations` are those of a slice."""
    metadata: Object = {
        "name": workload_name(kind, sight),
        "labels": labels_of(sight),
        "finalizers": [labels.RESOURCE_IN_USE_FINALIZER],
    }
    told = {**annotations_of(sight), **(annotations or {})}
    if told:
        metadata["annotations"] = told
    return child(WORKLOAD, sight.job, metadata, spec=spec_of(sight, pod_sets, priority))


def workload_name(kind: JobKind, sight: Sight) -> str:
    elastic = kind.supports_slices and identity.is_elastic(sight.job, sight.settings)
    return names.workload_name(
        kind.resource.kind,
        kind.resource.group,
        sight.name,
        str(sight.job["metadata"]["uid"]),
        extra=kind.name_extra(sight.job) if elastic else "",
        length_max=sight.settings.workload_name_length_max,
    )


def labels_of(sight: Sight) -> dict[str, str]:
    wanted = sight.settings.label_keys_to_copy
    made = {key: sight.labels[key] for key in wanted if key in sight.labels}
    return {**made, **uid_label(sight.job)}


def uid_label(job: Object) -> dict[str, str]:
    """The job's uid, where that may be the value of a label."""
    uid = str(job["metadata"]["uid"])
    return {} if label_rules.label_value(uid) else {labels.JOB_UID: uid}


def annotations_of(sight: Sight) -> dict[str, str]:
    made = {
        key: value
        for key, value in sight.annotations.items()
        if key.startswith(labels.PROVISIONING_REQUEST_PREFIX)
        or key in labels.DISPATCHING
        or key in sight.settings.annotation_keys_to_copy
    }
    gated_by = identity.gated_by(sight.job)
    if gated_by and sight.settings.gates.admission_gated_by:
        made[labels.ADMISSION_GATED_BY] = gated_by
    return made


def spec_of(sight: Sight, pod_sets: list[Object], priority: Priority) -> Object:
    made: Object = {"podSets": pod_sets, "priority": priority.value}
    if priority.reference is not None:
        made["priorityClassRef"] = priority.reference
    if queue := identity.queue_of(sight.job):
        made["queueName"] = queue
    seconds = identity.max_seconds_of(sight.job)
    if seconds is not None:
        made["maximumExecutionTimeSeconds"] = seconds
    return made
