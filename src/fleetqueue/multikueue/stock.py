"""What workers have of the things that jobs name: asked for once in a while, and remembered."""

import asyncio
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta

from fleetqueue.base.clock import Clock
from fleetqueue.kube.errors import KubeError
from fleetqueue.multikueue.preflight import Needed
from fleetqueue.multikueue.workers import Worker

FRESH = timedelta(seconds=30)
PATIENCE_SECONDS = 2.0
"""A worker that takes longer to answer is not waited for."""


class Stock:
    """What is not known, or may not be read, is not called absent."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._known: dict[tuple[str, Needed], tuple[datetime, bool]] = {}
        """By worker and thing: when that was asked, and whether it is missing."""

    def lacks(self, worker: str, needed: Needed) -> bool:
        found = self._known.get((worker, needed))
        return found is not None and found[1]

    async def look(
        self,
        needed: Needed,
        workers: Iterable[Worker],
        shows: Callable[[Worker], bool] = lambda worker: False,
    ) -> None:
        """`shows`: whether something else that a worker has shows it; then nobody is asked."""
        now = self._clock.now()
        stale = [each for each in workers if not self._is_fresh(each.name, needed, now)]
        shown = [each for each in stale if shows(each)]
        self._known |= {(each.name, needed): (now, False) for each in shown}
        asked = [each for each in stale if each not in shown]
        await asyncio.gather(*(self._ask(needed, each, now) for each in asked))

    def _is_fresh(self, worker: str, needed: Needed, now: datetime) -> bool:
        found = self._known.get((worker, needed))
        return found is not None and now - found[0] < FRESH

    async def _ask(self, needed: Needed, worker: Worker, now: datetime) -> None:
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                found = await worker.read(needed.kind, needed.key)
        except (KubeError, TimeoutError):
            is_missing = False
        else:
            is_missing = found is None
        self._known[worker.name, needed] = (now, is_missing)
