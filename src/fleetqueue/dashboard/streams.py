"""Sends each topic's snapshot to all who listen: made once for all of them, after changes have
settled for a moment, and never queued. Whoever reads slowly gets the newest one when it is ready.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Any

from fleetqueue.admission.kinds import WORKLOAD
from fleetqueue.api.kueue import explanation, phases
from fleetqueue.dashboard import workload_views
from fleetqueue.dashboard.sight import Held, Sight, hold
from fleetqueue.dashboard.snapshots import Beside, snapshot
from fleetqueue.dashboard.topics import PAGES, Topic, woken
from fleetqueue.kube.errors import KubeError
from fleetqueue.kube.informer import Informer
from fleetqueue.kube.resources import EVENTS, Resource

GAP_SECONDS = 0.2
"""Between two snapshots of a topic."""
BYTES_PER_SECOND = 4_000_000
"""A topic makes no more than this: long lists change less often."""
EXPLANATION_SECONDS = 5.0
"""How often it is asked why a workload waits, since nothing tells when that changes."""
EXPLAINED = Resource(explanation.GROUP, explanation.VERSION, WORKLOAD.plural, WORKLOAD.kind)
log = logging.getLogger(__name__)


class Streams:
    """All topics that somebody listens to."""

    def __init__(self, sight: Sight) -> None:
        self._sight = sight
        self._streams: dict[Topic, _Stream] = {}
        sight.listen(self._changed, self._troubled)

    @asynccontextmanager
    async def listening(self, topic: Topic) -> AsyncIterator["Listener"]:
        stream = self._streams.get(topic)
        if stream is None:
            stream = self._streams[topic] = _Stream(self._sight, topic)
            stream.start()
        stream.listeners += 1
        try:
            yield Listener(stream)
        finally:
            stream.listeners -= 1
            if not stream.listeners:
                del self._streams[topic]
                await stream.stop()

    def topics(self) -> list[Topic]:
        """Those that somebody listens to."""
        return list(self._streams)

    def _changed(self, kind: Resource, old: Held | None, new: Held | None) -> None:
        if self._streams:
            for topic in woken(kind, old, new):
                if (stream := self._streams.get(topic)) is not None:
                    stream.wake()

    def _troubled(self, kind: Resource) -> None:
        for topic, stream in self._streams.items():
            if kind in PAGES[topic.page].kinds:
                stream.wake()


class Listener:
    """One who listens."""

    def __init__(self, stream: "_Stream") -> None:
        self._stream = stream
        self._seen = 0

    async def next(self) -> bytes:
        """The newest snapshot, once there is one that this listener was not given."""
        stream = self._stream
        while stream.number == self._seen:
            await stream.news.wait()
        self._seen = stream.number
        return stream.latest


class _Stream:
    """One topic, while somebody listens."""

    def __init__(self, sight: Sight, topic: Topic) -> None:
        self.listeners = 0
        self.latest = b""
        self.number = 0
        """How many snapshots there were."""
        self.news = asyncio.Event()
        """Set when there is another one; each has its own."""
        self._sight, self._topic = sight, topic
        self._stale = asyncio.Event()
        self._stale.set()
        self._events: Informer[Any] | None = None
        self._tasks: list[asyncio.Task[None]] = []

    def start(self) -> None:
        if self._topic.page == "events":
            self._events = _events_of(self._sight, self._topic, self.wake)
            self._tasks.append(asyncio.create_task(self._events.run()))
        self._tasks.append(asyncio.create_task(self._run(), name=f"topic {self._topic}"))

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def wake(self) -> None:
        self._stale.set()

    async def _run(self) -> None:
        await self._synced()
        while True:
            await self._until_stale()
            self._stale.clear()
            try:
                self._publish(snapshot(self._sight, self._topic, await self._beside()))
            except Exception:
                # A snapshot that fails is a bug; the next change may well be shown.
                log.exception("a snapshot failed: topic=%s", self._topic)
            await asyncio.sleep(GAP_SECONDS + len(self.latest) / BYTES_PER_SECOND)

    async def _synced(self) -> None:
        """A first answer is worth a moment: without it all would begin with a refusal."""
        informers = [self._sight.informers[kind] for kind in PAGES[self._topic.page].kinds]
        if self._events is not None:
            informers.append(self._events)
        with suppress(TimeoutError):
            async with asyncio.timeout(2.0):
                for informer in informers:
                    await informer.wait_synced()

    async def _until_stale(self) -> None:
        if not self._topic.is_explained:
            await self._stale.wait()
            return
        with suppress(TimeoutError):
            async with asyncio.timeout(EXPLANATION_SECONDS):
                await self._stale.wait()

    def _publish(self, data: bytes) -> None:
        if data == self.latest:
            return
        self.latest = data
        self.number += 1
        told, self.news = self.news, asyncio.Event()
        told.set()

    async def _beside(self) -> Beside:
        if self._events is not None:
            problem = self._events.problem
            told = "" if problem is None else f"{EVENTS} cannot be followed: {problem}"
            return Beside(events=self._events.store.all(), problem=told)
        if not self._topic.is_explained:
            return Beside()
        topic = self._topic
        found = self._sight.get(WORKLOAD, topic.name, topic.namespace)
        if found is None or found.row["phase"] != phases.PENDING:
            return Beside()
        return Beside(explanation=await _explanation(self._sight, topic))


async def _explanation(sight: Sight, topic: Topic) -> dict[str, Any] | None:
    """None where nobody answers: queues may be kept by others than us."""
    try:
        return await sight.client.get_subresource(
            EXPLAINED, topic.name, "explanation", topic.namespace
        )
    except KubeError as error:
        log.debug("no explanation: topic=%s: %s", topic, error)
        return None


def _events_of(sight: Sight, topic: Topic, wake: Callable[[], None]) -> Informer[Any]:
    """The events of one workload: a watch of its own, for as long as somebody looks."""
    wanted = f"involvedObject.kind={WORKLOAD.kind},involvedObject.name={topic.name}"
    events: Informer[Any] = Informer(
        sight.client,
        EVENTS,
        topic.namespace,
        random=sight.random,
        selection={"field_selector": wanted},
        transform=partial(hold, workload_views.event),
        on_problem=lambda problem: wake(),
    )
    events.listen(lambda old, new: wake())
    return events
