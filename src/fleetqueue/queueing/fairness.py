"""How much more than its own quota a queue or cohort uses, relative to what it could and to its
weight: the dominant resource share; and who is next where queues share fairly."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction
from functools import lru_cache, total_ordering
from math import inf
from typing import Generic, TypeAlias, TypeVar

from fleetqueue.base.heap import KeyedHeap
from fleetqueue.queueing.amounts import AMOUNT_MAX, Amounts, FlavorResource, minus, plus
from fleetqueue.queueing.quota import Node
from fleetqueue.queueing.state import State
from fleetqueue.queueing.workload import Workload

Entry = TypeVar("Entry")


@total_ordering
@dataclass(frozen=True, slots=True, eq=False)
class Share:
    """Borrowed of lendable, in thousandths, over the weight. Exact, so that comparing is."""

    borrowed: int = 0
    lendable: int = 1
    """Of the dominant resource."""
    weight: float = 1.0
    resource: str = ""
    """The dominant one; "" where nothing counts as borrowed."""
    is_borrowing: bool = False
    """Whether more than the own quota is used of anything."""

    @property
    def is_infinite(self) -> bool:
        return self.weight == 0 and self.borrowed > 0

    @property
    def precise(self) -> float:
        """As metrics report it; infinite for a weight of zero."""
        if self.is_infinite:
            return inf
        top, bottom = self._fraction()
        return top / bottom

    @property
    def reported(self) -> int:
        """As `weightedShare` in a status."""
        if self.is_infinite:
            return AMOUNT_MAX
        top, bottom = self._fraction()
        return min(-(-top // bottom), AMOUNT_MAX)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Share) and self._compare(other) == 0

    def __lt__(self, other: "Share") -> bool:
        return self._compare(other) < 0

    def __hash__(self) -> int:
        return hash((self.is_infinite, self.precise))

    def _compare(self, other: "Share") -> int:
        if self.is_infinite != other.is_infinite:
            return 1 if self.is_infinite else -1
        (top, bottom), (other_top, other_bottom) = self._fraction(), other._fraction()
        return top * other_bottom - other_top * bottom

    def _fraction(self) -> tuple[int, int]:
        """Two infinite shares are compared as if their weights were one."""
        if self.weight == 0:
            return self.borrowed * 1000, self.lendable
        top, bottom = _as_written(self.weight)
        return self.borrowed * 1000 * bottom, self.lendable * top


@lru_cache(maxsize=1024)
def _as_written(weight: float) -> tuple[int, int]:
    """0.29 is 29 of 100, though no such number can be stored: shares must not be rounded up for
    that."""
    return Fraction(str(weight)).as_integer_ratio()


def share(node: Node, extra: Mapping[FlavorResource, int] | None = None) -> Share:
    """The share of a queue or cohort; with `extra`, as if that were used by it on top."""
    if node.parent is None:
        return Share(weight=node.weight)
    borrowed = _borrowed(node, extra or {})
    if not borrowed:
        return Share(weight=node.weight)
    best = Share(weight=node.weight, is_borrowing=True)
    lendable = node.parent.potential_by_resource()
    for resource in sorted(borrowed):
        amount, of_all = borrowed[resource], lendable.get(resource, 0)
        if of_all > 0 and amount * best.lendable > best.borrowed * of_all:
            best = Share(amount, of_all, node.weight, resource, is_borrowing=True)
    return best


def _borrowed(node: Node, extra: Mapping[FlavorResource, int]) -> dict[str, int]:
    """By resource, over all flavors; only what is borrowed."""
    found: dict[str, int] = {}
    for at in {**node.usage, **extra} if extra else node.usage:
        beyond = minus(plus(node.used(at), extra.get(at, 0)), node.subtree_quota(at))
        if beyond > 0:
            found[at[1]] = plus(found.get(at[1], 0), beyond)
    return found


class Tournament(Generic[Entry]):
    """Hands out entries, the next one always by the shares that are in force then:

        for entry in Tournament(state, entries, usage_of, workload_of):
            ...  # process it: admitting adds usage to the state, or reserves some

    At each cohort the entries of its children compete by the share that the child would have with
    the entry's usage; the winner competes one level up. Only what lies above queues whose usage
    changed in between is looked at again; usage must not be kept (`State.keep`) until the end.
    Entries of different trees come by priority and time.
    """

    def __init__(
        self,
        state: State,
        entries: Sequence[Entry],
        usage_of: Callable[[Entry], Amounts],
        workload_of: Callable[[Entry], Workload],
        is_preemptor: Callable[[Entry], bool] | None = None,
    ) -> None:
        self._tree = state.tree
        rules = state.settings.fair_sharing
        self._puts_borrowers_last = rules is not None and rules.prefers_non_borrowing
        self._heaps: dict[Node | None, _Heap[Entry]] = {}
        self._of_queue: dict[Node, dict[int, _Contender[Entry]]] = {}
        for index, entry in enumerate(entries):
            workload = workload_of(entry)
            first = state.settings.prefers_preemptors and bool(is_preemptor and is_preemptor(entry))
            priority = workload.effective_priority if state.settings.sorts_by_priority else 0
            order = (-priority, workload.ordered_at, workload.uid)
            queue = state.node(workload.cluster_queue)
            contender = _Contender(index, entry, queue, usage_of(entry), not first, order)
            self._of_queue.setdefault(queue, {})[index] = contender
        self._refresh(self._of_queue)
        self._seen = self._tree.position()

    def __iter__(self) -> Iterator[Entry]:
        return self

    def __next__(self) -> Entry:
        changed = self._tree.changed_since(self._seen)
        self._refresh(self._of_queue if changed is None else changed)
        best = self._winner(None)
        if best is None:
            raise StopIteration
        self._remove(best)
        self._seen = self._tree.position()
        return best.entry

    def _refresh(self, nodes: Iterable[Node]) -> None:
        """Looks anew at the nodes and at what is above them, the lowest first."""
        depths = {node: depth for start in nodes for node, depth in _depths(start)}
        for node in sorted(depths, key=lambda each: depths[each], reverse=True):
            self._enter(node)

    def _enter(self, node: Node) -> None:
        """What the node has to offer competes one level up."""
        heap = self._heap(node.parent)
        if node.is_queue:
            for index, own in self._of_queue.get(node, {}).items():
                heap.put(index, self._ranked(own, node))
            return
        best = self._winner(node)
        if best is None:
            heap.remove(node)
        else:
            heap.put(node, self._ranked(best, node))

    def _remove(self, best: "_Contender[Entry]") -> None:
        del self._of_queue[best.queue][best.index]
        self._heap(best.queue.parent).remove(best.index)
        for cohort in list(best.queue.ancestry())[1:]:
            self._enter(cohort)

    def _winner(self, cohort: Node | None) -> "_Contender[Entry] | None":
        found = self._heap(cohort).peek()
        return None if found is None else found[1].contender

    def _heap(self, cohort: Node | None) -> "_Heap[Entry]":
        found = self._heaps.get(cohort)
        if found is None:
            found = self._heaps[cohort] = KeyedHeap(lambda ranked: ranked.rank)
        return found

    def _ranked(self, contender: "_Contender[Entry]", child: Node) -> "_Ranked[Entry]":
        """How it competes as the entry of this child of a cohort, or of this root."""
        borrows, own_share = False, _NONE
        if child.parent is not None:
            start = self._tree.mark()
            contender.queue.add(contender.usage)
            borrows = self._puts_borrowers_last and not child.is_within_nominal(contender.usage)
            own_share = share(child)
            self._tree.undo(start)
        rank = (contender.is_later, borrows, own_share, contender.order)
        return _Ranked(rank, contender)


@dataclass(frozen=True, slots=True, eq=False)
class _Contender(Generic[Entry]):
    index: int
    entry: Entry
    queue: Node
    usage: Amounts
    is_later: bool
    """False for those that wait for their preemptions, where these come first."""
    order: tuple[int, datetime, str]


@dataclass(frozen=True, slots=True, eq=False)
class _Ranked(Generic[Entry]):
    rank: tuple[bool, bool, Share, tuple[int, datetime, str]]
    contender: _Contender[Entry]


_Heap: TypeAlias = KeyedHeap[Node | int, _Ranked[Entry]]
_NONE = Share()


def _depths(node: Node) -> Iterator[tuple[Node, int]]:
    """The node and what is above it, each with its distance from the root."""
    way = list(node.ancestry())
    return zip(way, reversed(range(len(way))), strict=True)
