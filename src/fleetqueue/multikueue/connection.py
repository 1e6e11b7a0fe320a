"""The connection to one worker: it is made, kept, lost and made again, in a task of its own, so
that a worker which does not answer delays nobody else.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from fleetqueue.api.meta import Key
from fleetqueue.kube.calls import PatchType, Propagation
from fleetqueue.kube.client import Client
from fleetqueue.kube.errors import KubeError, Unreachable
from fleetqueue.kube.informer import Informer
from fleetqueue.kube.resources import Object, Resource
from fleetqueue.multikueue import failures, kinds, worker_calls
from fleetqueue.multikueue.credentials import Found
from fleetqueue.multikueue.session import SPACES, WORKLOADS, Session, Surroundings

SHORT_SECONDS = 1.0
"""A connection that was lost sooner is not made again before that has passed."""
log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Listeners:
    """Whom a connection tells: of an object that changed, and of itself."""

    changed: Callable[[str, Resource, Object], None]
    state: Callable[[str], None]
    """It was connected or lost, or has a kind that it lacked."""
    failed: Callable[[str], None]
    """Another attempt failed, and it is lost as before."""


class Connection:
    """A Worker. What it knows stays readable while it is lost, and is as old as that."""

    def __init__(self, name: str, around: Surroundings, tell: Listeners) -> None:
        self._name = name
        self._around = around
        self._tell = tell
        self.failures = 0
        """Attempts in a row that failed."""
        self.next_at: datetime | None = None
        """When the next attempt is, after one that failed."""
        self.error = ""
        """Why the last attempt failed; "" before the first, and when it went well."""
        self._lost_since: datetime | None = around.clock.now()
        self._content: bytes | None = None
        self._session: Session | None = None
        self._driver: asyncio.Task[None] | None = None
        self._ending: set[asyncio.Task[None]] = set()
        self._is_trying = False

    # What is known of it

    @property
    def name(self) -> str:
        return self._name

    @property
    def is_connected(self) -> bool:
        return self._lost_since is None

    @property
    def lost_since(self) -> datetime | None:
        return self._lost_since

    @property
    def is_busy(self) -> bool:
        """An attempt is under way."""
        return self._is_trying

    @property
    def missing(self) -> dict[Resource, str]:
        """Kinds of jobs that cannot be sent there, and why."""
        known = {} if self._session is None else self._session.missing
        return {kind: why for kind, why in known.items() if kind in self._around.followed}

    def copy(self, key: Key) -> Object | None:
        return self.mirror(kinds.WORKLOAD, key)

    def copies(self) -> Sequence[Object]:
        return self.mirrors(kinds.WORKLOAD)

    def mirror(self, kind: Resource, key: Key) -> Object | None:
        cache = self._cache(kind)
        return None if cache is None else cache.store.get(key)

    def mirrors(self, kind: Resource) -> Sequence[Object]:
        cache = self._cache(kind)
        return [] if cache is None else cache.store.all()

    def mirrors_of(self, kind: Resource, workload: Key) -> Sequence[Object]:
        cache = self._cache(kind)
        return [] if cache is None else cache.store.by_index(WORKLOADS, workload)

    def follows(self, kind: Resource) -> bool:
        return self._session is not None and self._session.follows(kind)

    def queues(self, kind: Resource, namespace: str = "") -> Sequence[Object] | None:
        cache = self._cache(kind)
        if cache is None or not self.follows(kind):
            return None
        return cache.store.by_index(SPACES, namespace) if namespace else cache.store.all()

    def queue(self, kind: Resource, key: Key) -> Object | None:
        return self.mirror(kind, key)

    @property
    def client(self) -> Client:
        """For what has no cache here, such as pods; raises where it is not connected."""
        return self._living().client

    # Writing there

    async def read(self, kind: Resource, key: Key) -> Object | None:
        return await worker_calls.read(self._living(), kind, key)

    async def create(self, obj: Object) -> Object:
        return await worker_calls.create(self._living(), obj)

    async def patch(
        self,
        kind: Resource,
        key: Key,
        patch: Any,
        *,
        subresource: str = "",
        type: PatchType = PatchType.MERGE,
        manager: str = "",
    ) -> Object:
        return await worker_calls.patch(
            self._living(),
            kind,
            key,
            patch,
            subresource=subresource,
            type=type,
            manager=manager,
        )

    async def delete(self, obj: Object, kind: Resource, propagation: Propagation | None) -> None:
        await worker_calls.delete(self._living(), obj, kind, propagation)

    # Its life

    def use(self, found: Found) -> None:
        """Gets there by these means; nothing happens where they are what it uses already."""
        is_changed = found.content != self._content
        if self._driver is not None and not is_changed:
            return
        self._end()
        if is_changed:
            self.failures, self.next_at, self.error = 0, None, ""
        self._content = found.content
        self._driver = asyncio.get_running_loop().create_task(
            self._drive(found), name=f"worker {self._name}"
        )
        self._is_trying = self.next_at is None

    def drop(self) -> None:
        """Nobody knows how to get there any more; what went wrong before still holds then."""
        self._end()

    async def close(self) -> None:
        self._end()
        await asyncio.gather(*self._ending, return_exceptions=True)

    def _end(self) -> None:
        if self._driver is not None:
            self._driver.cancel()
            self._ending.add(self._driver)
            self._driver.add_done_callback(self._ending.discard)
            self._driver = None
        self._is_trying = False
        self._lose()

    async def _drive(self, found: Found) -> None:
        """Until it is cancelled, even where something else goes wrong on the way out."""
        while self._driver is asyncio.current_task():
            await self._pause()
            self._is_trying = True
            began = self._around.clock.monotonic()
            try:
                await self._live(found)
            except asyncio.CancelledError:
                raise
            except Exception as error:
                self._fail(error)
                continue
            if self._around.clock.monotonic() - began < SHORT_SECONDS:
                await asyncio.sleep(SHORT_SECONDS)

    async def _pause(self) -> None:
        if self.next_at is not None:
            seconds = (self.next_at - self._around.clock.now()).total_seconds()
            await asyncio.sleep(max(seconds, 0.0))

    async def _live(self, found: Found) -> None:
        """Until it is lost; raises where it could not be made at all."""
        session = Session(self._around.connect(found.access), found.access.server, self._around)
        try:
            await session.open(failures.opening_seconds(self.failures))
            self._win(session)
            why = await session.broken
            self._break(session)
            log.info("a worker is lost: name=%s: %s", self._name, why)
        finally:
            await session.close()

    def _win(self, session: Session) -> None:
        self._session = session
        self._is_trying = False
        self.failures, self.next_at, self.error = 0, None, ""
        self._lost_since = None
        session.on_failure = partial(self._break, session)
        session.on_return = partial(self._enrich, session)
        session.listen(partial(self._tell.changed, self._name))
        log.info("a worker is connected: name=%s", self._name)
        self._tell.state(self._name)

    def _fail(self, error: Exception) -> None:
        self.failures += 1
        delay = failures.retry_seconds(self.failures)
        self.next_at = self._around.clock.now() + timedelta(seconds=delay)
        self.error = str(error) or type(error).__name__
        self._is_trying = False
        if not isinstance(error, KubeError | OSError | ValueError):
            log.error("a connection failed: name=%s", self._name, exc_info=error)
        self._tell.failed(self._name)

    def _break(self, session: Session) -> None:
        if session is self._session and self._driver is not None:
            self._is_trying = True
            self._lose()

    def _lose(self) -> None:
        if self._lost_since is None:
            self._lost_since = self._around.clock.now()
            self._tell.state(self._name)

    def _enrich(self, session: Session) -> None:
        """A kind that was missing is there."""
        if session is self._session and self.is_connected:
            session.listen(partial(self._tell.changed, self._name))
            self._tell.state(self._name)

    def _living(self) -> Session:
        if self._session is None or not self.is_connected:
            raise Unreachable(f'the worker "{self._name}" is not connected', sent=False)
        return self._session

    def _cache(self, kind: Resource) -> Informer[Object] | None:
        return None if self._session is None else self._session.cache(kind)
