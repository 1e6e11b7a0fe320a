"""A transport for somebody who waits at a terminal: a server that takes calls and never answers,
as one whose process is stopped, is given up.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from fleetqueue.kube.errors import NoAnswer
from fleetqueue.kube.retry import READS
from fleetqueue.kube.transport import Answer, Call, Stream, Transport
from fleetqueue.kube.upgrades import Upgraded, Upgrading


@dataclass(frozen=True, slots=True)
class PatientTransport:
    """Waits so long for what is read and for the head of a stream. A call that changes something is
    waited for as ever, since nobody could tell whether it was done; one that names its own time has
    that.
    """

    transport: Transport
    seconds: float
    server: str
    """For messages."""

    async def request(self, call: Call) -> Answer:
        if call.method not in READS:
            return await self.transport.request(call)
        async with self._limited(call):
            return await self.transport.request(call)

    async def stream(self, call: Call) -> Stream:
        async with self._limited(call):
            return await self.transport.stream(call)

    async def upgrade(self, call: Call) -> Upgraded:
        assert isinstance(self.transport, Upgrading)
        async with self._limited(call):
            return await self.transport.upgrade(call)

    async def close(self) -> None:
        await self.transport.close()

    @asynccontextmanager
    async def _limited(self, call: Call) -> AsyncIterator[None]:
        if call.timeout_seconds is not None:
            yield
            return
        try:
            async with asyncio.timeout(self.seconds):
                yield
        except TimeoutError as error:
            raise NoAnswer(
                f"{self.server} does not answer: nothing came from it for {self.seconds:g} s;"
                " see whether its process is stopped or its machine overloaded"
            ) from error
