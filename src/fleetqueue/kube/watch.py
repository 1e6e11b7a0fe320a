"""List-then-watch as a state machine that never ends: resumes, relists on 410, notices a hang.

    EMPTY ──▶ STREAMING ──▶ WATCHING     the server sends its state through the watch
      │           │ not offered │
      └──────▶ LISTING ──▶ LISTED ◀──▶ WATCHING     a list, then a watch from its revision

A watch that ends or breaks resumes from the last revision (LISTED); 410 Gone leads back to EMPTY.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from enum import Enum, auto
from random import Random
from typing import Any, Generic, TypeAlias, TypeVar

from fleetqueue.base.backoff import Attempts, Backoff
from fleetqueue.kube import reading
from fleetqueue.kube.calls import Selection
from fleetqueue.kube.client import Client
from fleetqueue.kube.errors import (
    BadAnswer,
    BadRequest,
    Forbidden,
    Gone,
    Invalid,
    KubeError,
    Refused,
    Unreachable,
)
from fleetqueue.kube.resources import Kind, resource_of
from fleetqueue.kube.transport import Frame, Payload

INITIAL_EVENTS_END = "k8s.io/initial-events-end"
BACKOFF = Backoff(0.8, 30.0, jitter=1.0)
T = TypeVar("T")
OnProblem: TypeAlias = Callable[[KubeError | None], None]
"""Told why an attempt failed, and with None that all is well again."""
READ = Payload()
log = logging.getLogger(__name__)


class State(Enum):
    """Where a watch stands."""

    EMPTY = auto()
    STREAMING = auto()
    LISTING = auto()
    LISTED = auto()
    WATCHING = auto()


@dataclass(frozen=True, slots=True)
class InitBegin:
    """The whole state is asked for now; what was known before counts until it is complete."""


@dataclass(frozen=True, slots=True)
class InitItem(Generic[T]):
    """One object of the whole state."""

    object: T


@dataclass(frozen=True, slots=True)
class InitDone:
    """The state is complete: what did not come is no more."""

    revision: str


@dataclass(frozen=True, slots=True)
class Apply(Generic[T]):
    """An object was added or changed."""

    object: T


@dataclass(frozen=True, slots=True)
class Delete(Generic[T]):
    """An object is gone; this is what it was last."""

    object: T


@dataclass(frozen=True, slots=True)
class Bookmark:
    """Nothing changed up to this revision."""

    revision: str


Event: TypeAlias = InitBegin | InitItem[T] | InitDone | Apply[T] | Delete[T] | Bookmark


ASKED: list[Any] = [InitBegin()]


@dataclass(frozen=True)
class Deadlines:
    """How long a watch may last, and how long it may be silent before it counts as hung."""

    watch_seconds_min: float = 300.0
    silence_seconds_max: float = 180.0
    """Servers send a bookmark about every minute."""
    short_seconds: float = 1.0
    """A watch that ends sooner without an event counts as failed."""
    backoff: Backoff = BACKOFF


class Watcher(Generic[T]):
    """Follows all objects of a kind, in batches of events as they come."""

    def __init__(
        self,
        client: Client,
        kind: Kind,
        namespace: str = "",
        *,
        random: Random,
        selection: Selection | None = None,
        deadlines: Deadlines | None = None,
        streams: bool = True,
        transform: Callable[[T], T] | None = None,
        on_problem: OnProblem | None = None,
    ) -> None:
        self.state = State.EMPTY
        self.revision = ""
        self.problem: KubeError | None = None
        """Why the last attempt failed; None while all is well."""
        self._client, self._kind, self._namespace = client, kind, namespace
        self._selection: Selection = selection or {}
        self._deadlines = deadlines or Deadlines()
        self._random = random
        self._streams = streams
        self._on_problem = on_problem
        self._read: Callable[[Payload], Any] = _read_with(reading.reader(kind), transform)

    def reset(self) -> None:
        """As if nothing had been seen yet; not while it follows."""
        self.state, self.revision, self.problem = State.EMPTY, "", None

    async def batches(self) -> AsyncGenerator[Sequence[Event[T]], None]:
        """Never ends by itself, and raises nothing that a later attempt may cure."""
        attempts = Attempts(self._deadlines.backoff, self._random)
        while True:
            wait = 0.0
            try:
                async with aclosing(self._act()) as acting:
                    async for batch in acting:
                        if batch != ASKED:
                            attempts.reset()
                            self._note(None)
                        yield batch
            except KubeError as error:
                wait = self._failed(error, attempts)
            if wait:
                await asyncio.sleep(wait)

    def _failed(self, error: KubeError, attempts: Attempts) -> float:
        """Decides where to go on, and returns how long to wait before."""
        before = self.state
        if before is State.STREAMING and is_not_offered(error):
            self._streams = False
            self.state = State.EMPTY
            return 0.0
        self.state = after_failure(before, error)
        if isinstance(error, Gone) and before in (State.LISTED, State.WATCHING):
            return 0.0
        self._note(error)
        told = error.retry_after_seconds if isinstance(error, Refused) else None
        wait = max(attempts.next_delay(), told or 0.0)
        resource = resource_of(self._kind)
        log.info("a watch failed: resource=%s wait=%.1f error=%s", resource, wait, error)
        return wait

    def _note(self, problem: KubeError | None) -> None:
        is_news = problem is not None or self.problem is not None
        self.problem = problem
        if is_news and self._on_problem is not None:
            self._on_problem(problem)

    async def _act(self) -> AsyncGenerator[Sequence[Event[T]], None]:
        """What the present state asks for; ends when that is done."""
        if self.state is State.EMPTY:
            self.state = State.STREAMING if self._streams else State.LISTING
        if self.state in (State.STREAMING, State.LISTING):
            yield ASKED
        if self.state is State.LISTING:
            yield await self._list()
            self.state = State.LISTED
        else:
            async with aclosing(self._follow()) as following:
                async for batch in following:
                    yield batch

    async def _list(self) -> Sequence[Event[T]]:
        found = await self._client.list_payloads(self._kind, self._namespace, **self._selection)
        items = [self._object(payload) for payload in found.items]
        self.revision = found.resource_version
        good: list[Event[T]] = [InitItem(item) for item in items if item is not None]
        return [*good, InitDone(self.revision)]

    async def _follow(self) -> AsyncGenerator[Sequence[Event[T]], None]:
        loop = asyncio.get_running_loop()
        opened_at, had_events = loop.time(), False
        async with aclosing(self._open()) as opened:
            if self.state is not State.STREAMING:
                self.state = State.WATCHING
            while (frames := await self._next(opened)) is not None:
                batch = self._events(frames)
                had_events = had_events or bool(batch)
                if batch:
                    yield batch
        self._ended(loop.time() - opened_at, had_events)

    def _ended(self, lasted_seconds: float, had_events: bool) -> None:
        if self.state is State.STREAMING:
            raise BadAnswer("the watch ended before the initial state was complete")
        self.state = State.LISTED
        if not had_events and lasted_seconds < self._deadlines.short_seconds:
            raise Unreachable("the watch ended at once, without an event")

    def _open(self) -> AsyncGenerator[Sequence[Frame], None]:
        shortest = self._deadlines.watch_seconds_min
        timeout = int(shortest * (1 + self._random.random()))
        if self.state is State.STREAMING:
            return self._client.watch_frames(
                self._kind,
                self._namespace,
                **self._selection,
                timeout_seconds=timeout,
                send_initial_events=True,
                resource_version_match="NotOlderThan",
            )
        return self._client.watch_frames(
            self._kind,
            self._namespace,
            **self._selection,
            timeout_seconds=timeout,
            resource_version=self.revision,
        )

    async def _next(self, opened: AsyncIterator[Sequence[Frame]]) -> Sequence[Frame] | None:
        try:
            async with asyncio.timeout(self._deadlines.silence_seconds_max):
                return await anext(opened, None)
        except TimeoutError as error:
            raise Unreachable("the watch is silent for too long") from error

    def _events(self, frames: Sequence[Frame]) -> list[Event[T]]:
        events: list[Event[T]] = []
        for frame in frames:
            event = self._event(frame)
            # The batch lives until the next one; what was read of it need not.
            frame.payload = READ
            if event is not None:
                events.append(event)
        return events

    def _event(self, frame: Frame) -> Event[T] | None:
        if frame.type == "BOOKMARK":
            return self._bookmark(frame.payload.decoded())
        found = self._object(frame.payload)
        if found is None:
            return None
        if self.state is State.STREAMING:
            return InitItem(found)
        self.revision = _version(found) or self.revision
        return Delete(found) if frame.type == "DELETED" else Apply(found)

    def _bookmark(self, obj: Any) -> Event[T] | None:
        metadata = obj.get("metadata") or {}
        revision = str(metadata.get("resourceVersion") or "")
        if self.state is not State.STREAMING:
            self.revision = revision or self.revision
            return Bookmark(self.revision)
        if (metadata.get("annotations") or {}).get(INITIAL_EVENTS_END) != "true":
            return None
        self.revision = revision
        self.state = State.WATCHING
        return InitDone(revision)

    def _object(self, payload: Payload) -> T | None:
        """One object that cannot be read must not hide the others: it is left out."""
        try:
            found: T = self._read(payload)
            return found
        except BadAnswer as error:
            resource = resource_of(self._kind)
            log.error("an object cannot be read: resource=%s error=%s", resource, error)
            return None


def after_failure(state: State, error: KubeError) -> State:
    """Where to go on: what is known stays known, unless the server has forgotten that revision."""
    if isinstance(error, Gone) or is_ahead(error):
        return State.EMPTY
    return State.LISTED if state in (State.WATCHING, State.LISTED) else State.EMPTY


def is_ahead(error: KubeError) -> bool:
    """Whether the server has not come as far as our revision: it was restored from a backup."""
    causes = error.causes if isinstance(error, Refused) else []
    return any(cause.get("reason") == "ResourceVersionTooLarge" for cause in causes)


def is_not_offered(error: KubeError) -> bool:
    """Whether a server does not know, or does not want, `sendInitialEvents`."""
    if isinstance(error, Forbidden):
        return "sendInitialEvents" in str(error)
    return isinstance(error, Invalid | BadRequest | BadAnswer)


def _read_with(
    read: Callable[[Payload], Any], transform: Callable[[Any], Any] | None
) -> Callable[[Payload], Any]:
    if transform is None:
        return read
    return lambda payload: transform(read(payload))


def _version(obj: Any) -> str:
    if isinstance(obj, dict):
        return str(obj["metadata"].get("resourceVersion") or "")
    return str(obj.metadata.resource_version)
