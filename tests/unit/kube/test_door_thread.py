"""The thread of the webhooks: who waits for it learns how it ended."""

from collections.abc import Coroutine
from typing import Any, cast

import pytest

from fleetqueue.base.loops import new_runner
from fleetqueue.kube.door_thread import DoorThread
from fleetqueue.kube.review_door import ReviewDoor


class Door:
    """Fails at one of its two moments."""

    def __init__(self, fails_at: str) -> None:
        self._fails_at = fails_at

    async def open(self, host: str, port: int) -> None:
        self._pass("open")

    async def close(self) -> None:
        self._pass("close")

    def _pass(self, moment: str) -> None:
        if moment == self._fails_at:
            raise OSError(f"no {moment}")


def thread(fails_at: str) -> DoorThread:
    door: Any = Door(fails_at)
    return DoorThread(cast(ReviewDoor, door), "127.0.0.1", 0)


def test_whoever_opens_a_door_learns_why_it_does_not_open() -> None:
    async def open_and_close() -> None:
        made = thread("open")
        with pytest.raises(OSError, match="no open"):
            await made.open()
        await made.close()

    in_real_time(open_and_close())


def test_a_door_that_fails_later_says_so(caplog: pytest.LogCaptureFixture) -> None:
    async def open_and_close() -> None:
        made = thread("close")
        await made.open()
        await made.close()

    in_real_time(open_and_close())
    assert "webhooks are not answered any more" in caplog.text


def in_real_time(story: Coroutine[Any, Any, None]) -> None:
    """Another thread is waited for."""
    with new_runner() as runner:
        runner.run(story)
