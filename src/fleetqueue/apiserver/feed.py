"""Committed changes to watchers: from a revision, through selectors, in order, without holding others up.

A watcher that cannot keep up is closed; its client resumes from the last revision it saw.
"""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Callable, Sequence
from typing import Any

from fleetqueue.apiserver.request import Frame
from fleetqueue.apiserver.storage import Change, Store, Stored

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
        """The event this change means to the watcher: entering a selection is ADDED, leaving it DELETED."""
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
        self.last_revision = 0
        self._frames: deque[Frame] = deque()
        self._bytes = 0
        self._wake = asyncio.Event()
        self.is_closed = False

    def push(self, frame: Frame) -> None:
        self._frames.append(frame)
        self._bytes += len(frame.line)
        if len(self._frames) > QUEUE_MAX or self._bytes > QUEUE_BYTES_MAX:
            self.close()
        self._wake.set()

    def close(self) -> None:
        self.is_closed = True
        self._wake.set()

    async def take(self, timeout: float | None) -> list[Frame]:
        """All frames that wait; an empty list when the time is over or the watcher is closed."""
        if not self._frames and not self.is_closed:
            try:
                async with asyncio.timeout(timeout):
                    await self._wake.wait()
            except TimeoutError:
                return []
        self._wake.clear()
        frames = list(self._frames)
        self._frames.clear()
        self._bytes = 0
        return frames


class Feed:
    """Hands each committed change to the watchers of its resource."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._watchers: dict[str, set[Watcher]] = {}
        store.listen(self._publish)

    def open(self, resource: str, view: View, since: int) -> Watcher:
        """A watcher that has the changes after `since` waiting for it already."""
        watcher = Watcher(resource, view)
        for change in self._store.changes_since(resource, since):
            frame = view.frame(change, share=False)
            if frame is not None:
                watcher.push(frame)
        watcher.last_revision = self._store.revision
        self._watchers.setdefault(resource, set()).add(watcher)
        return watcher

    def forget(self, watcher: Watcher) -> None:
        watchers = self._watchers.get(watcher.resource)
        if watchers is not None:
            watchers.discard(watcher)

    def close_all(self, resource: str | None = None) -> None:
        """End every watch (of a resource): the server stops, or a CRD changed or went away."""
        for name, watchers in list(self._watchers.items()):
            if resource in (None, name):
                for watcher in list(watchers):
                    watcher.close()

    @property
    def count(self) -> int:
        return sum(len(watchers) for watchers in self._watchers.values())

    @property
    def revision(self) -> int:
        return self._store.revision

    def _publish(self, changes: Sequence[Change]) -> None:
        for change in changes:
            for watcher in self._watchers.get(change.resource, ()):
                frame = watcher.view.frame(change)
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
    """Frames for one client until its time is over: the initial ones, then changes, with bookmarks between."""
    loop = asyncio.get_running_loop()
    ends_at = loop.time() + seconds
    bookmark_at = loop.time() + bookmark_seconds
    try:
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
                yield [bookmark(feed.revision)]
            if is_over:
                return
    finally:
        feed.forget(watcher)
