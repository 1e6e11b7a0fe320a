"""When a member looks at a Work again, and how urgent a change of one is."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from fleetqueue.api.fleet.conditions import PlacementAspect
from fleetqueue.api.times import parse_time
from fleetqueue.fleet.decide import conditions
from fleetqueue.fleet.settings import Requeue

Json = dict[str, Any]

URGENT = 100
TIMED = -1
"""Of a look that nobody asked for."""


@dataclass(frozen=True, slots=True)
class Pace:
    """How often a Work has been looked at since something was new about it."""

    result: str
    """What the last look said: another one starts anew."""
    looks: int = 0
    seconds: float = 0.0
    """How long the last wait was that was not the fixed one."""


def next_look(before: Pace | None, result: str, is_at_rest: bool, told: Requeue) -> Pace:
    """`is_at_rest`: the objects are available, or their differences reported."""
    if before is None or before.result != result:
        before = Pace(result)
    looks = before.looks + 1
    if before.looks < told.fixed_attempts:
        return Pace(result, looks, 0.0)
    return Pace(result, looks, _backed_off(before.seconds, is_at_rest, told))


def wait(pace: Pace, told: Requeue) -> float:
    return pace.seconds or told.fixed_seconds


def priority(work: Json | None, now: datetime, a: float, b: float) -> int:
    """Of a change: new, failing and leaving Works first, then the younger before the older."""
    if work is None or work["metadata"].get("deletionTimestamp") or not is_at_rest(work):
        return URGENT
    age = now - parse_time(work["metadata"]["creationTimestamp"])
    return round(max(0.0, min(float(URGENT), a * (age.total_seconds() // 60) + b)))


def is_at_rest(work: Json) -> bool:
    found = (work.get("status") or {}).get("conditions")
    return any(
        conditions.status_of(found, type) == conditions.TRUE
        for type in (PlacementAspect.AVAILABLE, PlacementAspect.DIFF_REPORTED)
    )


def _backed_off(last: float, is_at_rest: bool, told: Requeue) -> float:
    if not last:
        return min(told.slow_first_seconds, told.slow_max_seconds)
    if last >= told.slow_max_seconds or (is_at_rest and told.skips_to_fast):
        return min(last * told.fast_base, max(told.fast_max_seconds, told.slow_first_seconds))
    return min(last * told.slow_base, told.slow_max_seconds)
