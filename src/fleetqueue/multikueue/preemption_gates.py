"""Which worker may preempt for a workload now: at most one of them, and each for a while alone.

Copies come with a closed gate of ours. A worker on which nothing but preemption would help says so,
and waits; the one that has waited longest has its gate opened first.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from fleetqueue.api.kueue import admission_status as status
from fleetqueue.api.kueue.labels import MULTIKUEUE_PREEMPTION_GATE
from fleetqueue.api.times import format_time, parse_time
from fleetqueue.kube.resources import Object
from fleetqueue.multikueue.settings import PREEMPTION_SECONDS

OPEN = "Open"


@dataclass(frozen=True, slots=True)
class Opening:
    """What is to be done about the gates."""

    site: str = ""
    opened: Object | None = None
    """The copy there with its gate open; None: no gate is opened now."""
    after: float | None = None
    """Look again after so many seconds."""


NOTHING = Opening()


def decide(
    copies: Mapping[str, Object], now: datetime, turn_seconds: float = PREEMPTION_SECONDS
) -> Opening:
    """Copies by worker, in the order of the configuration, which decides between equal times;
    `turn_seconds`: how long one worker has before the next one may.
    """
    waiting = {
        name: since for name, copy in copies.items() if (since := _blocked_since(copy)) is not None
    }
    if not waiting:
        return NOTHING
    opened = [at for copy in copies.values() if (at := _opened_at(copy)) is not None]
    left = _left(max(opened), turn_seconds, now) if opened else 0.0
    if left > 0:
        return Opening(after=left)
    site = min(waiting, key=lambda name: waiting[name])
    return Opening(site, with_open_gate(copies[site], now), turn_seconds)


def with_open_gate(copy: Object, now: datetime) -> Object:
    """The copy with our gate open, its other gates as they are."""
    gate = {
        "name": MULTIKUEUE_PREEMPTION_GATE,
        "position": OPEN,
        "lastTransitionTime": format_time(now),
    }
    known = (copy.get("status") or {}).get("preemptionGates") or ()
    others = [each for each in known if each["name"] != MULTIKUEUE_PREEMPTION_GATE]
    return status.changed(copy, preemptionGates=[*others, gate])


def _blocked_since(copy: Object) -> datetime | None:
    """Since when it waits at our gate; None where it does not."""
    gates = (copy.get("spec") or {}).get("preemptionGates") or ()
    has_gate = any(each["name"] == MULTIKUEUE_PREEMPTION_GATE for each in gates)
    blocked = status.find_condition(copy, status.BLOCKED_ON_PREEMPTION_GATES)
    if not has_gate or blocked is None or blocked["status"] != "True":
        return None
    return parse_time(blocked["lastTransitionTime"]) if _opened_at(copy) is None else None


def _opened_at(copy: Object) -> datetime | None:
    """When our gate was opened; a gate of which the status says nothing is closed."""
    for gate in (copy.get("status") or {}).get("preemptionGates") or ():
        if gate["name"] == MULTIKUEUE_PREEMPTION_GATE and gate["position"] == OPEN:
            return parse_time(gate["lastTransitionTime"])
    return None


def _left(opened: datetime, turn_seconds: float, now: datetime) -> float:
    return (opened + timedelta(seconds=turn_seconds) - now).total_seconds()
