"""Answers exec and attach: connects a client to a new process in a container or its main one."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from typing import Any

from fleetqueue.apiserver import problems
from fleetqueue.apiserver.call import Call
from fleetqueue.apiserver.request import Response
from fleetqueue.embedded import channels, upgrading
from fleetqueue.embedded import command_statuses as statuses
from fleetqueue.embedded.channels import COMMAND_PROTOCOLS, V5, ChannelSocket, Protocol
from fleetqueue.embedded.command_peers import RESIZE, ChannelPeer, Peer, SpdyPeer
from fleetqueue.embedded.conversations import Conversation, Gone, Wanted, wanted_of
from fleetqueue.embedded.places import Places, container_of
from fleetqueue.embedded.spdy import SpdyError
from fleetqueue.embedded.spdy_session import Session
from fleetqueue.kube.resources import Object
from fleetqueue.runtime.processes import CannotStart, Process

STREAMS_SECONDS_MAX = 30.0
LINGERING_SECONDS = 2.0
READ_BYTES_MAX = 64 * 1024
SPDY_PROTOCOLS = ("v4.channel.k8s.io", "v3.channel.k8s.io", "v2.channel.k8s.io", "channel.k8s.io")
PLAIN = "text/plain; charset=utf-8"


class NotConnected(Exception):
    """There is nothing to connect to; the text says why."""


async def answer(call: Call, pod: Object, places: Places) -> Response:
    how = upgrading.wanted_upgrade(call.request)
    wanted = wanted_of(call.request)
    session = CommandSession(call, pod, places)
    if how == "websocket":
        return await _over_websocket(call, session, wanted)
    return await _over_spdy(call, session, wanted)


class CommandSession:
    """One exec or attach."""

    def __init__(self, call: Call, pod: Object, places: Places) -> None:
        self._pod = pod
        self._places = places
        self._container = container_of(call, pod)
        self._argv = list(call.request.query.get("command") or ())
        self._attaches = call.route.subresource == "attach"
        if not self._attaches and not self._argv:
            raise problems.bad_request("you must specify at least one command for the container")

    def process(self) -> Process:
        name = self._container["name"]
        worker = self._places.worker(self._pod, name)
        if worker is not None and worker.process is not None:
            return worker.process
        if self._attaches:
            metadata = self._pod["metadata"]
            where = f"{metadata['name']}_{metadata['namespace']}"
            raise NotConnected(f"container {name} not found in pod {where}")
        raise NotConnected(f'container not found ("{name}")')

    async def talk(self, peer: Peer, wanted: Wanted, *, is_nested: bool = False) -> None:
        """Until the process or the client ends it."""
        process = self.process()
        if self._attaches:
            await self._attach(process, peer, wanted)
            return
        try:
            await self._execute(process, peer, wanted)
        except CannotStart as error:
            await peer.finish(statuses.not_started(str(error), is_nested=is_nested))

    async def _execute(self, process: Process, peer: Peer, wanted: Wanted) -> None:
        pod_worker = self._places.find(self._pod)
        assert pod_worker is not None
        command = await pod_worker.preparation.hook(
            pod_worker.pod, self._container, self._argv, pod_worker.sandbox
        )
        env = {"TERM": "xterm", **command.env} if wanted.tty else command.env
        command = replace(command, env=env, tty=wanted.tty, stdin=wanted.stdin)
        executed, streams = await process.execute(command)
        try:
            exit = await Conversation(peer, streams, wanted).until_end(executed.wait())
            await peer.finish(statuses.of_exit(exit))
        finally:
            streams.close()
            # Where the client left, nobody wants what it began.
            executed.kill()

    async def _attach(self, process: Process, peer: Peer, wanted: Wanted) -> None:
        spec = self._container
        has_input = wanted.stdin and bool(spec.get("stdin"))
        streams = await process.attach()
        try:
            wanted = replace(wanted, stdin=has_input, tty=bool(spec.get("tty")))
            await Conversation(peer, streams, wanted).until_end(process.wait())
            await peer.finish(statuses.SUCCESS)
        finally:
            streams.close()
            if has_input and spec.get("stdinOnce"):
                process.close_input()


async def _over_websocket(call: Call, session: CommandSession, wanted: Wanted) -> Response:
    names = channels.offered(call.request.headers)
    protocol = channels.negotiate(names, COMMAND_PROTOCOLS)
    if protocol is None:
        raise channels.refuse(names, COMMAND_PROTOCOLS)
    refused = _why_not(session)
    if refused and protocol != V5:
        return _refused(refused)

    async def upgrade(incoming: Any) -> Any:
        socket = await upgrading.open_websocket(incoming, protocol.name)
        peer = ChannelPeer(ChannelSocket(socket, protocol))
        with suppress(Gone, ConnectionError):
            await peer.greet(wanted.first)
            await _talk(session, peer, wanted, protocol)
        return socket

    return Response(101, upgrade=upgrade)


async def _talk(
    session: CommandSession, peer: ChannelPeer, wanted: Wanted, protocol: Protocol
) -> None:
    try:
        await session.talk(peer, wanted, is_nested=protocol == V5)
    except NotConnected as why:
        await peer.finish(statuses.internal(f"unable to upgrade connection: {why}"))


async def _over_spdy(call: Call, session: CommandSession, wanted: Wanted) -> Response:
    offered = call.request.headers.get("x-stream-protocol-version", "").replace("\n", ",")
    names = [name.strip() for name in offered.split(",") if name.strip()]
    protocol = next((name for name in names if name in SPDY_PROTOCOLS), None)
    if protocol is None:
        known = tuple(Protocol(name) for name in SPDY_PROTOCOLS)
        raise channels.refuse(names, known)
    refused = _why_not(session)
    if refused:
        return _refused(refused)
    expected = wanted.channels
    if wanted.tty and protocol in SPDY_PROTOCOLS[:2]:
        expected |= {RESIZE}

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async with spdy_peer(reader, writer, has_statuses=protocol.startswith("v4")) as peer:
            with suppress(Gone, NotConnected, TimeoutError):
                await asyncio.wait_for(peer.opened(expected), STREAMS_SECONDS_MAX)
                await session.talk(peer, wanted)
                await writer.drain()

    async def upgrade(incoming: Any) -> Any:
        return await upgrading.take_raw(incoming, protocol, serve)

    return Response(101, upgrade=upgrade)


@asynccontextmanager
async def spdy_peer(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, has_statuses: bool
) -> AsyncIterator[SpdyPeer]:
    """A client that opens its streams over a connection; it is read for as long as the block."""

    async def send(data: bytes) -> None:
        writer.write(data)
        await writer.drain()

    peer = SpdyPeer(has_statuses=has_statuses)
    session = Session(send, peer.open)

    async def read() -> None:
        with suppress(ConnectionError, SpdyError):
            while data := await reader.read(READ_BYTES_MAX):
                await session.feed(data)
        peer.gone()

    reading = asyncio.create_task(read())
    try:
        with suppress(ConnectionError):
            yield peer
            # A client that still sends would lose the last words if nobody read it any more.
            await session.close()
            await asyncio.wait((reading,), timeout=LINGERING_SECONDS)
    finally:
        reading.cancel()
        peer.close()


def _why_not(session: CommandSession) -> str:
    try:
        session.process()
    except NotConnected as why:
        return str(why)
    return ""


def _refused(why: str) -> Response:
    return Response(500, body=why.encode(), content_type=PLAIN)
