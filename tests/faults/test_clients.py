"""Slow, broken and hostile clients over real HTTPS: they hurt themselves alone."""

import asyncio
import os
import socket
import ssl
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from faults import raw
from faults.raw import Target
from fleetqueue.apiserver import connection, feed
from fleetqueue.apiserver.access.certificates import Authority
from fleetqueue.base.clock import SystemClock
from support.processes import resident_bytes

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
MEGABYTE = 1024 * 1024


Hasten = Callable[[str], None]


@pytest.fixture
async def target(tmp_path: Path) -> AsyncIterator[Target]:
    async with raw.target(tmp_path) as running:
        yield running


@pytest.fixture
def hasten(monkeypatch: pytest.MonkeyPatch) -> Hasten:
    """The server loses patience in a second, in one way, where it usually waits a minute."""

    def hasten(limit: str) -> None:
        monkeypatch.setattr(connection, limit, 1.0)

    return hasten


async def until(is_so: Callable[[], bool], seconds: float = raw.DEADLINE_SECONDS) -> None:
    async with asyncio.timeout(seconds):
        while not is_so():  # noqa: ASYNC110 - what it waits for has no event
            await asyncio.sleep(0.02)


# Clients that are slow


def stop_reading(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Nor does this machine's kernel read ahead for it."""
    plain = writer.get_extra_info("socket")
    plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 64 * 1024)
    reader._transport.pause_reading()  # type: ignore[attr-defined]


async def test_a_watcher_that_never_reads_is_cut_off_and_delays_nobody(
    target: Target, hasten: Hasten
) -> None:
    hasten("STALLED_SECONDS")
    async with raw.connection(target) as (reader, writer):
        writer.write(target.head("GET", f"{CONFIG_MAPS}?watch=true"))
        await until(lambda: target.watches == 1)
        stop_reading(reader, writer)
        for number in range(40):
            async with asyncio.timeout(5):
                assert await target.create(f"big-{number}", 400_000) == 201
        await until(lambda: target.watches == 0)


async def test_a_watcher_that_falls_behind_is_closed_before_it_costs_much(
    target: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feed, "QUEUE_BYTES_MAX", 2 * MEGABYTE)
    async with raw.connection(target) as (reader, writer):
        writer.write(target.head("GET", f"{CONFIG_MAPS}?watch=true"))
        await until(lambda: target.watches == 1)
        (watcher,) = target.running.instance.core.feed._of("configmaps")
        stop_reading(reader, writer)
        for number in range(30):
            assert await target.create(f"big-{number}", 400_000) == 201
        assert watcher.is_closed
        assert not watcher._frames


async def test_a_client_that_does_not_fetch_its_list_is_cut_off(
    target: Target, hasten: Hasten
) -> None:
    for number in range(40):
        assert await target.create(f"big-{number}", 500_000) == 201
    await until(lambda: target.running.door.connections == 0)
    hasten("STALLED_SECONDS")
    async with raw.connection(target) as (reader, writer):
        stop_reading(reader, writer)
        await until(lambda: target.running.door.connections == 1)
        writer.write(target.head("GET", CONFIG_MAPS))
        await until(lambda: target.running.door.connections == 0)


@pytest.mark.parametrize(
    "start",
    [b"", b"GET / HTTP/1.1\r\nHost: x\r\nX-Slow: ", b"G"],
    ids=["nothing", "half a head", "a letter"],
)
async def test_a_head_that_never_ends_is_cut_off(
    target: Target, hasten: Hasten, start: bytes
) -> None:
    hasten("KEEPALIVE_SECONDS")
    async with raw.connection(target) as (reader, writer):
        writer.write(start)
        drip = asyncio.create_task(_drip(writer, b"a" if len(start) > 1 else b""))
        assert await raw.ended(reader) == b""
        drip.cancel()


async def test_a_body_that_never_ends_is_cut_off(target: Target, hasten: Hasten) -> None:
    hasten("BODY_SECONDS")
    async with raw.connection(target) as (reader, writer):
        writer.write(target.head("POST", CONFIG_MAPS, "Content-Length: 1000") + b'{"metadata":')
        status, body = raw.split(await raw.ended(reader))
        assert status == 400
        assert b"did not arrive in time" in body


async def _drip(writer: asyncio.StreamWriter, letter: bytes) -> None:
    while True:
        await asyncio.sleep(0.2)
        writer.write(letter)


# Clients that send rubbish


@pytest.mark.parametrize(
    ("sent", "statuses"),
    [
        (b"\x00\x01\x02garbage\r\n\r\n", (400,)),
        (b"GET / HTTP/1.1\r\nHost: x\r\n\r\n\xff\xfe\xfdrubbish\r\n\r\n", (400, 403)),
        (b"GET / HTTP/9.9\r\nHost: x\r\n\r\n", (400, 403, 505)),
        (b"GET  HTTP/1.1\r\n\r\n", (400,)),
        (b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n", (400,)),
        (b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", (400,)),
        (b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", (400,)),
        (b"GET /%zz%00 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", (400, 403)),
        (b"GET / HTTP/1.1\r\nX: " + b"a" * 200_000 + b"\r\n\r\n", (400, 431)),
        (b"GET /" + b"a" * 200_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n", (431,)),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", (400, 403, 505)),
    ],
)  # fmt: skip
async def test_rubbish_is_refused_and_the_server_goes_on(
    target: Target, sent: bytes, statuses: tuple[int, ...]
) -> None:
    async with raw.connection(target) as (reader, writer):
        writer.write(sent)
        status, _ = raw.split(await raw.ended(reader))
        assert status in statuses
    assert (await target.send("GET", "/readyz"))[0] == 200


async def test_plain_http_and_bad_tls_on_the_port_are_dropped(target: Target) -> None:
    for sent in (b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", os.urandom(2000), b"\x16\x03\x01\xff\xff"):
        reader, writer = await asyncio.open_connection("127.0.0.1", target.port)
        writer.write(sent)
        if sent[0] != 0x16:
            assert b"200" not in await raw.ended(reader)
        writer.transport.abort()
    assert (await target.send("GET", "/readyz"))[0] == 200


# Bodies that are too much


@pytest.mark.parametrize("framing", ["length", "chunked", "announced only"])
async def test_a_body_over_three_mebibytes_is_refused_with_413(
    target: Target, framing: str
) -> None:
    size = 3 * MEGABYTE + 1
    async with raw.connection(target) as (reader, writer):
        headers = {"chunked": "Transfer-Encoding: chunked"}.get(framing, f"Content-Length: {size}")
        writer.write(target.head("POST", CONFIG_MAPS, headers))
        if framing == "length":
            writer.write(b"x" * size)
        elif framing == "chunked":
            writer.write(b"%x\r\n%b\r\n0\r\n\r\n" % (size, b"x" * size))
        status, body = raw.split(await raw.ended(reader))
        assert status == 413
        assert b'"message":"Request entity too large: limit is 3145728"' in body


@pytest.mark.parametrize("depth", [1_000, 9_000, 100_000, 1_000_000])
@pytest.mark.parametrize(
    ("kind", "opening", "closing"),
    [
        ("application/json", b'{"a":', b"}"),
        ("application/json", b"[", b"]"),
        ("application/yaml", b"{a: ", b"}"),
        ("application/yaml", b"[", b"]"),
        ("application/yaml", b"- ", b""),
        ("application/apply-patch+yaml", b'{"a":', b"}"),
        ("application/merge-patch+json", b'{"a":', b"}"),
        ("application/strategic-merge-patch+json", b'{"a":', b"}"),
        ("application/json-patch+json", b"[", b"]"),
        ("application/vnd.kubernetes.protobuf", b"k8s\0\x0a", b"\x0a"),
    ],
)
async def test_deep_nesting_is_refused(
    target: Target, kind: str, opening: bytes, closing: bytes, depth: int
) -> None:
    levels = min(depth, 3 * MEGABYTE // (len(opening) + len(closing) + 1))
    body = opening * levels + b"1" + closing * levels
    if "patch" in kind:
        assert await target.create("patched") == 201
        path = f"{CONFIG_MAPS}/patched?fieldManager=me"
        status, answer = await target.send("PATCH", path, body, f"Content-Type: {kind}")
    else:
        status, answer = await target.send("POST", CONFIG_MAPS, body, f"Content-Type: {kind}")
    assert status in (400, 413, 422), answer[:500]


async def test_a_compressed_body_is_not_unfolded(target: Target) -> None:
    import gzip

    bomb = gzip.compress(b'{"metadata":{"name":"a"},"data":{"x":"' + b"a" * 50 * MEGABYTE + b'"}}')
    before = resident_bytes(os.getpid())
    status, _ = await target.send("POST", CONFIG_MAPS, bomb, "Content-Encoding: gzip")
    assert status == 400
    assert resident_bytes(os.getpid()) - before < 60 * MEGABYTE


async def test_aliases_that_unfold_into_gigabytes_are_refused(target: Target) -> None:
    lines = [b"a0: &a0 [x,x,x,x,x,x,x,x,x,x]"]
    lines += [b"a%d: &a%d [%b]" % (n, n, b",".join([b"*a%d" % (n - 1)] * 10)) for n in range(1, 12)]
    status, answer = await target.send(
        "POST", CONFIG_MAPS, b"\n".join(lines), "Content-Type: application/yaml"
    )
    assert status == 400
    assert b"excessive aliasing" in answer


# Many clients


async def test_a_thousand_connections_opened_and_dropped_leave_nothing(target: Target) -> None:
    context = target.context()
    for _ in range(10):
        await asyncio.gather(*(_open_and_drop(target, context, n) for n in range(100)))
    await until(lambda: target.watches == 0)
    await until(lambda: target.running.door.connections == 0)
    assert (await target.send("GET", "/readyz"))[0] == 200


async def _open_and_drop(target: Target, context: ssl.SSLContext, number: int) -> None:
    if number % 4 == 0:
        _, plain = await asyncio.open_connection("127.0.0.1", target.port)
        plain.transport.abort()
        return
    _, writer = await target.connect(context)
    if number % 4 == 1:
        writer.write(target.head("GET", f"{CONFIG_MAPS}?watch=true"))
    elif number % 4 == 2:
        writer.write(target.head("POST", CONFIG_MAPS, "Content-Length: 99") + b"{")
    await writer.drain()
    writer.transport.abort()


async def test_a_hundred_watchers_that_come_and_go_are_all_forgotten(target: Target) -> None:
    context = target.context()

    async def watch(number: int) -> None:
        async with raw.connection(target, context) as (reader, writer):
            writer.write(target.head("GET", f"{CONFIG_MAPS}?watch=true"))
            await reader.readuntil(b"}\n")
            if number % 2:
                writer.close()

    assert await target.create("seen") == 201
    for turn in range(3):
        watchers = [asyncio.create_task(watch(number)) for number in range(100)]
        assert await target.create(f"churn-{turn}") == 201
        await asyncio.gather(*watchers)
    await until(lambda: target.watches == 0)
    _, metrics = await target.send("GET", "/metrics")
    assert b'apiserver_longrunning_requests{verb="WATCH"} 0' in metrics


async def test_a_client_certificate_of_another_authority_is_refused(
    target: Target, tmp_path: Path
) -> None:
    stranger = Authority.load_or_create(tmp_path / "elsewhere", SystemClock())
    stranger.client("admin", "kubernetes-admin", ("system:masters",))
    context = target.context()
    context.load_cert_chain(
        tmp_path / "elsewhere" / "admin.crt", tmp_path / "elsewhere" / "admin.key"
    )
    try:
        async with raw.connection(target, context) as (reader, writer):
            writer.write(target.head("GET", "/api/v1/secrets", "Connection: close", token=""))
            status, _ = raw.split(await raw.ended(reader))
    except (ssl.SSLError, ConnectionError):
        status = 0
    assert status in (0, 401)
