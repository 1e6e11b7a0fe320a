"""The HTTP transport against small servers that misbehave on purpose, and through proxies."""

import asyncio
import gzip
import traceback
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from fleetqueue.base.clock import SystemClock
from fleetqueue.kube.client import Client
from fleetqueue.kube.connect import connect_to
from fleetqueue.kube.errors import Unavailable, Unreachable
from fleetqueue.kube.http_transport import HttpTransport, proxy_from_environment
from fleetqueue.kube.kubeconfig import Access
from fleetqueue.kube.resources import CONFIG_MAPS, SECRETS
from fleetqueue.kube.transport import Call

Handle = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
BODY = b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}'


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
            # One that is closed, and all of it sent, may be gone; asyncio cannot end that again.
            if not writer.is_closing() or writer.transport.get_write_buffer_size():
                writer.transport.abort()
        await asyncio.sleep(0)


@asynccontextmanager
async def calling(port: int, **parts: Any) -> AsyncIterator[HttpTransport]:
    transport = HttpTransport(Access(f"http://127.0.0.1:{port}", **parts), SystemClock())
    try:
        yield transport
    finally:
        await transport.close()


@asynccontextmanager
async def asking(port: int) -> AsyncIterator[Client]:
    access = Access(f"http://127.0.0.1:{port}")
    client = connect_to(access, clock=SystemClock(), random=Random(1))
    try:
        yield client
    finally:
        await client.close()


def answer(body: bytes, *headers: str, status: str = "200 OK") -> bytes:
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *headers, "", ""]
    return "\r\n".join(lines).encode() + body


async def request_of(reader: asyncio.StreamReader) -> str:
    return (await reader.readuntil(b"\r\n\r\n")).decode()


async def test_nobody_listening_means_nothing_was_sent() -> None:
    async with listening(lambda reader, writer: asyncio.sleep(0)) as port:
        pass
    async with calling(port) as transport:
        with pytest.raises(Unreachable) as caught:
            await transport.request(Call("GET", "/api"))

    assert not caught.value.sent


async def test_a_server_that_never_answers_is_given_up() -> None:
    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()

    async with listening(silent) as port, calling(port) as transport:
        with pytest.raises(Unreachable, match="no answer in time"):
            await transport.request(Call("GET", "/api", timeout_seconds=0.1))
        with pytest.raises(Unreachable, match="no answer in time"):
            await transport.stream(Call("GET", "/api", timeout_seconds=0.1))


async def test_an_answer_that_breaks_off_is_no_answer() -> None:
    async def half(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await request_of(reader)
        writer.write(answer(BODY)[:-10])

    async with listening(half) as port, calling(port) as transport:
        with pytest.raises(Unreachable) as caught:
            await transport.request(Call("POST", "/api", object={}))

    assert caught.value.sent


async def test_a_kept_connection_that_died_meanwhile_is_replaced() -> None:
    served = 0

    async def one_each(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal served
        await request_of(reader)
        served += 1
        writer.write(answer(BODY))
        await writer.drain()

    async with listening(one_each) as port, asking(port) as client:
        for _ in range(3):
            assert (await client.get(CONFIG_MAPS, "a"))["metadata"]["name"] == "a"

    assert served == 3


async def test_compressed_answers_are_read() -> None:
    async def zipped(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await request_of(reader)
        assert "accept-encoding: gzip" in head.lower()
        writer.write(answer(gzip.compress(BODY), "Content-Encoding: gzip"))

    async with listening(zipped) as port, asking(port) as client:
        assert (await client.get(CONFIG_MAPS, "a"))["kind"] == "ConfigMap"


async def test_warnings_of_the_answer_are_read() -> None:
    async def warning(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await request_of(reader)
        one, two = 'Warning: 299 - "say \\"this\\""', 'Warning: 299 - "and that"'
        writer.write(answer(BODY, one, two))

    async with listening(warning) as port, calling(port) as transport:
        found = await transport.request(Call("GET", "/api"))

    assert found.warnings == ['say "this"', "and that"]


async def test_a_redirect_is_not_followed() -> None:
    async def elsewhere(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await request_of(reader)
        writer.write(answer(b"", "Location: http://127.0.0.1:1/", status="302 Found"))

    async with listening(elsewhere) as port, calling(port) as transport:
        assert (await transport.request(Call("GET", "/api"))).status == 302


async def test_a_gateways_error_page_is_a_refusal() -> None:
    async def page(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await request_of(reader)
        writer.write(answer(b"<html>come back</html>", status="503 Service Unavailable"))

    async with listening(page) as port, asking(port) as client:
        with pytest.raises(Unavailable, match="come back"):
            await client.get(CONFIG_MAPS, "a")


async def test_a_watch_comes_line_by_line_and_breaks_with_an_error() -> None:
    event = b'{"type":"ADDED","object":' + BODY + b"}\n"

    async def stream(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await request_of(reader)
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        for part in (event[:10], event[10:] + event):
            writer.write(f"{len(part):x}\r\n".encode() + part + b"\r\n")
            await writer.drain()
            await asyncio.sleep(0.01)

    async with listening(stream) as port, asking(port) as client:
        watching = client.watch(CONFIG_MAPS, "ns")
        assert [(await anext(watching)).type for _ in range(2)] == ["ADDED", "ADDED"]
        with pytest.raises(Unreachable):
            await anext(watching)


async def test_abandoning_a_watch_closes_its_connection() -> None:
    closed = asyncio.Event()

    async def stream(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await request_of(reader)
        part = b'{"type":"ADDED","object":' + BODY + b"}\n"
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        writer.write(f"{len(part):x}\r\n".encode() + part + b"\r\n")
        await reader.read()
        closed.set()

    async with listening(stream) as port, asking(port) as client:
        watching = client.watch(CONFIG_MAPS, "ns")
        await anext(watching)
        await watching.aclose()  # type: ignore[attr-defined]
        async with asyncio.timeout(5):
            await closed.wait()


async def test_only_so_many_calls_are_under_way_at_once() -> None:
    busy = most = 0

    async def slow(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal busy, most
        while True:
            await request_of(reader)
            busy += 1
            most = max(most, busy)
            await asyncio.sleep(0.01)
            busy -= 1
            writer.write(answer(BODY))

    async with listening(slow) as port:
        transport = HttpTransport(Access(f"http://127.0.0.1:{port}"), SystemClock(), calls_max=3)
        await asyncio.gather(*[transport.request(Call("GET", "/api")) for _ in range(20)])
        await transport.close()

    assert most == 3


async def test_one_connection_serves_one_call_after_the_other() -> None:
    opened = 0

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal opened
        opened += 1
        while True:
            await request_of(reader)
            writer.write(answer(BODY))

    async with listening(serve) as port, calling(port) as transport:
        for _ in range(5):
            assert (await transport.request(Call("GET", "/api"))).payload.data == BODY
        await asyncio.gather(*[transport.request(Call("GET", "/api")) for _ in range(3)])

    assert opened == 3


async def test_a_body_without_a_length_ends_with_the_connection() -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await request_of(reader)
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n" + BODY)

    async with listening(serve) as port, calling(port) as transport:
        for _ in range(2):
            assert (await transport.request(Call("GET", "/api"))).payload.data == BODY


async def test_a_head_alone_is_read_where_nothing_more_was_asked_for() -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await request_of(reader)
        writer.write(answer(BODY)[: -len(BODY)])
        await reader.read()

    async with listening(serve) as port, calling(port) as transport:
        found = await transport.request(Call("HEAD", "/api"))

    assert (found.status, found.payload.data) == (200, b"")


async def test_an_interim_answer_is_not_the_answer() -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            await request_of(reader)
            writer.write(b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + answer(BODY, "X-A: b"))

    async with listening(serve) as port, calling(port) as transport:
        for _ in range(2):
            found = await transport.request(Call("GET", "/api"))
            assert (found.status, found.payload.data) == (200, BODY)
            assert (found.headers["x-a"], found.headers.get("link")) == ("b", None)


async def test_what_comes_unasked_answers_nothing() -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await request_of(reader)
        writer.write(answer(BODY))
        await writer.drain()
        await asyncio.sleep(0.02)
        writer.write(answer(b"{}", status="500 Unasked"))
        await reader.read()

    async with listening(serve) as port, calling(port) as transport:
        for _ in range(2):
            found = await transport.request(Call("POST", "/api", object={}))
            assert (found.status, found.payload.data) == (200, BODY)
            await asyncio.sleep(0.05)


async def test_a_call_that_was_given_up_does_not_answer_the_next() -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            head = await request_of(reader)
            if "/slow" in head:
                await asyncio.sleep(0.1)
            writer.write(answer(head.split()[1].encode()))

    async with listening(serve) as port, calling(port) as transport:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.02):
                await transport.request(Call("GET", "/slow"))
        assert (await transport.request(Call("GET", "/quick"))).payload.data == b"/quick"


async def test_what_is_no_http_is_no_answer() -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await request_of(reader)
        writer.write(b"220 mail.example.com ESMTP\r\n")
        await reader.read()

    async with listening(serve) as port, calling(port) as transport:
        with pytest.raises(Unreachable, match="no HTTP"):
            await transport.request(Call("GET", "/api"))


async def test_a_long_stream_that_nobody_reads_holds_its_server_back() -> None:
    sent, piece = 0, b"x" * 65536

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        await request_of(reader)
        writer.write(f"HTTP/1.1 200 OK\r\nContent-Length: {len(piece) * 1000}\r\n\r\n".encode())
        for _ in range(1000):
            writer.write(piece)
            await writer.drain()
            sent += len(piece)

    async with listening(serve) as port, calling(port) as transport:
        stream = await transport.stream(Call("GET", "/log"))
        await asyncio.sleep(0.3)
        assert sent < len(piece) * 500
        assert stream.chunks is not None
        assert sum([len(each) async for each in stream.chunks]) == len(piece) * 1000


async def test_a_value_cannot_begin_another_line() -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(answer((await request_of(reader)).encode()))

    async with listening(serve) as port, calling(port, token="a\r\nx-evil: 1") as transport:
        found = await transport.request(Call("GET", "/api"))

    assert b"\r\nx-evil" not in found.payload.data


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(65536):
        writer.write(data)
        await writer.drain()
    writer.close()


async def _join(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, host: str, port: int
) -> None:
    far_reader, far_writer = await asyncio.open_connection(host, port)
    await asyncio.gather(_pump(reader, far_writer), _pump(far_reader, writer))


async def test_an_http_proxy_is_asked_to_connect(access: Access) -> None:
    asked: list[str] = []

    async def proxy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await request_of(reader)
        asked.append(head.split("\r\n")[0])
        host, _, port = head.split()[1].partition(":")
        writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        await _join(reader, writer, host, int(port))

    await _list_through("http", proxy, access)

    address = access.server.removeprefix("https://")
    assert asked == [f"CONNECT {address} HTTP/1.1"]


@pytest.mark.parametrize("login", ["", "me:secret@"], ids=["open", "with a password"])
async def test_a_socks_proxy_is_given_the_servers_name(access: Access, login: str) -> None:
    asked: list[bytes] = []

    async def proxy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        _, count = await reader.readexactly(2)
        methods = await reader.readexactly(count)
        writer.write(bytes([5, max(methods)]))
        if max(methods) == 2:
            _, size = await reader.readexactly(2)
            user = await reader.readexactly(size)
            password = await reader.readexactly((await reader.readexactly(1))[0])
            writer.write(bytes([1, 0 if (user, password) == (b"me", b"secret") else 1]))
        *_, size = await reader.readexactly(5)
        host = await reader.readexactly(size)
        port = int.from_bytes(await reader.readexactly(2), "big")
        asked.append(host)
        writer.write(bytes([5, 0, 0, 1, 0, 0, 0, 0, 0, 0]))
        await _join(reader, writer, host.decode(), port)

    await _list_through("socks5", proxy, access, login)

    assert asked == [b"127.0.0.1"]


async def _list_through(scheme: str, proxy: Handle, access: Access, login: str = "") -> None:
    async with listening(proxy) as port:
        url = f"{scheme}://{login}127.0.0.1:{port}"
        client = connect_to(replace(access, proxy_url=url), clock=SystemClock(), random=Random(1))
        await client.list(SECRETS, "default")
        await client.close()


async def test_a_socks_proxy_that_refuses_says_why() -> None:
    async def proxy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readexactly(3)
        writer.write(bytes([5, 0]))
        await reader.readexactly(13)
        writer.write(bytes([5, 5, 0, 1]))

    async with listening(proxy) as port:
        transport = HttpTransport(
            Access("http://server:1", proxy_url=f"socks5://127.0.0.1:{port}"), SystemClock()
        )
        with pytest.raises(Unreachable, match="connection was refused") as caught:
            await transport.request(Call("GET", "/api"))
        await transport.close()

    assert not caught.value.sent


CALLS = {
    "request": HttpTransport.request,
    "stream": HttpTransport.stream,
    "upgrade": HttpTransport.upgrade,
}


@pytest.mark.parametrize("ask", CALLS.values(), ids=CALLS.keys())
@pytest.mark.parametrize("status", [407, 503])
async def test_a_proxy_that_refuses_is_told_of_without_its_password(ask: Any, status: int) -> None:
    async def proxy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await request_of(reader)
        writer.write(b"HTTP/1.1 %d No\r\nContent-Length: 0\r\n\r\n" % status)

    async with listening(proxy) as port:
        said = await _failure(ask, f"http://bob:hunter2@127.0.0.1:{port}")

    assert f"the proxy answered with {status}" in said
    assert "hunter2" not in said


# fmt: off
NO_PROXIES = {
    "a port that is no number": "http://bob:hunter2@proxy:port",
    "a port out of range":      "http://bob:hunter2@proxy:99999",
    "half an address":          "http://bob:hunter2@[fd00::1",
    "half a password":          "http://bob:hunter2/more@proxy:1",
    "the same for SOCKS":       "socks5://bob:hunter2/more@proxy:1",
}
# fmt: on


@pytest.mark.parametrize("ask", CALLS.values(), ids=CALLS.keys())
@pytest.mark.parametrize("proxy", NO_PROXIES.values(), ids=NO_PROXIES.keys())
async def test_an_address_of_a_proxy_that_is_none_is_not_repeated(ask: Any, proxy: str) -> None:
    said = await _failure(ask, proxy)

    assert "the proxy's address is no URL" in said
    assert "hunter2" not in said


async def _failure(ask: Any, proxy: str) -> str:
    """All that a log would say."""
    transport = HttpTransport(Access("https://server:1", proxy_url=proxy), SystemClock())
    with pytest.raises(Unreachable) as caught:
        await ask(transport, Call("GET", "/api"))
    await transport.close()
    return "".join(traceback.format_exception(caught.value))


# fmt: off
ENVIRONMENTS: dict[str, tuple[dict[str, str], str, str | None]] = {
    "none":            ({}, "https://host", None),
    "for https":       ({"HTTPS_PROXY": "http://p:1"}, "https://host", "http://p:1"),
    "only for http":   ({"HTTP_PROXY": "http://p:1"}, "https://host", None),
    "not for this":    ({"HTTPS_PROXY": "http://p:1", "NO_PROXY": "host"}, "https://host", None),
    "never loopback":  ({"HTTPS_PROXY": "http://p:1"}, "https://127.0.0.1:6443", None),
    "never localhost": ({"HTTPS_PROXY": "http://p:1"}, "https://localhost", None),
}
# fmt: on


@pytest.mark.parametrize(
    ("environ", "server", "proxy"), ENVIRONMENTS.values(), ids=ENVIRONMENTS.keys()
)
def test_proxies_of_the_environment(
    environ: dict[str, str], server: str, proxy: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    for name, value in environ.items():
        monkeypatch.setenv(name, value)

    assert proxy_from_environment(server) == proxy
