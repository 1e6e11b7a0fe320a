"""How an update of a LeaderWorkerSet goes on: which groups may be replaced, how many are extra.

Groups are updated from the highest index down, by the partition of the leaders' StatefulSet.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from fleetqueue.kube.resources import Object
from fleetqueue.runtime.operators import leader_worker_spec as keys
from fleetqueue.runtime.operators.leader_worker_spec import LeaderWorkerSet, annotation, label
from fleetqueue.runtime.pod_facts import is_ready, phase


@dataclass(frozen=True, slots=True)
class Group:
    """One leader with its workers, as far as they are there."""

    index: int
    leader: Object
    workers: Object | None
    """The StatefulSet of its workers."""
    needs_workers: bool

    @property
    def is_whole(self) -> bool:
        return self.workers is not None or not self.needs_workers

    @property
    def is_ready(self) -> bool:
        leads = phase(self.leader) == "Running" and is_ready(self.leader)
        if not self.needs_workers:
            return leads
        return leads and self.workers is not None and _all_available(self.workers)

    def is_updated(self, revision: str) -> bool:
        if label(self.leader, keys.REVISION_KEY) != revision:
            return False
        if not self.needs_workers:
            return True
        return self.workers is not None and label(self.workers, keys.REVISION_KEY) == revision


@dataclass(frozen=True, slots=True)
class Course:
    """Where the update stands now."""

    partition: int
    replicas: int


def plot(
    whole: LeaderWorkerSet,
    leaders: Object | None,
    groups: Sequence[Group],
    revision: str,
    *,
    is_new: bool,
) -> Course:
    """The next step; `is_new` says that the template has changed just now."""
    course = _plot(whole, leaders, groups, revision, is_new)
    return Course(max(course.partition, whole.partition), course.replicas)


def _plot(
    whole: LeaderWorkerSet,
    leaders: Object | None,
    groups: Sequence[Group],
    revision: str,
    is_new: bool,
) -> Course:
    if leaders is None:
        return Course(0, whole.replicas)
    have = _count(leaders)
    if is_new:
        # Scaling comes first, the update follows.
        partition = min(whole.replicas, have)
        return Course(partition, whole.replicas if have < whole.replicas else _burst(whole))
    partition = partition_of(leaders)
    if partition == 0 and have == whole.replicas:
        return Course(0, whole.replicas)
    if have < whole.replicas:
        return Course(partition, whole.replicas)
    states = _states(groups, have, revision)
    replicas = _wanted(whole, states)
    if annotation(leaders, keys.REPLICAS_KEY) != str(whole.replicas):
        return Course(min(partition, whole.replicas + whole.surge_max), replicas)
    step = whole.unavailable_max + whole.surge_max - (whole.replicas + whole.surge_max - have)
    return Course(_next_partition(states, step, partition), replicas)


def partition_of(leaders: Object) -> int:
    strategy = leaders["spec"].get("updateStrategy") or {}
    return int((strategy.get("rollingUpdate") or {}).get("partition") or 0)


@dataclass(frozen=True, slots=True)
class _State:
    is_ready: bool = False
    is_updated: bool = False

    @property
    def is_done(self) -> bool:
        return self.is_ready and self.is_updated


def _states(groups: Sequence[Group], count: int, revision: str) -> list[_State]:
    """By index; a group that is not whole counts as neither ready nor updated."""
    found = {group.index: group for group in groups if group.is_whole}
    return [
        _State(found[i].is_ready, found[i].is_updated(revision)) if i in found else _State()
        for i in range(count)
    ]


def _next_partition(states: list[_State], step: int, current: int) -> int:
    done_at_tail = 0
    while done_at_tail < len(states) and states[-1 - done_at_tail].is_done:
        done_at_tail += 1
    lowest = max(len(states) - done_at_tail - step, 0)
    # Groups below that are not ready count against what may be unavailable.
    partition = lowest + sum(not state.is_ready for state in states[:lowest])
    # Groups that are down anyway may go at once, or an update of what never works would hang.
    for index in range(min(partition, len(states) - 1), lowest - 1, -1):
        if states[index].is_ready and not states[index].is_updated:
            break
        partition = index
    return min(partition, current)


def _wanted(whole: LeaderWorkerSet, states: list[_State]) -> int:
    """Surge groups stay as long as they stand in for more than may be unavailable."""
    listed = [states[i] if i < len(states) else _State() for i in range(whole.replicas)]
    missing = sum(not state.is_done for state in listed)
    if missing <= whole.surge_max:
        return whole.replicas + max(missing - whole.unavailable_max, 0)
    return whole.replicas + whole.surge_max


def _burst(whole: LeaderWorkerSet) -> int:
    """When an update begins nothing is updated yet."""
    return _wanted(whole, [])


def _all_available(workers: Object) -> bool:
    status = workers.get("status") or {}
    same = status.get("currentRevision") == status.get("updateRevision")
    return same and _count(workers) == (status.get("availableReplicas") or 0)


def _count(stateful_set: Object) -> int:
    count = stateful_set["spec"].get("replicas")
    return 1 if count is None else int(count)
