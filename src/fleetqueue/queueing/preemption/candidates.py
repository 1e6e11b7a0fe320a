"""Who may be preempted for a workload, by the rules of its queue, and in which order they are
tried."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from heapq import merge
from math import inf
from typing import TypeAlias

from fleetqueue.api.meta import Key
from fleetqueue.queueing.amounts import Amounts, minus
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

Rank: TypeAlias = tuple[int, float, str]


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


def own_candidates(demand: Demand) -> Iterator[Candidate]:
    """Those of the same queue."""
    policy = demand.rules.within
    if policy != "Never":
        for workload in _allowed(demand, demand.node, policy):
            yield Candidate(workload, OWN, IN_CLUSTER_QUEUE)


def reclaim_candidates(demand: Demand) -> Iterator[Candidate]:
    """Those of other queues, found on the way up: only from queues, and through cohorts, that use
    more than they have."""
    if demand.rules.reclaim == "Never":
        return
    # Where only attempts with borrowing are made, those that do not let it borrow are of no use.
    needs_advantage = demand.only_borrows
    has_advantage, rest = _fits_below(demand.node, demand.wanted)
    came_from = demand.node
    for cohort in list(demand.node.ancestry())[1:]:
        if has_advantage or not needs_advantage:
            for queue in _exceeding_queues(demand, cohort, came_from):
                yield from _reclaimed(demand, queue, cohort, has_advantage)
        fits, rest = _fits_below(cohort, rest)
        has_advantage = has_advantage or fits
        came_from = cohort


def borrowing_candidates(demand: Demand) -> Iterator[Candidate]:
    """Those of other queues that borrow, wherever in the tree, as fair sharing looks at them."""
    if demand.rules.reclaim == "Never" or demand.node.parent is None:
        return
    for queue in demand.state.tree.queues_below(demand.node.root):
        if queue is not demand.node and not queue.is_within_nominal(demand.places):
            for workload in _allowed(demand, queue, demand.rules.reclaim):
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


def rank(candidate: Candidate) -> Rank:
    """Lower priority first, then the later reservation, then the UID."""
    workload = candidate.workload
    at = workload.reserved_at
    return workload.effective_priority, -inf if at is None else -at.timestamp(), workload.uid


def _class(candidate: Candidate) -> tuple[bool, int]:
    return not candidate.workload.is_evicted, candidate.turn


def _of_one_queue(state: State, queue: str, candidates: list[Candidate]) -> list[Candidate]:
    if not state.queues[queue].is_usage_based:
        return sorted(candidates, key=rank)
    return sorted(candidates, key=lambda each: (-_past_usage(state, each.workload), rank(each)))


def _past_usage(state: State, workload: Workload) -> float:
    return state.share_of.get(Key(workload.key.namespace, workload.local_queue), 0.0)


def _allowed(demand: Demand, queue: Node, policy: str) -> Iterator[Workload]:
    """Those of the queue that are still counted, use what is short, and may go by the policy."""
    state, preemptor = demand.state, demand.workload
    spared = (preemptor.key, preemptor.replaces)
    for key, workload in state.holders.get(queue.name, {}).items():
        may_go = _satisfies(policy, preemptor, workload) and _uses(workload, demand)
        if may_go and key not in spared and not state.is_taken(key):
            yield workload


def _satisfies(policy: str, preemptor: Workload, workload: Workload) -> bool:
    if policy == "Any":
        return True
    own, other = preemptor.effective_priority, workload.effective_priority
    if own > other:
        return True
    is_newer = own == other and preemptor.ordered_at < workload.ordered_at
    return policy == "LowerOrNewerEqualPriority" and is_newer


def _uses(workload: Workload, demand: Demand) -> bool:
    return any(
        (flavor, resource) in demand.places and assigned.usage.get(resource, 0) > 0
        for assigned in workload.assignments
        for resource, flavor in assigned.flavors.items()
    )


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


def _reclaimed(
    demand: Demand, queue: Node, common: Node, has_advantage: bool
) -> Iterator[Candidate]:
    for workload in _allowed(demand, queue, demand.rules.reclaim):
        if has_advantage:
            yield Candidate(workload, HIERARCHY, IN_COHORT_RECLAMATION, common)
        elif _may_go_for_borrowing(demand, workload):
            yield Candidate(workload, PRIORITY, IN_COHORT_RECLAIM_WHILE_BORROWING, common)
        else:
            yield Candidate(workload, PRIORITY, IN_COHORT_RECLAMATION, common, lets_borrow=False)


def _may_go_for_borrowing(demand: Demand, workload: Workload) -> bool:
    rules, priority = demand.rules, workload.effective_priority
    if rules.borrow == "Never" or priority >= demand.workload.effective_priority:
        return False
    return rules.borrow_priority_max is None or priority <= rules.borrow_priority_max
