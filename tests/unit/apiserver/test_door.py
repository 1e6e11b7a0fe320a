"""What all connections of a door keep together."""

import asyncio
from typing import Any

import pytest

from fleetqueue.apiserver import door
from fleetqueue.apiserver.connection import Connection
from fleetqueue.apiserver.door import Door
from fleetqueue.apiserver.request import Request, Response


class Wire(asyncio.Transport):
    """The client's end."""

    def __init__(self) -> None:
        super().__init__()
        self.written = b""
        self.is_aborted = False

    def write(self, data: Any) -> None:
        self.written += bytes(data)

    def abort(self) -> None:
        self.is_aborted = True


async def handle(request: Request) -> Response:
    return Response(body=b"%d" % len(request.body))


def joined(to: Door) -> tuple[Connection, Wire]:
    connection, wire = Connection(to), Wire()
    connection.connection_made(wire)
    return connection, wire


def post(size: int) -> bytes:
    return b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % size + b"x" * size


async def answered() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_where_too_much_arrives_who_sends_for_longest_makes_room(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(door, "ARRIVING_BYTES_MAX", 2000)
    house = Door(handle, None)
    slowest, slowest_wire = joined(house)
    slowest.data_received(post(900)[:-1])
    slow, slow_wire = joined(house)
    slow.data_received(post(800)[:-1])
    quick, quick_wire = joined(house)
    quick.data_received(post(900))
    await answered()
    slow.data_received(b"x")
    await answered()

    assert slowest_wire.is_aborted
    assert quick_wire.written.endswith(b"900")
    assert slow_wire.written.endswith(b"800")


async def test_what_was_asked_or_left_takes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(door, "ARRIVING_BYTES_MAX", 1000)
    house = Door(handle, None)
    steady, steady_wire = joined(house)
    for _ in range(3):
        steady.data_received(post(900))
        await answered()
        gone, _ = joined(house)
        gone.data_received(post(900)[:-1])
        gone.connection_lost(None)

    assert steady_wire.written.count(b"HTTP/1.1 200") == 3
    assert not steady_wire.is_aborted
