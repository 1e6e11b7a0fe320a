"""Calls to workers within looks at workloads: those to a slow one leave room for the others."""

from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager

from fleetqueue.base.clock import Clock
from fleetqueue.errors import FleetqueueError

CALLS_MAX = 28
"""To one worker at once; a few fewer than the looks that there may be."""
SLOW_CALLS_MAX = 20
"""The same, where they take long."""
LONG_SECONDS = 2.0


class Crowded(FleetqueueError):
    """Too many wait for that worker already; what was to be done there is done later."""

    who_acts = "cluster"


class Crowds:
    """By worker: since when each of its calls is under way."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._under_way: dict[str, dict[object, float]] = defaultdict(dict)

    @contextmanager
    def joined(self, worker: str) -> Iterator[None]:
        """For the time of one call, or of a few that follow each other; raises Crowded."""
        known, now, token = self._under_way[worker], self._clock.monotonic(), object()
        is_slow = bool(known) and now - next(iter(known.values())) > LONG_SECONDS
        if len(known) >= (SLOW_CALLS_MAX if is_slow else CALLS_MAX):
            raise Crowded(f'the worker "{worker}" is slow')
        known[token] = now
        try:
            yield
        finally:
            del known[token]
