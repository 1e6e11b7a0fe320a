"""Who may say now that something is under way: everybody at once while little happens; while much
does, each in its turn, or never where it is over by then.
"""

from collections.abc import Hashable

from fleetqueue.base.clock import Clock

AT_ONCE = 20
PER_SECOND = 2.0
SECONDS_MIN = 0.001
"""Less is no wait: what is left of a sum of fractions rounds to none, and is asked for for ever."""
SECONDS_MAX = 30.0
"""How long anybody waits for a turn."""


class Turns:
    """Of all who write the status of one kind."""

    def __init__(
        self, clock: Clock, at_once: int = AT_ONCE, per_second: float = PER_SECOND
    ) -> None:
        self._clock = clock
        self._share = 1 / per_second
        self._saved = at_once * self._share
        self._given_until = clock.monotonic() - self._saved
        self._turns: dict[Hashable, float] = {}
        """When the turn comes of each who waits."""

    def wait(self, who: Hashable) -> float:
        """In how many seconds it is the turn of this one; 0.0: now, which uses it up."""
        now = self._clock.monotonic()
        turn = self._turns.get(who)
        if turn is None:
            self._given_until = max(self._given_until, now - self._saved) + self._share
            turn = self._turns[who] = min(self._given_until, now + SECONDS_MAX)
        if turn - now > SECONDS_MIN:
            return turn - now
        del self._turns[who]
        return 0.0

    def give_back(self, who: Hashable) -> None:
        """There is nothing to say any more: the others come sooner."""
        if self._turns.pop(who, None) is not None:
            self._given_until -= self._share
