"""Even spreading as it is described, by looking at every set of domains: slow, obvious, and sharing
no code with what is tested against it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations


@dataclass(frozen=True)
class Room:
    """What a domain holds: alone, and next to a leader; -1 where it cannot take one."""

    name: str
    slices: int
    with_leader: int = -1


@dataclass(frozen=True)
class Spread:
    """What every right answer has in common."""

    sizes: dict[int, int]
    """The families that are equally good, and how many domains of each are used."""
    threshold: int
    capacity: int


def spread(families: Sequence[Sequence[Room]], wanted: int, has_leader: bool) -> Spread | None:
    """None: nobody can hold it all in even parts."""
    able = {}
    for at, family in enumerate(families):
        found = _threshold(family, wanted, has_leader)
        if found is not None:
            able[at] = found
    if not able:
        return None
    threshold, used = max(able.values(), key=lambda each: (each[0], -each[1]))
    best = tuple(at for at, each in able.items() if each == (threshold, used))
    sizes = [smallest(_large(families[at], threshold), wanted, has_leader) for at in best]
    capacity = min(capacity for _, capacity in sizes)
    least = {at: each[0] for at, each in zip(best, sizes, strict=True) if each[1] == capacity}
    return Spread(least, threshold, capacity)


def smallest(family: Sequence[Room], wanted: int, has_leader: bool) -> tuple[int, int]:
    """How many domains are needed, and the least room that so many have together."""
    for size in range(1, len(family) + 1):
        totals = [
            total
            for chosen in combinations(family, size)
            for total in _totals(chosen, has_leader)
            if total >= wanted
        ]
        if totals:
            return size, min(totals)
    raise AssertionError("they were seen to be enough")


def _totals(chosen: Sequence[Room], has_leader: bool) -> Iterator[int]:
    """The room of a set, for each of its members that could take the leader."""
    total = sum(each.slices for each in chosen)
    if not has_leader:
        yield total
        return
    for each in chosen:
        if each.with_leader >= 0:
            yield total - each.slices + each.with_leader


def _threshold(family: Sequence[Room], wanted: int, has_leader: bool) -> tuple[int, int] | None:
    filled = _filled(family, wanted, has_leader)
    if not filled:
        return None
    threshold = min(wanted // len(filled), *filled)
    if threshold == 0:
        return None
    again = _filled(_large(family, threshold), wanted, has_leader)
    return (threshold, len(again)) if again else None


def _large(family: Sequence[Room], threshold: int) -> list[Room]:
    return [
        Room(each.name, each.slices, each.with_leader if each.with_leader >= threshold else -1)
        for each in family
        if each.slices >= threshold
    ]


def _filled(family: Sequence[Room], wanted: int, has_leader: bool) -> list[int]:
    """The room of those that are filled, the largest first; none where they are not enough."""
    left, filled = list(family), []
    if has_leader:
        if all(each.with_leader < 0 for each in left):
            return []
        first = max(left, key=lambda each: each.with_leader)
        left.remove(first)
        filled.append(first.with_leader)
    for each in sorted(left, key=lambda each: each.slices, reverse=True):
        if sum(filled) < wanted:
            filled.append(each.slices)
    return filled if sum(filled) >= wanted else []
