"""What LocalQueues used in the past, so that those that used little go first: it fades by halves,
and whatever gets quota weighs on its queue at once.

Amounts are thousandths of what people count: cores, bytes, devices.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from math import inf
from typing import TypeAlias

from fleetqueue.api.meta import Key
from fleetqueue.api.quantity import Quantity, QuantityLike
from fleetqueue.queueing.amounts import Requests, quantity_of
from fleetqueue.queueing.settings import UsageSharing

Thousandths: TypeAlias = dict[str, int]


@dataclass(slots=True)
class QueueHistory:
    """One LocalQueue's past."""

    consumed: Thousandths = field(default_factory=dict)
    updated_at: datetime | None = None
    penalties: dict[Key, Thousandths] = field(default_factory=dict)
    """By workload: what it weighs from its reservation until it is admitted."""

    def sample(self, used: Requests, now: datetime, settings: UsageSharing) -> None:
        """Moves on to now; `used` is what the queue's admitted workloads use."""
        elapsed = timedelta(0) if self.updated_at is None else now - self.updated_at
        self.consumed = faded(self.consumed, used, elapsed, settings.half_life)
        self.updated_at = now

    def is_due(self, now: datetime, settings: UsageSharing) -> bool:
        """Whether it is time for the next sample."""
        return self.updated_at is None or now - self.updated_at >= settings.sampling

    def reserve(self, workload: Key, penalty: Thousandths) -> None:
        self.penalties[workload] = penalty

    def admit(self, workload: Key, used: Requests, now: datetime, settings: UsageSharing) -> bool:
        """What was a penalty is now consumed; False if there was none, and nothing changes."""
        penalty = self.penalties.pop(workload, None)
        if penalty is None:
            return False
        self.sample(used, now, settings)
        if settings.half_life:
            self.consumed = added((self.consumed, penalty))
        return True

    def drop(self, workload: Key) -> bool:
        """The workload got no further; whether it had weighed anything."""
        return self.penalties.pop(workload, None) is not None

    def usage(self, settings: UsageSharing, weight: float = 1.0) -> float:
        """What the order of workloads goes by; `weight` is the LocalQueue's."""
        total = added((self.consumed, *self.penalties.values()))
        return weighted(total, settings.weights, weight)


def fading(elapsed: timedelta, half_life: timedelta) -> float:
    """The part of the past that is replaced by the present after that time."""
    # A clock that was set back must not make the past grow.
    return 1 - 0.5 ** (max(elapsed, timedelta(0)) / half_life) if half_life else 0.0


def faded(
    consumed: Thousandths, used: Requests, elapsed: timedelta, half_life: timedelta
) -> Thousandths:
    """A step of decay; without a half-life nothing is remembered."""
    if not half_life:
        return {}
    part = fading(elapsed, half_life)
    return added((_scaled(consumed, 1 - part), _scaled(thousandths(used), part)))


def entry_penalty(
    requests: Requests, settings: UsageSharing, covered: Collection[str] | None = None
) -> Thousandths:
    """What a workload weighs once quota is reserved for it; with `covered`, only those resources
    count."""
    counted = {
        name: amount for name, amount in requests.items() if covered is None or name in covered
    }
    return _scaled(thousandths(counted), fading(settings.sampling, settings.half_life))


def weighted(total: Thousandths, weights: Mapping[str, float], weight: float) -> float:
    """Resources count as much as their weights say, one by default."""
    if weight <= 0:
        return inf
    return sum(weights.get(name, 1.0) * total[name] / 1000 for name in sorted(total)) / weight


def added(parts: Iterable[Thousandths]) -> Thousandths:
    total: Thousandths = {}
    for part in parts:
        for name, amount in part.items():
            total[name] = total.get(name, 0) + amount
    return total


def thousandths(requests: Requests) -> Thousandths:
    return {name: amount if name == "cpu" else amount * 1000 for name, amount in requests.items()}


def read_consumed(resources: Mapping[str, QuantityLike]) -> Thousandths:
    """As a LocalQueue's status has it."""
    return {name: Quantity.of(quantity).milli_value() for name, quantity in resources.items()}


def print_consumed(consumed: Thousandths) -> dict[str, str]:
    """As it stands in a LocalQueue's status."""
    return {
        name: str(Quantity.from_milli(amount, quantity_of(name, 0).format))
        for name, amount in sorted(consumed.items())
    }


def _scaled(amounts: Thousandths, factor: float) -> Thousandths:
    return {name: int(amount * factor) for name, amount in amounts.items()}
