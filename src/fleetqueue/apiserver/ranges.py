"""A stretch of a table's objects, in the order of their keys, as it was at a revision.

Of a long list usually one page is read, so nothing is gathered before it is asked for.
"""

import heapq
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fleetqueue.apiserver.storage import Stored

CHUNK = 256


class Range:
    """To be read before anything is written: it looks into the table itself."""

    def __init__(
        self,
        keys: Sequence[str],
        span: tuple[int, int],
        live: Mapping[str, "Stored"],
        undone: Mapping[str, "Stored | None"],
    ) -> None:
        self._keys = keys
        self._first, self._last = span
        self._live = live
        self._undone = undone
        """What changed since, as it was before; None: it was not there."""

    def __len__(self) -> int:
        count = self._last - self._first
        for key, before in self._undone.items():
            count += (before is not None) - (key in self._live)
        return count

    def __iter__(self) -> Iterator["Stored"]:
        return iter(self.take())

    def take(self, limit: int = 0) -> list["Stored"]:
        """The first ones, or all."""
        if self._undone:
            return list(islice(self._merged(), limit or None))
        last = min(self._first + limit, self._last) if limit else self._last
        live = self._live
        return [live[key] for key in self._keys[self._first : last]]

    def scan(self) -> Iterator["Stored"]:
        """One after the other, for who may stop early."""
        if self._undone:
            return self._merged()
        return (self._live[key] for key in self._present())

    def _present(self) -> Iterator[str]:
        for start in range(self._first, self._last, CHUNK):
            yield from self._keys[start : min(start + CHUNK, self._last)]

    def _merged(self) -> Iterator["Stored"]:
        undone = self._undone
        present = (key for key in self._present() if key not in undone)
        for key in heapq.merge(present, sorted(undone)):
            found = undone[key] if key in undone else self._live[key]
            if found is not None:
                yield found
