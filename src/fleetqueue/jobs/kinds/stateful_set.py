"""StatefulSet (apps/v1): all its pods are queued together, as a group that serves."""

from dataclasses import replace

from fleetqueue.api.field_errors import FieldError, forbidden
from fleetqueue.api.kueue import admission_status as status_of
from fleetqueue.api.kueue.validation.common import check_immutable
from fleetqueue.jobs import identity, names
from fleetqueue.jobs.kind import JobKind, Role, Sight
from fleetqueue.jobs.resources import STATEFUL_SET, WORKLOAD
from fleetqueue.jobs.serving import templates
from fleetqueue.kube.resources import Object

FRAMEWORK = "statefulset"
TEMPLATE = "spec.template"
REPLICAS = "spec.replicas"


def replicas_of(job: Object) -> int:
    said = job["spec"].get("replicas")
    return 1 if said is None else int(said)


def roles(sight: Sight) -> list[Role]:
    template = sight.spec.get("template") or {}
    return [Role("main", TEMPLATE, replicas_of(sight.job), template)]


def workload_name(sight: Sight) -> str:
    """On a worker the same as on its manager; one that was named without a uid stays in use."""
    uid = identity.origin_uid(sight.job)
    old = _named(sight, "")
    return old if sight.source.get(WORKLOAD, sight.namespace, old) else _named(sight, uid)


def _named(sight: Sight, uid: str) -> str:
    return names.workload_name(
        STATEFUL_SET.kind,
        STATEFUL_SET.group,
        sight.name,
        uid,
        length_max=sight.settings.workload_name_length_max,
    )


def hold(sight: Sight) -> None:
    """Nothing but the mark, so that a change of queues does not roll the set."""
    if templates.parent_of(sight.job, TEMPLATE) in ("", FRAMEWORK):
        templates.stamp(sight.job, TEMPLATE, FRAMEWORK)


def is_managed(sight: Sight) -> bool:
    has_queue = bool(identity.queue_of(sight.job)) or sight.settings.manages_without_queue_name
    return has_queue and templates.parent_of(sight.job, TEMPLATE) == FRAMEWORK


def is_on_hold(workload: Object) -> bool:
    found = status_of.find_condition(workload, status_of.QUOTA_RESERVED)
    return found is not None and (found["status"], found["reason"]) == ("False", "OnHold")


def is_idle(workload: Object) -> bool:
    """Whether it neither holds quota nor waits for any: on hold, or switched off, of which whoever
    admits says so in place of a hold.
    """
    is_off = not status_of.is_active(workload) and not status_of.has_quota(workload)
    return is_on_hold(workload) or is_off


def check(sight: Sight, old: Object | None) -> list[FieldError]:
    if old is None:
        return []
    errors = templates.check_removed_queue(sight, old)
    if not is_managed(replace(sight, job=old)):
        return errors
    errors += templates.check_shape(sight.job, old, TEMPLATE)
    return errors + _check_replicas(sight, old)


def _check_replicas(sight: Sight, old: Object) -> list[FieldError]:
    new, was = replicas_of(sight.job), replicas_of(old)
    if new == was or not new:
        return []
    if was:
        return check_immutable(new, was, REPLICAS)
    if sight.status.get("replicas"):
        return [forbidden(REPLICAS, "scaling down is still in progress")]
    workload = sight.source.get(WORKLOAD, sight.namespace, workload_name(sight))
    if workload is None or is_idle(workload):
        return []
    return [forbidden(REPLICAS, "workload from previous scale-down is still being deleted")]


JOB = JobKind(
    framework=FRAMEWORK,
    resource=STATEFUL_SET,
    suspend="",
    roles=roles,
    pod_index_label="apps.kubernetes.io/pod-index",
    copies_metadata=False,
    active="status.replicas",
    ready=lambda sight: (sight.status.get("readyReplicas") or 0) >= replicas_of(sight.job),
    is_suspended=lambda job: not templates.has_ready_pods(job),
    queues=False,
    needs=("pod",),
    hold=hold,
    defaults_updates=True,
    validate=check,
    validates_scale=True,
)
