"""Hands requests for a pod on a worker on to that worker, with the manager's own credentials: logs
as they come, and connections (exec, attach, port-forward) byte by byte.
"""

import asyncio
from contextlib import suppress
from typing import Any, Self

from fleetqueue.apiserver import problems
from fleetqueue.apiserver.call import Call
from fleetqueue.apiserver.request import Response
from fleetqueue.embedded import upgrading
from fleetqueue.kube import transport, upgrades
from fleetqueue.kube.errors import KubeError
from fleetqueue.kube.resources import PODS, Object, key_of
from fleetqueue.multikueue.reach.dispatched import RemotePod

READ_BYTES_MAX = 64 * 1024
HANDED_ON = (
    "connection",
    "sec-websocket-extensions",
    "sec-websocket-key",
    "sec-websocket-protocol",
    "sec-websocket-version",
    "upgrade",
    "x-stream-protocol-version",
)
"""What two who change protocols have to know of each other."""


class PodOnWorker:
    """A pod elsewhere."""

    def __init__(self, remote: RemotePod) -> None:
        self._remote = remote

    @property
    def pod(self) -> Object:
        return self._remote.pod

    async def connect(self, call: Call) -> Response:
        try:
            if call.route.subresource == "log":
                return await self._log(call)
            upgrading.wanted_upgrade(call.request)
            return await self._upgrade(call)
        except KubeError as error:
            why = f'the worker "{self._remote.worker}" does not answer: {error}'
            raise problems.service_unavailable(why) from error

    async def _log(self, call: Call) -> Response:
        asked = self._asked(call, {"accept": "*/*", "accept-encoding": "identity"})
        stream = await self._remote.client.transport.stream(asked)
        content_type = stream.headers.get("content-type") or ""
        if stream.status >= 400 or stream.chunks is None:
            return Response(stream.status, body=stream.body, content_type=content_type)
        return Response(stream.status, chunks=Relayed(stream), content_type=content_type)

    async def _upgrade(self, call: Call) -> Response:
        asked = self._asked(call, handed_on(call.request.headers))
        answer = await upgrades.upgrade(self._remote.client, asked)
        if answer.status != upgrades.SWITCHING:
            content_type = answer.header("content-type")
            return Response(answer.status, body=answer.body, content_type=content_type)

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            try:
                assert answer.reader is not None
                assert answer.writer is not None
                await joined((reader, writer), (answer.reader, answer.writer))
            finally:
                answer.close()

        async def upgrade(incoming: Any) -> Any:
            return await upgrading.take_over(incoming, answer.head, serve)

        return Response(upgrades.SWITCHING, upgrade=upgrade)

    def _asked(self, call: Call, headers: dict[str, str]) -> transport.Call:
        key = key_of(self._remote.pod)
        path = PODS.path(key.namespace, key.name, call.route.subresource)
        query = [(name, value) for name, found in call.request.query.items() for value in found]
        return transport.Call(call.request.method, path, query, headers)


def handed_on(headers: Any) -> dict[str, str]:
    """Doors join what came in several lines by line ends."""
    found = {name: headers[name].replace("\n", ", ") for name in HANDED_ON if name in headers}
    return {**found, "accept": "*/*", "accept-encoding": "identity"}


Ends = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def joined(one: Ends, other: Ends) -> None:
    """Until one side ends; the other then gets what was on its way."""
    tasks = [
        asyncio.create_task(_carry(one[0], other[1])),
        asyncio.create_task(_carry(other[0], one[1])),
    ]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        with suppress(ConnectionError):
            await one[1].drain()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while data := await reader.read(READ_BYTES_MAX):
            writer.write(data)
            await writer.drain()


class Relayed:
    """A log as it comes. Unlike a generator it lets the worker go also where nobody began to read,
    if it is closed.
    """

    def __init__(self, stream: transport.Stream) -> None:
        assert stream.chunks is not None
        self._stream, self._chunks = stream, stream.chunks

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        try:
            return await anext(self._chunks)
        except BaseException:
            await self.aclose()
            raise

    async def aclose(self) -> None:
        await self._stream.aclose()
