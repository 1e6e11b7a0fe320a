"""Bytes in, bytes out: how one connection frames requests and answers, without a socket."""

import asyncio
import gzip
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

from fleetqueue.apiserver import connection
from fleetqueue.apiserver.connection import Connection
from fleetqueue.apiserver.request import Handler, Request, Response

GET = b"GET /api HTTP/1.1\r\nHost: x\r\n\r\n"


class Wire(asyncio.Transport):
    """The client's end: what was written, and whether the line is still up."""

    def __init__(self, peer: str = "127.0.0.1") -> None:
        super().__init__({"peername": (peer, 1234)})
        self.written = b""
        self.is_closed = False
        self.is_aborted = False
        self.is_paused = False
        self.held = 0

    def write(self, data: Any) -> None:
        self.written += bytes(data)

    def close(self) -> None:
        self.is_closed = True

    def abort(self) -> None:
        self.is_closed = self.is_aborted = True

    def pause_reading(self) -> None:
        self.is_paused = True

    def resume_reading(self) -> None:
        self.is_paused = False

    def get_write_buffer_size(self) -> int:
        return self.held

    @property
    def statuses(self) -> list[int]:
        lines = self.written.split(b"\r\n")
        return [int(line.split()[1]) for line in lines if line.startswith(b"HTTP/1.1 ")]


class Owner:
    """A door with one handler, which keeps what it is asked."""

    def __init__(self, answer: Callable[[Request], Awaitable[Response]]) -> None:
        self._answer = answer
        self.asked: list[Request] = []
        self.upgraded = b""
        self.handler: Handler = self._handle

    async def _handle(self, request: Request) -> Response:
        self.asked.append(request)
        return await self._answer(request)

    def opened(self, connection: Connection) -> None: ...

    def lost(self, connection: Connection) -> None: ...

    def arriving(self, connection: Connection, count: int) -> None: ...

    def arrived(self, connection: Connection) -> None: ...

    def upgrade(self, transport: asyncio.Transport, received: bytes) -> None:
        self.upgraded = received


async def _pong(request: Request) -> Response:
    return Response(200, body=request.body or b"pong")


def connect(
    answer: Callable[[Request], Awaitable[Response]] = _pong, peer: str = "127.0.0.1"
) -> tuple[Connection, Wire, Owner]:
    owner, wire = Owner(answer), Wire(peer)
    made = Connection(owner)
    made.connection_made(wire)
    return made, wire, owner


async def settle() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


async def test_a_request_that_comes_byte_by_byte_is_one_request() -> None:
    made, wire, owner = connect()
    sent = b"POST /a%20b?x=1&x=2&y HTTP/1.1\r\nHost: h\r\nImpersonate-Group: a\r\n"
    sent += b"Impersonate-Group: b\r\nContent-Length: 4\r\n\r\nbody"
    for at in range(len(sent)):
        made.data_received(sent[at : at + 1])
    await settle()
    (asked,) = owner.asked
    assert (asked.method, asked.path, asked.body) == ("POST", "/a b", b"body")
    assert asked.query == {"x": ["1", "2"], "y": [""]}
    assert asked.headers["impersonate-group"] == "a\nb"
    assert wire.written.endswith(b"\r\n\r\nbody")
    assert not wire.is_closed


async def test_a_chunked_body_is_put_together() -> None:
    made, _, owner = connect()
    made.data_received(b"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n")
    made.data_received(b"3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n")
    await settle()
    assert owner.asked[0].body == b"abcde"


async def test_requests_sent_ahead_are_answered_in_their_order() -> None:
    gates = {"/1": asyncio.Event(), "/2": asyncio.Event(), "/3": asyncio.Event()}

    async def answer(request: Request) -> Response:
        await gates[request.path].wait()
        return Response(200, body=request.path.encode())

    made, wire, owner = connect(answer)
    made.data_received(b"".join(GET.replace(b"/api", b"/%d" % n) for n in (1, 2, 3)))
    gates["/3"].set()
    gates["/2"].set()
    await settle()
    assert [asked.path for asked in owner.asked] == ["/1"]
    assert wire.is_paused
    gates["/1"].set()
    await settle()
    assert [asked.path for asked in owner.asked] == ["/1", "/2", "/3"]
    assert wire.written.index(b"\r\n\r\n/1") < wire.written.index(b"\r\n\r\n/2")
    assert not wire.is_paused


async def test_a_client_that_asks_to_close_is_closed_after_its_answer() -> None:
    made, wire, _ = connect()
    made.data_received(GET.replace(b"Host: x", b"Host: x\r\nConnection: close"))
    await settle()
    assert b"Connection: close\r\n" in wire.written
    assert wire.is_closed


async def test_who_waits_to_send_a_body_is_told_to() -> None:
    made, wire, _ = connect()
    head = b"POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n"
    made.data_received(head)
    assert wire.written == b"HTTP/1.1 100 Continue\r\n\r\n"
    made.data_received(b"ok")
    await settle()
    assert wire.statuses == [100, 200]


async def test_a_head_has_the_length_of_its_body_and_no_body() -> None:
    made, wire, _ = connect()
    made.data_received(GET.replace(b"GET", b"HEAD"))
    await settle()
    assert b"Content-Length: 4\r\n" in wire.written
    assert wire.written.endswith(b"\r\n\r\n")


@pytest.mark.parametrize(("peer", "is_compressed"), [("10.1.2.3", True), ("127.0.0.1", False)])
async def test_long_answers_are_compressed_for_other_machines_only(
    peer: str, is_compressed: bool
) -> None:
    body = b"x" * 200_000

    async def answer(request: Request) -> Response:
        return Response(200, body=body)

    made, wire, _ = connect(answer, peer)
    made.data_received(GET.replace(b"Host: x", b"Host: x\r\nAccept-Encoding: gzip"))
    async with asyncio.timeout(30):
        while not wire.written:  # noqa: ASYNC110 - compressing happens in a thread
            await asyncio.sleep(0)
    head, _, sent = wire.written.partition(b"\r\n\r\n")
    assert (b"Content-Encoding: gzip" in head) == is_compressed
    assert (gzip.decompress(sent) if is_compressed else sent) == body


async def test_headers_cannot_be_broken_out_of() -> None:
    async def answer(request: Request) -> Response:
        return Response(200, body=b"", headers={"X": "a\r\nY: b"}, warnings=['say "no"\nZ: c'])

    made, wire, _ = connect(answer)
    made.data_received(GET)
    await settle()
    assert b"\r\nY:" not in wire.written
    assert b'Warning: 299 - "say \\"no\\" Z: c"\r\n' in wire.written


async def test_a_stream_of_chunks_ends_with_an_empty_one() -> None:
    async def chunks() -> AsyncIterator[bytes]:
        yield b"one"
        yield b""
        yield b"two"

    async def answer(request: Request) -> Response:
        return Response(200, chunks=chunks())

    made, wire, _ = connect(answer)
    made.data_received(GET)
    await settle()
    assert wire.written.endswith(b"3\r\none\r\n3\r\ntwo\r\n0\r\n\r\n")
    made, wire, _ = connect(answer)
    made.data_received(b"GET / HTTP/1.0\r\n\r\n")
    await settle()
    assert wire.written.endswith(b"\r\n\r\nonetwo")
    assert wire.is_closed


async def test_a_failure_in_the_middle_of_an_answer_ends_the_connection() -> None:
    async def chunks() -> AsyncIterator[bytes]:
        yield b"one"
        raise ValueError("broken")

    async def answer(request: Request) -> Response:
        return Response(200, chunks=chunks())

    made, wire, _ = connect(answer)
    made.data_received(GET)
    await settle()
    assert wire.is_aborted


async def test_a_lost_client_ends_what_it_asked_for() -> None:
    ended = asyncio.Event()

    async def answer(request: Request) -> Response:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        raise AssertionError

    made, _, _ = connect(answer)
    made.data_received(GET)
    await settle()
    made.connection_lost(None)
    await settle()
    assert ended.is_set()


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"rubbish\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nContent-Length: x\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nX: " + b"a" * connection.HEAD_BYTES_MAX, 431),
        (b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 4000000\r\n\r\n", 413),
        (b"POST / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
    ],
)
async def test_what_cannot_be_served_is_refused(sent: bytes, status: int) -> None:
    made, wire, owner = connect()
    made.data_received(sent)
    made.data_received(GET)
    await settle()
    assert wire.statuses == [status]
    assert not owner.asked


async def test_rubbish_behind_a_request_does_not_break_into_its_answer() -> None:
    gate = asyncio.Event()

    async def answer(request: Request) -> Response:
        await gate.wait()
        return Response(200, body=b"pong")

    made, wire, _ = connect(answer)
    made.data_received(GET + b"\x00\x01rubbish\r\n\r\n")
    assert wire.written == b""
    gate.set()
    await settle()
    assert wire.statuses == [200]
    assert wire.is_closed


async def test_an_upgrade_is_handed_over_with_all_that_came() -> None:
    made, wire, owner = connect()
    head = b"GET /exec?a=1 HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
    made.data_received(head + b"\x81\x00")
    await settle()
    assert owner.upgraded == head + b"\x81\x00"
    assert wire.written == b""


async def test_an_answer_waits_for_a_client_that_reads_slowly() -> None:
    async def chunks() -> AsyncIterator[bytes]:
        yield b"one"
        yield b"two"

    async def answer(request: Request) -> Response:
        return Response(200, chunks=chunks())

    made, wire, _ = connect(answer)
    made.pause_writing()
    made.data_received(GET)
    await settle()
    assert b"two" not in wire.written
    made.resume_writing()
    await settle()
    assert b"two" in wire.written


async def test_a_slow_client_that_takes_something_is_not_cut_off() -> None:
    made, wire, _ = connect()
    wire.held = 100
    made.pause_writing()
    wire.held = 50
    made._lose_patience()
    assert not wire.is_closed
    made._lose_patience()
    assert wire.is_aborted
