"""The workloads that wait: per ClusterQueue those that may be tried, those that are parked until
something changes, and the one that is being tried.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import Enum

from fleetqueue.api.meta import Key
from fleetqueue.queueing import order
from fleetqueue.queueing.alike import Alike
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
        self._waiting = Alike(self._rank)
        """Those that may be tried; aside, those whose equals were found not to fit."""
        self._parked: dict[Key, Workload] = {}
        """Those that were tried, or must not be tried yet."""
        self._tried: Workload | None = None
        self._sticky: Key | None = None
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
        parked = self._get_parked(key)
        if (
            parked is not None
            and _decides(parked) == _decides(workload)
            and not _is_due(parked, now)
        ):
            self._replace_parked(workload, parked)
            return
        self.remove(key)
        if self._must_wait(workload, now):
            self._parked[key] = workload
        else:
            self._waiting.put(workload, aside=self._is_hopeless(workload))

    def remove(self, key: Key) -> Workload | None:
        if self._sticky == key:
            self._sticky = None
        if self._tried is not None and self._tried.key == key:
            found, self._tried = self._tried, None
            return found
        if key in self._parked:
            return self._parked.pop(key)
        return self._waiting.remove(key)

    def pop(self) -> Workload | None:
        """The head, which is being tried from now on."""
        workload = None if self._tried is not None else self._waiting.pop()
        if workload is not None:
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
            self._waiting.put(workload)
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
                self._waiting.put(workload)
        self._waiting.take_back(is_selected)
        return self._waiting.has_any

    def reorder(self) -> None:
        """What queues used in the past changed."""
        self._waiting.reorder()

    def why_bypassed(self, key: Key) -> str | None:
        """The reason told to an equal one that did not fit, if this one is parked for that."""
        parked = self._get_parked(key)
        return None if parked is None else self.hopeless.get(parked.hash)

    # What people ask

    @property
    def counts(self) -> Counts:
        active = len(self._waiting) + (self._tried is not None)
        return Counts(active, len(self._parked) + self._waiting.aside_count)

    def has_work(self) -> bool:
        return self._tried is None and self._waiting.has_any

    def get(self, key: Key) -> Workload | None:
        if self._tried is not None and self._tried.key == key:
            return self._tried
        return self._parked.get(key) or self._waiting.get(key)

    def is_trying(self, key: Key) -> bool:
        return self._tried is not None and self._tried.key == key

    def ordered(self) -> list[Workload]:
        """Everything that waits, in the order in which it would be tried."""
        return sorted((workload for workload, _ in self.waiting()), key=self._rank)

    def waiting(self) -> Iterator[tuple[Workload, bool]]:
        """Everything that waits, in no order, each with whether it is parked."""
        yield from self._waiting
        if self._tried is not None:
            yield self._tried, False
        for workload in self._parked.values():
            yield workload, True

    def hash_counts(self) -> Counts:
        """How many different workloads wait, as far as deciding goes."""
        active = {each for each in self._waiting.hashes() if each}
        if self._tried is not None:
            active.add(self._tried.hash)
        parked = {each.hash for each in self._parked.values()}
        return Counts(len(active), len(parked | self._waiting.hashes(aside=True)))

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
            if former is not None:
                self._waiting.reorder(former)
        elif self._sticky == key and (self.is_strict or why not in _AT_ONCE):
            # It was found unschedulable, rather than only passed over in this cycle.
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
        self._waiting.set_aside(workload.hash)

    def _get_parked(self, key: Key) -> Workload | None:
        found = self._parked.get(key)
        if found is None and self._waiting.is_aside(key):
            found = self._waiting.get(key)
        return found

    def _replace_parked(self, workload: Workload, before: Workload) -> None:
        if workload.key in self._parked:
            self._parked[workload.key] = workload
        elif workload.hash == before.hash:
            self._waiting.put(workload, aside=True)
        else:
            self._waiting.remove(workload.key)
            self._parked[workload.key] = workload


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


def _is_due(parked: Workload, now: datetime) -> bool:
    """Whether its back-off is over by now."""
    until = parked.waits_until
    return until is not None and until <= now
