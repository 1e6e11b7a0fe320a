"""A transport that asks again where that is safe: the server said when, or never got the call."""

import asyncio
from dataclasses import dataclass
from random import Random

from fleetqueue.base.backoff import Backoff
from fleetqueue.kube.errors import NoAnswer, Unreachable, refusal_from_body
from fleetqueue.kube.transport import Answer, Call, Stream, Transport

BUSY_ATTEMPTS_MAX = 10
"""How often a server that names a time to come back is asked again; as client-go does."""
BROKEN_ATTEMPTS_MAX = 3
BROKEN_BACKOFF = Backoff(0.1, 2.0, jitter=0.5)
RETRY_AFTER_SECONDS_MAX = 60.0
READS = ("GET", "HEAD", "OPTIONS")


@dataclass(slots=True)
class RetryingTransport:
    """Retries calls; streams are left to the watch, which knows where to resume."""

    transport: Transport
    random: Random

    async def request(self, call: Call) -> Answer:
        busy = broken = 0
        while True:
            try:
                answer = await self.transport.request(call)
            except Unreachable as error:
                if broken >= BROKEN_ATTEMPTS_MAX or not may_repeat(call, error):
                    raise
                wait = BROKEN_BACKOFF.delay(broken, self.random)
                broken += 1
            else:
                told = asked_to_wait(answer)
                if told is None or busy >= BUSY_ATTEMPTS_MAX:
                    return answer
                wait = told
                busy += 1
            await asyncio.sleep(wait)

    async def stream(self, call: Call) -> Stream:
        return await self.transport.stream(call)

    async def close(self) -> None:
        await self.transport.close()


def may_repeat(call: Call, error: Unreachable) -> bool:
    """A call that never left may always be repeated; one that did, only if it changes nothing. Who
    has waited long enough does not wait again.
    """
    if isinstance(error, NoAnswer):
        return False
    return not error.sent or call.method in READS


def asked_to_wait(answer: Answer) -> float | None:
    """How long the server asks us to wait before the same call again; None: it does not."""
    if answer.status != 429 and answer.status < 500:
        return None
    told = answer.headers.get("retry-after")
    if told is None and answer.status == 429:
        refused = refusal_from_body(answer.status, answer.payload.data, answer.headers)
        told = refused.details.get("retryAfterSeconds")
    try:
        return min(float(told), RETRY_AFTER_SECONDS_MAX) if told else None
    except ValueError:
        return None
