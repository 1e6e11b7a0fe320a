"""Committed changes to watchers: from a revision, through selectors, in order, holding nobody up.

A watcher that cannot keep up is closed; its client resumes from the last revision it saw.
"""

import asyncio
import logging
import weakref
from collections import deque
from collections.abc import AsyncGenerator, Callable, Sequence
from typing import Any

from fleetqueue.apiserver.request import Frame
from fleetqueue.apiserver.storage import Change, Store, Stored

logger = logging.getLogger(__name__)

QUEUE_MAX = 10_000
QUEUE_BYTES_MAX = 32 * 1024 * 1024


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
        return self._encode(kind, shown, change.lines if share else None)

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

    def _encode(self, kind: str, stored: Stored, shared: dict[Any, bytes] | None) -> Frame:
        key = (self.form, kind)
        line = shared.get(key) if shared is not None else None
        if line is None:
            line = b'{"type":"%b","object":%b}\n' % (kind.encode(), self.render(stored))
            if shared is not None:
                shared[key] = line
        return Frame(kind, line, lambda: self.decode(stored))


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
        self._frames: deque[Frame] = deque()
        self._bytes = 0
        self._wake = asyncio.Event()
        self.is_closed = False

    def push(self, frame: Frame) -> None:
        if self.is_closed:
            return
        self._frames.append(frame)
        self._bytes += len(frame.line)
        if len(self._frames) > QUEUE_MAX or self._bytes > QUEUE_BYTES_MAX:
            # Nobody will fetch these: the client resumes from what it has seen.
            self._frames.clear()
            self.close()
        self._wake.set()

    def close(self) -> None:
        self.is_closed = True
        self._wake.set()

    async def take(self, seconds_max: float) -> list[Frame]:
        """All frames that wait; an empty list when the time is over or the watcher is closed."""
        if not self._frames and not self.is_closed:
            # A bare timer costs a fraction of what a timeout block does, and this runs per event.
            timer = asyncio.get_running_loop().call_later(seconds_max, self._wake.set)
            try:
                await self._wake.wait()
            finally:
                timer.cancel()
        self._wake.clear()
        frames = list(self._frames)
        self._frames.clear()
        self._bytes = 0
        return frames


class Feed:
    """Hands each committed change to the watchers of its resource.

    A watcher belongs to the stream that drains it: where that is dropped, even before it began, the
    watcher is gone from here too.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._watchers: dict[str, dict[int, weakref.ref[Watcher]]] = {}
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
            change.lines.clear()


async def stream(
    feed: Feed,
    watcher: Watcher,
    first: list[Frame],
    *,
    seconds: float,
    bookmark: Callable[[int], Frame] | None,
    bookmark_seconds: float = 60.0,
) -> AsyncGenerator[list[Frame], None]:
    """Frames for one client until its time is over: the first ones, then changes and bookmarks."""
    loop = asyncio.get_running_loop()
    ends_at = loop.time() + seconds
    bookmark_at = loop.time() + bookmark_seconds
    try:
        first, watcher.backlog = first + watcher.backlog, []
        if first:
            yield first
        while not watcher.is_closed:
            wait_until = ends_at if bookmark is None else min(ends_at, bookmark_at)
            frames = await watcher.take(max(wait_until - loop.time(), 0))
            is_over = loop.time() >= ends_at
            if frames:
                yield frames
            elif bookmark is not None and not watcher.is_closed and loop.time() >= wait_until:
                # Nothing waits, so everything up to the store's revision has been sent.
                bookmark_at = loop.time() + bookmark_seconds
                yield [bookmark(max(feed.revision, watcher.since))]
            if is_over:
                return
    finally:
        feed.forget(watcher)
