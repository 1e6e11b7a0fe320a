"""Which objects the queue manages when they are written, and what it gives them then."""

from fleetqueue.api.kueue import admission_status as status_of
from fleetqueue.api.kueue import labels
from fleetqueue.base import paths
from fleetqueue.jobs import identity
from fleetqueue.jobs.ancestors import Family, TooDeep, ancestor_of
from fleetqueue.jobs.kind import JobKind, NotYet, Sight
from fleetqueue.jobs.resources import (
    ADMISSION_CHECK,
    CLUSTER_QUEUE,
    LOCAL_QUEUE,
    NAMESPACE,
    WORKLOAD_PRIORITY_CLASS,
)
from fleetqueue.jobs.settings import DEFAULT_PRIORITY_CLASS, DEFAULT_QUEUE, MULTIKUEUE
from fleetqueue.kube.finalizers import is_deleting
from fleetqueue.kube.resources import Object


def should_be_suspended(sight: Sight, family: Family) -> bool:
    """Without a look at the namespace where there is a queue name: so it is upstream."""
    if is_deleting(sight.job) or has_managed_ancestor(sight, family):
        return False
    if identity.queue_of(sight.job):
        return True
    return sight.settings.manages_without_queue_name and is_in_scope(sight)


def has_managed_ancestor(sight: Sight, family: Family) -> bool:
    def find(stub: Object) -> Object | None:
        group = stub["apiVersion"].rpartition("/")[0]
        kind = family.resources[group, stub["kind"]]
        return sight.source.get(kind, sight.namespace, stub["metadata"]["name"])

    try:
        return ancestor_of(sight.job, family, sight.settings, find) is not None
    except (NotYet, TooDeep):
        # The controller finds out; a write is not refused because an owner just went.
        return False


def is_in_scope(sight: Sight) -> bool:
    return sight.settings.has_namespace(sight.source.get(NAMESPACE, "", sight.namespace))


def has_default_queue(sight: Sight) -> bool:
    found = sight.source.get(LOCAL_QUEUE, sight.namespace, DEFAULT_QUEUE)
    return found is not None and (found["spec"].get("stopPolicy") or "None") == "None"


def take_queue_annotation(sight: Sight) -> None:
    """A queue named by annotation counts as if it were named by label."""
    said = sight.annotations.get(labels.QUEUE_NAME)
    if said and not identity.queue_of(sight.job):
        _label(sight.job, labels.QUEUE_NAME, said)


def default_queue(sight: Sight, family: Family) -> None:
    if identity.queue_of(sight.job) or family.has_managed_owner(sight.job):
        return
    if is_in_scope(sight) and has_default_queue(sight):
        _label(sight.job, labels.QUEUE_NAME, DEFAULT_QUEUE)


def default_priority_class(sight: Sight, family: Family) -> None:
    if not sight.settings.gates.default_priority_class:
        return
    if identity.priority_class_of(sight.job) or family.has_managed_owner(sight.job):
        return
    if sight.source.get(WORKLOAD_PRIORITY_CLASS, "", DEFAULT_PRIORITY_CLASS) is not None:
        _label(sight.job, labels.PRIORITY_CLASS, DEFAULT_PRIORITY_CLASS)


def default_manager(kind: JobKind, sight: Sight) -> None:
    """A job whose queue sends its workloads to other clusters is run by nobody here."""
    if not kind.managed_by or not sight.settings.gates.multikueue:
        return
    if not kind.hands_over(sight.settings):
        return
    present = paths.get(sight.job, kind.managed_by)
    if present in (None, "", kind.own_name) and uses_multikueue(sight):
        paths.set_in_place(sight.job, kind.managed_by, MULTIKUEUE)


def uses_multikueue(sight: Sight) -> bool:
    """Whether the job's ClusterQueue has a check of the controller that dispatches."""
    queue = identity.queue_of(sight.job)
    local = sight.source.get(LOCAL_QUEUE, sight.namespace, queue) if queue else None
    if local is None:
        return False
    cluster_queue = sight.source.get(CLUSTER_QUEUE, "", local["spec"].get("clusterQueue") or "")
    if cluster_queue is None:
        return False
    strategy = cluster_queue["spec"].get("admissionChecksStrategy") or {}
    names = [each["name"] for each in strategy.get("admissionChecks") or ()]
    checks = [sight.source.get(ADMISSION_CHECK, "", name) for name in names]
    return any(each is not None and each["spec"]["controllerName"] == MULTIKUEUE for each in checks)


def is_dispatched(sight: Sight, workload: Object) -> bool:
    """Whether a check of the Workload says that another cluster runs it."""
    if not sight.settings.gates.multikueue:
        return False
    names = [check["name"] for check in status_of.checks_of(workload)]
    checks = [sight.source.get(ADMISSION_CHECK, "", name) for name in names]
    return any(each is not None and each["spec"]["controllerName"] == MULTIKUEUE for each in checks)


def _label(job: Object, key: str, value: str) -> None:
    job["metadata"]["labels"] = {**identity.labels_of(job), key: value}
