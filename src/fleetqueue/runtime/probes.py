"""Probes of containers: how often each is asked, and when enough answers make a verdict."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import NamedTuple

from fleetqueue.kube.resources import Object

DEFAULT_PERIOD_SECONDS = 10
DEFAULT_TIMEOUT_SECONDS = 1
DEFAULT_FAILURES = 3


class Answer(NamedTuple):
    """One probe or hook: whether it went well, and what was said."""

    is_good: bool
    text: str = ""
    why: str = ""
    """What went wrong, where that is more than what was said."""


class CannotAsk(Exception):
    """Nobody could be asked, which says nothing about the container."""


@dataclass(frozen=True, slots=True)
class Settings:
    """The numbers of a probe, defaulted as Kubernetes does."""

    delay: float
    period: float
    timeout: float
    successes: int
    failures: int

    @classmethod
    def of(cls, probe: Object) -> "Settings":
        return cls(
            delay=float(probe.get("initialDelaySeconds") or 0),
            period=float(probe.get("periodSeconds") or DEFAULT_PERIOD_SECONDS),
            timeout=float(probe.get("timeoutSeconds") or DEFAULT_TIMEOUT_SECONDS),
            successes=int(probe.get("successThreshold") or 1),
            failures=int(probe.get("failureThreshold") or DEFAULT_FAILURES),
        )


@dataclass(slots=True)
class Tally:
    """Counts answers in a row. `verdict` changes only when a threshold is reached."""

    successes: int
    failures: int
    verdict: bool | None = None
    _is_good: bool = False
    _run: int = 0

    def count(self, is_good: bool) -> bool:
        """Whether this answer reached a threshold: the verdict is said, perhaps again."""
        self._run = self._run + 1 if is_good == self._is_good else 1
        self._is_good = is_good
        if self._run < (self.successes if is_good else self.failures):
            return False
        self.verdict = is_good
        return True


Ask = Callable[[Object], Awaitable[Answer]]
"""Asks a container once, in the way its probe says."""
Late = Callable[[Object, float], str]
"""What is said of a probe that takes longer than so many seconds."""
Tell = Callable[[str], None]


class Prober:
    """Asks one probe of one container again and again, until it is cancelled."""

    def __init__(self, probe: Object, ask: Ask, late: Late, tell: Tell) -> None:
        self._probe = probe
        self._settings = Settings.of(probe)
        self._ask = ask
        self._late = late
        self._tell = tell
        """Told of every bad answer, and of every failure to get one."""

    async def until(self, verdict: bool) -> None:
        """Until a verdict is reached for the first time (a startup or a liveness probe)."""
        tally = Tally(self._settings.successes, self._settings.failures)
        async for answer in self._answers():
            if tally.count(answer.is_good) and tally.verdict == verdict:
                return

    async def first_verdict(self) -> bool:
        tally = Tally(self._settings.successes, self._settings.failures)
        async for answer in self._answers():
            if tally.count(answer.is_good):
                assert tally.verdict is not None
                return tally.verdict
        raise AssertionError

    async def follow(self, changed: Callable[[bool], None]) -> None:
        """Tell every change of the verdict (a readiness probe)."""
        tally = Tally(self._settings.successes, self._settings.failures, verdict=False)
        async for answer in self._answers():
            before = tally.verdict
            if tally.count(answer.is_good) and tally.verdict != before:
                changed(answer.is_good)

    async def _answers(self) -> AsyncIterator[Answer]:
        """Those that count."""
        await asyncio.sleep(self._settings.delay)
        while True:
            try:
                answer = await self._once()
            except CannotAsk as error:
                self._tell(f"errored and resulted in unknown state: {error}")
            else:
                if not answer.is_good:
                    self._tell(f"failed: {answer.text}")
                yield answer
            await asyncio.sleep(self._settings.period)

    async def _once(self) -> Answer:
        seconds = self._settings.timeout
        try:
            async with asyncio.timeout(seconds):
                return await self._ask(self._probe)
        except TimeoutError:
            return Answer(False, self._late(self._probe, seconds))
