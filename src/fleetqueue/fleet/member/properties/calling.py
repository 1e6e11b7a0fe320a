"""Asks a provider for properties and is not held up by it: it has some seconds to start and to
answer, and few questions are put to it at once. Without one, or where it does not start, the agent
looks for itself.
"""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass

from fleetqueue.fleet.decide import agent
from fleetqueue.fleet.decide.properties import Collected, Remark
from fleetqueue.fleet.member.properties import fallback
from fleetqueue.fleet.member.properties.provider import Provider
from fleetqueue.kube.client import Client
from fleetqueue.kube.errors import KubeError

START_SECONDS_MAX = 10.0
COLLECT_SECONDS_MAX = 10.0
CALLS_MAX = 3
log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Heard:
    """What came of a question: the properties, if any, and what there is to say about it."""

    collected: Collected | None = None
    remarks: Sequence[Remark] = ()
    news: Sequence[Remark] = ()
    """Those of the remarks that an event tells of."""


class Asking:
    """One for each member agent."""

    def __init__(self, provider: Provider | None, client: Client) -> None:
        self._provider = provider
        self._client = client
        self._start: Remark | None = None
        self._calls: set[asyncio.Task[Collected]] = set()

    async def ask(self) -> Heard:
        news = []
        if self._provider is not None and self._start is None:
            self._start = await _started(self._provider)
            news.append(self._start)
        if self._provider is None or self._start is None:
            return Heard(await self._look())
        if not self._start.is_true:
            return Heard(await self._look(), (self._start,), news)
        heard = await self._call(self._provider)
        return Heard(heard.collected, (self._start, *heard.remarks), (*news, *heard.news))

    async def stop(self) -> None:
        calls = list(self._calls)
        for call in calls:
            call.cancel()
        await asyncio.gather(*calls, return_exceptions=True)

    async def run(self) -> None:
        """Beside the agent: what is under way ends with it."""
        try:
            await asyncio.Event().wait()
        finally:
            await self.stop()

    async def _call(self, provider: Provider) -> Heard:
        if len(self._calls) >= CALLS_MAX:
            return Heard(remarks=(agent.TOO_MANY_CALLS,))
        call = asyncio.create_task(provider.collect(), name="collect properties")
        self._calls.add(call)
        call.add_done_callback(self._done)
        done, _ = await asyncio.wait({call}, timeout=COLLECT_SECONDS_MAX)
        if not done:
            late = agent.COLLECTION_TIMED_OUT
            return Heard(remarks=(late,), news=(late,))
        if call.exception() is not None:
            return Heard()
        found = call.result()
        return Heard(found, (agent.COLLECTED, *found.remarks))

    def _done(self, call: asyncio.Task[Collected]) -> None:
        self._calls.discard(call)
        if not call.cancelled() and (error := call.exception()) is not None:
            log.warning("properties could not be collected: %s", error)

    async def _look(self) -> Collected | None:
        try:
            return await fallback.collect(self._client)
        except KubeError as error:
            log.warning("nodes and pods could not be counted: %s", error)
            return None


async def _started(provider: Provider) -> Remark:
    try:
        async with asyncio.timeout(START_SECONDS_MAX):
            await provider.start()
    except TimeoutError:
        return agent.START_TIMED_OUT
    except Exception as error:
        return agent.failed_to_start(str(error))
    return agent.STARTED
