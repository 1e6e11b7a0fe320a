"""Decides about the entries of a cycle one by one, and counts what each takes, so that those after
it see what is left.
"""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import TypeAlias

from fleetqueue.api.meta import Key
from fleetqueue.queueing import nomination, places, variants
from fleetqueue.queueing.amounts import Amounts, minus, plus
from fleetqueue.queueing.assignment import Cause, Mode, Record
from fleetqueue.queueing.nomination import Entry, told_reason
from fleetqueue.queueing.plan import (
    Admit,
    Decision,
    Evict,
    FailPlace,
    Migrate,
    Place,
    Preempt,
    Wait,
)
from fleetqueue.queueing.queues import Requeue
from fleetqueue.queueing.state import State
from fleetqueue.queueing.workload import Workload

GATED = "Workload requires preemption, but it's gated"
DEFERRED = (
    "Workload has overlapping preemption targets with another workload, but will fit after these "
    "preemptions complete"
)
OVERLAPS = "Workload has overlapping preemption targets with another workload"
NO_LONGER_FITS = "Workload no longer fits after processing another workload"
WAITS_FOR_VICTIMS = "WaitingForPreemptedWorkloads"
Sums: TypeAlias = dict[str, Amounts]
"""By queue."""


class Turn:
    """What was decided so far, as far as it matters for the next."""

    def __init__(self, state: State, now: datetime) -> None:
        self.state = state
        self.settings = state.settings
        self.now = now
        self.victims: dict[Key, Workload] = {}
        """Those who were chosen to go."""
        self.waiting: list[tuple[Workload, Workload | None]] = []
        """Those for whom they go, counted as if they were there; and what each one replaces."""
        self._leaving: Sums = {}
        """What all victims use that are still counted."""
        self._arriving: Sums = {}
        self._returning: Sums = {}
        """What those use for whom they go, and what those replace."""
        self.recomputed: list[tuple[str, str]] = []
        """See `Plan.recomputed`."""
        self._places = state.topologies.mark()

    def decide(self, entry: Entry) -> Decision:
        fits = self._check(entry)
        if entry.is_second_pass:
            return self._decide_places(entry, fits)
        mode = entry.assignment.mode
        if mode is Mode.NO_FIT:
            cause = entry.assignment.cause
            return self._wait(entry, cause.reason, entry.assignment.message, Requeue.NO_FIT)
        if mode is Mode.PREEMPT and not entry.targets:
            return self._wait_for_quota(entry)
        if obstacle := variants.obstacle(self.state, entry.workload):
            return self._wait(entry, Cause.QUOTA.reason, obstacle, Requeue.GENERIC)
        if mode is Mode.PREEMPT and self._is_gated(entry):
            return self._wait_at_gate(entry)
        if mode is Mode.DEFERRED_FIT:
            return self._defer(entry)
        if self._overlaps(entry):
            return self._skip(entry, OVERLAPS)
        if not fits:
            return self._skip(entry, NO_LONGER_FITS)
        return self._preempt(entry) if mode is Mode.PREEMPT else self._admit(entry)

    # Does it still fit?

    def _check(self, entry: Entry) -> bool:
        """Looks again, after what others took. Where only a place is gone, or only the victims are
        the same as those of others, the entry gets another try with the same flavors.
        """
        if not entry.has_hope:
            return False
        if self._overlaps(entry) and self.settings.recomputes_overlap:
            self._retry(entry, with_victims_gone=True)
            self.recomputed.append((entry.workload.cluster_queue, _outcome(entry)))
            return entry.has_hope and self._has_quota(entry) and self._has_places(entry)
        if not self._has_quota(entry):
            return False
        if self._has_places(entry):
            return True
        if self.settings.recomputes_placement and not entry.is_second_pass:
            self._retry(entry, with_victims_gone=False)
            return entry.has_hope and self._has_quota(entry) and self._has_places(entry)
        return False

    def _has_quota(self, entry: Entry) -> bool:
        """Once everybody is gone who was chosen to go. What fits without that must also fit now:
        those who go still hold their quota, and those for whom they go do not yet.
        """
        if entry.assignment.replaced is None:
            return self._has_quota_in_sum(entry)
        if entry.assignment.mode is Mode.FIT and self.waiting:
            start = self.state.mark()
            for waits, replaced in self.waiting:
                self.state.take(waits)
                if replaced is not None:
                    self.state.give(replaced)
            fits_now = self._fits(entry)
            self.state.undo(start)
            if not fits_now:
                return False
        start = self.state.mark()
        self._take_victims(entry)
        fits_then = self._fits(entry)
        self.state.undo(start)
        return fits_then

    def _has_quota_in_sum(self, entry: Entry) -> bool:
        """The same for one that replaces nothing: it does not matter who goes, but how much."""
        tree = self.state.tree
        if entry.assignment.mode is Mode.FIT and self.waiting:
            start = tree.mark()
            self._shift(self._arriving, self._returning)
            fits_now = self._fits(entry)
            tree.undo(start)
            if not fits_now:
                return False
        start = tree.mark()
        own: Sums = {}
        for each in entry.targets:
            if each.workload.key not in self.victims and not self.state.is_taken(each.workload.key):
                _sum_up(own, each.workload)
        self._shift(self._leaving, {})
        self._shift(own, {})
        fits_then = self._fits(entry)
        tree.undo(start)
        return fits_then

    def _shift(self, less: Sums, more: Sums) -> None:
        nodes = self.state.tree.queues
        for queue, amounts in less.items():
            if queue in nodes:
                nodes[queue].remove(amounts)
        for queue, amounts in more.items():
            if queue in nodes:
                nodes[queue].add(amounts)

    def _fits(self, entry: Entry) -> bool:
        return self.state.node(entry.workload.cluster_queue).fits(self._charge(entry))

    def _charge(self, entry: Entry) -> Amounts:
        """What it takes on top of what it replaces, unless that is not counted anyway."""
        replaced = entry.assignment.replaced
        is_gone = replaced is not None and self.state.is_taken(replaced.key)
        return entry.assignment.usage() if is_gone else entry.assignment.charge()

    def _has_places(self, entry: Entry) -> bool:
        """Looks for places again if others took some; those of a workload that preempts are only
        known once its victims are gone.
        """
        waits = entry.assignment.mode is not Mode.FIT
        if not waits and self.state.topologies.mark() == self._places:
            return True
        wanted = places.wanted(self.state, entry.workload, entry.assignment)
        if not wanted:
            return True
        start = self.state.mark()
        if waits:
            self._take_victims(entry)
        answer = self.state.topologies.find(wanted)
        self.state.undo(start)
        if answer.failed:
            return False
        found = places.with_places(entry.assignment, answer.found)
        if not waits and not self.settings.recomputes_placement:
            return found.held() == entry.assignment.held()
        entry.assignment = found
        return True

    def _take_victims(self, entry: Entry) -> None:
        own = {each.workload.key: each.workload for each in entry.targets}
        self._take(self.victims | own)

    def _take(self, workloads: Mapping[Key, Workload]) -> None:
        for key, workload in workloads.items():
            if not self.state.is_taken(key):
                self.state.take(workload)

    def _retry(self, entry: Entry, *, with_victims_gone: bool) -> None:
        start = self.state.mark()
        if with_victims_gone:
            self._take(self.victims)
        only, counts = entry.assignment.flavors, entry.assignment.counts
        assignment, targets = nomination.attempt(
            self.state, entry.workload, counts=counts, only=only
        )
        self.state.undo(start)
        is_deferred = with_victims_gone and assignment.mode is Mode.FIT
        entry.assignment = replace(assignment, is_deferred=is_deferred)
        entry.targets = targets

    def _overlaps(self, entry: Entry) -> bool:
        replaced = entry.assignment.replaced
        if replaced is not None and replaced.key in self.victims:
            return True
        return any(each.workload.key in self.victims for each in entry.targets)

    # What is decided

    def _admit(self, entry: Entry) -> Admit | Migrate:
        rival = variants.to_leave(self.state, entry.workload)
        if rival is not None:
            return self._migrate(entry, rival)
        return Admit(
            entry.workload, entry.assignment, self._count(entry), self.settings.packs_by_prefix
        )

    def _preempt(self, entry: Entry) -> Preempt:
        self._count_later(entry)
        start, many = entry.assignment.message, f"{len(entry.targets)} workload(s)"
        pending = f"{start}. Pending the preemption of {many}"
        failed = f"{start}. Preempting {many} failed, will retry."
        return Preempt(
            entry.workload,
            entry.assignment,
            entry.targets,
            self._wait_for_victims(entry, pending, Requeue.PENDING_PREEMPTION),
            self._wait_for_victims(entry, failed, Requeue.PREEMPTION_FAILED),
        )

    def _migrate(self, entry: Entry, rival: Workload) -> Migrate:
        self._count_later(entry)
        self._choose(rival)
        pending = f"{entry.assignment.message}. Pending the migration of 1 workload(s)"
        wait = self._wait_for_victims(entry, pending, Requeue.PENDING_MIGRATION)
        message = variants.migration_message(entry.workload)
        return Migrate(entry.workload, entry.assignment, rival, message, wait)

    def _defer(self, entry: Entry) -> Wait:
        self._count_later(entry)
        return self._wait_for_victims(entry, DEFERRED, Requeue.PENDING_PREEMPTION)

    def _wait_for_victims(self, entry: Entry, message: str, requeue: Requeue) -> Wait:
        """The next attempt begins with the first flavor."""
        return self._told(entry, WAITS_FOR_VICTIMS, message, requeue, None)

    def _wait_for_quota(self, entry: Entry) -> Wait:
        """Nobody can be preempted for it. Unless the queue is sure to get its quota back later,
        nobody after it may take what it needs.
        """
        if self.state.queues[entry.workload.cluster_queue].preemption.reclaim != "Any":
            self._reserve(entry)
        message = entry.assignment.message
        return self._wait(entry, Cause.QUOTA.reason, message, Requeue.NO_CANDIDATES)

    def _wait_at_gate(self, entry: Entry) -> Wait:
        wait = self._told(entry, "AdmissionGated", GATED, Requeue.PREEMPTION_GATED, None)
        return replace(wait, is_gated=True)

    def _skip(self, entry: Entry, message: str) -> Wait:
        return self._wait(entry, Cause.QUOTA.reason, message, Requeue.FAILED_AFTER_NOMINATION)

    def _wait(self, entry: Entry, reason: str, message: str, requeue: Requeue) -> Wait:
        return self._told(entry, reason, message, requeue, entry.record)

    def _told(
        self, entry: Entry, reason: str, message: str, requeue: Requeue, record: Record | None
    ) -> Wait:
        told = told_reason(self.state, reason)
        return Wait(entry.workload, told, message, requeue, record, entry.assignment)

    def _is_gated(self, entry: Entry) -> bool:
        return self.settings.honors_preemption_gates and entry.workload.has_closed_gate

    # The second pass

    def _decide_places(self, entry: Entry, fits: bool) -> Decision:
        workload, assignment = entry.workload, entry.assignment
        if assignment.mode is Mode.FIT and fits:
            held = self._count(entry)
            return Place(workload, assignment, held, self.settings.packs_by_prefix)
        message = assignment.message or NO_LONGER_FITS
        if workload.unhealthy_nodes:
            if self.settings.fails_fast:
                return Evict(workload, assignment, _no_replacement(workload))
            return FailPlace(workload, assignment, message)
        if fits and not self._overlaps(entry) and not self._is_gated(entry):
            self._count_later(entry)
            message += f". Pending the preemption of {len(entry.targets)} workload(s)"
            return FailPlace(workload, assignment, message, entry.targets)
        return FailPlace(workload, assignment, message)

    # What is counted

    def _count(self, entry: Entry) -> Workload:
        """The entry holds what it was given, from now on."""
        held, replaced = self._held(entry), entry.assignment.replaced
        if replaced is not None:
            self._replace(replaced, held)
        self.state.give(held)
        return held

    def _count_later(self, entry: Entry) -> None:
        """The entry will hold it once its victims are gone, and those before it are."""
        held, replaced = self._held(entry), entry.assignment.replaced
        if replaced is not None:
            self._replace(replaced, held)
        self.state.give(held)
        self.waiting.append((held, replaced))
        _sum_up(self._arriving, held)
        if replaced is not None:
            _sum_up(self._returning, replaced)
        for each in entry.targets:
            self._choose(each.workload)

    def _choose(self, victim: Workload) -> None:
        """It has to go."""
        if victim.key not in self.victims and not self.state.is_taken(victim.key):
            _sum_up(self._leaving, victim)
        self.victims[victim.key] = victim

    def _replace(self, replaced: Workload, held: Workload) -> None:
        if replaced.key in self.victims and not self.state.is_taken(replaced.key):
            _sum_up(self._leaving, replaced, times=-1)
        self._take({replaced.key: replaced})
        if replaced.key != held.key:
            self.victims[replaced.key] = replaced

    def _held(self, entry: Entry) -> Workload:
        workload = entry.workload
        since = workload.reserved_at if entry.is_second_pass else self.now
        return replace(
            workload, assignments=entry.assignment.held(), reserved_at=since, is_evicted=False
        )

    def _reserve(self, entry: Entry) -> None:
        node = self.state.node(entry.workload.cluster_queue)
        is_borrowing = entry.assignment.borrowing > 0
        reserved: Amounts = {}
        for at, amount in entry.assignment.charge().items():
            quota = node.quota(at)
            limit = quota.borrowing_limit if is_borrowing else 0
            left = amount if limit is None else minus(plus(quota.nominal, limit), node.used(at))
            reserved[at] = max(0, min(amount, left))
        node.add(reserved)


def _sum_up(sums: Sums, workload: Workload, times: int = 1) -> None:
    of_queue = sums.setdefault(workload.cluster_queue, {})
    for at, amount in workload.usage().items():
        of_queue[at] = of_queue.get(at, 0) + times * amount


def _no_replacement(workload: Workload) -> str:
    nodes = ",".join(workload.unhealthy_nodes)
    return f"Workload was evicted as there was no replacement for unhealthy node(s): {nodes}"


def _outcome(entry: Entry) -> str:
    """What came of looking for other victims."""
    if entry.assignment.mode is Mode.DEFERRED_FIT:
        return "deferred_fit"
    return "new_targets" if entry.targets else "skipped"
