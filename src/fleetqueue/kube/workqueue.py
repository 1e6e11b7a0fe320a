"""A queue of keys: each once, never twice at work, delayed, backed off and ordered by priority.

The order is priority, then age; every few turns the oldest goes first whatever its priority, so
that nobody waits for ever. What keeps failing is not hurried by what happens around it, nor is what
comes again and again.
"""

import asyncio
from collections.abc import Hashable
from dataclasses import dataclass
from itertools import count
from random import Random
from typing import Generic, TypeVar

from fleetqueue.base.backoff import Backoff
from fleetqueue.base.heap import KeyedHeap
from fleetqueue.kube.turns import Turns

K = TypeVar("K", bound=Hashable)
BACKOFF = Backoff(0.005, 1000.0)
"""client-go's: five milliseconds, doubled each time."""
OLDEST_EVERY = 8
SLOW_SECONDS = 0.1
"""What takes longer than this waits for a server that is busy."""


FAILURES_MIN = 8
PAUSE_SECONDS = 0.1
"""What has failed so often in a row is looked at no more than ten times a second, whatever happens:
its own tries may be what wakes it. Neither is what came too often of late.
"""


class ShutDown(Exception):
    """The queue is closed and empty: the worker may go home."""


@dataclass(frozen=True, slots=True)
class _Waiting:
    priority: int
    sequence: int


@dataclass(frozen=True, slots=True)
class _Delayed:
    due_at: float
    priority: int


class WorkQueue(Generic[K]):
    """Filled from callbacks, emptied by workers: `get`, work, `done`."""

    def __init__(
        self,
        *,
        random: Random,
        backoff: Backoff = BACKOFF,
        oldest_every: int = OLDEST_EVERY,
        ordinary_max: int | None = None,
    ) -> None:
        """`ordinary_max`: so many at work at once that are not urgent, and one at a time while that
        takes long: the urgent find room then, and a server that is not too busy for them.
        """
        self.backoff = backoff
        self._random = random
        self._oldest_every = oldest_every
        self._sequence = count()
        self._turn = 0
        self._ranked: KeyedHeap[K, _Waiting] = KeyedHeap(lambda w: (-w.priority, w.sequence))
        self._aged: KeyedHeap[K, _Waiting] = KeyedHeap(lambda w: w.sequence)
        self._delayed: KeyedHeap[K, _Delayed] = KeyedHeap(lambda d: d.due_at)
        self._at_work: set[K] = set()
        self._ordinary: dict[K, float] = {}
        """Those of them that are not urgent, and since when."""
        self._is_slow = False
        self._ordinary_max = ordinary_max
        self._again: dict[K, int] = {}
        self._failures: dict[K, int] = {}
        self._turns: Turns[K] = Turns()
        self._slowed: set[K] = set()
        """Delayed for their many turns alone: there is work for them now."""
        self._waiters: list[asyncio.Future[None]] = []
        self._timer: asyncio.TimerHandle | None = None
        self._idle = asyncio.Event()
        self._idle.set()
        self._is_closed = False

    def add(self, key: K, priority: int = 0) -> None:
        """Now. A key that waits keeps its turn; one at work comes again when that is done."""
        if self._is_closed:
            return
        if key in self._at_work:
            self._again[key] = max(priority, self._again.get(key, priority))
        elif self._failures.get(key, 0) >= FAILURES_MIN:
            self.add_after(key, PAUSE_SECONDS, priority)
        elif self._turns.are_too_many(key, asyncio.get_running_loop().time()):
            self._slowed.add(key)
            self.add_after(key, PAUSE_SECONDS, priority)
        else:
            self._wait_in_line(key, priority)

    def add_after(self, key: K, seconds: float, priority: int = 0) -> None:
        """Later; the earliest of several times counts, and the highest priority."""
        if self._is_closed:
            return
        if seconds <= 0:
            self.add(key, priority)
            return
        due_at = asyncio.get_running_loop().time() + seconds
        known = self._delayed.get(key)
        if known is not None:
            due_at, priority = min(due_at, known.due_at), max(priority, known.priority)
        if known is None or (due_at, priority) != (known.due_at, known.priority):
            self._delayed.put(key, _Delayed(due_at, priority))
            self._set_timer()

    def add_rate_limited(self, key: K, priority: int = 0) -> float:
        """After a delay that grows with every failure in a row; returns the delay."""
        failures = self._failures.get(key, 0)
        self._failures[key] = failures + 1
        delay = self.backoff.delay(failures, self._random)
        self.add_after(key, delay, priority)
        return delay

    def forget(self, key: K) -> None:
        """It went well: the next failure starts with the shortest delay again."""
        self._failures.pop(key, None)

    def failures(self, key: K) -> int:
        return self._failures.get(key, 0)

    async def get(self) -> K:
        """The next key; it is ours until `done`."""
        while not self._has_next():
            if self._is_closed and not self._ranked:
                raise ShutDown
            waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiters.append(waiter)
            try:
                await waiter
            except asyncio.CancelledError:
                # The wake-up may have been meant for us alone: pass it on.
                if waiter.done() and not waiter.cancelled():
                    self._wake_one()
                raise
            finally:
                if waiter in self._waiters:
                    self._waiters.remove(waiter)
        return self._take()

    def done(self, key: K) -> None:
        self._at_work.discard(key)
        began = self._ordinary.pop(key, None)
        if began is not None:
            self._is_slow = asyncio.get_running_loop().time() - began > SLOW_SECONDS
            # Several may find room now; those that do not wait again.
            self._wake_all()
        priority = self._again.pop(key, None)
        if priority is not None:
            self.add(key, priority)
        self._notice_idle()

    def shut_down(self, *, drain: bool = True) -> None:
        """No new keys, no delayed ones; those that wait are handed out if `drain`, else dropped."""
        self._is_closed = True
        if not drain:
            for key in list(self._ranked):
                self._ranked.remove(key)
                self._aged.remove(key)
            self._notice_idle()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._slowed.clear()
        self._wake_all()

    async def drain(self) -> None:
        """Returns when nothing waits and nobody is at work; delayed keys do not count."""
        await self._idle.wait()

    def __len__(self) -> int:
        """How many wait to be worked on now."""
        return len(self._ranked)

    @property
    def at_work(self) -> int:
        """How many are worked on now."""
        return len(self._at_work)

    @property
    def delayed(self) -> int:
        return len(self._delayed)

    @property
    def is_idle(self) -> bool:
        return self._idle.is_set()

    @property
    def is_settled(self) -> bool:
        """Idle, and no key waits to be tried again; those that only look again do not count."""
        return self.is_idle and not self._failures and not self._slowed

    def _wait_in_line(self, key: K, priority: int) -> None:
        known = self._ranked.get(key)
        if known is not None and known.priority >= priority:
            return
        sequence = next(self._sequence) if known is None else known.sequence
        waiting = _Waiting(priority, sequence)
        self._ranked.put(key, waiting)
        self._aged.put(key, waiting)
        self._idle.clear()
        if known is None or self._ordinary_max is not None:
            self._wake_one()

    def _has_next(self) -> bool:
        first = self._ranked.peek()
        return first is not None and (first[1].priority > 0 or self._has_room())

    def _has_room(self) -> bool:
        """For one that is not urgent."""
        if self._ordinary_max is None:
            return True
        return len(self._ordinary) < (1 if self._is_slow else self._ordinary_max)

    def _take(self) -> K:
        self._turn += 1
        oldest_first = self._turn % self._oldest_every == 0 and self._has_room()
        key, taken = (self._aged if oldest_first else self._ranked).pop()
        (self._ranked if oldest_first else self._aged).remove(key)
        self._at_work.add(key)
        now = asyncio.get_running_loop().time()
        self._turns.take(key, now)
        self._slowed.discard(key)
        if self._ordinary_max is not None and taken.priority <= 0:
            self._ordinary[key] = now
        return key

    def _wake_all(self) -> None:
        while self._waiters:
            self._wake_one()

    def _wake_one(self) -> None:
        while self._waiters:
            waiter = self._waiters.pop(0)
            if not waiter.done():
                waiter.set_result(None)
                return

    def _notice_idle(self) -> None:
        if not self._at_work and not self._ranked:
            self._idle.set()

    def _set_timer(self) -> None:
        first = self._delayed.peek()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if first is not None:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_at(first[1].due_at, self._release_due)

    def _release_due(self) -> None:
        self._timer = None
        now = asyncio.get_running_loop().time()
        while (first := self._delayed.peek()) is not None and first[1].due_at <= now:
            key, delayed = self._delayed.pop()
            if key in self._at_work:
                self.add(key, delayed.priority)
            else:
                self._wait_in_line(key, delayed.priority)
        self._set_timer()
