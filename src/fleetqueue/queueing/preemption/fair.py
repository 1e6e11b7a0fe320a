"""Preemption by fair shares: the queue whose subtree has the highest share gives way first, as long
as the preemptor's own share stays below it."""

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from fleetqueue.base.heap import KeyedHeap
from fleetqueue.queueing.fairness import Share, share
from fleetqueue.queueing.preemption.candidates import (
    OWN,
    Candidate,
    borrowing_candidates,
    in_order,
    own_candidates,
    rank,
)
from fleetqueue.queueing.preemption.demand import Demand
from fleetqueue.queueing.preemption.targets import (
    IN_CLUSTER_QUEUE,
    IN_COHORT_FAIR_SHARING,
    IN_COHORT_RECLAMATION,
    Target,
)
from fleetqueue.queueing.quota import Node
from fleetqueue.queueing.settings import FairSharing


def fair_targets(demand: Demand, rules: FairSharing) -> list[Target]:
    """Empty where nothing helps. Usage is left as the search made it."""
    candidates = in_order(demand.state, [*own_candidates(demand), *borrowing_candidates(demand)])
    if not candidates:
        return []
    # Shares are compared as if the workload were there already.
    demand.node.add(demand.wanted)
    search = _Search(demand, rules)
    found = search.by_first_strategy(candidates) or (
        len(rules.strategies) > 1 and search.by_initial_share()
    )
    demand.node.remove(demand.wanted)
    return demand.fill_back(search.targets, may_borrow=True) if found else []


class TargetQueues:
    """The queues that have candidates: which one gives way next."""

    def __init__(self, demand: Demand, candidates: Iterable[Candidate]) -> None:
        self._own = demand.node
        self._on_path = set(demand.node.ancestry())
        self._waiting: dict[Node, deque[Candidate]] = {}
        self._children: dict[Node, KeyedHeap[Node, _Turn]] = {}
        for each in candidates:
            queue = demand.state.node(each.workload.cluster_queue)
            self._waiting.setdefault(queue, deque()).append(each)
        for queue in self._waiting:
            self.refresh(queue)

    def next(self) -> Node | None:
        """From the root down into the child with the highest share that borrows. What is on the way
        to the preemptor's own queue counts even if it does not borrow.
        """
        node = self._own.root
        while not node.is_queue:
            first = self._below(node).peek()
            if first is None:
                return None
            node = first[0]
        return node if self.has(node) else None

    def has(self, queue: Node) -> bool:
        return bool(self._waiting.get(queue))

    def pop(self, queue: Node) -> Candidate:
        """To be followed by `refresh`, once all is taken that is to be taken."""
        return self._waiting[queue].popleft()

    def drop(self, queue: Node) -> None:
        self._waiting[queue].clear()
        self.refresh(queue)

    def refresh(self, queue: Node) -> None:
        """To be told when the queue's candidates or its usage have changed."""
        for node in queue.ancestry():
            if node.parent is None:
                return
            siblings = self._below(node.parent)
            of_node = share(node)
            has_any = self.has(node) if node.is_queue else len(self._below(node)) > 0
            if has_any and (of_node.is_borrowing or node in self._on_path):
                siblings.put(node, self._turn(node, of_node))
            else:
                siblings.remove(node)

    def _below(self, cohort: Node) -> "KeyedHeap[Node, _Turn]":
        found = self._children.get(cohort)
        if found is None:
            found = self._children[cohort] = KeyedHeap(lambda turn: turn)
        return found

    def _turn(self, node: Node, of_node: Share) -> "_Turn":
        """Of equal shares, a cohort's goes first; of queues, that whose first candidate does."""
        if not node.is_queue:
            return _Highest(of_node), False, (node.name,)
        first = self._waiting[node][0]
        tie = (not first.workload.is_evicted, first.turn == OWN, rank(first))
        return _Highest(of_node), True, tie


@dataclass(frozen=True, slots=True)
class _Highest:
    """Turns the order of shares around."""

    share: Share

    def __lt__(self, other: "_Highest") -> bool:
        return other.share < self.share


_Turn: TypeAlias = tuple[_Highest, bool, tuple[object, ...]]


class _Search:
    """Takes out one target after the other; what fails the first strategy is kept for a second."""

    def __init__(self, demand: Demand, rules: FairSharing) -> None:
        self.targets: list[Target] = []
        self._demand = demand
        self._rules = rules
        self._failed: list[Candidate] = []

    def by_first_strategy(self, candidates: Sequence[Candidate]) -> bool:
        queues = TargetQueues(self._demand, candidates)
        while (queue := queues.next()) is not None:
            if queue is self._demand.node:
                reason = IN_CLUSTER_QUEUE
                found: Candidate | None = queues.pop(queue)
            elif self._is_owed():
                reason = IN_COHORT_RECLAMATION
                found = queues.pop(queue)
            else:
                reason = IN_COHORT_FAIR_SHARING
                found = self._first_that_passes(queues, queue)
            if found is None:
                queues.refresh(queue)
            elif self._take(queues, queue, Target(found.workload, reason)):
                return True
        return False

    def by_initial_share(self) -> bool:
        """One chance per queue, for the first that failed before."""
        queues = TargetQueues(self._demand, self._failed)
        while (queue := queues.next()) is not None:
            ours, theirs = almost_common(self._demand.node, queue)
            if share(ours) < share(theirs):
                first = Target(queues.pop(queue).workload, IN_COHORT_FAIR_SHARING)
                if self._take(queues, queue, first):
                    return True
            queues.drop(queue)
        return False

    def _is_owed(self) -> bool:
        """Whether the own queue stays within its quota with the workload."""
        demand = self._demand
        return self._rules.preempts_within_nominal and demand.node.is_within_nominal(demand.places)

    def _first_that_passes(self, queues: TargetQueues, queue: Node) -> Candidate | None:
        ours, theirs = almost_common(self._demand.node, queue)
        our_share, their_share = share(ours), share(theirs)
        while queues.has(queue):
            candidate = queues.pop(queue)
            if self._rules.strategies[0] == "LessThanInitialShare":
                passes = our_share < their_share
            else:
                passes = our_share <= self._share_without(candidate, queue, theirs)
            if passes:
                return candidate
            self._failed.append(candidate)
        return None

    def _share_without(self, candidate: Candidate, queue: Node, side: Node) -> Share:
        tree = self._demand.state.tree
        start = tree.mark()
        queue.remove(candidate.workload.usage())
        found = share(side)
        tree.undo(start)
        return found

    def _take(self, queues: TargetQueues, queue: Node, target: Target) -> bool:
        """Whether the workload fits then."""
        self._demand.state.take(target.workload)
        self.targets.append(target)
        queues.refresh(queue)
        return self._fits()

    def _fits(self) -> bool:
        tree = self._demand.state.tree
        start = tree.mark()
        self._demand.node.remove(self._demand.wanted)
        found = self._demand.fits(may_borrow=True)
        tree.undo(start)
        return found


def almost_common(left: Node, right: Node) -> tuple[Node, Node]:
    """The children of the lowest common ancestor on the ways to the two queues."""
    ways = zip(
        reversed(list(left.ancestry())),
        reversed(list(right.ancestry())),
        strict=False,
    )
    return next((ours, theirs) for ours, theirs in ways if ours is not theirs)
