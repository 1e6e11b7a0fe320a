"""Delays between attempts: they grow up to a cap and are spread by jitter from a given Random."""

from dataclasses import dataclass, field
from random import Random


@dataclass(frozen=True)
class Backoff:
    """The rule. `jitter` is the share of a delay that chance may add; the cap always holds."""

    first_seconds: float
    cap_seconds: float
    factor: float = 2.0
    jitter: float = 0.0

    def __post_init__(self) -> None:
        assert 0 <= self.first_seconds <= self.cap_seconds
        assert self.factor >= 1
        assert self.jitter >= 0

    def plain_delay(self, attempt: int) -> float:
        """The delay after failure number `attempt`, which counts from 0, without jitter."""
        try:
            grown = self.first_seconds * self.factor**attempt
        except OverflowError:
            grown = self.cap_seconds
        return min(grown, self.cap_seconds)

    def delay(self, attempt: int, random: Random) -> float:
        plain = self.plain_delay(attempt)
        return min(plain * (1 + self.jitter * random.random()), self.cap_seconds)


@dataclass
class Attempts:
    """Counts the failures of one thing and says how long to wait after each."""

    rule: Backoff
    random: Random
    failures: int = field(default=0, init=False)

    def next_delay(self) -> float:
        delay = self.rule.delay(self.failures, self.random)
        self.failures += 1
        return delay

    def reset(self) -> None:
        self.failures = 0
