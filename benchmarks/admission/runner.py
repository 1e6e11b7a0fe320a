"""Creates the workloads of a load and does the jobs' part: what is admitted runs and finishes, what
is evicted gives its quota back.
"""

import asyncio
import time
from collections.abc import Coroutine
from dataclasses import dataclass, field
from typing import Any

from benchmarks.admission import objects
from benchmarks.admission.loads import Load, WorkloadClass
from benchmarks.admission.progress import Progress
from fleetqueue.admission.kinds import WORKLOAD
from fleetqueue.api.kueue import admission_status as status
from fleetqueue.api.meta import Key
from fleetqueue.base.clock import Clock
from fleetqueue.kube.cluster import Cluster
from fleetqueue.kube.errors import Conflict
from fleetqueue.kube.resources import Object, key_of, version_of

CREATED_AT_ONCE = 64
AGAIN_SECONDS = 2.0
"""How long the watch may take to bring what came before a write of ours."""


@dataclass(slots=True)
class Outcome:
    """What was seen."""

    seconds: float = 0.0
    waits: dict[str, list[float]] = field(default_factory=dict)
    """By class: seconds from creation to the first admission."""
    used: float = 0.0
    """Cpu seconds for which quota was admitted."""
    evictions: int = 0
    versions: int = 0
    """States of workloads that the server told of: one for each write."""


class Runner:
    """Of one load, on one cluster."""

    def __init__(self, cluster: Cluster, load: Load, clock: Clock, progress: Progress) -> None:
        self._cluster = cluster
        self._progress = progress
        self._load = load
        self._clock = clock
        self._kinds = {each.name: each for each in load.classes}
        self._created: dict[Key, float] = {}
        self._admitted: dict[Key, float] = {}
        """Those that run, and since when."""
        self._seen: set[Key] = set()
        self._timers: dict[Key, asyncio.TimerHandle] = {}
        self._leaving: set[Key] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._left = load.total
        self._done = asyncio.Event()
        self._failed: list[BaseException] = []
        self._slots = asyncio.Semaphore(CREATED_AT_ONCE)
        self.outcome = Outcome(waits={each.name: [] for each in load.classes})

    async def run(self) -> Outcome:
        self._cluster.informer(WORKLOAD).listen(self._changed)
        self._cluster.start()
        await self._cluster.wait_synced()
        begun = time.perf_counter()
        for queue in objects.queue_names(self._load):
            for kind in self._load.classes:
                self._start(self._generate(queue, kind))
        async with self._progress.told():
            await self._done.wait()
        if self._failed:
            raise self._failed[0]
        self.outcome.seconds = time.perf_counter() - begun
        await self._cluster.stop()
        return self.outcome

    async def _generate(self, queue: str, kind: WorkloadClass) -> None:
        """At a fixed pace; where the server is slower, they come as fast as it takes them."""
        begun = time.perf_counter()
        for number in range(kind.count):
            await asyncio.sleep(max(0.0, begun + number * kind.every - time.perf_counter()))
            made = objects.workload(queue, kind, number, self._load)
            self._created[key_of(made)] = time.perf_counter()
            async with self._slots:
                await self._cluster.client.create(made, resource=WORKLOAD)
            self._progress.created += 1

    # What is seen

    def _changed(self, old: Object | None, new: Object | None) -> None:
        if new is None:
            return
        key = key_of(new)
        self.outcome.versions += 1
        if status.is_finished(new):
            if old is None or not status.is_finished(old):
                self._ended(key)
        elif not status.has_quota(new):
            self._stopped(key)
            self._leaving.discard(key)
        elif status.is_evicted(new):
            self._stopped(key)
            self._leave(key)
        elif status.is_admitted(new) and key not in self._admitted:
            self._began(key)

    def _began(self, key: Key) -> None:
        now = time.perf_counter()
        kind = self._kinds[key.name.partition("-")[0]]
        self._admitted[key] = now
        if key not in self._seen:
            self._seen.add(key)
            self.outcome.waits[kind.name].append(now - self._created[key])
        loop = asyncio.get_running_loop()
        self._timers[key] = loop.call_later(kind.runs, self._finish, key)

    def _stopped(self, key: Key) -> None:
        timer = self._timers.pop(key, None)
        if timer is not None:
            timer.cancel()
        since = self._admitted.pop(key, None)
        if since is not None:
            kind = self._kinds[key.name.partition("-")[0]]
            self.outcome.used += (time.perf_counter() - since) * kind.cpu_millis / 1000

    def _ended(self, key: Key) -> None:
        self._stopped(key)
        self._left -= 1
        self._progress.finished += 1
        if not self._left:
            self._done.set()

    # What is done

    def _finish(self, key: Key) -> None:
        self._start(self._write(key))

    def _leave(self, key: Key) -> None:
        if key not in self._leaving:
            self._leaving.add(key)
            self.outcome.evictions += 1
            self._start(self._write(key))

    async def _write(self, key: Key) -> None:
        informer = self._cluster.informer(WORKLOAD)
        while True:
            found = self._cluster.cached(WORKLOAD, key.name, key.namespace)
            if found is None or status.is_finished(found) or not status.has_quota(found):
                return
            now = self._clock.now()
            if status.is_evicted(found):
                made = status.release_evicted(found, now)
            else:
                made = status.finish(found, "ByTest", "By test runner", now)
            try:
                await self._cluster.apply(
                    status.admission_patch(made),
                    force=True,
                    subresource="status",
                    field_manager=status.MANAGER,
                )
            except Conflict:
                await informer.wait_changed(key, version_of(found), AGAIN_SECONDS)
            else:
                return

    def _start(self, doing: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(doing)
        self._tasks.add(task)
        task.add_done_callback(self._over)

    def _over(self, task: "asyncio.Task[None]") -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._failed.append(error)
            self._done.set()
