"""How often each key of a queue had its turn lately, and which of them come too often.

A controller that hears late of what others do makes again and again what they take away, and all of
it goes well: nothing but the number of turns tells.
"""

from collections.abc import Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
TURNS_MAX = 100
"""Of one key in one second."""
TURNS_LEFT = 10
"""For a key that came too often in the second before."""


class Turns(Generic[K]):
    """Counts in seconds of their own, each of which begins with the first turn after the last."""

    def __init__(self) -> None:
        self._began_at = 0.0
        self._counts: dict[K, int] = {}

    def take(self, key: K, now: float) -> None:
        self._go_on(now)
        self._counts[key] = self._counts.get(key, 0) + 1

    def are_too_many(self, key: K, now: float) -> bool:
        if self._counts.get(key, 0) < TURNS_MAX:
            return False
        self._go_on(now)
        return self._counts.get(key, 0) >= TURNS_MAX

    def _go_on(self, now: float) -> None:
        passed = now - self._began_at
        if passed >= 1:
            counts = self._counts.items() if passed < 2 else ()
            self._counts = {k: TURNS_MAX - TURNS_LEFT for k, n in counts if n >= TURNS_MAX}
            self._began_at = now
