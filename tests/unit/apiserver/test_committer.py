"""The thread that waits for the disk so that the event loop need not."""

import asyncio
import threading
from typing import Any

from fleetqueue.apiserver.committer import Committer
from fleetqueue.apiserver.log import MemoryLog, Row, StorageError


class SlowLog(MemoryLog):
    """Appends when it is told to, and remembers in which thread."""

    def __init__(self) -> None:
        super().__init__()
        self.may_go_on = threading.Event()
        self.threads: set[str] = set()
        self.is_closed = False

    def append(self, rows: Any, superseded: Any, compacted: int) -> None:
        assert self.may_go_on.wait(10)
        self.threads.add(threading.current_thread().name)
        if rows[0].key == "bad":
            raise StorageError("the disk is full")
        super().append(rows, superseded, compacted)

    def close(self) -> None:
        self.is_closed = True


def row(revision: int, key: str = "good") -> Row:
    return Row(revision, "things", key, False, b"x")


async def test_batches_are_appended_in_order_and_each_hears_how_it_went() -> None:
    log = SlowLog()
    committer = Committer(log)
    heard: list[Any] = []
    finished = asyncio.Event()
    for revision, key in ((2, "good"), (3, "bad"), (4, "good")):
        committer.append([row(revision, key)], [], 0, heard.append)
    committer.append([row(5)], [], 0, lambda _: finished.set())
    assert not log.rows, "the event loop did not wait"
    log.may_go_on.set()
    await finished.wait()
    assert [type(outcome) for outcome in heard] == [type(None), StorageError, type(None)]
    assert list(log.rows) == [2, 4, 5]
    assert log.threads == {"committer"}
    committer.close()


async def test_closing_finishes_what_was_handed_in() -> None:
    log = SlowLog()
    committer = Committer(log)
    committer.append([row(2)], [], 0, lambda _: None)
    log.may_go_on.set()
    committer.close()
    assert list(log.rows) == [2]
    assert log.is_closed


def test_an_event_loop_that_is_gone_does_not_stop_the_thread() -> None:
    log = SlowLog()
    committer = Committer(log)

    async def hand_in(revision: int) -> None:
        committer.append([row(revision)], [], 0, lambda _: None)

    asyncio.run(hand_in(2))
    asyncio.run(hand_in(3))
    log.may_go_on.set()
    committer.close()
    assert list(log.rows) == [2, 3]


def test_a_log_that_was_only_read_has_no_thread() -> None:
    log = SlowLog()
    Committer(log).close()
    assert log.is_closed
    assert not log.threads
