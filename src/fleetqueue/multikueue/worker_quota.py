"""What the ClusterQueues of a worker have for a workload, as far as their spec and status tell.

Flavors are taken as open to every pod set, since their nodes are not seen from afar; cohorts are
taken as flat: the sum of their queues. Many workloads ask the same of queues that seldom change, so
answers are remembered for each version of a queue.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from fleetqueue.api.kueue import admission_status as status
from fleetqueue.base import codec
from fleetqueue.kube.remembered import Remembered
from fleetqueue.kube.resources import Object, key_of, uid_of, version_of
from fleetqueue.queueing.amounts import (
    UNLIMITED,
    Amounts,
    FlavorResource,
    Requests,
    minus,
    plus,
    read_amount,
    times,
    total,
)
from fleetqueue.queueing.model import ClusterQueue, Quota
from fleetqueue.queueing.reading_queues import read_cluster_queue
from fleetqueue.queueing.requests import quota_requests

PODS = "pods"
Demands: TypeAlias = tuple[tuple[tuple[str, int], ...], ...]
"""What each pod set asks for, by resource, pods among them."""
Version: TypeAlias = tuple[str, str, bytes]
"""The uid of a queue and its resource version."""


@dataclass(frozen=True, slots=True)
class QueueState:
    """A ClusterQueue: what it has, and what is taken of it."""

    queue: ClusterQueue
    reserved: Mapping[FlavorResource, int]
    version: Version

    def left(self, at: FlavorResource) -> int:
        """What is not taken of its own; below zero where it borrows."""
        return minus(self.quota(at).nominal, self.reserved.get(at, 0))

    def quota(self, at: FlavorResource) -> Quota:
        return self.queue.quotas.get(at) or Quota()


@dataclass(frozen=True, slots=True)
class Room:
    """How many times a workload would fit."""

    guaranteed: int
    """Into what is free of the queue's own quota, and not lent to others now."""
    free: int
    """Into that and what it could borrow now."""
    nominal: int
    """Into all that is the queue's own, whoever uses it: what preemption could make free at best.
    Whose workloads have which priority is not seen from afar."""


@dataclass(frozen=True, slots=True)
class Shortage:
    """A resource of which a queue could not give enough if nobody else used anything."""

    resource: str
    asked: int = 0
    given: int | None = None
    """None: the queue does not know the resource."""


_demands: Remembered[Demands] = Remembered()
_states: Remembered[QueueState] = Remembered()
_rooms: Remembered[Room] = Remembered()
_shortages: Remembered[tuple[Shortage, ...]] = Remembered()


def room_for(demands: Demands, queue: Object, queues: Iterable[Object]) -> Room:
    """`queues`: all ClusterQueues of that worker."""
    state = read(queue)
    others = _others(state, queues)
    key = (demands, state.version, *(each.version for each in others))
    found = _rooms.get(key) if state.version[1] else None
    if found is None:
        found = _room(demands, state, others)
        _rooms.put(key, found)
    return found


def shortages_of(demands: Demands, queue: Object) -> tuple[Shortage, ...]:
    """One pod set gets all of a resource from one flavor, several may get it from several."""
    state = read(queue)
    key = (demands, state.version)
    found = _shortages.get(key) if state.version[1] else None
    if found is None:
        names = dict.fromkeys(name for demand in demands for name, asked in demand if asked)
        found = tuple(each for name in names if (each := _shortage(state, name, demands)))
        _shortages.put(key, found)
    return found


def cluster_queue_of(
    workload: Object, local_queues: Iterable[Object], cluster_queues: Iterable[Object]
) -> Object | None:
    """The one that the workload would wait in there."""
    local = local_queue_of(workload, local_queues)
    name = ((local or {}).get("spec") or {}).get("clusterQueue")
    return next((each for each in cluster_queues if each["metadata"]["name"] == name), None)


def local_queue_of(workload: Object, local_queues: Iterable[Object]) -> Object | None:
    name = (workload.get("spec") or {}).get("queueName")
    space = key_of(workload).namespace
    for each in local_queues:
        metadata = each["metadata"]
        if metadata["name"] == name and metadata.get("namespace") == space:
            return each
    return None


def demands_of(workload: Object, *, is_least: bool = False) -> Demands:
    """As quota was counted for it here, else as its templates say. At least: with as few pods as it
    would run with.
    """
    key = (uid_of(workload), version_of(workload), is_least)
    found = _demands.get(key) if key[1] else None
    if found is None:
        counted = {str(each.get("name")): each for each in status.assignments_of(workload)}
        found = tuple(
            _demand(each, counted.get(str(each.get("name"))), is_least)
            for each in (workload.get("spec") or {}).get("podSets") or ()
        )
        _demands.put(key, found)
    return found


def read(queue: Object) -> QueueState:
    """Read once for each version of the object."""
    # Uids and versions are unique in one server's life; two workers may be made alike.
    said = (queue.get("spec"), (queue.get("status") or {}).get("flavorsReservation"))
    version = (uid_of(queue), version_of(queue), codec.encode(said))
    known = _states.get(version) if all(version) else None
    if known is None:
        known = QueueState(read_cluster_queue(queue), _reserved(queue), version)
        _states.put(version, known)
    return known


def _demand(
    pod_set: Object, assigned: Object | None, is_least: bool
) -> tuple[tuple[str, int], ...]:
    count = int(pod_set.get("count", 1))
    if assigned is None:
        each = quota_requests((pod_set.get("template") or {}).get("spec") or {})
    else:
        taken = max(int(assigned.get("count") or count), 1)
        usage: dict[str, Any] = assigned.get("resourceUsage") or {}
        each = {name: -(-read_amount(name, usage[name]) // taken) for name in usage}
    if is_least:
        count = min(count, int(pod_set.get("minCount") or count))
    found = {name: times(amount, count) for name, amount in each.items()}
    return tuple(sorted({**found, PODS: count}.items()))


def _room(demands: Demands, state: QueueState, others: Sequence[QueueState]) -> Room:
    keys = list(state.queue.quotas)
    free = {at: _free(state, others, at) for at in keys}
    own = {at: min(free[at], state.left(at)) for at in keys}
    nominal = {at: state.quota(at).nominal for at in keys}
    return Room(*(_times(state.queue, demands, each) for each in (own, free, nominal)))


def _times(queue: ClusterQueue, demands: Demands, free: Amounts) -> int:
    """Pod sets choose in turn, each the flavor with most room left; all share what they chose."""
    taken: Amounts = {}
    for demand in demands:
        asked = {name: amount for name, amount in demand if amount}
        for group in queue.groups:
            wanted = {name: asked.pop(name) for name in group.resources if name in asked}
            if wanted and group.flavors:
                flavor = max(group.flavors, key=lambda each: _fits(each, wanted, free, taken))
                for name, amount in wanted.items():
                    taken[flavor, name] = plus(taken.get((flavor, name), 0), amount)
        if asked.keys() - {PODS}:
            return 0
    found = [max(free.get(at, 0), 0) // amount for at, amount in taken.items()]
    return min(found, default=UNLIMITED)


def _fits(flavor: str, wanted: Requests, free: Amounts, taken: Amounts) -> float:
    return min(
        minus(free.get((flavor, name), 0), taken.get((flavor, name), 0)) / amount
        for name, amount in wanted.items()
    )


def _others(state: QueueState, queues: Iterable[Object]) -> list[QueueState]:
    cohort = state.queue.cohort
    if not cohort:
        return []
    found = [read(each) for each in queues if (each.get("spec") or {}).get("cohortName") == cohort]
    return [each for each in found if each.queue.name != state.queue.name]


def _free(state: QueueState, others: Iterable[QueueState], at: FlavorResource) -> int:
    """What is its own and what others lend, less what they borrow, within its limit."""
    own = state.left(at)
    found = own
    for other in others:
        found = plus(found, _lent(other, at))
    limit = state.quota(at).borrowing_limit
    found = found if limit is None else min(found, plus(own, limit))
    return max(found, min(own, _kept(state, at)))


def _lent(other: QueueState, at: FlavorResource) -> int:
    """What another queue leaves to the rest now; below zero where it borrows itself."""
    quota = other.quota(at)
    lendable = quota.nominal if quota.lending_limit is None else quota.lending_limit
    beyond = minus(other.reserved.get(at, 0), max(minus(quota.nominal, lendable), 0))
    return minus(min(lendable, quota.nominal), max(beyond, 0))


def _kept(state: QueueState, at: FlavorResource) -> int:
    """What nobody else can have taken: the part that the queue does not lend."""
    quota = state.quota(at)
    kept = 0 if quota.lending_limit is None else max(minus(quota.nominal, quota.lending_limit), 0)
    return minus(kept, state.reserved.get(at, 0))


def _shortage(state: QueueState, name: str, demands: Demands) -> Shortage | None:
    queue = state.queue
    flavors = next((each.flavors for each in queue.groups if name in each.resources), ())
    if not flavors:
        return None if name == PODS else Shortage(name)
    limits = [_most(state, (flavor, name)) for flavor in flavors]
    asked = [amount for demand in demands for each, amount in demand if each == name]
    if max(asked) > max(limits):
        return Shortage(name, max(asked), max(limits))
    return Shortage(name, total(asked), total(limits)) if total(asked) > total(limits) else None


def _most(state: QueueState, at: FlavorResource) -> int:
    """All of its own, and all that it may borrow. What a cohort has is not seen from afar, so
    without a limit of its own there is none.
    """
    quota = state.quota(at)
    if not state.queue.cohort:
        return quota.nominal
    limit = quota.borrowing_limit
    return UNLIMITED if limit is None else plus(quota.nominal, limit)


def _reserved(queue: Object) -> Amounts:
    return {
        (str(flavor["name"]), str(each["name"])): read_amount(each["name"], each.get("total") or 0)
        for flavor in (queue.get("status") or {}).get("flavorsReservation") or ()
        for each in flavor.get("resources") or ()
    }
