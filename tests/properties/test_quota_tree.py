"""The quota tree under any sequence of changes agrees with the formulas worked out from scratch;
what is undone leaves no trace; what fits is never too much."""

import copy
from math import inf
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fleetqueue.queueing.amounts import UNLIMITED, FlavorResource
from fleetqueue.queueing.fairness import share
from fleetqueue.queueing.model import ClusterQueue, Cohort, Quota
from fleetqueue.queueing.quota import Node, QuotaTree
from support.naive_quota import NaiveTree, Name, Number

pytestmark = pytest.mark.rule("kueue 6.2")

PLACES: list[FlavorResource] = [("spot", "gpu"), ("fixed", "gpu"), ("fixed", "cpu")]
QUEUES = ("q1", "q2", "q3", "q4")
COHORTS = ("", "c1", "c2", "c3", "c4")
WEIGHTS = st.sampled_from((1.0, 1.0, 2.0, 0.5, 0.0))

AMOUNTS = st.one_of(st.integers(0, 9), st.integers(0, 9), st.just(UNLIMITED))
LIMITS = st.one_of(st.none(), st.none(), st.integers(0, 6), st.just(UNLIMITED))
QUOTAS = st.dictionaries(
    st.sampled_from(PLACES), st.builds(Quota, AMOUNTS, LIMITS, LIMITS), max_size=3
)
USAGE = st.dictionaries(st.sampled_from(PLACES), st.integers(0, 8), min_size=1, max_size=3)
PUT_QUEUE = st.builds(
    lambda name, cohort, quotas, weight: ClusterQueue(name, cohort, (), quotas, weight=weight),
    st.sampled_from(QUEUES),
    st.sampled_from(COHORTS),
    QUOTAS,
    WEIGHTS,
)
PUT_COHORT = st.builds(
    Cohort, st.sampled_from(COHORTS[1:]), st.sampled_from(COHORTS), QUOTAS, WEIGHTS
)
CHANGES = st.one_of(
    PUT_QUEUE.map(lambda queue: ("put queue", queue)),
    PUT_COHORT.map(lambda cohort: ("put cohort", cohort)),
    st.tuples(st.just("remove queue"), st.sampled_from(QUEUES)),
    st.tuples(st.just("remove cohort"), st.sampled_from(COHORTS[1:])),
    st.tuples(st.just("add"), st.sampled_from(QUEUES), USAGE),
    st.tuples(st.just("add"), st.sampled_from(QUEUES), USAGE),
    st.tuples(st.just("release"), st.sampled_from(QUEUES), st.integers(0, 9)),
    st.tuples(st.just("try"), st.lists(st.tuples(st.sampled_from(QUEUES), USAGE), max_size=4)),
)
TREES = st.lists(st.one_of(PUT_QUEUE, PUT_COHORT), min_size=3, max_size=9)


class Both:
    """The tree and the naive one, side by side."""

    def __init__(self) -> None:
        self.tree = QuotaTree()
        self.naive = NaiveTree()
        self.added: dict[str, list[dict[FlavorResource, int]]] = {}

    def change(self, change: tuple[Any, ...]) -> None:
        kind, *said = change
        getattr(self, kind.replace(" ", "_") if kind != "try" else "tries")(*said)
        self.naive.forget()

    def put_queue(self, queue: ClusterQueue) -> None:
        self.tree.put_queue(queue)
        self.naive.queues[queue.name] = queue

    def put_cohort(self, cohort: Cohort) -> None:
        self.tree.put_cohort(cohort)
        self.naive.cohorts[cohort.name] = cohort

    def remove_queue(self, name: str) -> None:
        self.tree.remove_queue(name)
        for of_queue in (self.naive.queues, self.naive.used, self.added):
            of_queue.pop(name, None)

    def remove_cohort(self, name: str) -> None:
        self.tree.remove_cohort(name)
        self.naive.cohorts.pop(name, None)

    def add(self, queue: str, usage: dict[FlavorResource, int]) -> None:
        if queue in self.tree.queues:
            self.tree.queues[queue].add(usage)
            self.added.setdefault(queue, []).append(usage)
            self._count(queue, usage, 1)

    def release(self, queue: str, which: int) -> None:
        """Something that was added, in whatever order."""
        if self.added.get(queue):
            usage = self.added[queue].pop(which % len(self.added[queue]))
            self.tree.queues[queue].remove(usage)
            self._count(queue, usage, -1)

    def tries(self, steps: list[tuple[str, dict[FlavorResource, int]]]) -> None:
        before = everything(self.tree)
        start = self.tree.mark()
        for queue, usage in steps:
            if queue in self.tree.queues:
                self.tree.queues[queue].add(usage)
                for each in self.added.get(queue, ())[:1]:
                    self.tree.queues[queue].remove(each)
        self.tree.undo(start)
        assert everything(self.tree) == before

    def _count(self, queue: str, usage: dict[FlavorResource, int], sign: int) -> None:
        used = self.naive.used.setdefault(queue, {})
        for at, amount in usage.items():
            used[at] = used.get(at, 0) + sign * amount

    def node(self, name: Name) -> Node:
        return (self.tree.queues if name[0] else self.tree.cohorts)[name[1]]


def everything(tree: QuotaTree) -> dict[str, Any]:
    nodes = [*tree.queues.values(), *tree.cohorts.values()]
    return {
        f"{node.is_queue} {node.name}": (
            dict(node.usage),
            {(child.name, at) for at in PLACES for child in node.exceeding_children([at])},
        )
        for node in nodes
    }


def as_number(amount: int) -> Number:
    return inf if amount >= UNLIMITED else amount


def check(both: Both) -> None:
    tree, naive = both.tree, both.naive
    names = naive.names()
    assert set(tree.queues) == {name for is_queue, name in names if is_queue}
    assert set(tree.cohorts) == {name for is_queue, name in names if not is_queue}
    for name in names:
        node = both.node(name)
        assert tree.has_cycle(node) == naive.has_cycle(name)
        assert [each.name for each in node.ancestry()] == [each for _, each in naive.path(name)]
        assert node.height == naive.height(name)
        for at in PLACES:
            check_place(naive, name, node, at)
        found = share(node)
        assert (found.is_infinite, found == share(node)) == (naive.share(name, PLACES)[0], True)
        top, bottom = found._fraction()
        assert naive.share(name, PLACES)[1] * bottom == top
        assert found.is_borrowing == naive.borrows_anything(name, PLACES)


def check_place(naive: NaiveTree, name: Name, node: Node, at: FlavorResource) -> None:
    assert as_number(node.subtree_quota(at)) == naive.subtree(name, at)
    assert as_number(node.local_quota(at)) == naive.local(name, at)
    assert as_number(node.lendable(at)) == naive.lendable(name, at)
    assert node.used(at) == naive.usage(name, at)
    assert as_number(node.local_available(at)) == naive.local_available(name, at)
    assert as_number(node.available(at)) == naive.available(name, at)
    assert as_number(node.potential(at)) == naive.potential(name, at)
    assert node.borrows(at) == naive.exceeds(name, [at])
    exceeding = {(each.is_queue, each.name) for each in node.exceeding_children([at])}
    assert exceeding == {child for child in naive.children(name) if naive.exceeds(child, [at])}
    if node.is_queue:
        for amount in (0, 1, 3, 8):
            assert node.borrowing_level(at, amount)[0] == naive.level(name, at, amount)
            assert node.fits({at: amount}) == (amount <= max(0, naive.available(name, at)))


@pytest.mark.rule("kueue 6.3")
@pytest.mark.rule("kueue 6.4")
@pytest.mark.rule("kueue 6.5")
@pytest.mark.rule("kueue 7.6")
@settings(max_examples=1200, deadline=None)
@given(st.lists(CHANGES, min_size=4, max_size=14))
def test_the_tree_agrees_with_the_formulas(changes: list[tuple[Any, ...]]) -> None:
    both = Both()
    for change in changes:
        both.change(change)
    check(both)


@settings(max_examples=100, deadline=None)
@given(st.lists(CHANGES, min_size=4, max_size=20))
def test_it_does_so_after_every_single_change(changes: list[tuple[Any, ...]]) -> None:
    both = Both()
    for change in changes:
        both.change(change)
        check(both)


@settings(max_examples=200, deadline=None)
@given(TREES, st.lists(st.tuples(st.sampled_from(QUEUES), USAGE), max_size=6), st.randoms())
def test_the_order_of_changes_does_not_matter(
    specs: list[ClusterQueue | Cohort], usage: list[tuple[str, Any]], shuffle: Any
) -> None:
    """Of specs with different names, and of usage."""
    distinct = list({(type(spec), spec.name): spec for spec in specs}.values())
    one, other = QuotaTree(), QuotaTree()
    for tree in (one, other):
        for spec in distinct:
            tree.put_queue(spec) if isinstance(spec, ClusterQueue) else tree.put_cohort(spec)
        for queue, amounts in usage:
            if queue in tree.queues:
                tree.queues[queue].add(amounts)
        shuffle.shuffle(distinct)
        shuffle.shuffle(usage)
    assert _values(one) == _values(other)


def _values(tree: QuotaTree) -> dict[str, Any]:
    return {
        f"{node.is_queue} {node.name}": [
            (node.subtree_quota(at), node.used(at), node.available(at), node.height)
            for at in PLACES
        ]
        for node in (*tree.queues.values(), *tree.cohorts.values())
    }


@pytest.mark.rule("kueue 6.3")
@settings(max_examples=250, deadline=None)
@given(
    TREES,
    st.lists(st.tuples(st.sampled_from(QUEUES), USAGE, st.booleans()), min_size=5, max_size=40),
)
def test_what_fits_is_never_more_than_there_is(
    specs: list[ClusterQueue | Cohort], steps: list[tuple[str, Any, bool]]
) -> None:
    both = Both()
    for spec in specs:
        both.put_queue(spec) if isinstance(spec, ClusterQueue) else both.put_cohort(spec)
    for queue, usage, is_release in steps:
        if is_release:
            both.release(queue, len(usage))
        elif queue in both.tree.queues and both.tree.queues[queue].fits(usage):
            both.add(queue, usage)
        both.naive.forget()
        for name in both.naive.names():
            check_not_oversold(both.naive, name)


def check_not_oversold(naive: NaiveTree, name: Name) -> None:
    for at in PLACES:
        used, owned = naive.usage(name, at), naive.subtree(name, at)
        limit = naive.quota(name, at).borrowing_limit
        if naive.parent(name) is None:
            assert used <= owned
        elif limit is not None:
            assert used <= owned + as_number(limit)
        # What others use of what it lends is never more than it would lend.
        assert naive.available(name, at) >= 0


@settings(max_examples=200, deadline=None)
@given(st.lists(CHANGES, min_size=4, max_size=12), st.data())
def test_nested_attempts_are_undone_one_by_one(changes: list[tuple[Any, ...]], data: Any) -> None:
    both = Both()
    for change in changes:
        both.change(change)
    moments = []
    for _ in range(4):
        moments.append((both.tree.mark(), copy.deepcopy(everything(both.tree))))
        for queue in both.tree.queues.values():
            usage = data.draw(USAGE)
            queue.add(usage) if data.draw(st.booleans()) else queue.remove(usage)
    for mark, before in reversed(moments):
        both.tree.undo(mark)
        assert everything(both.tree) == before
