"""An event loop whose clock jumps to the next timer as soon as nothing else is ready.

Hours pass in milliseconds and every run is the same. Only work in threads is waited for really.
"""

import asyncio
import math
import selectors
from collections import deque
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from typing import Any, TypeVar, TypeVarTuple, Unpack

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

_TASKS_SHOWN = 10


class Deadlock(RuntimeError):
    """The main task waits, and nothing that could ever wake it is left."""


class Endless(RuntimeError):
    """The main task has gone round more often than it may: somebody undoes what another does."""


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    """Starts at second zero. Works with sleep, timeout, wait_for and run_in_executor.

    With `rounds_max`, what would go on for ever ends with Endless after so many rounds of the loop,
    the same on every machine.
    """

    def __init__(self, rounds_max: int | None = None) -> None:
        self._virtual_now = 0.0
        self.rounds = 0
        """How often it looked who is ready: with the time, what tells one story from another."""
        self._rounds_max = rounds_max
        self._outside_work = 0
        self._idle_waiters: deque[asyncio.Future[None]] = deque()
        super().__init__(_JumpingSelector(self._wait))
        self._clock_resolution = math.ulp(self._virtual_now)
        self._own_files = len(self._files())

    def time(self) -> float:
        return self._virtual_now

    async def idle(self) -> None:
        """Returns when nothing is ready at this very instant; no timer fires meanwhile."""
        waiter: asyncio.Future[None] = self.create_future()
        self._idle_waiters.append(waiter)
        await waiter

    @contextmanager
    def outside_work(self) -> Iterator[None]:
        """While open, time stands still: a thread will report through `call_soon_threadsafe`."""
        self._outside_work += 1
        try:
            yield
        finally:
            self._outside_work -= 1

    def run_in_executor(
        self, executor: Executor | None, func: Callable[[Unpack[Ts]], T], *args: *Ts
    ) -> asyncio.Future[T]:
        future = super().run_in_executor(executor, func, *args)
        self._outside_work += 1
        future.add_done_callback(self._outside_work_done)
        return future

    async def shutdown_default_executor(self, *args: Any, **options: Any) -> None:
        with self.outside_work():
            await super().shutdown_default_executor(*args, **options)

    def _outside_work_done(self, _: object) -> None:
        self._outside_work -= 1

    def _wait(self, poll: Callable[[float | None], list[Any]], timeout: float | None) -> list[Any]:
        """Called by the loop between rounds; `timeout` is 0 when some callback is ready."""
        self.rounds += 1
        if self.rounds == self._rounds_max:
            raise Endless(self._explain_endless())
        events = poll(0)
        if events or timeout == 0:
            return events
        if self._outside_work:
            return poll(None)
        if self._wake_one_idle():
            return []
        if timeout is not None:
            self._jump()
            return []
        if len(self._files()) > self._own_files:
            return poll(None)
        raise Deadlock(self._explain_deadlock())

    def _wake_one_idle(self) -> bool:
        """One at a time: the first to wake may make work that the next must wait for."""
        while self._idle_waiters:
            waiter = self._idle_waiters.popleft()
            if not waiter.done():
                waiter.set_result(None)
                return True
        return False

    def _jump(self) -> None:
        # The loop has just dropped cancelled timers from the top of its heap.
        self._virtual_now = max(self._virtual_now, self._timers()[0].when())
        # A timer is due at its time exactly. Were it due a moment before, whoever looks whether the
        # time has come would wait again, for ever: the moment does not pass while anybody is ready.
        self._clock_resolution = math.ulp(self._virtual_now)

    def _timers(self) -> list[asyncio.TimerHandle]:
        timers: list[asyncio.TimerHandle] = vars(self)["_scheduled"]
        return timers

    def _files(self) -> Any:
        return vars(self)["_selector"].get_map()

    def _explain_deadlock(self) -> str:
        return (
            "Nothing is ready and no timer is set, so the main task would wait for ever. "
            f"Still waiting: {self._tasks_shown()}."
        )

    def _explain_endless(self) -> str:
        return (
            f"No end after {self.rounds:,} rounds of the loop, {self._virtual_now:,.3f} s into "
            f"the story. Under way: {self._tasks_shown()}."
        )

    def _tasks_shown(self) -> str:
        tasks = sorted(asyncio.all_tasks(self), key=lambda task: task.get_name())
        shown = ", ".join(_describe(task) for task in tasks[:_TASKS_SHOWN])
        left = len(tasks) - _TASKS_SHOWN
        return shown + (f" and {left} more" if left > 0 else "")


def run(main: Coroutine[Any, Any, T]) -> T:
    """Runs a coroutine to its end on a fresh virtual-time loop."""
    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        return runner.run(main)


async def idle() -> None:
    """Waits until nothing is ready at this instant of the running virtual-time loop."""
    loop = asyncio.get_running_loop()
    assert isinstance(loop, VirtualTimeLoop)
    await loop.idle()


class _JumpingSelector(selectors.DefaultSelector):
    """Leaves it to the loop how to wait."""

    def __init__(self, wait: Callable[[Callable[[float | None], Any], float | None], Any]) -> None:
        super().__init__()
        self._wait = wait

    def select(self, timeout: float | None = None) -> Any:
        return self._wait(super().select, timeout)


def _describe(task: asyncio.Task[Any]) -> str:
    frames = task.get_stack(limit=1)
    if not frames:
        return task.get_name()
    code = frames[-1].f_code
    return f"{task.get_name()} in {code.co_qualname} (line {frames[-1].f_lineno})"
