"""One connection of an API server to our webhooks, fed with bytes."""

import asyncio
import ssl
from typing import Any

import pytest

from fleetqueue.base.virtual_time import idle
from fleetqueue.kube import review_door
from fleetqueue.kube.review_door import ReviewDoor, _Connection

REVIEW = b'{"kind":"AdmissionReview"}'


class Wire(asyncio.Transport):
    """What is written is kept; nothing leaves."""

    def __init__(self) -> None:
        super().__init__()
        self.sent = b""
        self.is_closed = False
        self.is_read = True

    def pause_reading(self) -> None:
        self.is_read = False

    def resume_reading(self) -> None:
        self.is_read = True

    def write(self, data: Any) -> None:
        self.sent += bytes(data)

    def close(self) -> None:
        self.is_closed = True

    abort = close


async def reply(path: str, body: bytes) -> tuple[int, bytes]:
    if path == "/slow":
        await asyncio.sleep(0.01)
    return (200, b'{"path":"%b","bytes":%d}' % (path.encode(), len(body)))


def connected(
    body_bytes_max: int = 1000, connections_max: int = 10, bodies_bytes_max: int = 10_000
) -> tuple[_Connection, Wire, ReviewDoor]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    door = ReviewDoor(reply, context, body_bytes_max, connections_max, bodies_bytes_max)
    return *joined(door), door


def joined(door: ReviewDoor) -> tuple[_Connection, Wire]:
    connection, wire = _Connection(door), Wire()
    connection.connection_made(wire)
    return connection, wire


def post(path: str, body: bytes = REVIEW, *headers: str) -> bytes:
    lines = [f"POST {path} HTTP/1.1", "Host: x", f"Content-Length: {len(body)}", *headers]
    return "\r\n".join([*lines, "", ""]).encode() + body


async def answered(connection: _Connection) -> None:
    if connection.task is not None:
        await asyncio.gather(connection.task, return_exceptions=True)


def answers(wire: Wire) -> list[tuple[bytes, bytes]]:
    """Each one's first line and body."""
    found, rest = [], wire.sent
    while rest:
        head, _, rest = rest.partition(b"\r\n\r\n")
        lines = head.split(b"\r\n")
        [length] = [int(line.split()[1]) for line in lines if line.startswith(b"Content-Length")]
        found.append((lines[0], rest[:length]))
        rest = rest[length:]
    return found


async def test_reviews_are_answered_one_after_the_other_on_one_connection() -> None:
    connection, wire, _ = connected()
    for path in ("/a", "/b?timeout=10s"):
        connection.data_received(post(path))
        await answered(connection)

    assert answers(wire) == [
        (b"HTTP/1.1 200 OK", b'{"path":"/a","bytes":26}'),
        (b"HTTP/1.1 200 OK", b'{"path":"/b","bytes":26}'),
    ]
    assert b"Content-Type: application/json" in wire.sent
    assert not wire.is_closed


async def test_a_request_may_come_in_pieces_or_with_the_next_one() -> None:
    connection, wire, _ = connected()
    for byte in post("/a"):
        connection.data_received(bytes([byte]))
    await answered(connection)
    connection.data_received(post("/slow") + post("/b"))
    await answered(connection)

    bodies = [body for _, body in answers(wire)]
    assert bodies == [
        b'{"path":"/a","bytes":26}',
        b'{"path":"/slow","bytes":26}',
        b'{"path":"/b","bytes":26}',
    ]


async def test_a_body_in_chunks_counts_without_its_frame() -> None:
    connection, wire, _ = connected()
    connection.data_received(
        b"POST /a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
        b"3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"
    )
    await answered(connection)

    assert answers(wire)[0][1] == b'{"path":"/a","bytes":5}'


@pytest.mark.parametrize(
    ("sent", "line"),
    [
        (b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n", b"HTTP/1.1 200 OK"),
        (b"GET /a HTTP/1.1\r\nHost: x\r\n\r\n", b"HTTP/1.1 405 Method Not Allowed"),
        (b"what is this\r\n\r\n", b"HTTP/1.1 400 Bad Request"),
        (post("/a", b"x" * 1001), b"HTTP/1.1 413 Request Entity Too Large"),
        (
            b"POST /a HTTP/1.1\r\nX: " + b"x" * review_door.HEAD_BYTES_MAX,
            b"HTTP/1.1 431 Request Header Fields Too Large",
        ),
    ],
    ids=["health", "reading", "no HTTP", "a long body", "a long head"],
)
async def test_what_is_no_review_is_told_so(sent: bytes, line: bytes) -> None:
    connection, wire, _ = connected()
    connection.data_received(sent)
    await answered(connection)

    assert [first for first, _ in answers(wire)] == [line]
    assert b"application/json" not in wire.sent
    assert wire.is_closed == (line.split()[1] not in (b"200", b"405"))


async def test_a_client_that_asks_for_it_is_left_after_the_answer() -> None:
    connection, wire, _ = connected()
    connection.data_received(post("/a", REVIEW, "Connection: close"))
    await answered(connection)

    assert len(answers(wire)) == 1
    assert b"Connection: close" in wire.sent
    assert wire.is_closed


async def test_a_door_that_closes_gives_the_answers_that_are_under_way() -> None:
    busy, busy_wire, door = connected()
    _, idle_wire = joined(door)
    busy.data_received(post("/slow"))
    await door.close()

    assert [body for _, body in answers(busy_wire)] == [b'{"path":"/slow","bytes":26}']
    assert busy_wire.is_closed
    assert idle_wire.is_closed
    assert not idle_wire.sent


async def test_a_client_that_goes_takes_its_request_along() -> None:
    connection, wire, door = connected()
    connection.data_received(post("/slow"))
    connection.connection_lost(None)
    await answered(connection)

    assert not wire.sent
    assert not door.connections


async def test_who_sends_more_than_is_answered_has_to_wait() -> None:
    connection, wire, _ = connected()
    connection.data_received(post("/slow"))
    assert wire.is_read
    connection.data_received(post("/b"))
    assert not wire.is_read
    await answered(connection)

    assert wire.is_read
    assert len(answers(wire)) == 2


async def test_no_answer_is_given_before_the_one_before_is_taken() -> None:
    connection, wire, _ = connected()
    connection.pause_writing()
    connection.data_received(post("/a") + post("/b"))
    await idle()
    assert len(answers(wire)) == 1

    connection.resume_writing()
    await answered(connection)
    assert len(answers(wire)) == 2
    assert not wire.is_closed


async def test_who_takes_no_answers_loses_the_connection() -> None:
    connection, wire, _ = connected()
    connection.pause_writing()
    connection.data_received(post("/a") + post("/b"))
    await asyncio.sleep(review_door.STALLED_SECONDS_MAX)
    await answered(connection)

    assert wire.is_closed
    assert len(answers(wire)) == 1


@pytest.mark.parametrize("sent", [b"", b"POST /a HT", post("/a")[:-1]])
async def test_who_never_asks_to_the_end_loses_the_connection(sent: bytes) -> None:
    connection, wire, _ = connected()
    connection.data_received(sent)
    await asyncio.sleep(review_door.IDLE_SECONDS_MAX + 1)

    assert wire.is_closed


async def test_where_too_many_are_connected_the_idlest_makes_room() -> None:
    oldest, oldest_wire, door = connected(connections_max=2)
    await asyncio.sleep(1)
    _, idlest_wire = joined(door)
    await asyncio.sleep(1)
    oldest.data_received(post("/a"))
    await answered(oldest)
    _, new_wire = joined(door)

    assert idlest_wire.is_closed
    assert not oldest_wire.is_closed
    assert not new_wire.is_closed
    assert len(door.connections) == 2


async def test_where_too_many_are_answered_nobody_else_gets_in() -> None:
    busy, busy_wire, door = connected(connections_max=1)
    busy.data_received(post("/slow"))
    late, late_wire = joined(door)
    late.data_received(post("/a"))
    await answered(busy)

    assert len(answers(busy_wire)) == 1
    assert late_wire.is_closed
    assert not late_wire.sent


async def test_where_bodies_take_too_much_who_has_sent_for_longest_is_left() -> None:
    slowest, slowest_wire, door = connected(bodies_bytes_max=1500)
    slowest.data_received(post("/a", b"x" * 900)[:-1])
    await asyncio.sleep(1)
    slow, slow_wire = joined(door)
    slow.data_received(post("/b", b"x" * 500)[:-1])
    await asyncio.sleep(1)
    quick, quick_wire = joined(door)
    quick.data_received(post("/c", b"x" * 900))
    await answered(quick)
    slow.data_received(b"x")
    await answered(slow)

    assert slowest_wire.is_closed
    assert not slowest_wire.sent
    assert [body for _, body in answers(slow_wire)] == [b'{"path":"/b","bytes":500}']
    assert [body for _, body in answers(quick_wire)] == [b'{"path":"/c","bytes":900}']


async def test_a_connection_that_was_idle_for_long_is_not_slow_to_send() -> None:
    kept, kept_wire, door = connected(bodies_bytes_max=1500)
    await asyncio.sleep(1)
    slow, slow_wire = joined(door)
    slow.data_received(post("/a", b"x" * 900)[:-1])
    await asyncio.sleep(1)
    kept.data_received(post("/b", b"x" * 900))
    await answered(kept)

    assert len(answers(kept_wire)) == 1
    assert slow_wire.is_closed


async def test_bodies_that_were_answered_or_left_take_nothing() -> None:
    connection, wire, door = connected(bodies_bytes_max=1000)
    for _ in range(3):
        connection.data_received(post("/a", b"x" * 900))
        await answered(connection)
        gone, _ = joined(door)
        gone.data_received(post("/b", b"x" * 900)[:-1])
        gone.connection_lost(None)

    assert len(answers(wire)) == 3
    assert not wire.is_closed


async def test_where_all_that_take_too_much_are_answered_nobody_waits_for_them() -> None:
    busy, busy_wire, door = connected(bodies_bytes_max=1000)
    busy.data_received(post("/slow", b"x" * 900))
    late, late_wire = joined(door)
    late.data_received(post("/a", b"x" * 900))
    await answered(busy)

    assert len(answers(busy_wire)) == 1
    assert late_wire.is_closed
    assert not late_wire.sent
