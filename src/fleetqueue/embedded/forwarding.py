"""Answers port-forward: carries connections between a client and the ports of a pod."""

import asyncio
import os
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from fleetqueue.apiserver import problems
from fleetqueue.apiserver.call import Call
from fleetqueue.apiserver.request import Response
from fleetqueue.embedded import channels, upgrading
from fleetqueue.embedded.channels import PORT_PROTOCOLS, TUNNEL, ChannelSocket, Protocol
from fleetqueue.embedded.places import Places
from fleetqueue.embedded.spdy import SpdyError
from fleetqueue.embedded.spdy_session import Session, Stream
from fleetqueue.kube.resources import Object
from fleetqueue.runtime.preparation import Sandbox

READ_BYTES_MAX = 64 * 1024
PAIR_SECONDS_MAX = 30.0
SPDY_PROTOCOL = "portforward.k8s.io"


class Broken(Exception):
    """A connection could not be made, or broke; the text says why."""


class Ports:
    """The ports of one pod."""

    def __init__(self, pod: Object, places: Places) -> None:
        self._pod = pod
        self._places = places

    def sandbox(self) -> Sandbox | None:
        worker = self._places.find(self._pod)
        return getattr(worker, "sandbox", None)

    async def connect(self, port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        sandbox = self.sandbox()
        if sandbox is None:
            raise Broken("the pod does not run")
        used = used_port(self._pod, sandbox, port)
        try:
            return await asyncio.open_connection(sandbox.address, used)
        except OSError as error:
            where = f"{sandbox.address}:{used}"
            words = os.strerror(error.errno).lower() if error.errno else str(error)
            why = f"dial tcp4 {where}: connect: {words}"
            raise Broken(f"failed to connect to {where} inside the pod: {why}") from error

    def failure(self, port: int, why: Exception) -> str:
        name, uid = (self._pod["metadata"][field] for field in ("name", "uid"))
        return f"error forwarding port {port} to pod {name}, uid {uid}: {why}"


def used_port(pod: Object, sandbox: Sandbox, port: int) -> int:
    """Processes of several pods share one machine, so a port may have another number there."""
    for container in pod["spec"]["containers"]:
        named = sandbox.named_ports.get(container["name"]) or {}
        for declared in container.get("ports") or ():
            if declared.get("containerPort") == port and declared.get("name") in named:
                return sandbox.port(int(named[declared["name"]]))
    return sandbox.port(port)


Receive = Callable[[], Awaitable[bytes]]
Send = Callable[[bytes], Awaitable[None]]


async def carry(ports: Ports, port: int, receive: Receive, send: Send) -> None:
    """One connection, until the pod's side of it ends. `receive` gives nothing at the end."""
    reader, writer = await ports.connect(port)

    async def to_pod() -> None:
        while data := await receive():
            writer.write(data)
            await writer.drain()
        writer.write_eof()

    async def from_pod() -> None:
        while data := await reader.read(READ_BYTES_MAX):
            await send(data)

    inward = asyncio.create_task(to_pod())
    outward = asyncio.create_task(from_pod())
    try:
        await asyncio.wait((inward, outward), return_when=asyncio.FIRST_COMPLETED)
        if not outward.done():
            inward.result()
        await outward
    except OSError as error:
        raise Broken(error.strerror or str(error)) from error
    finally:
        for task in (inward, outward):
            task.cancel()
        await asyncio.gather(inward, outward, return_exceptions=True)
        writer.close()


async def answer(call: Call, pod: Object, places: Places) -> Response:
    how = upgrading.wanted_upgrade(call.request)
    ports = Ports(pod, places)
    if how != "websocket":
        return _over_spdy(call, ports)
    names = channels.offered(call.request.headers)
    if channels.asks_for_tunnel(names):
        return _over_tunnel(names, ports)
    protocol = channels.negotiate(names, PORT_PROTOCOLS)
    if protocol is None:
        raise channels.refuse(names, PORT_PROTOCOLS)
    return _over_channels(protocol, asked_ports(call), ports)


def asked_ports(call: Call) -> list[int]:
    texts = [text for value in call.request.query.get("ports") or () for text in value.split(",")]
    if not texts:
        raise problems.bad_request('query parameter "port" is required')
    for text in texts:
        if not text.isdecimal() or int(text) > 65535:
            raise problems.bad_request(f'unable to parse "{text}" as a port')
        if int(text) < 1:
            raise problems.bad_request(f'port "{text}" must be > 0')
    return [int(text) for text in texts]


# Channels: two for each port, whose first message on each names the port


def _over_channels(protocol: Protocol, numbers: list[int], ports: Ports) -> Response:
    async def upgrade(incoming: Any) -> Any:
        response = await upgrading.open_websocket(incoming, protocol.name)
        with suppress(ConnectionError):
            await forward_channels(ChannelSocket(response, protocol), numbers, ports)
        await response.close()
        return response

    return Response(101, upgrade=upgrade)


async def forward_channels(socket: ChannelSocket, numbers: list[int], ports: Ports) -> None:
    inputs: list[asyncio.Queue[bytes]] = [asyncio.Queue(1) for _ in numbers]
    for index, port in enumerate(numbers):
        for channel in (2 * index, 2 * index + 1):
            await socket.send(channel, port.to_bytes(2, "little"))

    async def read() -> None:
        while (received := await socket.receive()) is not None:
            channel, data = received
            if data and channel % 2 == 0 and channel // 2 < len(inputs):
                await inputs[channel // 2].put(data)

    async def one(index: int, port: int) -> None:
        try:
            await carry(ports, port, inputs[index].get, lambda data: socket.send(2 * index, data))
        except Broken as why:
            await socket.send(2 * index + 1, ports.failure(port, why).encode())

    async def all_ports() -> None:
        await asyncio.gather(*(one(index, port) for index, port in enumerate(numbers)))

    await _until_first(read(), all_ports())


async def _until_first(*works: Coroutine[Any, Any, None]) -> None:
    tasks = [asyncio.create_task(work) for work in works]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


# SPDY: two streams for each connection, in a WebSocket or by itself


@dataclass(slots=True)
class Pair:
    """The streams of one connection, until both have come."""

    error: Stream | None = None
    data: Stream | None = None


class Forwarder:
    """Connections over the streams of a SPDY session."""

    def __init__(self, send: Send, ports: Ports) -> None:
        self.session = Session(send, self._open)
        self._ports = ports
        self._pairs: dict[str, Pair] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self.session.close()

    def _open(self, stream: Stream) -> str:
        kind, port = stream.headers.get("streamtype", ""), stream.headers.get("port", "")
        if not port.isdecimal() or not 0 < int(port) < 65536:
            return f'unable to parse "{port}" as a port'
        if kind not in ("error", "data"):
            return f'invalid stream type "{kind}"'
        id = _request_id(stream, kind)
        pair = self._pairs.setdefault(id, Pair())
        if getattr(pair, kind) is not None:
            return f"{kind} stream already assigned"
        setattr(pair, kind, stream)
        if pair.error is not None and pair.data is not None:
            del self._pairs[id]
            self._spawn(self._forward(pair.error, pair.data, int(port)))
        else:
            self._spawn(self._miss(id, pair))
        return ""

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _miss(self, id: str, pair: Pair) -> None:
        """The other stream of a pair does not come."""
        await asyncio.sleep(PAIR_SECONDS_MAX)
        if self._pairs.get(id) is pair:
            del self._pairs[id]
            if pair.error is not None:
                await pair.error.write(b"timed out waiting for streams")

    async def _forward(self, error: Stream, data: Stream, port: int) -> None:
        with suppress(ConnectionError):
            try:
                await carry(self._ports, port, data.read, data.write)
            except Broken as why:
                await error.write(self._ports.failure(port, why).encode())
                await data.reset()
                await error.reset()
            else:
                await data.close()
                await error.close()


def _request_id(stream: Stream, kind: str) -> str:
    """Old clients give none; they open both streams of a connection one after the other."""
    return stream.headers.get("requestid") or str(stream.id - (2 if kind == "data" else 0))


def _over_tunnel(names: list[str], ports: Ports) -> Response:
    if TUNNEL not in names:
        raise channels.refuse(names, (Protocol(TUNNEL),))

    async def upgrade(incoming: Any) -> Any:
        socket = await upgrading.open_websocket(incoming, TUNNEL)
        forwarder = Forwarder(socket.send_bytes, ports)
        try:
            with suppress(ConnectionError, SpdyError):
                async for message in socket:
                    if isinstance(message.data, bytes):
                        await forwarder.session.feed(message.data)
                    if forwarder.session.is_over:
                        break
        finally:
            await forwarder.close()
        await socket.close()
        return socket

    return Response(101, upgrade=upgrade)


def _over_spdy(call: Call, ports: Ports) -> Response:
    offered = call.request.headers.get("x-stream-protocol-version", "")
    if SPDY_PROTOCOL not in offered:
        raise channels.refuse([offered], (Protocol(SPDY_PROTOCOL),))

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async def send(data: bytes) -> None:
            writer.write(data)
            await writer.drain()

        forwarder = Forwarder(send, ports)
        try:
            with suppress(ConnectionError, SpdyError):
                while data := await reader.read(READ_BYTES_MAX):
                    await forwarder.session.feed(data)
        finally:
            await forwarder.close()

    async def upgrade(incoming: Any) -> Any:
        return await upgrading.take_raw(incoming, SPDY_PROTOCOL, serve)

    return Response(101, upgrade=upgrade)
