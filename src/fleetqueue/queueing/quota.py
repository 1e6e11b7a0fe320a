"""The tree of cohorts and queues: who is below whom, and changes of usage that can be undone."""

from collections.abc import Iterator, Mapping
from itertools import chain
from typing import TypeAlias

from fleetqueue.queueing.amounts import FlavorResource
from fleetqueue.queueing.model import ClusterQueue, Cohort, Quota
from fleetqueue.queueing.quota_node import NO_OFFER, NO_QUOTA, Change, Ledger, Node

__all__ = ["NO_QUOTA", "Mark", "Node", "Position", "QuotaTree"]

Mark: TypeAlias = int
"""A moment to which usage can be brought back."""
Position: TypeAlias = tuple[Mark, Change | None]
"""A moment since which changes can be told."""


class QuotaTree:
    """All queues and cohorts. Usage changes are logged, so that a decision can take them back;
    changes of the tree itself are not, and forget that log."""

    def __init__(self) -> None:
        self.queues: dict[str, Node] = {}
        self.cohorts: dict[str, Node] = {}
        self._declared: set[str] = set()
        self._ledger = Ledger()
        self._changes = self._ledger.changes

    @property
    def version(self) -> int:
        """Counts the changes of the tree itself."""
        return self._ledger.version

    # Decisions try something, and take it back

    def mark(self) -> Mark:
        return len(self._changes)

    def undo(self, mark: Mark) -> None:
        while len(self._changes) > mark:
            node, at, amount = self._changes.pop()
            node.write(at, amount)

    def forget(self) -> None:
        """What was changed up to now stays."""
        self._changes.clear()

    def position(self) -> Position:
        return len(self._changes), self._changes[-1] if self._changes else None

    def changed_since(self, position: Position) -> set[Node] | None:
        """The nodes whose usage changed; None if more was undone than what came after."""
        count, last = position
        if len(self._changes) < count or (count and self._changes[count - 1] is not last):
            return None
        return {node for node, _, _ in self._changes[count:]}

    # The tree

    def put_queue(self, queue: ClusterQueue) -> None:
        node = self.queues.get(queue.name)
        if node is None:
            node = self.queues[queue.name] = Node(queue.name, True, self._ledger)
        self._place(node, queue.cohort, queue.quotas, queue.weight)

    def remove_queue(self, name: str) -> None:
        node = self.queues.pop(name, None)
        if node is not None:
            self._place(node, "", {}, 1.0)

    def put_cohort(self, cohort: Cohort) -> None:
        self._declared.add(cohort.name)
        self._place(self._cohort(cohort.name), cohort.parent, cohort.quotas, cohort.weight)

    def remove_cohort(self, name: str) -> None:
        """One with children stays as a cohort that is only named."""
        self._declared.discard(name)
        node = self.cohorts.get(name)
        if node is not None:
            self._place(node, "", {}, 1.0)
            self._drop_if_unused(node)

    def has_cycle(self, node: Node) -> bool:
        """Whether the way up never ends."""
        return node.above is not None and node.parent is None

    def queues_below(self, node: Node) -> Iterator[Node]:
        """The queues of a subtree; in each cohort those of its cohorts first, by name."""
        if node.is_queue:
            yield node
            return
        for child in sorted(node.children, key=lambda each: (each.is_queue, each.name)):
            yield from self.queues_below(child)

    def tree_of(self, name: str) -> list[str]:
        """The queues that share quota with this one, itself included."""
        return [each.name for each in self.queues_below(self.queues[name].root)]

    def _cohort(self, name: str) -> Node:
        node = self.cohorts.get(name)
        if node is None:
            node = self.cohorts[name] = Node(name, False, self._ledger)
        return node

    def _place(
        self, node: Node, above: str, quotas: Mapping[FlavorResource, Quota], weight: float
    ) -> None:
        self.forget()
        self._ledger.version += 1
        before, old_above, old_parent = node.offer(), node.above, node.parent
        node.quotas, node.weight = quotas, weight
        new_above = self._cohort(above) if above else None
        if new_above is not old_above:
            self._move(node, old_above, new_above)
        node.recompute()
        is_same = node.parent is old_parent
        if old_parent is not None and not is_same:
            old_parent.adopt(node, before, NO_OFFER)
        if node.parent is not None and (is_same or old_parent is None):
            node.parent.adopt(node, before if is_same else NO_OFFER, node.offer())
        elif node.parent is not None:
            # It may be above the old one, and know of the node already.
            node.parent.refresh()
        if old_above is not None and old_above is not new_above:
            self._drop_if_unused(old_above)

    def _move(self, node: Node, old: Node | None, new: Node | None) -> None:
        was_lost = self.has_cycle(node)
        if old is not None:
            del _siblings(old, node)[node.name]
        if new is not None:
            _siblings(new, node)[node.name] = node
        node.above = new
        is_lost = _never_ends(node)
        node.parent = None if is_lost else new
        if is_lost != was_lost:
            _relink(node, is_lost)

    def _drop_if_unused(self, cohort: Node) -> None:
        if not (cohort.cohorts or cohort.queues) and cohort.name not in self._declared:
            self.cohorts.pop(cohort.name, None)


def _siblings(above: Node, node: Node) -> dict[str, Node]:
    return above.queues if node.is_queue else above.cohorts


def _never_ends(node: Node) -> bool:
    seen: set[Node] = set()
    at: Node | None = node
    while at is not None and at not in seen:
        seen.add(at)
        at = at.above
    return at is not None


def _relink(node: Node, is_lost: bool) -> None:
    """Whatever is below a node has no way up if the node has none, and has one again with it. All
    that is on a cycle is below each of its nodes.
    """
    below = list(_below(node))
    for each in below:
        each.parent = None if is_lost else each.above
    for each in reversed(below):
        each.recompute()


def _below(node: Node) -> Iterator[Node]:
    """The node and all that name it, directly or not; those above come before those below."""
    seen = {node}
    waiting = [node]
    while waiting:
        at = waiting.pop()
        yield at
        found = list(chain(at.cohorts.values(), at.queues.values()))
        waiting += [each for each in found if each not in seen]
        seen.update(found)
