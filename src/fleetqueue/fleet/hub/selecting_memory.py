"""Remembers what placements selected, until something they select changes; a status that moves is
no reason to select again.
"""

from collections.abc import Hashable

from fleetqueue.api.meta import Key
from fleetqueue.fleet.decide.selection import Selected


class Selections:
    """Of the placements of one scope."""

    def __init__(self) -> None:
        self._kept: dict[Key, tuple[Hashable, Selected]] = {}
        self._stale: set[Key] = set()
        """Placements of which something changed since they began to select."""

    def known(self, key: Key, said: Hashable) -> Selected | None:
        """What a placement that said this selected last, if that still holds."""
        found = self._kept.get(key)
        return found[1] if found is not None and found[0] == said else None

    def begin(self, key: Key) -> None:
        """It selects from now on: later changes may not be in what it finds."""
        self._stale.discard(key)

    def keep(self, key: Key, said: Hashable, found: Selected) -> None:
        if key not in self._stale:
            self._kept[key] = (said, found)

    def changed(self, key: Key) -> None:
        """Something that it selects has changed."""
        self._stale.add(key)
        self._kept.pop(key, None)

    def drop(self, key: Key) -> None:
        self._stale.discard(key)
        self._kept.pop(key, None)
