"""A heap with lookup, update and removal by key. The order is total: equal ranks leave in the
order in which their keys first came."""

import heapq
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from itertools import count
from typing import Any, Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Item = TypeVar("Item")


@dataclass(slots=True)
class _Entry(Generic[Key, Item]):
    rank: Any
    sequence: int
    key: Key
    item: Item
    is_live: bool = True

    def __lt__(self, other: "_Entry[Key, Item]") -> bool:
        return bool((self.rank, self.sequence) < (other.rank, other.sequence))


class KeyedHeap(Generic[Key, Item]):
    """The least item first, by `rank`, a function whose results compare with each other."""

    def __init__(self, rank: Callable[[Item], Any]) -> None:
        self._rank = rank
        self._entries: dict[Key, _Entry[Key, Item]] = {}
        self._heap: list[_Entry[Key, Item]] = []
        self._sequence = count()

    def put(self, key: Key, item: Item) -> None:
        """Adds, or replaces what is under that key; a replaced one keeps its turn among equals."""
        old = self._entries.get(key)
        sequence = next(self._sequence) if old is None else old.sequence
        if old is not None:
            old.is_live = False
        entry = _Entry(self._rank(item), sequence, key, item)
        self._entries[key] = entry
        heapq.heappush(self._heap, entry)
        self._forget_dead()

    def get(self, key: Key) -> Item | None:
        entry = self._entries.get(key)
        return None if entry is None else entry.item

    def remove(self, key: Key) -> Item | None:
        entry = self._entries.pop(key, None)
        if entry is None:
            return None
        entry.is_live = False
        self._forget_dead()
        return entry.item

    def peek(self) -> tuple[Key, Item] | None:
        self._drop_dead_top()
        return (self._heap[0].key, self._heap[0].item) if self._heap else None

    def pop(self) -> tuple[Key, Item]:
        self._drop_dead_top()
        if not self._heap:
            raise IndexError("pop from an empty heap")
        entry = heapq.heappop(self._heap)
        del self._entries[entry.key]
        return entry.key, entry.item

    def ordered(self) -> list[tuple[Key, Item]]:
        """All of it in the order in which it would leave; nothing leaves."""
        return [(entry.key, entry.item) for entry in sorted(self._entries.values())]

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, key: object) -> bool:
        return key in self._entries

    def __iter__(self) -> Iterator[Key]:
        return iter(self._entries)

    def _drop_dead_top(self) -> None:
        while self._heap and not self._heap[0].is_live:
            heapq.heappop(self._heap)

    def _forget_dead(self) -> None:
        # Dead entries stay until they are the majority, so an update costs O(log n) on average.
        if len(self._heap) > 2 * len(self._entries) + 16:
            self._heap = list(self._entries.values())
            heapq.heapify(self._heap)
