"""The workloads that wait: per ClusterQueue those that may be tried, those that are parked until
something changes, and the one that is being tried.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import Enum

from fleetqueue.api.meta import Key
from fleetqueue.base.heap import KeyedHeap
from fleetqueue.queueing import order
from fleetqueue.queueing.workload import Workload


class Requeue(Enum):
    """Why a workload that was tried goes back."""

    GENERIC = ""
    FAILED_AFTER_NOMINATION = "FailedAfterNomination"
    NAMESPACE_MISMATCH = "NamespaceMismatch"
    PREEMPTION_GATED = "PreemptionGated"
    PENDING_PREEMPTION = "PendingPreemption"
    PENDING_MIGRATION = "PendingMigration"
    PREEMPTION_FAILED = "PreemptionFailed"
    NO_FIT = "NoFit"
    NO_CANDIDATES = "PreemptionNoCandidates"


_AT_ONCE = {
    Requeue.FAILED_AFTER_NOMINATION,
    Requeue.PENDING_PREEMPTION,
    Requeue.PENDING_MIGRATION,
    Requeue.PREEMPTION_FAILED,
}
_SAME_FOR_EQUALS = {Requeue.NO_FIT, Requeue.NO_CANDIDATES}


@dataclass(frozen=True, slots=True)
class Counts:
    """How many wait: those that may be tried or are, and those that are parked."""

    active: int = 0
    parked: int = 0

    @property
    def pending(self) -> int:
        return self.active + self.parked


class PendingQueue:
    """The workloads that wait in one ClusterQueue; each is in exactly one place."""

    def __init__(
        self, name: str, *, is_strict: bool = False, hashes_equivalents: bool = True
    ) -> None:
        self.name = name
        self.is_strict = is_strict
        self.shares: Mapping[Key, float] = order.NO_SHARES
        self._hashes = hashes_equivalents
        self._heap: KeyedHeap[Key, Workload] = KeyedHeap(self._rank)
        self._parked: dict[Key, Workload] = {}
        self._tried: Workload | None = None
        self._sticky: Key | None = None
        self._equals: dict[str, dict[Key, None]] = {}
        """The keys in the heap, by hash."""
        self.hopeless: dict[str, str] = {}
        """Hashes that were found not to fit, and the reason that was told."""
        self.was_unparked = False
        """Whether something changed since the head was taken."""

    def put(self, workload: Workload, now: datetime) -> None:
        """New, or changed: what changed in a way that may matter is tried again."""
        key = workload.key
        if self._tried is not None and self._tried.key == key:
            self._tried = workload
            return
        parked = self._parked.get(key)
        if (
            parked is not None
            and _decides(parked) == _decides(workload)
            and not _is_due(parked, workload, now)
        ):
            self._parked[key] = workload
            return
        self.remove(key)
        if self._must_wait(workload, now) or self._is_hopeless(workload):
            self._parked[key] = workload
        else:
            self._push(workload)

    def remove(self, key: Key) -> Workload | None:
        if self._sticky == key:
            self._sticky = None
        if self._tried is not None and self._tried.key == key:
            found, self._tried = self._tried, None
            return found
        if key in self._parked:
            return self._parked.pop(key)
        return self._pull(key)

    def pop(self) -> Workload | None:
        """The head, which is being tried from now on."""
        if self._tried is not None or not len(self._heap):
            return None
        key, workload = self._heap.pop()
        self._leave_equals(key, workload)
        self._tried = workload
        self.was_unparked = False
        return workload

    def admitted(self, key: Key) -> None:
        """It was tried, and holds quota now."""
        self.remove(key)

    def requeue(
        self,
        workload: Workload,
        why: Requeue,
        now: datetime,
        *,
        has_more_flavors: bool = False,
        reason: str = "",
    ) -> bool:
        """Puts back what was tried, as it is by now; whether it may be tried again at once.
        `reason` is what its condition says.
        """
        self._tried = None
        self._stick(workload.key, why)
        at_once = (
            why is not Requeue.NAMESPACE_MISMATCH if self.is_strict else why in _AT_ONCE
        ) or (has_more_flavors or self.was_unparked)
        if at_once and not self._must_wait(workload, now):
            self._push(workload)
            return True
        self._parked[workload.key] = workload
        if why in _SAME_FOR_EQUALS and not self._must_wait(workload, now):
            self._park_equals(workload, reason)
        return False

    def unpark(self, now: datetime, is_selected: Callable[[str], bool]) -> bool:
        """Something changed: all that may be tried again is. `is_selected` tells whether the queue
        takes workloads of a namespace. Whether there is anything to try.
        """
        self.hopeless.clear()
        self.was_unparked = True
        for key, workload in list(self._parked.items()):
            if is_selected(key.namespace) and not self._must_wait(workload, now):
                del self._parked[key]
                self._push(workload)
        return bool(len(self._heap))

    def reorder(self) -> None:
        """What queues used in the past changed."""
        for key, workload in self._heap.ordered():
            self._heap.put(key, workload)

    def why_bypassed(self, key: Key) -> str | None:
        """The reason told to an equal one that did not fit, if this one is parked for that."""
        parked = self._parked.get(key)
        return None if parked is None else self.hopeless.get(parked.hash)

    # What people ask

    @property
    def counts(self) -> Counts:
        active = len(self._heap) + (self._tried is not None)
        return Counts(active, len(self._parked))

    def has_work(self) -> bool:
        return self._tried is None and len(self._heap) > 0

    def get(self, key: Key) -> Workload | None:
        if self._tried is not None and self._tried.key == key:
            return self._tried
        return self._parked.get(key) or self._heap.get(key)

    def is_trying(self, key: Key) -> bool:
        return self._tried is not None and self._tried.key == key

    def ordered(self) -> list[Workload]:
        """Everything that waits, in the order in which it would be tried."""
        waiting = [workload for _, workload in self._heap.ordered()]
        waiting += self._parked.values()
        if self._tried is not None:
            waiting.append(self._tried)
        return sorted(waiting, key=self._rank)

    def waiting(self) -> Iterator[tuple[Workload, bool]]:
        """Everything that waits, in no order, each with whether it is parked."""
        for key in self._heap:
            if (workload := self._heap.get(key)) is not None:
                yield workload, False
        if self._tried is not None:
            yield self._tried, False
        for workload in self._parked.values():
            yield workload, True

    def hash_counts(self) -> Counts:
        """How many different workloads wait, as far as deciding goes."""
        active = set(self._equals)
        if self._tried is not None:
            active.add(self._tried.hash)
        return Counts(len(active), len({each.hash for each in self._parked.values()}))

    def __len__(self) -> int:
        return self.counts.pending

    def __iter__(self) -> Iterator[Workload]:
        return iter(self.ordered())

    # Places

    def _rank(self, workload: Workload) -> order.Rank:
        return order.rank(workload, sticky=self._sticky, shares=self.shares)

    def _stick(self, key: Key, why: Requeue) -> None:
        if why is Requeue.PENDING_PREEMPTION and not self.is_strict:
            former, self._sticky = self._sticky, key
            if former is not None and (waiting := self._heap.get(former)) is not None:
                self._heap.put(former, waiting)
        elif self._sticky == key:
            self._sticky = None

    def _must_wait(self, workload: Workload, now: datetime) -> bool:
        if not workload.may_requeue:
            return True
        return workload.waits_until is not None and workload.waits_until > now

    def _is_hopeless(self, workload: Workload) -> bool:
        uses = self._hashes and not self.is_strict and bool(workload.hash)
        return uses and workload.hash in self.hopeless

    def _park_equals(self, workload: Workload, reason: str) -> None:
        if not self._hashes or self.is_strict or not workload.hash:
            return
        self.hopeless[workload.hash] = reason or "PendingEvaluation"
        for key in list(self._equals.get(workload.hash, ())):
            found = self._pull(key)
            if found is not None:
                self._parked[key] = found

    def _push(self, workload: Workload) -> None:
        self._heap.put(workload.key, workload)
        if workload.hash:
            self._equals.setdefault(workload.hash, {})[workload.key] = None

    def _pull(self, key: Key) -> Workload | None:
        found = self._heap.remove(key)
        if found is not None:
            self._leave_equals(key, found)
        return found

    def _leave_equals(self, key: Key, workload: Workload) -> None:
        keys = self._equals.get(workload.hash)
        if keys is not None:
            keys.pop(key, None)
            if not keys:
                del self._equals[workload.hash]


def _decides(workload: Workload) -> tuple[object, ...]:
    """What a parked workload is tried again for when it changes."""
    return (
        workload.uid,
        workload.generation,
        workload.effective_priority,
        workload.ordered_at,
        workload.is_evicted,
        workload.may_requeue,
        workload.waits_until,
        workload.has_closed_gate,
        tuple((each.count, tuple(sorted(each.requests.items()))) for each in workload.pod_sets),
    )


def _is_due(parked: Workload, workload: Workload, now: datetime) -> bool:
    """Whether its back-off is over by now."""
    until = parked.waits_until
    return until is not None and until <= now
