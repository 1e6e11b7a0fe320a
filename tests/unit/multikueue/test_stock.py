"""What workers have of the things that jobs name, and how long that is remembered."""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from fleetqueue.api.meta import Key
from fleetqueue.kube.resources import NAMESPACES, Object, Resource
from fleetqueue.multikueue.preflight import Needed
from fleetqueue.multikueue.stock import FRESH, KEPT, Stock

LITTLE = timedelta(seconds=1)


@dataclass
class PaperWorker:
    """It lacks all namespaces but those that are written down."""

    name: str = "w1"
    has: set[str] = field(default_factory=set)
    asked: list[str] = field(default_factory=list)

    async def read(self, kind: Resource, key: Key) -> Object | None:
        self.asked.append(key.name)
        return {"metadata": {"name": key.name}} if key.name in self.has else None


def space(name: str) -> Needed:
    return Needed(NAMESPACES, Key("", name))


class SetClock:
    """Stands still but for what the test lets pass."""

    def __init__(self) -> None:
        self.at = datetime(2026, 1, 1, tzinfo=UTC)

    def now(self) -> datetime:
        return self.at

    def monotonic(self) -> float:
        return self.at.timestamp()

    def passes(self, time: timedelta) -> None:
        self.at += time


async def test_a_worker_is_asked_once_in_a_while() -> None:
    worker: Any = PaperWorker(has={"team"})
    clock = SetClock()
    stock = Stock(clock)
    for name in ("team", "other"):
        await stock.look(space(name), [worker])
    assert [stock.lacks("w1", space(name)) for name in ("team", "other")] == [False, True]

    clock.passes(FRESH - LITTLE)
    await stock.look(space("other"), [worker])
    assert worker.asked == ["team", "other"]

    worker.has.add("other")
    clock.passes(2 * LITTLE)
    assert stock.lacks("w1", space("other")), "until somebody asks again"
    await stock.look(space("other"), [worker])
    assert not stock.lacks("w1", space("other"))


async def test_what_nobody_wants_to_know_any_more_is_forgotten() -> None:
    worker: Any = PaperWorker()
    clock = SetClock()
    stock = Stock(clock)
    for number in range(10):
        await stock.look(space(f"old-{number}"), [worker])
    clock.passes(KEPT / 2)
    await stock.look(space("old-0"), [worker])
    await stock.look(space("shown"), [worker], shows=lambda worker: True)
    assert len(stock._known) == 11

    clock.passes(KEPT / 2 + LITTLE)
    await stock.look(space("new"), [worker])

    assert {needed.key.name for _, needed in stock._known} == {"old-0", "shown", "new"}
    assert stock.lacks("w1", space("old-0"))
