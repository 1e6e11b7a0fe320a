"""Committed changes to watchers: from a revision, through selectors, in order, holding nobody up.

A watcher that cannot keep up is closed; its client resumes from the last revision it saw.
"""

import asyncio
import logging
import weakref
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from typing import Any, Protocol, Self, cast

from fleetqueue.apiserver.request import Frame
from fleetqueue.apiserver.storage import Change, Store, Stored
from fleetqueue.base.clock import Clock

logger = logging.getLogger(__name__)

QUEUE_MAX = 10_000
QUEUE_BYTES_MAX = 32 * 1024 * 1024
PIECE_BYTES_MAX = 256 * 1024
"""So much of a stream is copied for a client at once; the rest waits in frames that all share."""
BOOKMARK_SECONDS = 60.0

Bookmark = Callable[[int], Frame]


class View:
    """What a watcher wants to see: which objects, and in which form."""

    def __init__(
        self,
        form: Any,
        prefix: str,
        matches: Callable[[Stored], bool] | None,
        render: Callable[[Stored], bytes],
        decode: Callable[[Stored], Any],
    ) -> None:
        self.form = form
        """Equal for views whose lines are equal, so that they share one encoding."""
        self.prefix = prefix
        self.matches = matches
        self.render = render
        self.decode = decode

    def frame(self, change: Change, *, share: bool = True) -> Frame | None:
        """The event that a change means: entering a selection is ADDED, leaving it DELETED."""
        if self.prefix and not change.stored.key.startswith(self.prefix):
            return None
        kind = self._type_of(change)
        if kind is None:
            return None
        shown = change.stored
        if kind == "DELETED" and change.after is not None and change.before is not None:
            shown = _last_seen(change)
            share = False
        return self._encode(kind, shown, change.frames if share else None)

    def _type_of(self, change: Change) -> str | None:
        if self.matches is None:
            was, is_now = change.before is not None, change.after is not None
        else:
            was = change.before is not None and self.matches(change.before)
            is_now = change.after is not None and self.matches(change.after)
        if is_now:
            return "MODIFIED" if was else "ADDED"
        return "DELETED" if was else None

    def added(self, stored: Stored) -> Frame:
        return self._encode("ADDED", stored, None)

    def _encode(self, kind: str, stored: Stored, shared: dict[Any, Any] | None) -> Frame:
        key = (self.form, kind)
        if shared is not None and (known := shared.get(key)) is not None:
            return cast(Frame, known)
        line = b'{"type":"%b","object":%b}\n' % (kind.encode(), self.render(stored))
        frame = Frame(kind, line, lambda: self.decode(stored))
        if shared is not None:
            shared[key] = frame
        return frame


def _last_seen(change: Change) -> Stored:
    """An object that leaves a selection is shown as it was, under the revision that took it out."""
    before = change.before
    assert before is not None
    old = b'"resourceVersion":"%d"' % before.revision
    new = b'"resourceVersion":"%d"' % change.revision
    return Stored(before.key, change.revision, before.data.replace(old, new, 1))


class Watcher:
    """One open watch: a bounded queue of frames that its client drains."""

    def __init__(self, resource: str, view: View) -> None:
        self.resource = resource
        self.view = view
        self.since = 0
        """What its client has seen already; it may know of revisions that are still to come."""
        self.backlog: list[Frame] = []
        """What happened before it was opened; history is bounded, so it needs no bound here."""
        self.wake: Callable[[], None] = _nobody
        """Called when something came, or the watcher was closed."""
        self._frames: deque[Frame] = deque()
        self._bytes = 0
        self.is_closed = False

    def push(self, frame: Frame) -> None:
        if self.is_closed:
            return
        self._frames.append(frame)
        self._bytes += len(frame.line)
        if len(self._frames) > QUEUE_MAX or self._bytes > QUEUE_BYTES_MAX:
            # Nobody will fetch these: the client resumes from what it has seen.
            self._frames.clear()
            self.is_closed = True
        self.wake()

    def close(self) -> None:
        self.is_closed = True
        self.wake()

    @property
    def has_frames(self) -> bool:
        return bool(self._frames)

    def drain(self) -> list[Frame]:
        frames = list(self._frames)
        self._frames.clear()
        self._bytes = 0
        return frames


def _nobody() -> None:
    """What a watcher wakes while nobody reads its stream yet."""


class Feed:
    """Hands each committed change to the watchers of its resource.

    A watcher belongs to the stream that drains it: where that is dropped, even before it began, the
    watcher is gone from here too.
    """

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._watchers: dict[str, dict[int, weakref.ref[Watcher]]] = {}
        self._due: list[Pushed] = []
        self._rests_until = 0.0
        store.listen(self._publish)

    def open(self, resource: str, view: View, since: int) -> Watcher:
        """A watcher that has the changes after `since` waiting for it already."""
        watcher = Watcher(resource, view)
        for change in self._store.changes_since(resource, since):
            frame = view.frame(change, share=False)
            if frame is not None:
                watcher.backlog.append(frame)
        watcher.since = since
        self._add(watcher)
        return watcher

    def _add(self, watcher: Watcher) -> None:
        watchers, number = self._watchers.setdefault(watcher.resource, {}), id(watcher)
        watchers[number] = weakref.ref(watcher, lambda _: watchers.pop(number, None))

    def forget(self, watcher: Watcher) -> None:
        self._watchers.get(watcher.resource, {}).pop(id(watcher), None)

    def close_all(self, resource: str | None = None) -> None:
        """End every watch (of a resource): the server stops, or a CRD changed or went away."""
        for name in list(self._watchers):
            if resource in (None, name):
                for watcher in self._of(name):
                    watcher.close()

    def _of(self, resource: str) -> list[Watcher]:
        references = list(self._watchers.get(resource, {}).values())
        return [watcher for reference in references if (watcher := reference()) is not None]

    @property
    def count(self) -> int:
        return sum(len(watchers) for watchers in self._watchers.values())

    @property
    def revision(self) -> int:
        return self._store.revision

    def _publish(self, changes: Sequence[Change]) -> None:
        for change in changes:
            for watcher in self._of(change.resource):
                if watcher.is_closed or change.revision <= watcher.since:
                    continue
                try:
                    frame = watcher.view.frame(change)
                except Exception:  # who cannot be shown this must not keep it from others
                    logger.exception("a watch failed", extra={"resource": change.resource})
                    watcher.close()
                    continue
                if frame is not None:
                    watcher.push(frame)
            change.frames.clear()

    # Streams that are pushed

    def hurry(self, pushed: "Pushed") -> None:
        """Let a stream write what waits for it, together with all others that are due."""
        if not self._due:
            rest = self._rests_until - self._clock.monotonic()
            loop = asyncio.get_running_loop()
            if rest <= 0:
                loop.call_soon(self._write)
            else:
                loop.call_later(rest, self._write)
        self._due.append(pushed)

    def _write(self) -> None:
        """Many watchers take at most half of the time: changes gather while the others rest."""
        due, self._due = self._due, []
        begun = self._clock.monotonic()
        for pushed in due:
            try:
                pushed.write()
            except Exception:  # the others are due too
                logger.exception("a watch failed")
                pushed.fail()
        ended = self._clock.monotonic()
        self._rests_until = ended + (ended - begun)


class Stream:
    """Frames for one client until its time is over: the first ones, then changes and bookmarks.

    A client in the same process pulls them; a door has them pushed, since a task that wakes for
    every event costs more than the event.
    """

    def __init__(
        self,
        feed: Feed,
        watcher: Watcher,
        first: list[Frame],
        *,
        seconds: float,
        bookmark: Bookmark | None,
    ) -> None:
        self._feed = feed
        self._watcher = watcher
        self._first = first + watcher.backlog
        watcher.backlog = []
        self._seconds = seconds
        self._bookmark = bookmark
        self._pulled: AsyncGenerator[list[Frame], None] | None = None

    def __aiter__(self) -> Self:
        return self

    def __anext__(self) -> Awaitable[list[Frame]]:
        if self._pulled is None:
            first, self._first = self._first, []
            self._pulled = _pull(self._feed, self._watcher, first, self._seconds, self._bookmark)
        return self._pulled.__anext__()

    async def aclose(self) -> None:
        self._feed.forget(self._watcher)
        if self._pulled is not None:
            await self._pulled.aclose()

    def push_to(self, sink: "Sink") -> "Pushed":
        first, self._first = self._first, []
        return Pushed(self._feed, self._watcher, sink, first, self._seconds, self._bookmark)


async def _pull(
    feed: Feed, watcher: Watcher, first: list[Frame], seconds: float, bookmark: Bookmark | None
) -> AsyncGenerator[list[Frame], None]:
    loop, came = asyncio.get_running_loop(), asyncio.Event()
    watcher.wake = came.set
    ends_at, bookmark_at = loop.time() + seconds, loop.time() + BOOKMARK_SECONDS
    try:
        if first:
            yield first
            # All that there was: not to be kept as long as the watch.
            first = []
        while not watcher.is_closed:
            wait_until = ends_at if bookmark is None else min(ends_at, bookmark_at)
            frames = await _take(watcher, came, max(wait_until - loop.time(), 0))
            is_over = loop.time() >= ends_at
            if frames:
                yield frames
            elif bookmark is not None and not watcher.is_closed and loop.time() >= wait_until:
                # Nothing waits, so everything up to the store's revision has been sent.
                bookmark_at = loop.time() + BOOKMARK_SECONDS
                yield [bookmark(max(feed.revision, watcher.since))]
            if is_over:
                return
    finally:
        feed.forget(watcher)


async def _take(watcher: Watcher, came: asyncio.Event, seconds_max: float) -> list[Frame]:
    """All frames that wait; an empty list when the time is over or the watcher is closed."""
    if not watcher.has_frames and not watcher.is_closed:
        # A bare timer costs a fraction of what a timeout block does, and this runs per event.
        timer = asyncio.get_running_loop().call_later(seconds_max, came.set)
        try:
            await came.wait()
        finally:
            timer.cancel()
    came.clear()
    return watcher.drain()


class Sink(Protocol):
    """Where a stream is pushed to."""

    @property
    def is_full(self) -> bool:
        """Whether its client does not read as fast as it is written to."""

    def send(self, data: bytes) -> None: ...

    def end(self) -> None:
        """The time of the watch is over."""

    def abort(self) -> None:
        """Something went wrong: its client starts anew."""


class Pushed:
    """A stream on its way into a sink. Whoever owns the sink calls `write` when it has room."""

    def __init__(
        self,
        feed: Feed,
        watcher: Watcher,
        sink: Sink,
        first: list[Frame],
        seconds: float,
        bookmark: Bookmark | None,
    ) -> None:
        self._feed = feed
        self._watcher = watcher
        self._sink = sink
        self._waiting = deque(first)
        self._bookmark = bookmark
        self._is_due = False
        self._is_over = False
        loop = asyncio.get_running_loop()
        self._end = loop.call_later(seconds, self._finish)
        self._mark = loop.call_later(BOOKMARK_SECONDS, self._tell) if bookmark else None
        watcher.wake = self._wake
        self._wake()

    def _wake(self) -> None:
        if not self._is_due:
            self._is_due = True
            self._feed.hurry(self)

    def write(self) -> None:
        """What waits, as far as the sink takes it."""
        self._is_due = False
        if self._is_over:
            return
        while not self._sink.is_full:
            if not self._waiting:
                self._waiting.extend(self._watcher.drain())
            if not self._waiting:
                break
            self._sink.send(_piece(self._waiting))
        if self._watcher.is_closed and not self._waiting:
            self._finish()

    def _tell(self) -> None:
        assert self._bookmark is not None
        self.write()
        if not self._waiting and not self._is_over and not self._sink.is_full:
            # Nothing waits, so everything up to the store's revision has been sent.
            revision = max(self._feed.revision, self._watcher.since)
            self._sink.send(self._bookmark(revision).line)
        self._mark = asyncio.get_running_loop().call_later(BOOKMARK_SECONDS, self._tell)

    def _finish(self) -> None:
        if not self._is_over:
            self.stop()
            self._sink.end()

    def fail(self) -> None:
        self.stop()
        self._sink.abort()

    def stop(self) -> None:
        """Its client is gone, or its time is over."""
        self._is_over = True
        self._end.cancel()
        if self._mark is not None:
            self._mark.cancel()
        self._feed.forget(self._watcher)


def _piece(waiting: deque[Frame]) -> bytes:
    """The first lines that wait, joined into a write of bounded size."""
    if len(waiting) == 1:
        return waiting.popleft().line
    lines: list[bytes] = []
    size = 0
    while waiting and size < PIECE_BYTES_MAX:
        lines.append(waiting.popleft().line)
        size += len(lines[-1])
    return b"".join(lines)
