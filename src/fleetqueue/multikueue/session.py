"""One life of a connection to a worker: a client, caches that follow it, and a pulse; from the
first call until something fails.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from random import Random
from typing import Any, TypeVar

from fleetqueue.api.kueue import labels
from fleetqueue.base.clock import Clock
from fleetqueue.kube import calls
from fleetqueue.kube.calls import Selection
from fleetqueue.kube.client import Client
from fleetqueue.kube.errors import Forbidden, KubeError, NotFound, Refused, Unreachable
from fleetqueue.kube.informer import Informer
from fleetqueue.kube.kubeconfig import Access
from fleetqueue.kube.resources import NAMESPACES, Object, Resource, key_of, uid_of
from fleetqueue.multikueue import failures, kinds
from fleetqueue.multikueue.dialect import Dialect, spoken
from fleetqueue.multikueue.failures import Failed
from fleetqueue.multikueue.settings import DispatchSettings
from fleetqueue.multikueue.workers import KindsFollowed

T = TypeVar("T")
Connect = Callable[[Access], Client]
"""The seam to other clusters. Nothing is sent yet."""
WORKLOADS = "workloads"
"""The index of mirrors by the local Workload that each belongs to."""
SPACES = "namespaces"
"""The index of LocalQueues."""
CALL_SECONDS_MAX = 10.0
GREETING_SECONDS_MAX = 15.0
CLOSE_SECONDS_MAX = 5.0
PULSE_SECONDS = 10.0
"""How often a worker that says nothing is asked whether it is still there."""
QUEUES = (kinds.CLUSTER_QUEUE, kinds.LOCAL_QUEUE)
SYSTEM_NAMESPACE = "kube-system"
log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the connections of one manager share."""

    settings: DispatchSettings
    followed: KindsFollowed
    connect: Connect
    clock: Clock
    random: Random
    own_uid: Callable[[], Awaitable[str]]
    """What tells the manager's cluster from all others; "" where that cannot be read."""
    follows_queues: bool = False


class Session:
    """Opened once, and closed when it is `broken`."""

    def __init__(self, client: Client, server: str, around: Surroundings) -> None:
        self.client = client
        self.broken: asyncio.Future[Exception] = asyncio.get_running_loop().create_future()
        self.dialect = Dialect()
        self.missing: dict[Resource, str] = {}
        """Kinds that the worker does not have, or does not let us see, and what it says."""
        self.on_failure: Callable[[], None] = lambda: None
        """Told that it is broken, in that very moment."""
        self.on_return: Callable[[], None] = lambda: None
        """Told that a missing kind can be followed now."""
        self._server = server
        self._around = around
        self._heard: set[Resource] = set()
        self._informers: dict[Resource, Informer[Object]] = {}
        self._settled: dict[Resource, asyncio.Event] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def open(self, seconds_max: float) -> None:
        """Returns when every cache is full; raises what kept one from that."""
        try:
            async with asyncio.timeout(seconds_max):
                await self._greet()
                await self._refuse_ourselves()
                self.dialect = await self._ask_dialect()
                await self._follow_all()
        except TimeoutError as error:
            raise Failed("watch establishment timed out") from error
        self._spawn(self._feel_pulse())

    async def close(self) -> None:
        """Nobody waits for long, since the next attempt waits for this."""
        ending = list(self._tasks)
        for task in ending:
            task.cancel()
        if ending:
            await asyncio.wait(ending, timeout=CLOSE_SECONDS_MAX)
        await self.client.close()

    def fail(self, error: Exception) -> None:
        if not self.broken.done():
            self.broken.set_result(error)
            self.on_failure()

    def cache(self, kind: Resource) -> Informer[Object] | None:
        return self._informers.get(kind)

    def listen(self, changed: Callable[[Resource, Object], None]) -> None:
        """To every kind that is followed; what is there is told at once. A kind that is listened
        to already stays as it is.
        """
        for kind, informer in self._informers.items():
            if kind not in self._heard and self.follows(kind):
                self._heard.add(kind)
                informer.listen(partial(_tell, changed, kind))

    @property
    def origin(self) -> str:
        return self._around.settings.origin

    def kind_of(self, obj: Object) -> Resource | None:
        """Where an object belongs; None where that has to be asked."""
        names = (obj.get("apiVersion"), obj.get("kind"))
        return next((k for k in self._informers if (k.api_version, k.kind) == names), None)

    def follows(self, kind: Resource) -> bool:
        found = self._informers.get(kind)
        return found is not None and found.has_synced and kind not in self.missing

    async def within(self, call: Awaitable[T], what: str) -> T:
        """A worker that does not answer in time is lost."""
        try:
            async with asyncio.timeout(CALL_SECONDS_MAX):
                return await call
        except TimeoutError as error:
            hung = Unreachable(f"{what}: no answer within {CALL_SECONDS_MAX:.0f} s")
            self.fail(hung)
            raise hung from error

    # Opening

    async def _greet(self) -> None:
        """Whether anybody is there who knows us. What we may see there is no question yet."""
        what = "failed to get server groups"
        try:
            async with asyncio.timeout(GREETING_SECONDS_MAX):
                await self.client.call(calls.read("/api", []))
        except Forbidden:
            return
        except KubeError as error:
            told = failures.of_call(error, self._server, "/api")
            raise Failed(f"{what}: {told}") from error
        except TimeoutError as error:
            told = f'Get "{self._server}/api": context deadline exceeded'
            raise Failed(f"{what}: {told}") from error

    async def _refuse_ourselves(self) -> None:
        """A job and its mirror would be one object. Who may not look is not asked."""
        own = await self._around.own_uid()
        if not own:
            return
        try:
            theirs = await self.client.get(NAMESPACES, SYSTEM_NAMESPACE)
        except Refused:
            return
        if uid_of(theirs) == own:
            raise Failed("this cluster is the manager itself, which cannot be its own worker")

    async def _ask_dialect(self) -> Dialect:
        try:
            answer = await self.client.call(calls.read(f"/apis/{kinds.WORKLOAD.group}", []))
        except Refused:
            return Dialect()
        listed = answer.payload.decoded().get("versions") or ()
        return spoken(each["groupVersion"] for each in listed)

    async def _follow_all(self) -> None:
        for kind in self._kinds():
            self._settled[kind] = asyncio.Event()
            self._informers[kind] = informer = self._informer(kind)
            self._spawn(informer.run())
            self._spawn(self._await_synced(kind, informer))
        waiting = asyncio.ensure_future(_all_set(self._settled.values()))
        either: set[asyncio.Future[Any]] = {waiting, self.broken}
        try:
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        finally:
            waiting.cancel()
        if self.broken.done():
            raise self.broken.result()

    def _kinds(self) -> Iterator[Resource]:
        yield kinds.WORKLOAD
        yield from self._around.followed
        if self._around.follows_queues:
            yield from QUEUES

    def _informer(self, kind: Resource) -> Informer[Object]:
        selection: Selection = {}
        if kind not in QUEUES:
            selection = {"label_selector": f"{labels.MULTIKUEUE_ORIGIN}={self.origin}"}
        wakes = self._around.followed.get(kind)
        indexes: dict[str, Callable[[Object], Iterable[Hashable]]] = {}
        if wakes is not None:
            indexes[WORKLOADS] = wakes
        if kind == kinds.LOCAL_QUEUE:
            indexes[SPACES] = lambda queue: [key_of(queue).namespace]
        return Informer(
            self.client,
            self.dialect.kind(kind),
            random=self._around.random,
            selection=selection,
            indexes=indexes,
            transform=self._read,
            on_problem=partial(self._noticed, kind),
        )

    def _read(self, obj: Object) -> Object:
        """Without what nobody here reads, and what is often the larger half of an object."""
        obj = self.dialect.hear(obj)
        metadata = {key: value for key, value in obj["metadata"].items() if key != "managedFields"}
        return {**obj, "metadata": metadata}

    async def _await_synced(self, kind: Resource, informer: Informer[Object]) -> None:
        await informer.wait_synced()
        self._settled[kind].set()

    # Living

    def _noticed(self, kind: Resource, problem: KubeError | None) -> None:
        if problem is None:
            if kind in self.missing:
                self._spawn(self._welcome(kind))
        elif isinstance(problem, NotFound | Forbidden) and self._is_optional(kind):
            if kind not in self.missing:
                log.warning("a worker lacks a kind of job: kind=%s: %s", kind, problem)
            self.missing[kind] = failures.of_watch(kind, problem)
            self._settled[kind].set()
        else:
            self.fail(Failed(failures.of_watch(kind, problem)))

    async def _welcome(self, kind: Resource) -> None:
        informer = self._informers[kind]
        await informer.wait_synced()
        if informer.problem is None and self.missing.pop(kind, None) is not None:
            self.on_return()

    def _is_optional(self, kind: Resource) -> bool:
        if kind in QUEUES:
            return True
        return kind != kinds.WORKLOAD and self._around.settings.tolerates_missing_kinds

    async def _feel_pulse(self) -> None:
        """A connection may hang without a word; any answer but a doubt of who we are is life."""
        while True:
            await asyncio.sleep(PULSE_SECONDS)
            try:
                await self.within(self.client.call(calls.read("/livez", [])), "GET /livez")
            except KubeError as error:
                if not isinstance(error, Refused) or error.code == 401:
                    self.fail(Failed(failures.of_call(error, self._server, "/livez")))
                    return

    def _spawn(self, run: Any) -> None:
        task = asyncio.get_running_loop().create_task(run)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        """A mistake of ours must not leave a cache behind that nobody fills."""
        self._tasks.discard(task)
        error = None if task.cancelled() else task.exception()
        if isinstance(error, Exception):
            log.error("a connection stumbled", exc_info=error)
            self.fail(error)


def _tell(
    changed: Callable[[Resource, Object], None],
    kind: Resource,
    old: Object | None,
    new: Object | None,
) -> None:
    obj = new if new is not None else old
    assert obj is not None
    changed(kind, obj)


async def _all_set(events: Any) -> None:
    for event in list(events):
        await event.wait()
