"""Connections that leave HTTP, against small servers that do so, directly and through proxies."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from random import Random
from typing import Any

import pytest

from fleetqueue.base.clock import SystemClock
from fleetqueue.kube import websocket
from fleetqueue.kube.commands import Command, Streams, execute
from fleetqueue.kube.connect import connect_to
from fleetqueue.kube.errors import BadAnswer, Forbidden, Unreachable
from fleetqueue.kube.kubeconfig import Access
from fleetqueue.kube.transport import Call, InProcessTransport
from fleetqueue.kube.upgrades import upgrade

Handle = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
CALL = Call("POST", "/exec", [("command", "a b")], {"connection": "Upgrade", "upgrade": "x/1"})
SWITCH = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x/1\r\n\r\n"


@asynccontextmanager
async def listening(handle: Handle) -> AsyncIterator[int]:
    async def guarded(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        open_ones.append(writer)
        try:
            await handle(reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    open_ones: list[asyncio.StreamWriter] = []
    server = await asyncio.start_server(guarded, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for writer in open_ones:
            writer.transport.abort()
        await asyncio.sleep(0)


class Echo:
    """Changes to a protocol that says everything twice."""

    def __init__(self) -> None:
        self.head = ""

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.head = (await reader.readuntil(b"\r\n\r\n")).decode()
        writer.write(SWITCH)
        while data := await reader.read(100):
            writer.write(data * 2)


async def echoed(port: int, **parts: Any) -> bytes:
    access = Access(f"http://127.0.0.1:{port}", token="t", **parts)
    client = connect_to(access, clock=SystemClock(), random=Random(1))
    answer = await upgrade(client, CALL)
    try:
        assert answer.head == SWITCH
        assert answer.header("upgrade") == "x/1"
        assert answer.reader is not None
        assert answer.writer is not None
        answer.writer.write(b"ab")
        return await answer.reader.readexactly(4)
    finally:
        answer.close()
        await client.close()


async def test_a_connection_is_left_to_the_caller_with_the_clients_credentials() -> None:
    echo = Echo()
    async with listening(echo) as port:
        assert await echoed(port) == b"abab"
    first, *lines = echo.head.strip().split("\r\n")
    assert first == "POST /exec?command=a+b HTTP/1.1"
    assert {"authorization: Bearer t", "upgrade: x/1", "connection: Upgrade"} <= set(lines)


@pytest.mark.parametrize("login", ["", "me:s%20t@"])
async def test_an_http_proxy_is_asked_to_connect(login: str) -> None:
    asked: list[str] = []

    async def proxy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        asked.append(head)
        writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        await joined(reader, writer, int(head.split()[1].partition(":")[2]))

    async with listening(Echo()) as port, listening(proxy) as between:
        assert await echoed(port, proxy_url=f"http://{login}127.0.0.1:{between}") == b"abab"
    assert asked[0].startswith(f"CONNECT 127.0.0.1:{port} HTTP/1.1\r\n")
    assert ("proxy-authorization: Basic bWU6cyB0" in asked[0]) is bool(login)


async def test_a_socks_proxy_makes_a_tunnel() -> None:
    async def proxy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readexactly(3)
        writer.write(bytes([5, 0]))
        *_, size = await reader.readexactly(5)
        await reader.readexactly(size)
        port = int.from_bytes(await reader.readexactly(2), "big")
        writer.write(bytes([5, 0, 0, 1, 0, 0, 0, 0, 0, 0]))
        await joined(reader, writer, port)

    async with listening(Echo()) as port, listening(proxy) as between:
        assert await echoed(port, proxy_url=f"socks5://127.0.0.1:{between}") == b"abab"


async def joined(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, port: int) -> None:
    far_reader, far_writer = await asyncio.open_connection("127.0.0.1", port)

    async def pump(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
        while data := await source.read(1000):
            target.write(data)
        target.close()

    await asyncio.gather(pump(reader, far_writer), pump(far_reader, writer))


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 403 Forbidden\r\nContent-Length: 4\r\n\r\nno!!",
        b"HTTP/1.1 403 No\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nno\r\n2\r\n!!\r\n0\r\n\r\n",
        b"HTTP/1.1 403 Forbidden\r\n\r\nno!!",
    ],
)
async def test_a_refusal_is_read_whole(answer: bytes) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer)

    async with listening(serve) as port:
        client = connect_to(
            Access(f"http://127.0.0.1:{port}"), clock=SystemClock(), random=Random(1)
        )
        found = await upgrade(client, CALL)
        assert (found.status, found.body, found.reader) == (403, b"no!!", None)
        with pytest.raises(Forbidden):
            await execute(client, Command("p", "ns", ["id"]), Streams(lambda number, data: None))


@pytest.mark.parametrize("answer", [b"", b"HTTP/1.1 200", b"hello\r\n\r\n"])
async def test_what_is_no_answer_is_unreachable(answer: bytes) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer)

    async with listening(serve) as port:
        with pytest.raises(Unreachable):
            await echoed(port)


async def test_a_server_in_this_process_cannot_be_reached_so() -> None:
    async def handler(request: Any) -> Any:
        raise AssertionError

    from fleetqueue.kube.client import Client

    client = Client(InProcessTransport(handler), random=Random(1))
    with pytest.raises(Unreachable, match="cannot be reached so"):
        await upgrade(client, CALL)


class Shell:
    """A pod that answers exec: it repeats its input, and ends with a status."""

    def __init__(self, status: bytes) -> None:
        self._status = status
        self.heard = b""

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.head = (await reader.readuntil(b"\r\n\r\n")).decode()
        switch = b"HTTP/1.1 101 Switching\r\nSec-WebSocket-Protocol: v5.channel.k8s.io\r\n\r\n"
        writer.write(switch + frame(9, b"still there?") + frame(1, b"\x02") + frame(2, b"\x02warn"))
        socket = websocket.WebSocket(reader, writer)
        while (message := await socket.receive()) is not None:
            if message == b"\xff\x00":
                break
            self.heard += message[1:]
            middle = len(message) // 2
            writer.write(bytes([2, middle]) + b"\x01" + message[1:middle])
            writer.write(frame(0, message[middle:]))
        if self._status:
            writer.write(frame(2, b"\x03" + self._status))
            await writer.drain()


def frame(kind: int, data: bytes) -> bytes:
    """As servers send them: without a mask."""
    return bytes([0x80 | kind, len(data)]) + data


async def words() -> AsyncIterator[bytes]:
    yield b"hello "
    yield b"there"


FAILED = b'{"status":"Failure","details":{"causes":[{"reason":"ExitCode","message":"7"}]}}'


@pytest.mark.parametrize(("status", "code"), [(b'{"status":"Success"}', 0), (FAILED, 7)])
async def test_a_command_is_joined_with_streams_and_ends_with_its_code(
    status: bytes, code: int
) -> None:
    shell, said = Shell(status), dict[int, bytes]()

    def write(number: int, data: bytes) -> None:
        said[number] = said.get(number, b"") + data

    async with listening(shell) as port:
        client = connect_to(
            Access(f"http://127.0.0.1:{port}"), clock=SystemClock(), random=Random(1)
        )
        command = Command("p", "ns", ["cat", "-"], container="c", stdin=True)
        assert await execute(client, command, Streams(write, words())) == code
    assert said == {1: b"hello there", 2: b"warn"}
    first = shell.head.splitlines()[0]
    assert first.startswith("GET /api/v1/namespaces/ns/pods/p/exec?command=cat&command=-&")
    assert "container=c&stdin=true&stdout=true&stderr=true" in first


async def test_a_connection_that_ends_early_tells_no_code() -> None:
    async with listening(Shell(b"")) as port:
        client = connect_to(
            Access(f"http://127.0.0.1:{port}"), clock=SystemClock(), random=Random(1)
        )
        streams = Streams(lambda number, data: None, words())
        with pytest.raises(BadAnswer, match="before the command did"):
            await execute(client, Command("p", "ns", ["cat"], stdin=True), streams)
