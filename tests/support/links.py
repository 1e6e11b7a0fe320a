"""The way from a manager to a worker, which a test can cut, let hang, and repair."""

import asyncio
import errno
import os
from collections.abc import AsyncIterator, Callable
from random import Random
from typing import NoReturn

from fleetqueue.apiserver.access.users import User
from fleetqueue.kube.client import Client
from fleetqueue.kube.errors import Unreachable
from fleetqueue.kube.kubeconfig import Access
from fleetqueue.kube.transport import Answer, Call, Frame, Payload, Stream, Transport
from fleetqueue.testing import FleetCluster
from fleetqueue.testing.fleet import ADMIN

UNAUTHORIZED = (
    b'{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure",'
    b'"message":"Unauthorized","reason":"Unauthorized","code":401}'
)


class Link:
    """One for each worker; all clients of the manager go through it."""

    def __init__(self, cluster: FleetCluster, token: str) -> None:
        self.cluster = cluster
        self.token = token
        """What the worker accepts."""
        self.user: User = ADMIN
        """Whom it takes the bearer for."""
        self.calls: list[Call] = []
        """All that went over it; a call that is refused by the link is not among them."""
        self.is_cut = False
        self.is_hung = False
        self.hangs_watches = False
        """Whether a watch that is opened is never answered; all else is."""
        self.drops = 0
        self.resets = 0
        self._changed = asyncio.Event()

    def cut(self) -> None:
        """Nobody is there: connections end and new ones are refused."""
        self.is_cut, self.is_hung = True, False
        self._tell()

    def hang(self) -> None:
        """Nothing is refused, and nothing is answered."""
        self.is_hung = True
        self._tell()

    def hang_watches(self) -> None:
        self.hangs_watches = True
        self._tell()

    def restore(self) -> None:
        self.is_cut = self.is_hung = self.hangs_watches = False
        self._tell()

    def drop_watches(self) -> None:
        """All watches end as they do from time to time; they can be resumed."""
        self.drops += 1
        self._tell()

    def reset(self) -> None:
        """All connections break; new ones can be made at once."""
        self.resets += 1
        self._tell()

    async def change(self) -> None:
        await self._changed.wait()

    async def cross(self, call: Call) -> None:
        while self.is_hung:
            await self.change()
            if not self.is_hung:
                raise Unreachable("the connection was reset", sent=True)
        if self.is_cut:
            refuse(call)
        self.calls.append(call)

    def _tell(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()


class LinkTransport:
    """One client's use of a link."""

    def __init__(self, inner: Transport, link: Link, token: str) -> None:
        self._inner = inner
        self._link = link
        self._token = token

    async def request(self, call: Call) -> Answer:
        await self._link.cross(call)
        if self._token != self._link.token:
            return Answer(401, Payload(UNAUTHORIZED), {})
        answer = await self._inner.request(call)
        while self._link.is_hung:
            await self._link.change()
        return answer

    async def stream(self, call: Call) -> Stream:
        await self._link.cross(call)
        while self._link.hangs_watches:
            await self._link.change()
        if self._token != self._link.token:
            return Stream(401, {}, body=UNAUTHORIZED)
        stream = await self._inner.stream(call)
        if stream.status >= 400:
            return stream
        return Stream(stream.status, stream.headers, frames=self._frames(stream))

    async def close(self) -> None:
        await self._inner.close()

    async def _frames(self, stream: Stream) -> AsyncIterator[list[Frame]]:
        source, link = stream.watch_frames(), self._link
        before = (link.drops, link.resets)
        while True:
            coming = asyncio.ensure_future(anext(source, None))
            try:
                frames = await self._next(coming, *before)
            finally:
                coming.cancel()
                await asyncio.wait({coming})
            if frames is None:
                await stream.aclose()
                return
            yield frames

    async def _next(
        self, coming: "asyncio.Future[list[Frame] | None]", drops: int, resets: int
    ) -> list[Frame] | None:
        link = self._link
        while True:
            changing = asyncio.ensure_future(link.change())
            await asyncio.wait({coming, changing}, return_when=asyncio.FIRST_COMPLETED)
            changing.cancel()
            while link.is_hung:
                await link.change()
            if link.is_cut or link.resets != resets:
                raise Unreachable("the connection was reset", sent=True)
            if link.drops != drops:
                return None
            if coming.done():
                return coming.result()


class Nobody:
    """What is behind an address where nobody listens."""

    async def request(self, call: Call) -> Answer:
        refuse(call)

    async def stream(self, call: Call) -> Stream:
        refuse(call)

    async def close(self) -> None:
        """There is nothing to close."""


def refuse(call: Call) -> NoReturn:
    cause = ConnectionRefusedError(errno.ECONNREFUSED, os.strerror(errno.ECONNREFUSED))
    raise Unreachable(f"{call.method} {call.path}: cannot connect", sent=False) from cause


def connector(links: dict[str, Link], random: Random) -> Callable[[Access], Client]:
    """Makes clients for servers by their addresses."""

    def connect(access: Access) -> Client:
        link = links.get(access.server)
        if link is None:
            return Client(Nobody(), random=random)
        inner = link.cluster.connect("manager", user=link.user).transport.transport
        return Client(LinkTransport(inner, link, access.token), random=random)

    return connect
