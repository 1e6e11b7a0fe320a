"""What is done on workers beside the look at a workload: a worker that hangs delays only itself."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from random import Random

from fleetqueue.api.meta import Key
from fleetqueue.base.backoff import Backoff
from fleetqueue.errors import FleetqueueError

BACKOFF = Backoff(0.1, 60.0, jitter=0.2)
REMOVALS_MAX = 3
"""At once on one worker: what nobody waits for leaves room for the rest."""
Pair = tuple[str, Key]
log = logging.getLogger(__name__)


class Errands:
    """At most one at a time for a worker and a workload; when it ends, the workload is looked at
    again: at once if it went well, otherwise later and later.
    """

    def __init__(self, random: Random) -> None:
        self._random = random
        self._under_way: dict[Pair, asyncio.Task[None]] = {}
        self._failures: dict[Key, dict[str, int]] = {}
        """By workload and worker."""
        self._removals: dict[str, asyncio.Semaphore] = {}
        self._removing: set[Pair] = set()
        self.wake: Callable[[Key, float], None] = lambda key, seconds: None

    @property
    def are_under_way(self) -> bool:
        return bool(self._under_way)

    def is_under_way(self, site: str, key: Key) -> bool:
        return (site, key) in self._under_way

    def is_removing(self, site: str, key: Key) -> bool:
        return (site, key) in self._removing

    def forget(self, key: Key) -> None:
        """How often errands for it have failed."""
        self._failures.pop(key, None)

    def start(self, site: str, key: Key, run: Callable[[], Awaitable[None]]) -> None:
        """The caller has seen that none is under way."""
        task = asyncio.create_task(self._run((site, key), run), name=f"errand {site} {key}")
        self._under_way[site, key] = task

    def start_removal(self, site: str, key: Key, run: Callable[[], Awaitable[None]]) -> None:
        """A few at a time."""
        turns = self._removals.setdefault(site, asyncio.Semaphore(REMOVALS_MAX))

        async def in_turn() -> None:
            async with turns:
                await run()

        self._removing.add((site, key))
        self.start(site, key, in_turn)

    async def run(self) -> None:
        """Until it is cancelled, which ends all that is under way."""
        try:
            await asyncio.Event().wait()
        finally:
            tasks = list(self._under_way.values())
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _run(self, pair: Pair, run: Callable[[], Awaitable[None]]) -> None:
        site, key = pair
        wait = 0.0
        try:
            await run()
            self._succeed(site, key)
        except FleetqueueError as error:
            known = self._failures.setdefault(key, {})
            wait = BACKOFF.delay(known.setdefault(site, 0), self._random)
            known[site] += 1
            log.info("an errand failed: worker=%s workload=%s: %s", site, key, error)
        except Exception:
            wait = BACKOFF.cap_seconds
            log.exception("an errand failed: worker=%s workload=%s", site, key)
        finally:
            self._under_way.pop(pair, None)
            self._removing.discard(pair)
        self.wake(key, wait)

    def _succeed(self, site: str, key: Key) -> None:
        known = self._failures.get(key, {})
        known.pop(site, None)
        if not known:
            self._failures.pop(key, None)
