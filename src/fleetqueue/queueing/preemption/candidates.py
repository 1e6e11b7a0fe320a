"""Who may be preempted for a workload, by the rules of its queue, and in which order they are
tried."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from heapq import merge
from operator import itemgetter

from fleetqueue.api.meta import Key
from fleetqueue.queueing.amounts import Amounts, minus
from fleetqueue.queueing.order import VictimRank, victim_rank
from fleetqueue.queueing.preemption.demand import Demand
from fleetqueue.queueing.preemption.targets import (
    IN_CLUSTER_QUEUE,
    IN_COHORT_RECLAIM_WHILE_BORROWING,
    IN_COHORT_RECLAMATION,
)
from fleetqueue.queueing.quota import Node
from fleetqueue.queueing.state import State
from fleetqueue.queueing.workload import Workload

HIERARCHY, PRIORITY, OWN = range(3)
"""The classes of candidates: those over which the place in the tree gives an advantage, other ones
of other queues, and those of the same queue. They are tried in this order."""

_rank = itemgetter(0)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A workload that the rules allow to preempt."""

    workload: Workload
    turn: int
    reason: str
    common: Node | None = None
    """The lowest cohort above both queues; None in the same queue."""
    lets_borrow: bool = True
    """False: it may go only if the preemptor stays within its own quota."""


@dataclass(frozen=True, slots=True)
class Source:
    """A queue whose workloads may have to go, all of one class."""

    queue: Node
    turn: int
    common: Node | None = None

    def candidate(self, demand: Demand, workload: Workload) -> Candidate | None:
        """The workload, if it may go: it is still counted, uses what is short, and the policy
        allows it.
        """
        policy = demand.rules.within if self.turn == OWN else demand.rules.reclaim
        if not _satisfies(policy, demand.workload, workload) or not _uses(workload, demand):
            return None
        if _is_spared(demand.workload, workload) or demand.state.is_taken(workload.key):
            return None
        if self.turn == OWN:
            return Candidate(workload, OWN, IN_CLUSTER_QUEUE)
        if self.turn == HIERARCHY:
            return Candidate(workload, HIERARCHY, IN_COHORT_RECLAMATION, self.common)
        if _may_go_for_borrowing(demand, workload):
            return Candidate(workload, PRIORITY, IN_COHORT_RECLAIM_WHILE_BORROWING, self.common)
        return Candidate(workload, PRIORITY, IN_COHORT_RECLAMATION, self.common, lets_borrow=False)


class Ordered:
    """All candidates of a search in their order, looked at only as far as they are asked for. From
    which queues they come is settled when it is made.
    """

    def __init__(self, demand: Demand) -> None:
        self._demand = demand
        self._sources = [*own_source(demand), *reclaim_sources(demand)]

    @property
    def turns(self) -> set[int]:
        """The classes of which there are any."""
        found: set[int] = set()
        for source in self._sources:
            if source.turn not in found and any(True for _ in self._of_queue(source)):
                found.add(source.turn)
        return found

    def __iter__(self) -> Iterator[Candidate]:
        state = self._demand.state
        if state.settings.usage_sharing is not None:
            yield from in_order(state, (c for s in self._sources for c in self._of_queue(s)))
            return
        for is_evicted in (True, False):
            for turn in (HIERARCHY, PRIORITY, OWN):
                queues = [
                    self._ranked(each, is_evicted) for each in self._sources if each.turn == turn
                ]
                for _, candidate in merge(*queues, key=_rank):
                    yield candidate

    def _of_queue(self, source: Source) -> Iterator[Candidate]:
        for is_evicted in (True, False):
            for _, candidate in self._ranked(source, is_evicted):
                yield candidate

    def _ranked(self, source: Source, is_evicted: bool) -> Iterator[tuple[VictimRank, Candidate]]:
        evicted, others = self._demand.state.ranked(source.queue.name)
        for of_workload, workload in evicted if is_evicted else others:
            found = source.candidate(self._demand, workload)
            if found is not None:
                yield of_workload, found


def own_source(demand: Demand) -> Iterator[Source]:
    """The same queue."""
    if demand.rules.within != "Never":
        yield Source(demand.node, OWN)


def own_candidates(demand: Demand) -> Iterator[Candidate]:
    """Those of the same queue."""
    for source in own_source(demand):
        for workload in demand.state.holders.get(source.queue.name, {}).values():
            found = source.candidate(demand, workload)
            if found is not None:
                yield found


def reclaim_sources(demand: Demand) -> Iterator[Source]:
    """Other queues, found on the way up: only those, and through cohorts, that use more than they
    have."""
    if demand.rules.reclaim == "Never":
        return
    # Where only attempts with borrowing are made, those that do not let it borrow are of no use.
    needs_advantage = demand.only_borrows
    has_advantage, rest = _fits_below(demand.node, demand.wanted)
    came_from = demand.node
    for cohort in list(demand.node.ancestry())[1:]:
        if has_advantage or not needs_advantage:
            for queue in _exceeding_queues(demand, cohort, came_from):
                yield Source(queue, HIERARCHY if has_advantage else PRIORITY, cohort)
        fits, rest = _fits_below(cohort, rest)
        has_advantage = has_advantage or fits
        came_from = cohort


def borrowing_candidates(demand: Demand) -> Iterator[Candidate]:
    """Those of other queues that borrow, wherever in the tree, as fair sharing looks at them."""
    if demand.rules.reclaim == "Never" or demand.node.parent is None:
        return
    for queue in demand.state.tree.queues_below(demand.node.root):
        if queue is not demand.node and not queue.is_within_nominal(demand.places):
            source = Source(queue, PRIORITY)
            for workload in demand.state.holders.get(queue.name, {}).values():
                if source.candidate(demand, workload) is not None:
                    yield Candidate(workload, PRIORITY, IN_COHORT_RECLAMATION)


def in_order(state: State, candidates: Iterable[Candidate]) -> list[Candidate]:
    """Those that are evicted already come first; then class by class; then see `rank`. A queue that
    goes by what its LocalQueues used puts those of the greedier ones first, and what it offers
    next then takes its turn among the other queues.
    """
    if state.settings.usage_sharing is None:
        return sorted(candidates, key=lambda each: (*_class(each), rank(each)))
    classes: dict[tuple[bool, int], dict[str, list[Candidate]]] = {}
    for each in candidates:
        of_class = classes.setdefault(_class(each), defaultdict(list))
        of_class[each.workload.cluster_queue].append(each)
    return [
        each
        for turn in sorted(classes)
        for each in merge(*(_of_one_queue(state, *q) for q in classes[turn].items()), key=rank)
    ]


def rank(candidate: Candidate) -> VictimRank:
    return victim_rank(candidate.workload)


def _class(candidate: Candidate) -> tuple[bool, int]:
    return not candidate.workload.is_evicted, candidate.turn


def _of_one_queue(state: State, queue: str, candidates: list[Candidate]) -> list[Candidate]:
    if not state.queues[queue].is_usage_based:
        return sorted(candidates, key=rank)
    return sorted(candidates, key=lambda each: (-_past_usage(state, each.workload), rank(each)))


def _past_usage(state: State, workload: Workload) -> float:
    return state.share_of.get(Key(workload.key.namespace, workload.local_queue), 0.0)


def _satisfies(policy: str, preemptor: Workload, workload: Workload) -> bool:
    if policy == "Any":
        return True
    own, other = preemptor.effective_priority, workload.effective_priority
    if own > other:
        return True
    is_newer = own == other and preemptor.ordered_at < workload.ordered_at
    return policy == "LowerOrNewerEqualPriority" and is_newer


def _uses(workload: Workload, demand: Demand) -> bool:
    used = workload.usage()
    return any(used.get(at, 0) > 0 for at in demand.places)


def _fits_below(node: Node, wanted: Amounts) -> tuple[bool, Amounts]:
    """Whether the node's own quota is enough for all of it, and what has to come from above."""
    fits = not any(node.borrows(at, amount) for at, amount in wanted.items())
    rest = {at: max(0, minus(amount, node.local_available(at))) for at, amount in wanted.items()}
    return fits, rest


def _exceeding_queues(demand: Demand, cohort: Node, came_from: Node) -> Iterator[Node]:
    for child in cohort.exceeding_children(demand.places):
        if child is came_from:
            continue
        if child.is_queue:
            yield child
        else:
            yield from _exceeding_queues(demand, child, came_from)


def _is_spared(preemptor: Workload, workload: Workload) -> bool:
    """It is the preemptor itself, or the slice whose place that takes."""
    if workload.key == preemptor.key:
        return True
    return workload.key == preemptor.replaces and preemptor.continues(workload)


def _may_go_for_borrowing(demand: Demand, workload: Workload) -> bool:
    rules, priority = demand.rules, workload.effective_priority
    if rules.borrow == "Never" or priority >= demand.workload.effective_priority:
        return False
    return rules.borrow_priority_max is None or priority <= rules.borrow_priority_max
