"""One queue or cohort of the quota tree: what it may use, uses, lends and borrows.

Every amount is for one flavor and resource. A queue is a leaf; a cohort that is only named has no
quota of its own.
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import TypeAlias

from fleetqueue.queueing.amounts import AMOUNT_MAX, Amounts, FlavorResource, minus, plus
from fleetqueue.queueing.model import Quota

NO_QUOTA = Quota()


class Node:
    """A queue or a cohort."""

    __slots__ = (
        "_exceeding",
        "_ledger",
        "_potentials",
        "above",
        "cohorts",
        "height",
        "is_queue",
        "name",
        "parent",
        "queues",
        "quotas",
        "subtree",
        "usage",
        "weight",
    )

    def __init__(self, name: str, is_queue: bool, ledger: "Ledger") -> None:
        self.name = name
        self.is_queue = is_queue
        self.above: Node | None = None
        """The cohort it names."""
        self.parent: Node | None = None
        """The same, but None where the way up never ends: such a node stands alone."""
        self.cohorts: dict[str, Node] = {}
        self.queues: dict[str, Node] = {}
        """The children that name it."""
        self.quotas: Mapping[FlavorResource, Quota] = {}
        self.weight = 1.0
        self.height = 0
        """The distance to the furthest leaf."""
        self.subtree: Amounts = {}
        """Own quota and what the children can lend."""
        self.usage: Amounts = {}
        self._exceeding: dict[FlavorResource, dict[Node, None]] = {}
        self._potentials: tuple[int, dict[str, int]] | None = None
        self._ledger = ledger

    @property
    def path(self) -> str:
        """`/root/…/name`."""
        return "/" + "/".join(node.name for node in reversed(list(self.ancestry())))

    @property
    def root(self) -> "Node":
        return list(self.ancestry())[-1]

    def ancestry(self) -> Iterator["Node"]:
        """The node itself, its parent and so on."""
        node: Node | None = self
        while node is not None:
            yield node
            node = node.parent

    # What there is

    def quota(self, at: FlavorResource) -> Quota:
        return self.quotas.get(at, NO_QUOTA)

    def used(self, at: FlavorResource) -> int:
        return self.usage.get(at, 0)

    def subtree_quota(self, at: FlavorResource) -> int:
        return self.subtree.get(at, 0)

    def local_quota(self, at: FlavorResource) -> int:
        """What is never lent."""
        limit = self.quota(at).lending_limit
        owned = self.subtree_quota(at)
        return 0 if limit is None or limit >= owned else minus(owned, limit)

    def lendable(self, at: FlavorResource) -> int:
        """The rest; a limit holds for an unlimited quota, too."""
        limit = self.quota(at).lending_limit
        owned = self.subtree_quota(at)
        return owned if limit is None else min(owned, limit)

    def local_available(self, at: FlavorResource) -> int:
        return max(0, minus(self.local_quota(at), self.used(at)))

    def passed_up(self, at: FlavorResource) -> int:
        """The part of the usage that counts for the parent."""
        return max(0, minus(self.used(at), self.local_quota(at)))

    def available(self, at: FlavorResource) -> int:
        """What could be used on top now; below zero in a tree that uses more than it has."""
        if self.parent is None:
            return minus(self.subtree_quota(at), self.used(at))
        from_parent = self.parent.available(at)
        limit = self.quota(at).borrowing_limit
        if limit is not None:
            own = minus(self.lendable(at), self.passed_up(at))
            from_parent = min(from_parent, plus(own, limit))
        return plus(self.local_available(at), from_parent)

    def potential(self, at: FlavorResource) -> int:
        """What could be used if nobody else used anything."""
        if self.parent is None:
            return self.subtree_quota(at)
        found = plus(self.local_quota(at), self.parent.potential(at))
        limit = self.quota(at).borrowing_limit
        return found if limit is None else min(found, plus(self.subtree_quota(at), limit))

    def potential_by_resource(self) -> Mapping[str, int]:
        """The same over all flavors of the tree; worked out once until the tree changes."""
        if self._potentials is None or self._potentials[0] != self._ledger.version:
            found: dict[str, int] = {}
            for at in self.root.subtree:
                found[at[1]] = plus(found.get(at[1], 0), self.potential(at))
            self._potentials = (self._ledger.version, found)
        return self._potentials[1]

    def fits(self, wanted: Mapping[FlavorResource, int]) -> bool:
        return all(amount <= max(0, self.available(at)) for at, amount in wanted.items())

    def borrows(self, at: FlavorResource, extra: int = 0) -> bool:
        return plus(self.used(at), extra) > self.subtree_quota(at)

    def is_within_nominal(self, places: Iterable[FlavorResource]) -> bool:
        return not any(self.borrows(at) for at in places)

    def exceeding_children(self, places: Iterable[FlavorResource]) -> Iterable["Node"]:
        """Those that use more than they have in some place; costs nothing for the others."""
        found: dict[Node, None] = {}
        for at in places:
            found.update(self._exceeding.get(at, {}))
        return found

    def borrowed(self, at: FlavorResource) -> int:
        return max(0, minus(self.used(at), self.quota(at).nominal))

    def borrowing_level(self, at: FlavorResource, amount: int) -> tuple[int, bool]:
        """The height of the lowest subtree in which the amount fits without borrowing, and whether
        that subtree is below the root; without a parent nothing is borrowed.
        """
        if self.parent is None:
            return 0, False
        rest = amount
        node: Node = self
        for node in self.ancestry():
            if not node.borrows(at, rest):
                return node.height, node.parent is not None
            rest = max(0, minus(rest, node.local_available(at)))
        return node.height, False

    # What is used

    def add(self, wanted: Mapping[FlavorResource, int]) -> None:
        for at, amount in wanted.items():
            self._add(at, amount)

    def remove(self, wanted: Mapping[FlavorResource, int]) -> None:
        for at, amount in wanted.items():
            self._remove(at, amount)

    def _add(self, at: FlavorResource, amount: int) -> None:
        local = self.local_available(at)
        self._change(at, plus(self.used(at), amount))
        if self.parent is not None and amount > local:
            self.parent._add(at, minus(amount, local))

    def _remove(self, at: FlavorResource, amount: int) -> None:
        stored = self.passed_up(at)
        self._change(at, minus(self.used(at), amount))
        if self.parent is not None and stored > 0:
            self.parent._remove(at, min(amount, stored))

    def _change(self, at: FlavorResource, amount: int) -> None:
        self._ledger.changes.append((self, at, self.usage.get(at)))
        self.write(at, amount)

    def write(self, at: FlavorResource, amount: int | None) -> None:
        """Sets the usage without noting it down; the parent learns whether it exceeds."""
        if amount is None:
            del self.usage[at]
        else:
            self.usage[at] = amount
        if self.parent is not None:
            self.parent.note(self, at)

    # What follows from the children

    @property
    def children(self) -> Iterator["Node"]:
        """Those that count here: none of those whose way up never ends."""
        return (each for each in chain(self.cohorts.values(), self.queues.values()) if each.parent)

    def note(self, child: "Node", at: FlavorResource) -> None:
        if child.borrows(at):
            self._exceeding.setdefault(at, {})[child] = None
        elif at in self._exceeding:
            self._exceeding[at].pop(child, None)

    def recompute(self) -> None:
        """From what the children are now; costs as much as there are children."""
        children = list(self.children)
        self._measure()
        subtree = {at: quota.nominal for at, quota in self.quotas.items()}
        for child in children:
            for at in child.subtree:
                subtree[at] = plus(subtree.get(at, 0), child.lendable(at))
        self.subtree = subtree
        if not self.is_queue:
            self.usage = _usage_above(children)
        self._exceeding = {}
        for child in children:
            for at in child.usage:
                self.note(child, at)

    def offer(self) -> "Offer":
        """What the parent has to know: what can be lent, and what usage counts for it."""
        lendable = {at: self.lendable(at) for at in self.subtree}
        return lendable, {at: self.passed_up(at) for at in self.usage}

    def adopt(self, child: "Node", before: "Offer", after: "Offer") -> None:
        """Takes in what changed in one child, and tells it on; the others are not looked at."""
        own_before = self.offer()
        is_counted = all(
            _shift(kept, old, new)
            for kept, old, new in zip((self.subtree, self.usage), before, after, strict=True)
        )
        if is_counted:
            self._measure()
            self._note_all(child)
        else:
            self.recompute()
        if self.parent is not None:
            self.parent.adopt(self, own_before, self.offer())

    def refresh(self) -> None:
        """Looks at all children anew, and tells on what that changed."""
        before = self.offer()
        self.recompute()
        if self.parent is not None:
            self.parent.adopt(self, before, self.offer())

    def _measure(self) -> None:
        deepest = max((child.height for child in self.cohorts.values() if child.parent), default=-1)
        has_queue = any(child.parent for child in self.queues.values())
        self.height = 1 + max(deepest, 0 if has_queue else -1)

    def _note_all(self, child: "Node") -> None:
        for of_place in self._exceeding.values():
            of_place.pop(child, None)
        if child.parent is self:
            for at in child.usage:
                self.note(child, at)


Offer: TypeAlias = tuple[Amounts, Amounts]
NO_OFFER: Offer = ({}, {})
Change: TypeAlias = tuple[Node, FlavorResource, int | None]
"""What usage was before."""


class Ledger:
    """What all nodes of a tree have in common."""

    __slots__ = ("changes", "version")

    def __init__(self) -> None:
        self.changes: list[Change] = []
        """Those of usage that can still be undone."""
        self.version = 0
        """Counts the changes of the tree itself."""


def _usage_above(children: Iterable[Node]) -> Amounts:
    total: Amounts = {}
    for child in children:
        for at in child.usage:
            beyond = child.passed_up(at)
            if beyond:
                total[at] = plus(total.get(at, 0), beyond)
    return total


def _shift(sums: Amounts, before: Amounts, after: Amounts) -> bool:
    """Brings sums up to date with one part that changed. False where that cannot be told, since
    something is unlimited or was too large to count."""
    for at in before.keys() | after.keys():
        numbers = (sums.get(at, 0), before.get(at, 0), after.get(at, 0))
        found = numbers[0] - numbers[1] + numbers[2]
        if max(*numbers, found) >= AMOUNT_MAX:
            return False
        sums[at] = found
    return True
