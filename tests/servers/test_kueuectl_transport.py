"""kueuectl's own way to speak HTTP: the same answers as the full one gives."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from random import Random

import pytest

from fleetqueue.base.clock import SystemClock
from fleetqueue.cli.kueuectl.transport import PlainTransport, transport_for
from fleetqueue.kube.client import Client
from fleetqueue.kube.errors import AlreadyExists, BadAnswer, NotFound, Unreachable
from fleetqueue.kube.http_transport import HttpTransport
from fleetqueue.kube.kubeconfig import Access
from fleetqueue.kube.resources import CONFIG_MAPS
from fleetqueue.kube.transport import Call
from fleetqueue.testing import config_map

pytestmark = pytest.mark.rule("kueue 11.4")


@asynccontextmanager
async def plain(access: Access) -> AsyncIterator[Client]:
    client = Client(PlainTransport(access, SystemClock(), "tests"), random=Random(1))
    try:
        yield client
    finally:
        await client.close()


async def test_objects_are_written_and_read(access: Access, namespace: str) -> None:
    async with plain(access) as client:
        big = "x" * 900_000
        obj = config_map("one", namespace=namespace, data={"big": big})
        await client.create(obj)
        with pytest.raises(AlreadyExists):
            await client.create(obj)
        found = await client.list(CONFIG_MAPS, namespace, field_selector="metadata.name=one")
        assert [each["data"]["big"] == big for each in found.items] == [True]
        await client.patch(CONFIG_MAPS, "one", {"data": {"big": "ß"}}, namespace)
        assert (await client.get(CONFIG_MAPS, "one", namespace))["data"] == {"big": "ß"}
        await client.delete(CONFIG_MAPS, "one", namespace)
        with pytest.raises(NotFound):
            await client.get(CONFIG_MAPS, "one", namespace)


async def test_a_watch_is_left_to_the_full_transport(access: Access, namespace: str) -> None:
    async with plain(access) as client:
        await client.create(config_map("one", namespace=namespace))
        async for event in client.watch(CONFIG_MAPS, namespace, field_selector="metadata.name=one"):
            assert event.object["metadata"]["name"] == "one"
            break


def test_a_server_behind_a_proxy_is_left_to_the_full_transport() -> None:
    clock, access = SystemClock(), Access("https://a")
    assert isinstance(transport_for(access, clock, {}, "x"), PlainTransport)
    proxied = transport_for(access, clock, {"HTTPS_PROXY": "http://p"}, "x")
    assert isinstance(proxied, HttpTransport)
    behind = Access("https://a", proxy_url="http://p")
    assert isinstance(transport_for(behind, clock, {}, "x"), HttpTransport)


@asynccontextmanager
async def answering(*answers: bytes) -> AsyncIterator[tuple[Access, Sequence[bytes]]]:
    """A server that says one thing on each connection, and hangs up."""
    waiting, asked = list(answers), []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(waiting.pop(0))
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        yield Access(f"http://127.0.0.1:{port}/base/", token="t"), asked


async def test_an_answer_may_end_with_its_connection() -> None:
    said = b'HTTP/1.1 200 OK\r\nWarning: 299 - "old"\r\nConnection: close\r\n\r\n{}'
    async with answering(said) as (access, asked):
        transport = PlainTransport(access, SystemClock(), "tests")
        answer = await transport.request(Call("GET", "/x", [("a", "b c")]))
        await transport.close()
    assert (answer.status, answer.payload.decoded(), answer.warnings) == (200, {}, ["old"])
    head = asked[0].decode().split("\r\n")
    assert head[0] == "GET /base/x?a=b+c HTTP/1.1"
    assert "authorization: Bearer t" in head


@pytest.mark.parametrize(
    ("said", "error"),
    [
        (b"", Unreachable),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{}", Unreachable),
        (b"220 mail.example.com\r\n", BadAnswer),
    ],
)
async def test_what_is_no_answer_is_told(said: bytes, error: type[Exception]) -> None:
    async with answering(said) as (access, _):
        transport = PlainTransport(access, SystemClock(), "tests")
        with pytest.raises(error):
            await transport.request(Call("GET", "/x"))
        await transport.close()


async def test_nobody_waits_for_ever() -> None:
    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    server = await asyncio.start_server(silent, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        transport = PlainTransport(Access(f"http://127.0.0.1:{port}"), SystemClock(), "tests")
        with pytest.raises(Unreachable, match="no answer in time"):
            await transport.request(Call("GET", "/x", timeout_seconds=0.05))
        await transport.close()
    with pytest.raises(Unreachable, match="cannot connect"):
        await transport.request(Call("GET", "/x"))
