"""The priority of a job's Workload, and the class it comes from."""

from dataclasses import dataclass

from fleetqueue.base import paths
from fleetqueue.jobs.identity import priority_class_of
from fleetqueue.jobs.kind import JobKind, NotYet, Sight
from fleetqueue.jobs.resources import PRIORITY_CLASS, WORKLOAD_PRIORITY_CLASS
from fleetqueue.kube.resources import Object, Resource


@dataclass(frozen=True, slots=True)
class Priority:
    """A number, and the class that gives it."""

    value: int = 0
    reference: Object | None = None


class ClassMissing(NotYet):
    """The WorkloadPriorityClass that the job names does not exist."""


def priority_of(kind: JobKind, sight: Sight, pod_sets: list[Object]) -> Priority:
    """By label, by the kind's own rule, by the pods, or the cluster's default."""
    if name := priority_class_of(sight.job):
        found = sight.source.get(WORKLOAD_PRIORITY_CLASS, "", name)
        if found is None:
            raise ClassMissing(f'WorkloadPriorityClass "{name}" not found')
        return _priority(WORKLOAD_PRIORITY_CLASS, found)
    name = _own_class(kind, sight) or _class_of_pods(pod_sets)
    if name:
        found = sight.source.get(PRIORITY_CLASS, "", name)
        if found is None:
            raise NotYet(f'PriorityClass "{name}" not found')
        return _priority(PRIORITY_CLASS, found)
    return _default(sight)


def _own_class(kind: JobKind, sight: Sight) -> str:
    values = (paths.get(sight.job, path) for path in kind.priority_class)
    return next((str(value) for value in values if value), "")


def _class_of_pods(pod_sets: list[Object]) -> str:
    names = (each["template"]["spec"].get("priorityClassName") for each in pod_sets)
    return next((str(name) for name in names if name), "")


def _default(sight: Sight) -> Priority:
    """Of several defaults the lowest counts."""
    found = [each for each in sight.source.all(PRIORITY_CLASS, "") if each.get("globalDefault")]
    if not found:
        return Priority()
    return _priority(PRIORITY_CLASS, min(found, key=lambda each: (each["value"], _name(each))))


def _priority(kind: Resource, found: Object) -> Priority:
    reference = {"group": kind.group, "kind": kind.kind, "name": _name(found)}
    return Priority(int(found["value"]), reference)


def _name(obj: Object) -> str:
    return str(obj["metadata"]["name"])
