"""Starts informers, waits for them, starts controllers, and stops all of it in the right order.

Start: informers, then (where there is one) the election, then controllers and leading tasks.
Stop: no new work, workers finish what they hold, tasks end, the lease is released, caches stop.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from random import Random
from typing import Any

from fleetqueue.api.meta import Key
from fleetqueue.base.backoff import Backoff
from fleetqueue.errors import ClusterError
from fleetqueue.kube.cluster import Cluster
from fleetqueue.kube.controller import HIGH_PRIORITY, LOW_PRIORITY, Controller, Loop, Watch
from fleetqueue.kube.informer import Informer
from fleetqueue.kube.leader import LeaderElector, LeadershipLost
from fleetqueue.kube.resources import key_of, resource_of
from fleetqueue.kube.workqueue import WorkQueue

__all__ = ["Cluster", "Manager"]

STOP_SECONDS_MAX = 30.0
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class _Task:
    name: str
    run: Callable[[], Awaitable[None]]
    needs_leader: bool
    is_busy: Callable[[], bool]


@dataclass
class _Running:
    """One controller at work."""

    loop: Loop[Any]
    informers: list[Informer[Any]] = field(default_factory=list)
    workers: list[asyncio.Task[None]] = field(default_factory=list)


class Manager:
    """Runs controllers on one or more clusters until it is stopped."""

    def __init__(
        self,
        cluster: Cluster,
        *,
        random: Random,
        elector: LeaderElector | None = None,
        stop_seconds_max: float = STOP_SECONDS_MAX,
        sync_seconds_max: float | None = None,
    ) -> None:
        """`sync_seconds_max`: how long caches may take to fill before it gives up; None: it never
        does.
        """
        self.cluster = cluster
        self._random = random
        self._elector = elector
        self._stop_seconds_max = stop_seconds_max
        self._sync_seconds_max = sync_seconds_max
        self._clusters: list[Cluster] = [cluster]
        self._controllers: list[_Running] = []
        self._tasks: list[_Task] = []
        self._running: list[asyncio.Task[Any]] = []
        self._ready = asyncio.Event()
        self._stopping = asyncio.Event()

    def add(self, controller: Controller[Any], cluster: Cluster | None = None) -> Loop[Any]:
        """A controller of this manager's cluster, or of another one that it then follows too."""
        cluster = cluster or self.cluster
        self.follow(cluster)
        informer = cluster.informer(
            controller.kind,
            controller.namespace,
            selection=controller.selection,
            indexes=controller.indexes,
        )
        queue: WorkQueue[Key] = WorkQueue(
            random=self._random,
            backoff=controller.backoff,
            ordinary_max=controller.ordinary_workers,
        )
        running = _Running(Loop(controller, queue, informer.store.get), [informer])
        informer.listen(partial(_wake_self, controller, queue, informer))
        for watched in controller.watches:
            running.informers.append(_follow(cluster, watched, queue))
        self._controllers.append(running)
        return running.loop

    async def start_added(self) -> None:
        """For tasks that need the leader: controllers that were added after all others had begun
        work as soon as their caches are full.
        """
        for running in list(self._controllers):
            for informer in () if running.workers else running.informers:
                await informer.wait_synced()
            if not running.workers:
                self._start_workers(running)

    def follow(self, cluster: Cluster) -> None:
        """Its caches start and stop with the manager, whether or not a controller reads them."""
        if cluster not in self._clusters:
            self._clusters.append(cluster)

    def set_workers(self, wanted: Mapping[str, int]) -> None:
        """How many objects the controllers that are there handle at once, by kind: `Job.batch`,
        `Pod`; before it runs.
        """
        for loop in self.loops():
            kind = resource_of(loop.controller.kind)
            name = f"{kind.kind}.{kind.group}" if kind.group else kind.kind
            if wanted.get(name):
                loop.controller.workers = wanted[name]

    def set_backoff(self, rule: Backoff) -> None:
        """How long the controllers that are there wait after failures; before it runs."""
        for loop in self.loops():
            loop.queue.backoff = rule

    def add_task(
        self,
        name: str,
        run: Callable[[], Awaitable[None]],
        *,
        needs_leader: bool = False,
        is_busy: Callable[[], bool] = lambda: False,
    ) -> None:
        """A server or a loop that runs beside the controllers and is cancelled at the end; while it
        says that it is busy, the manager is not settled.
        """
        self._tasks.append(_Task(name, run, needs_leader, is_busy))

    async def run(self) -> None:
        """Until `stop`, cancellation, loss of leadership or the failure of a task."""
        try:
            await self._until_stopped(self._start())
            await self._until_stopped(self._failure())
        except LeadershipLost:
            # The next leader may be at work already: nothing is finished, everything is dropped.
            self._stop_seconds_max = 0.0
            raise
        finally:
            self._ready.clear()
            await asyncio.shield(self._shut_down())

    def stop(self) -> None:
        self._stopping.set()

    @property
    def is_ready(self) -> bool:
        """Caches are full, and the controllers run if they may."""
        return self._ready.is_set()

    async def wait_ready(self) -> None:
        await self._ready.wait()

    def problems(self) -> list[str]:
        """Why it is not ready, for people and probes."""
        return [problem for cluster in self._clusters for problem in cluster.problems()]

    def loops(self) -> Iterator[Loop[Any]]:
        """Every controller at its work."""
        for running in self._controllers:
            yield running.loop

    @property
    def is_idle(self) -> bool:
        """Nothing waits and nobody works; delayed keys do not count."""
        return all(running.loop.queue.is_idle for running in self._controllers)

    @property
    def is_settled(self) -> bool:
        """Idle, no failed key waits for its next try, and no task is in the middle of something."""
        if any(task.is_busy() for task in self._tasks):
            return False
        return all(running.loop.queue.is_settled for running in self._controllers)

    async def _start(self) -> None:
        for cluster in self._clusters:
            cluster.start()
        self._start_tasks(needs_leader=False)
        await self._wait_synced()
        if self._elector is not None:
            # A candidate that waits its turn is as ready as it will be.
            self._ready.set()
            await self._elector.acquire()
            self._spawn("leadership", self._elector.hold())
        self._start_tasks(needs_leader=True)
        for running in self._controllers:
            self._start_workers(running)
        self._ready.set()

    async def _wait_synced(self) -> None:
        try:
            async with asyncio.timeout(self._sync_seconds_max):
                for cluster in self._clusters:
                    await cluster.wait_synced()
        except TimeoutError as error:
            why = "; ".join(self.problems()) or "they are still being read"
            raise ClusterError(
                f"the caches were not full after {self._sync_seconds_max:g} seconds: {why}"
            ) from error

    def _start_tasks(self, *, needs_leader: bool) -> None:
        for task in self._tasks:
            if task.needs_leader == needs_leader:
                self._spawn(task.name, task.run())

    def _start_workers(self, running: _Running) -> None:
        controller = running.loop.controller
        for number in range(controller.workers):
            name = f"{controller.name} {number}"
            running.workers.append(asyncio.create_task(running.loop.work(), name=name))

    def _spawn(self, name: str, run: Awaitable[Any]) -> None:
        self._running.append(asyncio.create_task(_awaited(run), name=name))

    async def _failure(self) -> None:
        """Returns when a task ended that should not have, with its error if it has one."""
        if not self._running:
            await asyncio.Event().wait()
        done, _ = await asyncio.wait(self._running, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            log.info("a task ended: name=%s", task.get_name())
            task.result()

    async def _until_stopped(self, doing: Any) -> None:
        task = asyncio.ensure_future(doing)
        stopping = asyncio.ensure_future(self._stopping.wait())
        try:
            await asyncio.wait({task, stopping}, return_when=asyncio.FIRST_COMPLETED)
            if task.done():
                task.result()
        finally:
            for each in (task, stopping):
                each.cancel()
            await asyncio.gather(task, stopping, return_exceptions=True)

    async def _shut_down(self) -> None:
        workers = [worker for running in self._controllers for worker in running.workers]
        for running in self._controllers:
            running.loop.queue.shut_down(drain=False)
        if workers and self._stop_seconds_max:
            await asyncio.wait(workers, timeout=self._stop_seconds_max)
        await _cancel(workers)
        await _cancel(self._running)
        self._running.clear()
        if self._elector is not None:
            await self._elector.release()
        for cluster in reversed(self._clusters):
            await cluster.stop()


async def _awaited(run: Awaitable[Any]) -> Any:
    return await run


async def _cancel(tasks: list[asyncio.Task[Any]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def _follow(cluster: Cluster, watched: Watch, queue: WorkQueue[Key]) -> Informer[Any]:
    informer = cluster.informer(watched.kind, watched.namespace, selection=watched.selection)
    informer.listen(partial(_wake_others, watched, queue, informer))
    return informer


def _priority(informer: Informer[Any], is_urgent: bool) -> int:
    if not informer.has_synced:
        return LOW_PRIORITY
    return HIGH_PRIORITY if is_urgent else 0


def _wake_self(
    controller: Controller[Any],
    queue: WorkQueue[Key],
    informer: Informer[Any],
    old: Any,
    new: Any,
) -> None:
    if controller.wanted(old, new):
        obj = new if new is not None else old
        queue.add(key_of(obj), _priority(informer, controller.is_urgent(obj)))


def _wake_others(
    watched: Watch, queue: WorkQueue[Key], informer: Informer[Any], old: Any, new: Any
) -> None:
    """Both what it was and what it is count: a workload that changes queues wakes the two."""
    if watched.when is not None and not watched.when(old, new):
        return
    found = dict.fromkeys(
        key for obj in (old, new) if obj is not None for key in watched.wakes(obj)
    )
    after, is_urgent = watched.after, watched.is_urgent
    urgent = is_urgent is not None and is_urgent(new if new is not None else old)
    for key in found:
        seconds = after if isinstance(after, float | int) else after(key)
        queue.add_after(key, seconds, _priority(informer, urgent))
