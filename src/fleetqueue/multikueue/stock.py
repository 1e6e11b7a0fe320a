"""What workers have of the things that jobs name: asked for once in a while, and remembered."""

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta

from fleetqueue.base.clock import Clock
from fleetqueue.kube.errors import KubeError
from fleetqueue.multikueue.preflight import Needed
from fleetqueue.multikueue.workers import Worker

FRESH = timedelta(seconds=30)
KEPT = timedelta(hours=1)
"""What nobody wanted to know again in that time is forgotten."""
PATIENCE_SECONDS = 2.0
"""A worker that takes longer to answer is not waited for."""


class Stock:
    """What is not known, or may not be read, is not called absent."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._known: OrderedDict[tuple[str, Needed], tuple[datetime, bool]] = OrderedDict()
        """By worker and thing, in the order in which they were asked: when that was, and whether it
        is missing."""

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
        for each in shown:
            self._note(each.name, needed, now, is_missing=False)
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
        self._note(worker.name, needed, now, is_missing)

    def _note(self, worker: str, needed: Needed, now: datetime, is_missing: bool) -> None:
        self._known[worker, needed] = (now, is_missing)
        self._known.move_to_end((worker, needed))
        while now - next(iter(self._known.values()))[0] > KEPT:
            self._known.popitem(last=False)
