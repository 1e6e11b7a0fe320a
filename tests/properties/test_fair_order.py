"""The tournament of fair sharing, in any tree: after each entry it agrees with a tournament that is
held anew by the rules as they are written."""

from functools import cmp_to_key
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fleetqueue.queueing.amounts import FlavorResource
from fleetqueue.queueing.fairness import Tournament
from fleetqueue.queueing.model import ClusterQueue, Cohort, Quota
from fleetqueue.queueing.settings import FairSharing, Settings
from fleetqueue.queueing.state import State
from fleetqueue.queueing.workload import Workload
from fleetqueue.testing.quota_pictures import workload
from support.naive_quota import NaiveTree, Name

pytestmark = pytest.mark.rule("kueue 7.5")

PLACES: list[FlavorResource] = [("default", "gpu"), ("default", "cpu")]
QUEUES = ("q1", "q2", "q3", "q4", "q5")
PARENTS = {"c1": ("",), "c2": ("c1", ""), "c3": ("c1", "c2", "")}
LIMITS = st.one_of(st.none(), st.none(), st.integers(0, 3))
QUOTAS = st.fixed_dictionaries(
    {PLACES[0]: st.builds(Quota, st.integers(0, 5), LIMITS, LIMITS)},
    optional={PLACES[1]: st.builds(Quota, st.integers(0, 5), LIMITS, LIMITS)},
)
WEIGHTS = st.sampled_from((1.0, 1.0, 2.0, 0.5, 0.0))


@st.composite
def trees(draw: st.DrawFn) -> NaiveTree:
    parents = {name: draw(st.sampled_from(parents)) for name, parents in PARENTS.items()}
    cohorts = {
        name: Cohort(name, parent, draw(QUOTAS), draw(WEIGHTS)) for name, parent in parents.items()
    }
    queues = {
        name: ClusterQueue(
            name,
            draw(st.sampled_from(("c1", "c2", "c3", ""))),
            quotas=draw(QUOTAS),
            weight=draw(WEIGHTS),
        )
        for name in QUEUES
    }
    used = {name: {at: draw(st.integers(0, 4)) for at in PLACES} for name in QUEUES}
    return NaiveTree(queues, cohorts, used)


@st.composite
def entries(draw: st.DrawFn) -> list[Workload]:
    lines = [
        f"{name}@{draw(st.sampled_from(QUEUES))} gpu={draw(st.integers(1, 3))} "
        f"priority={draw(st.integers(0, 1))} created={draw(st.integers(0, 2))} "
        f"{draw(st.sampled_from(('', 'cpu=1m')))}"
        for name in "abcdefg"[: draw(st.integers(2, 7))]
    ]
    return [workload(line) for line in lines]


class NaiveTournament:
    def __init__(self, tree: NaiveTree, puts_borrowers_last: bool) -> None:
        self.tree = tree
        self.puts_borrowers_last = puts_borrowers_last

    def add(self, entry: Workload, sign: int = 1) -> None:
        used = self.tree.used[entry.cluster_queue]
        for at, amount in entry.usage().items():
            used[at] += sign * amount
        self.tree.forget()

    def best_of_tree(self, root: Name, left: list[Workload]) -> Workload | None:
        if root[0]:
            own = [each for each in left if each.cluster_queue == root[1]]
            return min(own, key=self.order, default=None)
        return self.best(root, left)

    def best(self, cohort: Name, left: list[Workload]) -> Workload | None:
        competing: list[tuple[Name, Workload]] = []
        for child in self.tree.children(cohort):
            if child[0]:
                competing += [(child, each) for each in left if each.cluster_queue == child[1]]
            elif (winner := self.best(child, left)) is not None:
                competing.append((child, winner))
        if not competing:
            return None
        return min(competing, key=cmp_to_key(self.compare))[1]

    def compare(self, left: tuple[Name, Workload], right: tuple[Name, Workload]) -> int:
        mine, other = (self.value(*each) for each in (left, right))
        return -1 if mine < other else 1

    def value(self, child: Name, entry: Workload) -> Any:
        self.add(entry)
        borrows = self.puts_borrowers_last and self.tree.exceeds(child, entry.usage())
        share = self.tree.share(child, PLACES)
        self.add(entry, -1)
        return borrows, share, self.order(entry)

    @staticmethod
    def order(entry: Workload) -> Any:
        return -entry.priority, entry.ordered_at, entry.uid


@settings(max_examples=250, deadline=None)
@given(trees(), entries(), st.booleans(), st.lists(st.sampled_from(QUEUES), max_size=4))
def test_it_agrees_with_a_tournament_held_anew_for_each_entry(
    tree: NaiveTree, waiting: list[Workload], prefers: bool, changes: list[str]
) -> None:
    state = State(Settings(fair_sharing=FairSharing(prefers_non_borrowing=prefers)))
    for cohort in tree.cohorts.values():
        state.put_cohort(cohort)
    for queue in tree.queues.values():
        state.put_queue(queue)
        state.node(queue.name).add(tree.used[queue.name])
    state.keep()
    naive = NaiveTournament(tree, prefers)
    left = list(waiting)
    for entry in Tournament(state, waiting, Workload.usage, lambda each: each):
        assert next(Tournament(state, left, Workload.usage, lambda each: each)) is entry
        root = tree.path((True, entry.cluster_queue))[-1]
        assert naive.best_of_tree(root, left) is entry
        left.remove(entry)
        if entry.priority:
            naive.add(entry)
            state.node(entry.cluster_queue).add(entry.usage())
        if changes:
            # Something else changes, too, and something is tried and taken back.
            other = changes.pop()
            start = state.mark()
            state.node(QUEUES[0]).add({PLACES[0]: 5})
            state.undo(start)
            tree.used[other][PLACES[0]] += 2
            tree.forget()
            state.node(other).add({PLACES[0]: 2})
    assert left == []
