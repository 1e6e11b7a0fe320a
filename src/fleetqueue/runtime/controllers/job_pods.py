"""Which pods of a Job are made and which are removed, and what a new one looks like."""

from collections.abc import Iterable, Sequence
from heapq import nsmallest
from itertools import groupby, islice
from math import inf

from fleetqueue.kube.resources import Object
from fleetqueue.runtime import pod_facts
from fleetqueue.runtime.controllers.job_indexes import Indexes
from fleetqueue.runtime.controllers.job_sight import (
    FAILURE_COUNT,
    FINALIZER,
    IGNORED_FAILURE_COUNT,
    INDEX,
    Sight,
    failure_count,
    ignored_failure_count,
    index_of,
)
from fleetqueue.runtime.templates import pod_from_template

GENERATED_PREFIX_LENGTH_MAX = 58
_PHASES = {"Pending": 0, "Unknown": 1, "Running": 2}
_INDEX_VARIABLE = {
    "name": "JOB_COMPLETION_INDEX",
    "valueFrom": {"fieldRef": {"fieldPath": f"metadata.labels['{INDEX}']"}},
}


def wanted_active(sight: Sight) -> int:
    parallelism = int(sight.spec["parallelism"])
    if sight.completions is None:
        # After the first success the others may end, but no more are begun.
        return len(sight.active) if sight.succeeded else parallelism
    return max(0, min(parallelism, sight.completions - sight.succeeded))


def indexes_to_add(sight: Sight, count: int) -> list[int]:
    """The first so many indexes that nobody works on and that have no result."""
    taken = sight.succeeded_indexes | Indexes(_indexes(sight.active))
    if sight.replaces_failed_only:
        taken |= Indexes(_indexes(sight.terminating))
    if sight.failed_indexes is not None:
        taken |= sight.failed_indexes
    return list(islice(taken.missing(sight.completions or 0), count))


def surplus(sight: Sight, count: int) -> list[Object]:
    """At least so many active pods, those first that are missed least; and in an Indexed Job all
    that have no index of it, or share one."""
    if not sight.is_indexed:
        return nsmallest(count, sight.active, key=_removal_order)
    removed, left = _without_doubles(sight)
    if len(removed) < count:
        removed += nsmallest(count - len(removed), left, key=_removal_order)
    return removed


def new_pod(sight: Sight) -> Object:
    pod = pod_from_template(sight.spec["template"], sight.job)
    return _tracked(pod)


def new_indexed_pod(sight: Sight, index: int) -> Object:
    name = sight.job["metadata"]["name"]
    pod = _tracked(pod_from_template(sight.spec["template"], sight.job))
    metadata, spec = pod["metadata"], dict(pod["spec"])
    metadata["generateName"] = _indexed_prefix(name, index)
    metadata["labels"] = {**metadata["labels"], INDEX: str(index)}
    metadata["annotations"] = {
        **(metadata.get("annotations") or {}),
        INDEX: str(index),
        **_failure_counts(sight, index),
    }
    spec["hostname"] = f"{name}-{index}"
    for containers in ("initContainers", "containers"):
        if spec.get(containers):
            spec[containers] = [_told_its_index(each) for each in spec[containers]]
    return {**pod, "spec": spec}


def _tracked(pod: Object) -> Object:
    finalizers = pod["metadata"].get("finalizers") or []
    if FINALIZER not in finalizers:
        pod["metadata"]["finalizers"] = [*finalizers, FINALIZER]
    return pod


def _indexed_prefix(name: str, index: int) -> str:
    suffix = f"-{index}-"
    return name[: GENERATED_PREFIX_LENGTH_MAX - len(suffix)] + suffix


def _told_its_index(container: Object) -> Object:
    variables = container.get("env") or []
    if any(each["name"] == _INDEX_VARIABLE["name"] for each in variables):
        return container
    return {**container, "env": [*variables, _INDEX_VARIABLE]}


def _failure_counts(sight: Sight, index: int) -> dict[str, str]:
    if sight.limit_per_index is None:
        return {}
    before = sight.awaiting_replacement.get(index)
    counted = ignored = 0
    if before is not None:
        counts = sight.judge(before).counts
        counted = failure_count(before) + counts
        ignored = ignored_failure_count(before) + (not counts)
    annotations = {FAILURE_COUNT: str(counted)}
    if ignored:
        annotations[IGNORED_FAILURE_COUNT] = str(ignored)
    return annotations


def _without_doubles(sight: Sight) -> tuple[list[Object], list[Object]]:
    removed: list[Object] = []
    left: list[Object] = []
    for index, group in groupby(sorted(sight.active, key=index_of), key=index_of):
        pods = list(group)
        if len(pods) > 1:
            pods.sort(key=_removal_order)
        if 0 <= index < (sight.completions or 0):
            left.append(pods.pop())
        removed += pods
    return removed, left


def _indexes(pods: Iterable[Object]) -> Sequence[int]:
    return [index_of(pod) for pod in pods if index_of(pod) >= 0]


def _removal_order(pod: Object) -> tuple[object, ...]:
    """Unlike with ReplicaSets, neither the deletion cost nor the neighbours matter."""
    ready_at = pod_facts.ready_at(pod)
    return (
        bool(pod_facts.node_name(pod)),
        _PHASES.get(pod_facts.phase(pod), 0),
        pod_facts.is_ready(pod),
        -inf if ready_at is None else -ready_at.timestamp(),
        tuple(-count for count in pod_facts.restarts(pod)),
        -pod_facts.created_at(pod).timestamp(),
    )
