"""Makes jobs on the manager, looks on at all clusters, and does the kubelets' part on workers that
have none: what may run is ready, and complete a moment later.
"""

import asyncio
import time
from collections.abc import Coroutine, Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from benchmarks.dispatch import objects
from fleetqueue.api.times import format_time
from fleetqueue.base.clock import Clock
from fleetqueue.jobs.resources import WORKLOAD
from fleetqueue.kube.cluster import Cluster
from fleetqueue.kube.resources import Object, Resource, uid_of

JOBS = Resource("batch", "v1", "jobs", "Job")
CREATED_AT_ONCE = 64
STALLED_SECONDS = 180.0
"""When no job has ended for so long, those that are left are lost."""


@dataclass(slots=True)
class Outcome:
    """What was seen, in seconds since each job was sent to the manager."""

    seconds: float = 0.0
    unsuspended: dict[str, float] = field(default_factory=dict)
    """On a worker."""
    running: dict[str, float] = field(default_factory=dict)
    finished: dict[str, float] = field(default_factory=dict)
    """On the manager."""
    reported: dict[str, float] = field(default_factory=dict)
    """From running on a worker to running on the manager."""
    completed: dict[str, float] = field(default_factory=dict)
    """From complete on a worker to complete on the manager."""
    copies: set[str] = field(default_factory=set)
    """Workloads that were seen on workers, by uid."""
    mirrors: set[str] = field(default_factory=set)
    places: dict[str, int] = field(default_factory=dict)
    """By worker: jobs that ran there."""


class Runner:
    """Of so many jobs, once."""

    def __init__(
        self,
        manager: Cluster,
        workers: dict[str, Cluster],
        jobs: int,
        clock: Clock,
        *,
        is_kubelet: bool,
    ) -> None:
        self._manager = manager
        self._workers = workers
        self._jobs = jobs
        self._queues = objects.queue_count(len(workers))
        self._clock = clock
        self._is_kubelet = is_kubelet
        self._sent: dict[str, float] = {}
        self._ran: dict[str, float] = {}
        self._ended: dict[str, float] = {}
        self._begun: set[str] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._over: dict[str, asyncio.Event] = {}
        self._failed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.outcome = Outcome()

    async def follow(self) -> None:
        """Returns when every cluster is looked at."""
        self._manager.informer(JOBS).listen(self._seen_here)
        for name, worker in self._workers.items():
            worker.informer(JOBS).listen(partial(self._seen_there, name))
            worker.informer(WORKLOAD).listen(self._copied)
        for each in (self._manager, *self._workers.values()):
            each.start()
        for each in (self._manager, *self._workers.values()):
            await each.wait_synced()

    async def warm_up(self, count: int) -> None:
        """With jobs that are not told of: what a server does for the first of them costs more."""
        await self._load(range(self._jobs, self._jobs + count), one_by_one=False)
        self._sent.clear()
        self.outcome = Outcome()

    async def run(self, *, one_by_one: bool) -> Outcome:
        begun = time.perf_counter()
        await self._load(range(self._jobs), one_by_one=one_by_one)
        self.outcome.seconds = time.perf_counter() - begun
        return self.outcome

    async def _load(self, numbers: Iterable[int], *, one_by_one: bool) -> None:
        """Until all of them have ended."""
        free = asyncio.Semaphore(1 if one_by_one else CREATED_AT_ONCE)

        async def make(number: int) -> None:
            async with free:
                made = objects.job(number, self._queues)
                name = str(made["metadata"]["name"])
                over = self._over[name] = asyncio.Event()
                self._sent[name] = time.perf_counter()
                await self._manager.client.create(made, resource=JOBS)
                if one_by_one:
                    await over.wait()
            await over.wait()

        every = asyncio.gather(*map(make, numbers))
        awaited: set[asyncio.Future[Any]] = {every, self._failed}
        known = -1
        while not any(each.done() for each in awaited) and known < len(self.outcome.finished):
            known = len(self.outcome.finished)
            await asyncio.wait(awaited, timeout=STALLED_SECONDS, return_when="FIRST_COMPLETED")
        if not every.done():
            every.cancel()
            if self._failed.done():
                self._failed.result()
            left = sorted(self._sent.keys() - self.outcome.finished.keys())
            raise SystemExit(f"{len(left)} jobs do not end: {', '.join(left[:10])}")
        await every

    async def stop(self) -> None:
        for each in (self._manager, *self._workers.values()):
            await each.stop()

    # What is seen

    def _seen_here(self, old: Object | None, new: Object | None) -> None:
        if new is None or (name := _name(new)) not in self._sent:
            return
        now, status = time.perf_counter(), new.get("status") or {}
        if _runs(status) and name in self._ran:
            self.outcome.reported.setdefault(name, now - self._ran[name])
        if _is_complete(status) and name not in self.outcome.finished:
            self.outcome.finished[name] = now - self._sent[name]
            if name in self._ended:
                self.outcome.completed[name] = now - self._ended[name]
            self._over[name].set()

    def _seen_there(self, worker: str, old: Object | None, new: Object | None) -> None:
        if new is None or (name := _name(new)) not in self._sent:
            return
        now, status = time.perf_counter(), new.get("status") or {}
        self.outcome.mirrors.add(uid_of(new))
        if not new["spec"].get("suspend"):
            self.outcome.unsuspended.setdefault(name, now - self._sent[name])
            if self._is_kubelet and name not in self._begun:
                self._begun.add(name)
                self._start(self._live(self._workers[worker], name))
        if _runs(status):
            self._has_run(worker, name, now)
        if _is_complete(status):
            self._ended.setdefault(name, now)

    def _copied(self, old: Object | None, new: Object | None) -> None:
        if new is not None:
            self.outcome.copies.add(uid_of(new))

    def _has_run(self, worker: str, name: str, now: float) -> None:
        if name not in self._ran:
            self._ran[name] = now
            self.outcome.running[name] = now - self._sent[name]
            self.outcome.places[worker] = self.outcome.places.get(worker, 0) + 1

    # What is done

    async def _live(self, worker: Cluster, name: str) -> None:
        """As the controller of Jobs tells of a pod that runs and ends well."""
        started = format_time(self._clock.now())
        nothing: Object = {"uncountedTerminatedPods": {}, "terminating": 0}
        running = {"active": 1, "ready": 1, "startTime": started, **nothing}
        await self._write(worker, name, running)
        await asyncio.sleep(objects.RUNS_SECONDS)
        ended = format_time(self._clock.now())
        conditions = [_condition(type, ended) for type in ("SuccessCriteriaMet", "Complete")]
        done = {"active": 0, "ready": 0, "succeeded": 1, "completionTime": ended}
        await self._write(worker, name, {**done, "conditions": conditions})

    async def _write(self, worker: Cluster, name: str, status: Object) -> None:
        await worker.client.patch(
            JOBS, name, {"status": status}, objects.NAMESPACE, subresource="status"
        )

    def _start(self, doing: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(doing)
        self._tasks.add(task)
        task.add_done_callback(self._done)

    def _done(self, task: "asyncio.Task[None]") -> None:
        self._tasks.discard(task)
        error = None if task.cancelled() else task.exception()
        if error is not None and not self._failed.done():
            self._failed.set_exception(error)


def _name(job: Object) -> str:
    return str(job["metadata"]["name"])


def _runs(status: Object) -> bool:
    return bool(status.get("ready") or status.get("succeeded"))


def _is_complete(status: Object) -> bool:
    found = status.get("conditions") or ()
    return any(each["type"] == "Complete" and each["status"] == "True" for each in found)


def _condition(type: str, moment: str) -> Object:
    return {
        "type": type,
        "status": "True",
        "reason": "CompletionsReached",
        "message": "Reached expected number of succeeded pods",
        "lastTransitionTime": moment,
        "lastProbeTime": moment,
    }
