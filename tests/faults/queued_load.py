"""Workloads in a cluster, seen in every state that they had, and the part of their jobs: what is
admitted runs and finishes, what is evicted gives its quota back.
"""

import asyncio
import random
from collections.abc import Callable, Coroutine, Sequence
from contextlib import aclosing, suppress
from functools import partial
from typing import Any

from fleetqueue.admission.kinds import WORKLOAD
from fleetqueue.api.kueue import admission_status as status
from fleetqueue.base.clock import SystemClock
from fleetqueue.kube.client import Client
from fleetqueue.kube.errors import Conflict, InternalError
from fleetqueue.kube.resources import Object, version_of
from support.quota_ledger import QuotaLedger

AT_ONCE = 32
AGAIN_SECONDS = 0.1
"""Between two questions whether the webhooks are there again."""
LOOK_SECONDS = 1.0
BACKLOG = 300
"""Workloads that are there and have not ended: more than quota is for, so that it stays used up."""
QUIET_SECONDS = 0.05
"""Without an admission for so long, quota counts as used up: some jobs end."""
START_SECONDS_MAX = 30.0
"""So long that is not believed of a controller which has admitted nothing yet."""
SHARE_ENDING, SHARE_SHORT = 0.4, 0.2


class QueuedLoad:
    """All of it on one cluster; whatever fails here is raised by `done`."""

    def __init__(self, client: Client, ledger: QuotaLedger, source: random.Random) -> None:
        self.client = client
        self.ledger = ledger
        self._source = source
        self._clock = SystemClock()
        self._latest: dict[str, Object] = {}
        self._running: dict[str, None] = {}
        self._is_working = True
        """Whether the controller has admitted something since it was started last."""
        self._lost_at = 0
        self._backlog = asyncio.Semaphore(BACKLOG)
        self._busy: set[str] = set()
        self._slots = asyncio.Semaphore(AT_ONCE)
        self._tasks: set[asyncio.Task[None]] = set()
        self._failed: list[BaseException] = []
        self._changed = asyncio.Event()

    def __str__(self) -> str:
        counts = {
            "created": len(self._latest),
            "running": len(self._running),
            "ended": len(self.ledger.finished),
            "to be written": len(self._busy),
            "admissions": self.ledger.admissions,
            "admissions since the last kill": "some" if self._is_working else 0,
        }
        return ", ".join(f"{name}: {count}" for name, count in counts.items())

    async def start(self, workloads: Sequence[Object]) -> None:
        found = await self.client.list(WORKLOAD, "default")
        assert not found.items
        self._start(self._follow(found.resource_version))
        self._start(self._run_jobs())
        for each in workloads:
            self._start(self._create(each))

    async def until(self, is_reached: Callable[[], bool], look: Callable[[], None]) -> None:
        """`look` is called now and then, to raise what else may have happened."""
        while not is_reached():
            self._changed.clear()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._changed.wait(), LOOK_SECONDS)
            if self._failed:
                raise self._failed[0]
            assert not self.ledger.problems, self.ledger.problems
            look()

    async def stop(self) -> None:
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def lost_its_controller(self) -> None:
        """Some jobs end while it is away; the others hold their quota until it is back."""
        found = await self.client.list_page(WORKLOAD, "default", limit=1)
        self._is_working, self._lost_at = False, int(found.resource_version)
        self._end_some()

    async def _create(self, made: Object) -> None:
        await self._backlog.acquire()
        async with self._slots:
            await again(partial(self.client.create, made, resource=WORKLOAD))

    # What is seen

    async def _follow(self, revision: str) -> None:
        """Every state in its order. Had the server forgotten some, this would fail."""
        while True:
            events = self.client.watch(
                WORKLOAD, "default", resource_version=revision, allow_bookmarks=False
            )
            async with aclosing(events):
                async for event in events:
                    now = str(event.object["metadata"]["resourceVersion"])
                    assert int(now) > int(revision), "the states came out of order"
                    revision = now
                    self._saw(event.object, is_gone=event.type == "DELETED")

    def _saw(self, obj: Object, *, is_gone: bool) -> None:
        name, ledger = obj["metadata"]["name"], self.ledger
        admissions, finished = ledger.admissions, len(ledger.finished)
        self._latest[name] = obj
        ledger.saw(obj, is_gone=is_gone)
        self._changed.set()
        if len(ledger.finished) > finished:
            self._backlog.release()
        if ledger.admissions > admissions and int(version_of(obj)) > self._lost_at:
            self._is_working = True
        self._go_on(name, obj)

    def _go_on(self, name: str, obj: Object) -> None:
        if not _has_work(obj) or status.is_evicted(obj):
            self._running.pop(name, None)
        elif status.is_admitted(obj) and name not in self._running:
            self._running[name] = None
            if self._source.random() < SHARE_SHORT:
                self._leave(name)
        if _has_work(obj) and status.is_evicted(obj):
            self._leave(name)

    # What is done

    async def _run_jobs(self) -> None:
        seen, quiet = 0, 0.0
        while True:
            await asyncio.sleep(QUIET_SECONDS)
            quiet = quiet + QUIET_SECONDS if self.ledger.admissions == seen else 0.0
            seen = self.ledger.admissions
            if quiet >= (QUIET_SECONDS if self._is_working else START_SECONDS_MAX):
                self._end_some()
                quiet = 0.0

    def _end_some(self) -> None:
        for name in list(self._running):
            if self._source.random() < SHARE_ENDING:
                self._leave(name)

    def _leave(self, name: str) -> None:
        if name not in self._busy:
            self._busy.add(name)
            self._start(self._write(name))

    async def _write(self, name: str) -> None:
        """Refused where the workload changed meanwhile, as a job's controller would have it."""
        async with self._slots:
            while _has_work(seen := self._latest[name]):
                try:
                    await again(partial(self._apply, self._ended(seen)))
                except Conflict:
                    if self._latest[name] is not seen:
                        continue
                break
        self._busy.discard(name)
        if (latest := self._latest[name]) is not seen:
            # It came before the answer, and was left to this.
            self._go_on(name, latest)

    def _ended(self, seen: Object) -> Object:
        now = self._clock.now()
        if status.is_evicted(seen):
            return status.release_evicted(seen, now)
        return status.finish(seen, "Succeeded", "done", now)

    async def _apply(self, made: Object) -> None:
        body = status.admission_patch(made)
        manager = status.MANAGER
        await self.client.apply(body, force=True, subresource="status", field_manager=manager)

    def _start(self, doing: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(doing)
        self._tasks.add(task)
        task.add_done_callback(self._over)

    def _over(self, task: "asyncio.Task[None]") -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._failed.append(error)
            self._changed.set()


def _has_work(obj: Object) -> bool:
    return status.has_quota(obj) and not status.is_finished(obj)


async def again(write: Callable[[], Coroutine[Any, Any, Any]]) -> None:
    """Until the webhooks answer: they go with the controller."""
    while True:
        try:
            await write()
        except InternalError as error:
            if "failed calling webhook" not in str(error):
                raise
            await asyncio.sleep(AGAIN_SECONDS)
        else:
            return
