"""Scheduling and rolling out, followed word by word and without any care for speed: what the real
decisions are compared with.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Zoned:
    """A cluster with its domain ("" for none), its affinity score, and an obsolete binding."""

    name: str
    zone: str
    affinity: int = 0
    is_held: bool = False


def pick(
    clusters: Sequence[Zoned], number: int, skew_max: int | None, is_strict: bool
) -> list[tuple[str, int]]:
    """One after the other: names in the order of picking, each with its spread score."""
    taken: list[tuple[str, int]] = []
    while len(taken) < number:
        names = {name for name, _ in taken}
        best: tuple[tuple[int, int, bool, str], Zoned] | None = None
        for each in clusters:
            if each.name in names:
                continue
            score = _spread_score(each, clusters, names, skew_max, is_strict)
            if score is None:
                continue
            rank = (score, each.affinity, each.is_held, each.name)
            if best is None or rank > best[0]:
                best = rank, each
        if best is None:
            break
        taken.append((best[1].name, best[0][0]))
    return taken


def _spread_score(
    each: Zoned, clusters: Sequence[Zoned], names: set[str], skew_max: int | None, is_strict: bool
) -> int | None:
    """None: it must not be picked."""
    if skew_max is None or not each.zone:
        return 0
    before, after = skews(each, clusters, names)
    if after > skew_max:
        return None if is_strict else -1000
    return before - after


def skews(each: Zoned, clusters: Sequence[Zoned], names: set[str]) -> tuple[int, int]:
    """How far the domains are apart, before and after one more."""
    zones = {other.zone for other in clusters if other.zone}
    counts = dict.fromkeys(zones, 0)
    for other in clusters:
        if other.zone and other.name in names:
            counts[other.zone] += 1
    before = max(counts.values()) - min(counts.values())
    if len(zones) == 1:
        # Nothing to be even with: counted as one apart all the same.
        return before, before + 1
    counts[each.zone] += 1
    return before, max(counts.values()) - min(counts.values())


@dataclass(frozen=True)
class Bound:
    """A binding by what counts for a roll-out."""

    state: str
    is_deleting: bool = False
    is_ready: bool = False
    has_failed: bool = False
    is_new: bool = False


def roll_out(
    found: Mapping[str, Bound], target: int, unavailable_max: int, surge_max: int
) -> tuple[set[str], set[str], set[str]]:
    """Which clusters change, are removed, and are blocked."""
    delivered = {name: each for name, each in found.items() if each.state != "Scheduled"}
    ready = [name for name, each in delivered.items() if each.is_ready]
    going = [name for name in ready if found[name].is_deleting]
    possible = [name for name, each in delivered.items() if not each.has_failed]
    free = len(ready) - len(going) - (target - unavailable_max)
    room = target + surge_max - len(possible)
    here = {name: each for name, each in sorted(found.items()) if not each.is_deleting}
    unwanted = [name for name, each in here.items() if each.state == "Unscheduled"]
    stale = [name for name, each in here.items() if each.state == "Bound" and not each.is_new]
    failed = [name for name in stale if found[name].has_failed]
    stale = [name for name in stale if not found[name].has_failed]
    unbound = [name for name, each in here.items() if each.state == "Scheduled"]
    changed, removed = set(failed), set()
    while unwanted and (free > 0 or target == 0):
        removed.add(unwanted.pop(0))
        free -= 1
    while stale and free > 0:
        changed.add(stale.pop(0))
        free -= 1
    while unbound and room > 0:
        changed.add(unbound.pop(0))
        room -= 1
    return changed, removed, {*stale, *unbound}
