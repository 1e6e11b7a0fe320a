"""Elastic jobs: several Workloads, one after the other, as the job grows and shrinks.

A slice that holds quota cannot grow: a second one takes its place, and is charged the difference.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from fleetqueue.api.kueue import admission_status as status_of
from fleetqueue.api.kueue import labels
from fleetqueue.jobs import identity
from fleetqueue.jobs.pod_sets import counts_of
from fleetqueue.kube.resources import Object, key_of, uid_of

REPLACED = "WorkloadSliceReplaced"
OUT_OF_SYNC = "OutOfSync"
MESSAGES = {
    REPLACED: "Replaced to accommodate a new workload slice",
    OUT_OF_SYNC: "The workload slice is out of sync with its parent job",
}


@dataclass(frozen=True, slots=True)
class Arrangement:
    """What is to become of a job's slices."""

    current: Object | None = None
    """The slice that stands for the job."""
    finished: list[tuple[Object, str]] = field(default_factory=list)
    """Those that are over, and why."""
    counts: Mapping[str, int] | None = None
    """The sizes that the current slice is to get, where it has others."""
    replaces: Object | None = None
    """The slice whose place a new one has to take."""


def arrange(slices: Sequence[Object], counts: Mapping[str, int]) -> Arrangement:
    """`counts`: the size of each pod set as the job has it now."""
    live = [each for each in by_age(slices) if not status_of.is_finished(each)]
    if not live:
        return Arrangement()
    kept, current = _kept(live)
    finished = [(each, _reason(each, live)) for each in live if each not in kept]
    if finished:
        return Arrangement(current, finished)
    have = counts_of(current["spec"]["podSets"])
    if have == counts:
        return Arrangement(current)
    if status_of.is_evicted(current) and status_of.has_quota(current):
        return Arrangement(current)
    grows = any(count > have.get(name, 0) for name, count in counts.items())
    if grows and status_of.has_quota(current):
        return Arrangement(current, replaces=current)
    return Arrangement(current, counts=counts)


def by_age(slices: Iterable[Object]) -> list[Object]:
    """The oldest first. Times are in whole seconds: of two slices of one second, the one that takes
    the place of the other is the younger.
    """
    known = {_key(each): each for each in slices}

    def place(workload: Object) -> tuple[str, int, str]:
        before = [_key(workload)]
        while (key := replaced_by(known[before[-1]])) in known and key not in before:
            before.append(key)
        created = str(workload["metadata"].get("creationTimestamp") or "")
        return created, len(before), uid_of(workload)

    return sorted(known.values(), key=place)


def slice_annotations(name: str, replaced: Object | None) -> dict[str, str]:
    """What a new slice of that name carries: all of one job share the name of the first."""
    made = {labels.ELASTIC_JOB: "true"}
    if replaced is None:
        return {**made, labels.WORKLOAD_SLICE_NAME: name}
    return {
        **made,
        labels.WORKLOAD_SLICE_NAME: slice_name(replaced),
        labels.WORKLOAD_SLICE_REPLACEMENT_FOR: _key(replaced),
    }


def slice_name(workload: Object) -> str:
    said = identity.annotations_of(workload).get(labels.WORKLOAD_SLICE_NAME)
    return said or str(workload["metadata"]["name"])


def replaced_by(workload: Object) -> str:
    """The key of the slice that this one takes the place of."""
    return identity.annotations_of(workload).get(labels.WORKLOAD_SLICE_REPLACEMENT_FOR) or ""


def resized(workload: Object, counts: Mapping[str, int]) -> Object:
    """The change of a slice's spec that gives it these sizes."""
    pod_sets = [
        {**each, "count": counts.get(each.get("name", "main"), each.get("count", 1))}
        for each in workload["spec"]["podSets"]
    ]
    return {"podSets": pod_sets}


def _kept(live: Sequence[Object]) -> tuple[list[Object], Object]:
    """Those that go on, and the one of them that counts now."""
    reserved = [each for each in live if status_of.has_quota(each)]
    if not reserved:
        return [live[-1]], live[-1]
    newest = reserved[-1]
    pending = [each for each in live if each not in reserved and replaced_by(each) == _key(newest)]
    if status_of.is_evicted(newest) or not pending:
        # What is evicted has to stop first, whatever waits to take its place.
        return [newest], newest
    return [newest, pending[-1]], pending[-1]


def _reason(workload: Object, live: Sequence[Object]) -> str:
    is_replaced = any(replaced_by(each) == _key(workload) for each in live)
    return REPLACED if is_replaced else OUT_OF_SYNC


def _key(workload: Object) -> str:
    key = key_of(workload)
    return f"{key.namespace}/{key.name}"
