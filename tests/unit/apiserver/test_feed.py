"""Streams that are pushed: one that fails hurts no other."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

import pytest

from fleetqueue.apiserver.feed import Feed, Pushed, Stream, View
from fleetqueue.apiserver.log import MemoryLog
from fleetqueue.apiserver.storage import Store
from fleetqueue.base import virtual_time
from fleetqueue.base.clock import LoopClock


class Sink:
    """A client that keeps what it gets, or breaks."""

    is_full = False

    def __init__(self, *, is_broken: bool = False) -> None:
        self.is_broken = is_broken
        self.got = b""
        self.is_aborted = False

    def send(self, data: bytes) -> None:
        if self.is_broken:
            raise RuntimeError("the line is dead")
        self.got += data

    def end(self) -> None: ...

    def abort(self) -> None:
        self.is_aborted = True


@contextmanager
def watching(feed: Feed, sink: Sink) -> Iterator[Pushed]:
    view = View("json", "", None, render=lambda stored: stored.data, decode=lambda stored: None)
    watcher = feed.open("things", view, feed.revision)
    pushed = Stream(feed, watcher, [], seconds=3600, bookmark=None).push_to(sink)
    yield pushed
    pushed.stop()


def test_a_stream_that_fails_is_ended_and_the_others_go_on(
    caplog: pytest.LogCaptureFixture,
) -> None:
    virtual_time.run(_one_fails())
    assert "a watch failed" in caplog.text


async def _one_fails() -> None:
    store = Store(MemoryLog())
    feed = Feed(store, LoopClock(asyncio.get_running_loop(), datetime(2026, 1, 1, tzinfo=UTC)))
    broken, sound = Sink(is_broken=True), Sink()
    with watching(feed, broken), watching(feed, sound):
        await store.put("things", "x", {"metadata": {"name": "x"}})
        await asyncio.sleep(1)
        assert broken.is_aborted
        assert feed.count == 1
        await store.put("things", "y", {"metadata": {"name": "y"}})
        await asyncio.sleep(1)
    assert sound.got.count(b"ADDED") == 2
    assert not sound.is_aborted
