"""Requests that ask to leave HTTP and get an ordinary answer instead."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from fleetqueue.apiserver.request import Frame, Request, Response
from fleetqueue.apiserver.upgrades import Upgrades

LOG = b"GET /log HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"


class Wire(asyncio.Transport):
    """The client's end."""

    def __init__(self) -> None:
        super().__init__()
        self.written = b""
        self._is_closing = False

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        self.protocol: Any = protocol

    def write(self, data: Any) -> None:
        self.written += bytes(data)

    def is_closing(self) -> bool:
        return self._is_closing

    def close(self) -> None:
        if not self._is_closing:
            self._is_closing = True
            self.protocol.connection_lost(None)


class Lines:
    """What a log says; waits for more after that."""

    def __init__(self, *lines: Any) -> None:
        self._lines = list(lines)
        self.ends = asyncio.Event()
        self.is_closed = False

    def __aiter__(self) -> AsyncIterator[Any]:
        return self

    async def __anext__(self) -> Any:
        if not self._lines:
            await self.ends.wait()
            raise StopAsyncIteration
        return self._lines.pop(0)

    async def aclose(self) -> None:
        self.is_closed = True


def ask(response: Response, wire: Wire) -> None:
    async def answer(request: Request) -> Response:
        return response

    Upgrades(answer).take(wire, LOG)


async def settle() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


async def test_a_log_is_answered_as_it_comes_and_closed() -> None:
    lines, wire = Lines(b"one\n", b"two\n"), Wire()
    ask(Response(chunks=lines, content_type="text/plain"), wire)
    await settle()
    assert wire.written.startswith(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n")
    assert b"one\n" in wire.written
    assert b"two\n" in wire.written
    assert not lines.is_closed
    lines.ends.set()
    await settle()
    assert lines.is_closed
    assert wire.is_closing()


async def test_a_watch_is_answered_line_by_line_and_closed() -> None:
    frames, wire = Lines([Frame("ADDED", b"a\n", dict), Frame("ADDED", b"b\n", dict)]), Wire()
    ask(Response(frames=frames), wire)
    frames.ends.set()
    await settle()
    assert b"a\n" in wire.written
    assert b"b\n" in wire.written
    assert frames.is_closed


async def test_nothing_stays_open_for_a_client_that_went() -> None:
    lines, wire = Lines(b"one\n"), Wire()
    ask(Response(chunks=lines), wire)
    await settle()
    wire.close()
    await settle()
    assert lines.is_closed


@pytest.mark.parametrize("status", [200, 404])
async def test_a_whole_answer_is_given_whole(status: int) -> None:
    wire = Wire()
    ask(Response(status, body=b"whole"), wire)
    await settle()
    assert wire.written.startswith(b"HTTP/1.1 %d " % status)
    assert wire.written.endswith(b"\r\n\r\nwhole")
    assert wire.is_closing()
