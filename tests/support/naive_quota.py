"""The formulas of quota, shares and preemption as they are written, worked out from scratch each
time: slow, obvious, and sharing no code with what is tested against it."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import wraps
from math import inf
from typing import Any, TypeVar

from fleetqueue.queueing.amounts import UNLIMITED, FlavorResource
from fleetqueue.queueing.model import ClusterQueue, Cohort, Quota

Number = int | float
Name = tuple[bool, str]
"""Whether it is a queue, and what it is called."""


Answer = TypeVar("Answer")


def once(method: Callable[..., Answer]) -> Callable[..., Answer]:
    """Works an answer out once, until `forget` is called: the formulas call each other a lot."""

    @wraps(method)
    def wrapped(self: "NaiveTree", *said: Any) -> Answer:
        key = (method.__name__, *said)
        if key not in self.answers:
            self.answers[key] = method(self, *said)
        found: Answer = self.answers[key]
        return found

    return wrapped


@dataclass
class NaiveTree:
    """Specs, and what each queue uses; nothing else is kept."""

    queues: dict[str, ClusterQueue] = field(default_factory=dict)
    cohorts: dict[str, Cohort] = field(default_factory=dict)
    used: dict[str, dict[FlavorResource, int]] = field(default_factory=dict)
    answers: dict[Any, Any] = field(default_factory=dict)

    def forget(self) -> None:
        """To be called after each change."""
        self.answers.clear()

    # The tree

    @once
    def names(self) -> list[Name]:
        named = {queue.cohort for queue in self.queues.values()}
        named |= {cohort.parent for cohort in self.cohorts.values()}
        cohorts = (set(self.cohorts) | named) - {""}
        return [(True, name) for name in self.queues] + [(False, name) for name in cohorts]

    @once
    def above(self, node: Name) -> Name | None:
        if node[0]:
            name = self.queues[node[1]].cohort
        else:
            name = self.cohorts[node[1]].parent if node[1] in self.cohorts else ""
        return (False, name) if name else None

    @once
    def has_cycle(self, node: Name) -> bool:
        at, steps = self.above(node), 0
        while at is not None:
            at, steps = self.above(at), steps + 1
            if steps > 100:
                return True
        return False

    def parent(self, node: Name) -> Name | None:
        return None if self.has_cycle(node) else self.above(node)

    @once
    def children(self, node: Name) -> list[Name]:
        return [each for each in self.names() if self.parent(each) == node]

    @once
    def path(self, node: Name) -> list[Name]:
        """From the node to the root."""
        parent = self.parent(node)
        return [node, *(self.path(parent) if parent else [])]

    @once
    def height(self, node: Name) -> int:
        return max((1 + self.height(child) for child in self.children(node)), default=0)

    def weight(self, node: Name) -> float:
        specs: Mapping[str, ClusterQueue | Cohort] = self.queues if node[0] else self.cohorts
        return specs[node[1]].weight if node[1] in specs else 1.0

    # Section 6.2

    def quota(self, node: Name, at: FlavorResource) -> Quota:
        specs: Mapping[str, ClusterQueue | Cohort] = self.queues if node[0] else self.cohorts
        return specs[node[1]].quotas.get(at, Quota()) if node[1] in specs else Quota()

    def nominal(self, node: Name, at: FlavorResource) -> Number:
        return _number(self.quota(node, at).nominal)

    @once
    def subtree(self, node: Name, at: FlavorResource) -> Number:
        return self.nominal(node, at) + sum(self.lendable(c, at) for c in self.children(node))

    @once
    def local(self, node: Name, at: FlavorResource) -> Number:
        limit = self.quota(node, at).lending_limit
        if limit is None or _number(limit) == inf:
            return 0
        return max(0, self.subtree(node, at) - limit)

    @once
    def lendable(self, node: Name, at: FlavorResource) -> Number:
        local = self.local(node, at)
        if local == inf:
            return _number(self.quota(node, at).lending_limit)
        return self.subtree(node, at) - local

    @once
    def usage(self, node: Name, at: FlavorResource) -> Number:
        if node[0]:
            return self.used.get(node[1], {}).get(at, 0)
        return sum(self.excess(child, at) for child in self.children(node))

    def excess(self, node: Name, at: FlavorResource) -> Number:
        return max(0, self.usage(node, at) - self.local(node, at))

    # Section 6.3

    def local_available(self, node: Name, at: FlavorResource) -> Number:
        return max(0, self.local(node, at) - self.usage(node, at))

    @once
    def available(self, node: Name, at: FlavorResource) -> Number:
        parent = self.parent(node)
        if parent is None:
            return self.subtree(node, at) - self.usage(node, at)
        found = self.available(parent, at)
        limit = self.quota(node, at).borrowing_limit
        if limit is not None:
            own = self.lendable(node, at) - self.excess(node, at)
            found = min(found, own + _number(limit))
        return self.local_available(node, at) + found

    @once
    def potential(self, node: Name, at: FlavorResource) -> Number:
        parent = self.parent(node)
        if parent is None:
            return self.subtree(node, at)
        found = self.local(node, at) + self.potential(parent, at)
        limit = self.quota(node, at).borrowing_limit
        return found if limit is None else min(found, self.subtree(node, at) + _number(limit))

    # Sections 6.5 and 5.4

    def exceeds(self, node: Name, places: Iterable[FlavorResource]) -> bool:
        return any(self.usage(node, at) > self.subtree(node, at) for at in places)

    def level(self, queue: Name, at: FlavorResource, amount: Number) -> int:
        if self.parent(queue) is None:
            return 0
        path = self.path(queue)
        for node in path:
            if self.usage(node, at) + amount <= self.subtree(node, at):
                return self.height(node)
            amount = max(0, amount - self.local_available(node, at))
        return self.height(path[-1])

    # Section 7.6

    def share(self, node: Name, places: Iterable[FlavorResource]) -> tuple[bool, Fraction]:
        """Whether it is infinite, and the value that finite and infinite ones are compared by."""
        parent = self.parent(node)
        if parent is None:
            return False, Fraction(0)
        borrowed: dict[str, Number] = {}
        lendable: dict[str, Number] = {}
        for at in places:
            over = max(0, self.usage(node, at) - self.subtree(node, at))
            borrowed[at[1]] = borrowed.get(at[1], 0) + over
            lendable[at[1]] = lendable.get(at[1], 0) + self.potential(parent, at)
        # Unlimited is a huge amount here, so that borrowing of it still counts for something.
        ratio = max(
            (
                Fraction(int(borrowed[r])) * 1000 / (UNLIMITED if of == inf else int(of))
                for r, of in lendable.items()
                if of > 0
            ),
            default=Fraction(0),
        )
        weight = self.weight(node)
        if weight == 0:
            return ratio > 0, ratio
        return False, ratio / Fraction(weight)

    def borrows_anything(self, node: Name, places: Iterable[FlavorResource]) -> bool:
        return self.parent(node) is not None and self.exceeds(node, places)


def _number(amount: int | None) -> Number:
    assert amount is not None
    return inf if amount >= UNLIMITED else amount
