"""LeaderWorkerSet (leaderworkerset.x-k8s.io/v1): each replica, a leader with its workers, is queued
by itself, as a group that serves.
"""

from dataclasses import replace
from typing import Any

from fleetqueue.api.field_errors import FieldError, wrong
from fleetqueue.api.kueue import labels
from fleetqueue.api.kueue.validation.common import check_immutable
from fleetqueue.base import paths
from fleetqueue.jobs import identity, names
from fleetqueue.jobs.kind import JobKind, Role, Sight
from fleetqueue.jobs.resources import LEADER_WORKER_SET
from fleetqueue.jobs.serving import templates
from fleetqueue.kube.resources import Object

FRAMEWORK = "leaderworkerset.x-k8s.io/leaderworkerset"
LEADER = "spec.leaderWorkerTemplate.leaderTemplate"
WORKER = "spec.leaderWorkerTemplate.workerTemplate"
SIZE = "spec.leaderWorkerTemplate.size"
REPLICAS = "spec.replicas"
REPLICAS_MAX = 1_000_000
PREFIX = "leaderworkerset.sigs.k8s.io"
NAME_KEY = f"{PREFIX}/name"
WORKER_INDEX = f"{PREFIX}/worker-index"


def replicas_of(job: Object) -> int:
    return _number(paths.get(job, REPLICAS))


def size_of(job: Object) -> int:
    return _number(paths.get(job, SIZE))


def has_leader(job: Object) -> bool:
    return paths.get(job, LEADER) is not None


def roles(sight: Sight) -> list[Role]:
    """Of one replica."""
    size, worker = size_of(sight.job), _pods(sight.job, WORKER)
    if not has_leader(sight.job):
        return [Role("main", WORKER, size, worker)]
    return [
        Role("leader", LEADER, 1, _pods(sight.job, LEADER), pod_index_label=""),
        Role("worker", WORKER, size - 1, worker),
    ]


def workload_name(sight: Sight, index: int) -> str:
    return names.workload_name(
        LEADER_WORKER_SET.kind,
        LEADER_WORKER_SET.group,
        f"{sight.name}-{index}",
        identity.origin_uid(sight.job),
        length_max=sight.settings.workload_name_length_max,
    )


def hold(sight: Sight) -> None:
    inherited = templates.queue_labels(sight.job)
    for template in (LEADER, WORKER):
        annotations = {labels.POD_GROUP_SERVING: "true"}
        if template == WORKER and _starts_at_one(sight.job):
            annotations[labels.POD_INDEX_OFFSET] = "1"
        templates.stamp(
            sight.job, template, FRAMEWORK, labels_too=inherited, annotations=annotations
        )


def is_managed(sight: Sight) -> bool:
    has_queue = bool(identity.queue_of(sight.job)) or sight.settings.manages_without_queue_name
    return has_queue and templates.parent_of(sight.job, WORKER) == FRAMEWORK


def check(sight: Sight, old: Object | None) -> list[FieldError]:
    errors = _check_replicas(sight.job)
    if old is None:
        return errors
    errors += templates.check_removed_queue(sight, old)
    if not is_managed(replace(sight, job=old)):
        return errors
    if has_leader(sight.job) != has_leader(old):
        given = paths.get(sight.job, LEADER)
        errors += check_immutable(given, paths.get(old, LEADER), LEADER, shown=given or "null")
    elif has_leader(old):
        errors += templates.check_shape(sight.job, old, LEADER)
    errors += templates.check_shape(sight.job, old, WORKER)
    if sight.settings.gates.fixed_group_size:
        errors += check_immutable(size_of(sight.job), size_of(old), SIZE)
    return errors


def _check_replicas(job: Object) -> list[FieldError]:
    count = replicas_of(job)
    if count < 0:
        return [wrong(REPLICAS, count, "must be greater than or equal to 0")]
    if count > REPLICAS_MAX:
        return [wrong(REPLICAS, count, f"must be less than or equal to {REPLICAS_MAX}")]
    return []


def _starts_at_one(job: Object) -> bool:
    """Whether the workers are a pod set of their own, which the leader has no part in."""
    annotations = paths.get(job, f"{WORKER}.metadata.annotations") or {}
    return has_leader(job) and labels.PODSET_GROUP_NAME not in annotations


def _pods(job: Object, path: str) -> Object:
    """A template without what the operator tells its own pods by."""
    template = paths.get(job, path) or {}
    metadata = template.get("metadata") or {}
    kept = {name: _foreign(metadata.get(name) or {}) for name in ("labels", "annotations")}
    return {**template, "metadata": {name: part for name, part in kept.items() if part}}


def _foreign(part: dict[str, str]) -> dict[str, str]:
    return {
        key: value for key, value in part.items() if not key.startswith(PREFIX) or key == NAME_KEY
    }


def _number(value: Any) -> int:
    return 1 if value is None else int(value)


JOB = JobKind(
    framework=FRAMEWORK,
    resource=LEADER_WORKER_SET,
    suspend="",
    roles=roles,
    pod_index_label=WORKER_INDEX,
    active="status.replicas",
    ready="Available",
    is_suspended=lambda job: not templates.has_ready_pods(job),
    queues=False,
    needs=("pod",),
    hold=hold,
    defaults_updates=True,
    validate=check,
    supports_prebuilt=False,
)
