"""A memory of bounded size: what was used least recently is forgotten first."""

from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

REMEMBERED_MAX = 4096
V = TypeVar("V")


class Remembered(Generic[V]):
    """The most recently used entries, so many and no more."""

    def __init__(self, size_max: int = REMEMBERED_MAX) -> None:
        self._size_max = size_max
        self._entries: OrderedDict[Hashable, V] = OrderedDict()

    def get(self, key: Hashable) -> V | None:
        if key in self._entries:
            self._entries.move_to_end(key)
        return self._entries.get(key)

    def put(self, key: Hashable, value: V) -> None:
        self._entries[key] = value
        self._entries.move_to_end(key)
        if len(self._entries) > self._size_max:
            self._entries.popitem(last=False)

    def clear(self) -> None:
        self._entries.clear()

    def __len__(self) -> int:
        return len(self._entries)
