"""Port-forward between a client and ports of paper: pairs of streams, channels, and failures."""

import asyncio
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from fleetqueue.apiserver.problems import ApiError
from fleetqueue.apiserver.request import Request
from fleetqueue.embedded import forwarding, spdy
from fleetqueue.embedded.forwarding import Broken, Forwarder, Ports, asked_ports, used_port
from fleetqueue.embedded.spdy import Data, Reset, SynReply, SynStream
from fleetqueue.runtime.preparation import Sandbox

pytestmark = pytest.mark.rule("jobs C.9")
POD: dict[str, Any] = {
    "metadata": {"name": "p", "uid": "u"},
    "spec": {"containers": [{"name": "c", "ports": [{"name": "http", "containerPort": 80}]}]},
}
FAILURE = b"error forwarding port 81 to pod p, uid u: nobody listens"


class PaperWriter:
    """Where the pod reads."""

    def __init__(self) -> None:
        self.written = b""
        self.has_ended = asyncio.Event()
        self.is_closed = False

    def write(self, data: bytes) -> None:
        self.written += data

    async def drain(self) -> None: ...

    def write_eof(self) -> None:
        self.has_ended.set()

    def close(self) -> None:
        self.is_closed = True


class PaperPorts(Ports):
    """A pod that listens at port 80."""

    def __init__(self) -> None:
        self._pod = POD
        self.reader = asyncio.StreamReader()
        self.writer = PaperWriter()

    async def connect(self, port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if port != 80:
            raise Broken("nobody listens")
        return self.reader, self.writer  # type: ignore[return-value]


class Tunnel:
    """A client of SPDY."""

    def __init__(self) -> None:
        self.ports = PaperPorts()
        self._encoder, self._decoder = spdy.Encoder(), spdy.Decoder()
        self.received: list[spdy.Frame] = []
        self._grown = asyncio.Event()
        self.forwarder = Forwarder(self._hear, self.ports)

    async def say(self, *frames: spdy.Frame) -> None:
        await self.forwarder.session.feed(b"".join(map(self._encoder.encode, frames)))

    async def open(self, port: int = 80, first: int = 1, **more: str) -> None:
        headers = {"port": str(port), **more}
        await self.say(
            SynStream(first, {"streamtype": "error", **headers}, is_last=True),
            SynStream(first + 2, {"streamtype": "data", **headers}),
        )

    async def _hear(self, data: bytes) -> None:
        self.received += self._decoder.feed(data)
        self._grown.set()

    async def heard(self, frame: spdy.Frame) -> None:
        async with asyncio.timeout(10):
            while frame not in self.received:
                await self._grown.wait()
                self._grown.clear()


@pytest.fixture
async def tunnel() -> Tunnel:
    return Tunnel()


@pytest.mark.parametrize("request_id", [{"requestid": "7"}, {}], ids=["named", "of an old client"])
async def test_a_pair_of_streams_is_a_connection(
    tunnel: Tunnel, request_id: dict[str, str]
) -> None:
    await tunnel.open(**request_id)
    await tunnel.say(Data(3, b"GET / HTTP/1.0\r\n\r\n"))
    tunnel.ports.reader.feed_data(b"HTTP/1.0 200 OK\r\n")
    await tunnel.heard(Data(3, b"HTTP/1.0 200 OK\r\n"))
    await tunnel.say(Data(3, b"", is_last=True))
    await tunnel.ports.writer.has_ended.wait()
    assert tunnel.ports.writer.written == b"GET / HTTP/1.0\r\n\r\n"
    tunnel.ports.reader.feed_eof()
    await tunnel.heard(Data(1, b"", is_last=True))
    assert tunnel.received == [
        SynReply(1, {}),
        SynReply(3, {}),
        Data(3, b"HTTP/1.0 200 OK\r\n"),
        Data(3, b"", is_last=True),
        Data(1, b"", is_last=True),
    ]
    assert tunnel.ports.writer.is_closed
    await tunnel.forwarder.close()


async def test_the_pod_can_end_a_connection_first(tunnel: Tunnel) -> None:
    await tunnel.open()
    tunnel.ports.reader.feed_eof()
    await tunnel.heard(Data(1, b"", is_last=True))
    assert tunnel.ports.writer.is_closed
    await tunnel.forwarder.close()


async def test_a_port_where_nobody_listens_is_told(tunnel: Tunnel) -> None:
    await tunnel.open(81)
    await tunnel.heard(Reset(1, spdy.CANCEL))
    assert tunnel.received[2:] == [
        Data(1, FAILURE),
        Reset(3, spdy.CANCEL),
        Reset(1, spdy.CANCEL),
    ]
    await tunnel.forwarder.close()


# fmt: off
REFUSED = {
    "no port":            {"streamtype": "data"},
    "a port of nowhere":  {"streamtype": "data", "port": "70000"},
    "no number":          {"streamtype": "data", "port": "http"},
    "no kind":            {"port": "80"},
    "another kind":       {"streamtype": "stdin", "port": "80"},
}
# fmt: on


@pytest.mark.parametrize("headers", REFUSED.values(), ids=REFUSED.keys())
async def test_streams_without_sense_are_reset(tunnel: Tunnel, headers: dict[str, str]) -> None:
    await tunnel.say(SynStream(1, headers))
    assert tunnel.received == [Reset(1, spdy.CANCEL)]
    await tunnel.forwarder.close()


async def test_a_stream_whose_other_does_not_come_is_given_up(
    tunnel: Tunnel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(forwarding, "PAIR_SECONDS_MAX", 0.0)
    await tunnel.say(SynStream(1, {"streamtype": "error", "port": "80", "requestid": "0"}))
    await tunnel.heard(Data(1, b"timed out waiting for streams"))
    await tunnel.forwarder.close()


async def test_connections_end_with_their_tunnel(tunnel: Tunnel) -> None:
    await tunnel.open()
    await asyncio.sleep(0)
    await tunnel.forwarder.close()
    assert not tunnel.forwarder.session.streams


class PaperSocket:
    """A client of channels."""

    def __init__(self) -> None:
        self._received: asyncio.Queue[tuple[int, bytes | None] | None] = asyncio.Queue()
        self.sent: list[tuple[int, bytes]] = []

    def say(self, channel: int, data: bytes) -> None:
        self._received.put_nowait((channel, data))

    def leave(self) -> None:
        self._received.put_nowait(None)

    async def receive(self) -> tuple[int, bytes | None] | None:
        return await self._received.get()

    async def send(self, channel: int, data: bytes) -> None:
        self.sent.append((channel, data))


@pytest.fixture
def socket() -> Iterator[PaperSocket]:
    return PaperSocket()


async def test_channels_begin_with_their_ports(socket: PaperSocket) -> None:
    ports = PaperPorts()
    ports.reader.feed_data(b"hello")
    ports.reader.feed_eof()
    await forwarding.forward_channels(socket, [80, 81], ports)  # type: ignore[arg-type]
    greeting = [(0, b"\x50\x00"), (1, b"\x50\x00"), (2, b"\x51\x00"), (3, b"\x51\x00")]
    assert socket.sent[:4] == greeting
    assert sorted(socket.sent[4:]) == [(0, b"hello"), (3, FAILURE)]


async def test_channels_end_when_the_client_leaves(socket: PaperSocket) -> None:
    ports = PaperPorts()
    socket.say(0, b"hi")
    socket.say(1, b"nobody reads errors")
    socket.say(9, b"nobody has this channel")
    socket.leave()
    await forwarding.forward_channels(socket, [80], ports)  # type: ignore[arg-type]
    assert ports.writer.is_closed


def call(*ports: str) -> Any:
    return SimpleNamespace(request=Request("GET", "/", {"ports": list(ports)} if ports else {}))


def test_ports_are_listed_either_way() -> None:
    assert asked_ports(call("80", "81")) == asked_ports(call("80,81")) == [80, 81]


@pytest.mark.parametrize("ports", [(), ("",), ("0",), ("70000",), ("http",)])
def test_ports_without_sense_are_refused(ports: tuple[str, ...]) -> None:
    with pytest.raises(ApiError) as refused:
        asked_ports(call(*ports))
    assert refused.value.code == 400


def test_a_named_port_is_reached_where_its_process_listens(tmp_path: Any) -> None:
    sandbox = Sandbox(tmp_path, "127.9.0.5", "127.0.0.1", {"c": {"http": 40123}})
    assert used_port(POD, sandbox, 80) == 40123
    assert used_port(POD, sandbox, 81) == 81
