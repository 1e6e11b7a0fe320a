"""Preemption as it is written down, on a naive tree that is worked out anew for every question."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cmp_to_key
from itertools import pairwise

from fleetqueue.queueing.amounts import Amounts, FlavorResource
from fleetqueue.queueing.model import PreemptionRules
from fleetqueue.queueing.settings import FairSharing
from fleetqueue.queueing.workload import Workload
from support.naive_quota import NaiveTree, Name

Found = list[tuple[str, str]]
"""Names of workloads, and why they go."""


@dataclass
class NaiveSearch:
    """One workload that looks for room among those that hold quota."""

    tree: NaiveTree
    holders: list[Workload]
    preemptor: Workload
    wanted: Amounts
    every_place: Sequence[FlavorResource]

    def __post_init__(self) -> None:
        self.gone: list[Workload] = []
        self.is_there = False
        """Whether the preemptor counts as if it were admitted."""
        self.count()

    @property
    def queue(self) -> Name:
        return True, self.preemptor.cluster_queue

    @property
    def rules(self) -> PreemptionRules:
        return self.tree.queues[self.preemptor.cluster_queue].preemption

    def count(self) -> None:
        """What each queue uses, from nothing."""
        self.tree.used = {}
        for workload in self.holders:
            if workload not in self.gone:
                self._add(workload.cluster_queue, workload.usage())
        if self.is_there:
            self._add(self.preemptor.cluster_queue, self.wanted)
        self.tree.forget()

    def _add(self, queue: str, usage: Amounts) -> None:
        used = self.tree.used.setdefault(queue, {})
        for at, amount in usage.items():
            used[at] = used.get(at, 0) + amount

    # 7.1

    def may_go(self, workload: Workload, policy: str) -> bool:
        if not any(workload.usage().get(at, 0) > 0 for at in self.wanted):
            return False
        own, other = self.preemptor.effective_priority, workload.effective_priority
        if policy == "LowerPriority":
            return other < own
        if policy == "LowerOrNewerEqualPriority":
            is_newer = self.preemptor.ordered_at < workload.ordered_at
            return other < own or (other == own and is_newer)
        return policy == "Any"

    def of_own_queue(self) -> list[Workload]:
        name = self.preemptor.cluster_queue
        return [
            w for w in self.holders if w.cluster_queue == name and self.may_go(w, self.rules.within)
        ]

    def common(self, workload: Workload) -> Name | None:
        """The lowest common ancestor."""
        theirs = self.tree.path((True, workload.cluster_queue))
        return next((each for each in self.tree.path(self.queue) if each in theirs), None)

    def of_others(self) -> tuple[list[Workload], list[Workload]]:
        """The hierarchy list and the priority list."""
        hierarchy: list[Workload] = []
        priority: list[Workload] = []
        path = self.tree.path(self.queue)
        rest = dict(self.wanted)
        has_advantage = False
        for below, ancestor in pairwise(path):
            has_advantage = has_advantage or all(
                self.tree.usage(below, at) + v <= self.tree.subtree(below, at)
                for at, v in rest.items()
            )
            rest = {
                at: max(0, int(v - min(v, self.tree.local_available(below, at))))
                for at, v in rest.items()
            }
            for workload in self.holders:
                if workload.cluster_queue == self.preemptor.cluster_queue:
                    continue
                if self.common(workload) != ancestor or not self.may_go(
                    workload, self.rules.reclaim
                ):
                    continue
                if self.way_exceeds(workload):
                    (hierarchy if has_advantage else priority).append(workload)
        return hierarchy, priority

    def way_exceeds(self, workload: Workload) -> bool:
        """Its queue, and all cohorts below the common ancestor."""
        path = self.tree.path((True, workload.cluster_queue))
        common = self.common(workload)
        assert common is not None
        return all(self.tree.exceeds(each, self.wanted) for each in path[: path.index(common)])

    # 7.2 to 7.4

    def classical(self) -> Found:
        hierarchy, priority = self.of_others()
        own = self.of_own_queue()
        never = self.rules.borrow == "Never"
        at_nominal = any(
            self.tree.nominal(self.queue, at) <= self.tree.usage(self.queue, at)
            for at in self.wanted
        )
        if not (hierarchy or priority) or (never and at_nominal):
            attempts = [True]
        elif never and not hierarchy:
            attempts = [False, True]
        else:
            attempts = [True, False]
        classes = [
            sorted(each, key=cmp_to_key(self.compare)) for each in (hierarchy, priority, own)
        ]
        sequence = [
            workload
            for is_evicted in (True, False)
            for each in classes
            for workload in each
            if workload.is_evicted == is_evicted
        ]
        for may_borrow in attempts:
            found = self.attempt(sequence, hierarchy, may_borrow)
            if found:
                return found
        return []

    def attempt(
        self, sequence: list[Workload], hierarchy: list[Workload], may_borrow: bool
    ) -> Found:
        self.gone = []
        self.count()
        targets: Found = []
        for workload in sequence:
            is_own = workload.cluster_queue == self.preemptor.cluster_queue
            reason = "InClusterQueue" if is_own else "InCohortReclamation"
            if not is_own:
                lets_borrow = workload in hierarchy
                if not lets_borrow and self.lets_borrow(workload):
                    lets_borrow, reason = True, "InCohortReclaimWhileBorrowing"
                if (may_borrow and not lets_borrow) or not self.way_exceeds(workload):
                    continue
            self.gone.append(workload)
            self.count()
            targets.append((workload.key.name, reason))
            if self.fits(may_borrow):
                return self.fill_back(targets, may_borrow)
        return []

    def lets_borrow(self, workload: Workload) -> bool:
        priority, most = workload.effective_priority, self.rules.borrow_priority_max
        if self.rules.borrow == "Never" or priority >= self.preemptor.effective_priority:
            return False
        return most is None or priority <= most

    def fits(self, may_borrow: bool) -> bool:
        return all(
            v <= max(0, self.tree.available(self.queue, at))
            and (
                may_borrow
                or self.tree.usage(self.queue, at) + v <= self.tree.nominal(self.queue, at)
            )
            for at, v in self.wanted.items()
        )

    def fill_back(self, targets: Found, may_borrow: bool) -> Found:
        by_name = {workload.key.name: workload for workload in self.holders}
        for index in range(len(targets) - 2, -1, -1):
            workload = by_name[targets[index][0]]
            self.gone.remove(workload)
            self.count()
            if self.fits(may_borrow):
                targets[index] = targets[-1]
                targets.pop()
            else:
                self.gone.append(workload)
                self.count()
        return targets

    def compare(self, left: Workload, right: Workload) -> int:
        """7.3, pair by pair."""
        if left.is_evicted != right.is_evicted:
            return -1 if left.is_evicted else 1
        own = self.preemptor.cluster_queue
        if (left.cluster_queue == own) != (right.cluster_queue == own):
            return 1 if left.cluster_queue == own else -1
        if left.effective_priority != right.effective_priority:
            return left.effective_priority - right.effective_priority
        if left.reserved_at != right.reserved_at:
            if left.reserved_at is None or right.reserved_at is None:
                return -1 if left.reserved_at is None else 1
            return -1 if left.reserved_at > right.reserved_at else 1
        return -1 if left.uid < right.uid else 1

    # 7.7

    def fair(self, rules: FairSharing) -> Found:
        others = [
            workload
            for workload in self.holders
            if workload.cluster_queue != self.preemptor.cluster_queue
            and self.common(workload) is not None
            and self.tree.exceeds((True, workload.cluster_queue), self.wanted)
            and self.may_go(workload, self.rules.reclaim)
        ]
        left = sorted([*others, *self.of_own_queue()], key=cmp_to_key(self.compare))
        self.is_there = True
        self.count()
        targets: Found = []
        failed: list[Workload] = []
        is_done = self.first_strategy(left, failed, targets, rules)
        if not is_done and len(rules.strategies) > 1:
            is_done = self.second_strategy(failed, targets)
        self.is_there = False
        self.count()
        return self.fill_back(targets, True) if is_done else []

    def first_strategy(
        self, left: list[Workload], failed: list[Workload], targets: Found, rules: FairSharing
    ) -> bool:
        while (queue := self.next_queue(left)) is not None:
            of_queue = [each for each in left if each.cluster_queue == queue[1]]
            is_owed = rules.preempts_within_nominal and not self.tree.exceeds(
                self.queue, self.wanted
            )
            for workload in of_queue:
                left.remove(workload)
                if queue == self.queue:
                    reason = "InClusterQueue"
                elif is_owed:
                    reason = "InCohortReclamation"
                elif self.passes(workload, rules.strategies[0]):
                    reason = "InCohortFairSharing"
                else:
                    failed.append(workload)
                    continue
                if self.take(workload, reason, targets):
                    return True
                break
        return False

    def second_strategy(self, left: list[Workload], targets: Found) -> bool:
        while (queue := self.next_queue(left)) is not None:
            first = next(each for each in left if each.cluster_queue == queue[1])
            left[:] = [each for each in left if each.cluster_queue != queue[1]]
            if self.passes(first, "LessThanInitialShare") and self.take(
                first, "InCohortFairSharing", targets
            ):
                return True
        return False

    def take(self, workload: Workload, reason: str, targets: Found) -> bool:
        self.gone.append(workload)
        targets.append((workload.key.name, reason))
        self.is_there = False
        self.count()
        fits = self.fits(True)
        self.is_there = True
        self.count()
        return fits

    def passes(self, workload: Workload, strategy: str) -> bool:
        common = self.common(workload)
        assert common is not None
        ours, theirs = self.tree.path(self.queue), self.tree.path((True, workload.cluster_queue))
        our_side, their_side = ours[ours.index(common) - 1], theirs[theirs.index(common) - 1]
        ours_now = self.tree.share(our_side, self.every_place)
        if strategy == "LessThanInitialShare":
            return ours_now < self.tree.share(their_side, self.every_place)
        self.gone.append(workload)
        self.count()
        theirs_then = self.tree.share(their_side, self.every_place)
        self.gone.remove(workload)
        self.count()
        return ours_now <= theirs_then

    def next_queue(self, left: list[Workload]) -> Name | None:
        return self.descend(self.tree.path(self.queue)[-1], left)

    def descend(self, node: Name, left: list[Workload]) -> Name | None:
        """The queue below the node that gives way next; None if there is none."""
        if node[0]:
            return node if any(each.cluster_queue == node[1] for each in left) else None
        own_path = self.tree.path(self.queue)
        found = [
            (child, queue)
            for child in self.tree.children(node)
            if child in own_path or self.tree.borrows_anything(child, self.every_place)
            if (queue := self.descend(child, left)) is not None
        ]
        if not found:
            return None
        shares = {child: self.tree.share(child, self.every_place) for child, _ in found}
        highest = max(shares.values())
        best = [each for each in found if shares[each[0]] == highest]
        cohorts = [each for each in best if not each[0][0]]
        if cohorts:
            return min(cohorts)[1]
        heads = [next(w for w in left if w.cluster_queue == queue[1]) for _, queue in best]
        first = min(heads, key=cmp_to_key(self.compare))
        return True, first.cluster_queue
