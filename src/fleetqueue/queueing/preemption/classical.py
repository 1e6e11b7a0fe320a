"""Preemption by priority and place in the tree: attempts with and without borrowing, each of which
takes candidates out one by one until the workload fits."""

from collections.abc import Iterable

from fleetqueue.queueing.preemption.candidates import (
    HIERARCHY,
    OWN,
    Candidate,
    Ordered,
)
from fleetqueue.queueing.preemption.demand import Demand
from fleetqueue.queueing.preemption.targets import Target

BORROWING, NOT_BORROWING = True, False


def classical_targets(demand: Demand) -> list[Target]:
    """Empty where nothing helps. Usage is left as the search made it."""
    candidates = Ordered(demand)
    for may_borrow in _attempts(demand, candidates):
        start = demand.state.mark()
        targets = _attempt(demand, candidates, may_borrow)
        if targets:
            return targets
        demand.state.undo(start)
    return []


def _attempts(demand: Demand, candidates: Ordered) -> tuple[bool, ...]:
    turns = candidates.turns
    if not turns - {OWN} or demand.only_borrows:
        return (BORROWING,)
    if demand.rules.borrow == "Never" and HIERARCHY not in turns:
        return (NOT_BORROWING, BORROWING)
    return (BORROWING, NOT_BORROWING)


def _attempt(demand: Demand, candidates: Iterable[Candidate], may_borrow: bool) -> list[Target]:
    targets: list[Target] = []
    for each in candidates:
        if not _is_valid(demand, each, may_borrow):
            continue
        demand.state.take(each.workload)
        targets.append(Target(each.workload, each.reason))
        if demand.fits(may_borrow):
            return demand.fill_back(targets, may_borrow)
    return []


def _is_valid(demand: Demand, candidate: Candidate, may_borrow: bool) -> bool:
    """Whether it may still go, after those that went before it."""
    if candidate.turn == OWN:
        return True
    if may_borrow and not candidate.lets_borrow:
        return False
    for node in demand.state.node(candidate.workload.cluster_queue).ancestry():
        if node is candidate.common:
            break
        if node.is_within_nominal(demand.places):
            return False
    return True
