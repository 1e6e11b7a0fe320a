"""Calls to an API server at a limited rate: a bucket of tokens, as client-go has it."""

import asyncio
from dataclasses import dataclass

from fleetqueue.kube.transport import Answer, Call, Stream, Transport


@dataclass(frozen=True, slots=True)
class Rate:
    """So many calls in a second, and so many at once after a rest."""

    per_second: float
    burst: int

    def __post_init__(self) -> None:
        assert self.per_second > 0
        assert self.burst >= 1


class Allowance:
    """Whoever comes first goes first."""

    def __init__(self, rate: Rate) -> None:
        self._rate = rate
        self._tokens = float(rate.burst)
        self._counted_at: float | None = None

    async def take(self) -> None:
        """Returns when the next call may go."""
        now = asyncio.get_running_loop().time()
        gained = 0.0 if self._counted_at is None else now - self._counted_at
        self._counted_at = now
        self._tokens += gained * self._rate.per_second
        self._tokens = min(self._tokens, float(self._rate.burst)) - 1
        if self._tokens < 0:
            await asyncio.sleep(-self._tokens / self._rate.per_second)


class PacedTransport:
    """A transport whose calls wait for their turn; a watch counts once."""

    def __init__(self, transport: Transport, rate: Rate) -> None:
        self._transport = transport
        self._allowance = Allowance(rate)

    async def request(self, call: Call) -> Answer:
        await self._allowance.take()
        return await self._transport.request(call)

    async def stream(self, call: Call) -> Stream:
        await self._allowance.take()
        return await self._transport.stream(call)

    async def close(self) -> None:
        await self._transport.close()
