"""Which objects the queue manages when they are written, and what it gives them then."""

from collections.abc import Iterable

from fleetqueue.api.fleet import labels as fleet_labels
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
    WORKLOAD,
    WORKLOAD_PRIORITY_CLASS,
)
from fleetqueue.jobs.settings import DEFAULT_PRIORITY_CLASS, DEFAULT_QUEUE, MULTIKUEUE
from fleetqueue.kube.finalizers import is_deleting
from fleetqueue.kube.resources import Object

MANAGED_BY = ("spec", "managedBy")
"""Where a Job names its controller."""


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


def is_placed(job: Object) -> bool:
    """Whether members of a fleet run it; then nobody does here."""
    if fleet_labels.PLACED in identity.annotations_of(job):
        return True
    return bool(paths.get(job, MANAGED_BY) == fleet_labels.JOB_MANAGER)


def mark_placed(kind: JobKind, sight: Sight) -> None:
    """A new job that a placement selects, or whose queue is placed, is for members from the start:
    who makes a job and then its placement does not want it to run here in between.
    """
    if kind.managed_by and paths.get(sight.job, kind.managed_by) == MULTIKUEUE:
        return
    if sight.settings.is_placed(kind.resource, sight.job) or placed_queue(sight):
        metadata = sight.job["metadata"]
        metadata["annotations"] = {**sight.annotations, fleet_labels.PLACED: "true"}


def waits_for_placement(kind: JobKind, sight: Sight) -> str:
    """Its ClusterQueue, where that is placed and the job itself is not yet."""
    is_alone = is_placed(sight.job) and not sight.settings.is_placed(kind.resource, sight.job)
    return placed_queue(sight) if is_alone else ""


def placed_queue(sight: Sight) -> str:
    """The job's ClusterQueue where it is placed on members; one that sends its workloads to other
    clusters itself goes on doing so.
    """
    found = _cluster_queue(sight)
    if found is None or uses_multikueue(sight):
        return ""
    is_placed = sight.settings.is_placed(CLUSTER_QUEUE, found)
    return str(found["metadata"]["name"]) if is_placed else ""


def default_manager(kind: JobKind, sight: Sight) -> None:
    """A job whose queue sends its workloads to other clusters is run by nobody here."""
    if not kind.managed_by or not sight.settings.gates.multikueue:
        return
    if not kind.hands_over(sight.settings):
        return
    present = paths.get(sight.job, kind.managed_by)
    if present in (None, kind.own_name) and uses_multikueue(sight):
        paths.set_in_place(sight.job, kind.managed_by, MULTIKUEUE)


def is_left_alone(kind: JobKind, sight: Sight) -> bool:
    """Whether its operator has no part in a job that is in no queue either."""
    if not kind.managed_by or identity.queue_of(sight.job):
        return False
    return bool(paths.get(sight.job, kind.managed_by) == MULTIKUEUE)


def uses_multikueue(sight: Sight) -> bool:
    """Whether the job's ClusterQueue has a check of the controller that dispatches."""
    cluster_queue = _cluster_queue(sight)
    if cluster_queue is None:
        return False
    strategy = cluster_queue["spec"].get("admissionChecksStrategy") or {}
    names = [each["name"] for each in strategy.get("admissionChecks") or ()]
    return _is_any_multikueue(sight, names)


def is_dispatched(sight: Sight, workload: Object) -> bool:
    """Whether another cluster runs it, or is to: one has it, whatever its queue asks for now, or a
    check says so. A check that came when it ran here already says that in vain.
    """
    if not sight.settings.gates.multikueue:
        return False
    if status_of.cluster_of(workload):
        return True
    runs_here = status_of.runs_here(workload)
    states = status_of.checks_of(workload)
    heeded = [each["name"] for each in states if each["state"] != "Pending" or not runs_here]
    return _is_any_multikueue(sight, heeded)


def runs_elsewhere(sight: Sight, name: str) -> bool:
    """Whether there is a Workload of that name, and another cluster runs it."""
    workload = sight.source.get(WORKLOAD, sight.namespace, name)
    return workload is not None and is_dispatched(sight, workload)


def _is_any_multikueue(sight: Sight, names: Iterable[str]) -> bool:
    checks = [sight.source.get(ADMISSION_CHECK, "", name) for name in names]
    return any(each is not None and each["spec"]["controllerName"] == MULTIKUEUE for each in checks)


def _cluster_queue(sight: Sight) -> Object | None:
    queue = identity.queue_of(sight.job)
    local = sight.source.get(LOCAL_QUEUE, sight.namespace, queue) if queue else None
    if local is None:
        return None
    return sight.source.get(CLUSTER_QUEUE, "", local["spec"].get("clusterQueue") or "")


def _label(job: Object, key: str, value: str) -> None:
    job["metadata"]["labels"] = {**identity.labels_of(job), key: value}
