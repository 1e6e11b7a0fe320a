"""A watch that also tells of pods elsewhere, for those who wait for a pod."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from typing import Any

import pytest

from fleetqueue.apiserver.request import Frame, Response
from fleetqueue.embedded.reach.watching import POLL_SECONDS, differences, watched

Object = dict[str, Any]


def pod(name: str, phase: str = "Pending") -> Object:
    return {"metadata": {"name": name, "uid": name}, "status": {"phase": phase}}


def types(frames: Sequence[Frame]) -> list[tuple[str, str]]:
    return [(each.type, each.decode()["metadata"]["name"]) for each in frames]


def test_looks_are_turned_into_events() -> None:
    known: dict[str, Object] = {}
    assert types(differences(known, [pod("a"), pod("b")])) == [("ADDED", "a"), ("ADDED", "b")]
    assert differences(known, [pod("a"), pod("b")]) == []
    changed = differences(known, [pod("a", "Running")])
    assert types(changed) == [("DELETED", "b"), ("MODIFIED", "a")]


class Here:
    """The frames of the server's own watch, when the test says so."""

    def __init__(self) -> None:
        self.queue: asyncio.Queue[list[Frame] | None] = asyncio.Queue()
        self.is_closed = False

    async def frames(self) -> AsyncGenerator[list[Frame], None]:
        try:
            while (batch := await self.queue.get()) is not None:
                yield batch
        finally:
            self.is_closed = True


async def test_what_appears_on_a_worker_is_told_beside_what_changes_here() -> None:
    here, there = Here(), [list[Object]() for _ in range(3)] + [[pod("x")]]

    async def select() -> Sequence[Object]:
        return there.pop(0) if len(there) > 1 else there[0]

    answer = watched(Response(frames=here.frames()), select)
    assert answer.frames is not None
    began = asyncio.get_running_loop().time()
    assert types(await anext(answer.frames)) == [("ADDED", "x")]
    assert asyncio.get_running_loop().time() - began == pytest.approx(3 * POLL_SECONDS)
    own = Frame("ADDED", b"", lambda: pod("own"))
    here.queue.put_nowait([own])
    assert await anext(answer.frames) == [own]
    here.queue.put_nowait(None)
    with pytest.raises(StopAsyncIteration):
        await anext(answer.frames)


async def test_whoever_stops_listening_ends_the_watch_here() -> None:
    here = Here()

    async def select() -> Sequence[Object]:
        return [pod("x")]

    answer = watched(Response(frames=here.frames()), select)
    assert answer.frames is not None
    await anext(answer.frames)
    waiting = asyncio.ensure_future(anext(answer.frames))
    await asyncio.sleep(2 * POLL_SECONDS)
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    await answer.frames.aclose()
    assert here.is_closed


async def test_a_refusal_stays_a_refusal() -> None:
    async def select() -> Sequence[Object]:
        raise AssertionError

    refused = Response(410, object={})
    assert watched(refused, select) is refused
