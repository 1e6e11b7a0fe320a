"""Whether each step of a placement is written for itself, as KubeFleet does it, or what belongs
together is written together: while little happens all steps are there to be seen.
"""

from fleetqueue.base.clock import Clock
from fleetqueue.base.leisure import Leisure


class Steps:
    """Of one controller."""

    def __init__(self, clock: Clock, *, always: bool, at_once: int) -> None:
        self._clock = clock
        self._leisure = None if always else Leisure(at_once=at_once)

    def take(self) -> bool:
        """Whether there is time for them, now."""
        return self._leisure is None or self._leisure.take(self._clock.now())
