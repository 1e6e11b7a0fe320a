"""Spreads pods evenly: over as few sibling domains as will do, none of which gets fewer than what
their number and the smallest of them allow.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import log2

from fleetqueue.queueing.topology.shape import Shape, Share
from fleetqueue.queueing.topology.tree import Domain, Tree

COMPARED_MAX = 200_000
"""Members times candidates: with more, choosing takes longer than the place is worth."""


@dataclass(frozen=True, slots=True)
class Offer:
    """What a domain has to give: slices, and slices next to a leader, where it can take one."""

    domain: Domain
    room: int
    leads: bool = False
    room_with_leader: int = 0


@dataclass(frozen=True, slots=True)
class Siblings:
    """Domains that can hold all with so many of them, each with at least the threshold."""

    offers: tuple[Offer, ...]
    threshold: int
    used: int


def balance(tree: Tree, shape: Shape) -> tuple[int, list[Share]] | None:
    """What each domain of a level gets; None where no siblings can hold it all evenly."""
    level = balanced_level(shape)
    found = [_siblings(shape, each, level) for each in _families(tree, shape.level)]
    able = [each for each in found if each is not None]
    if not able:
        return None
    best = max(able, key=lambda each: (each.threshold, -each.used))
    threshold, used = best.threshold, best.used
    equals = [each.offers for each in able if (each.threshold, each.used) == (threshold, used)]
    sets = [_choose(shape, offers, level) for offers in equals]
    fitting = [each for each in sets if each and threshold * len(each) <= shape.slices]
    if not fitting:
        return None
    return level, _share(shape, min(fitting, key=_left_over), threshold)


def balanced_level(shape: Shape) -> int:
    """Slices that are smaller than the level asked for are spread one level below it."""
    is_lower = shape.slice_size > 1 and shape.slice_level > shape.level
    return shape.level + 1 if is_lower else shape.level


def _families(tree: Tree, level: int) -> Iterator[list[Domain]]:
    if level == 0:
        yield tree.at(0)
        return
    for parent in tree.at(level - 1):
        yield parent.children


def _siblings(shape: Shape, family: Sequence[Domain], level: int) -> Siblings | None:
    """The members of a family that are large enough for what each of them would get."""
    members = [child for each in family for child in _at(each, level)]
    offers = [_offer(each) for each in members]
    largest = _greedy(shape.slices, shape.leaders, offers)
    if not largest:
        return None
    last = min(_given(each, at < shape.leaders) for at, each in enumerate(largest))
    threshold = min(shape.slices // len(largest), last)
    if threshold <= 0:
        return None
    left = [_cut(each, threshold) for each in offers if each.room >= threshold]
    used = len(_greedy(shape.slices, shape.leaders, left))
    return Siblings(tuple(left), threshold, used) if used else None


def _at(domain: Domain, level: int) -> Sequence[Domain]:
    return (domain,) if domain.level == level else domain.children


def _offer(domain: Domain) -> Offer:
    return Offer(domain, domain.slices, bool(domain.leaders), domain.slices_with_leader)


def _cut(offer: Offer, threshold: int) -> Offer:
    """One that is too small next to a leader does not take one."""
    leads = offer.leads and offer.room_with_leader >= threshold
    return replace(offer, leads=leads)


def _given(offer: Offer, leads: bool) -> int:
    return offer.room_with_leader if leads else offer.room


def _greedy(wanted: int, leaders: int, offers: Sequence[Offer]) -> list[Offer]:
    """The largest ones, the leader's before all others, until all fits; none where it does not."""
    rest, left, taken = list(offers), wanted, []
    if leaders:
        able = [each for each in rest if each.leads]
        if not able:
            return []
        first = max(able, key=lambda each: each.room_with_leader)
        rest.remove(first)
        taken.append(first)
        left -= first.room_with_leader
    for each in sorted(rest, key=lambda each: -each.room):
        if left <= 0:
            break
        taken.append(each)
        left -= each.room
    return taken if left <= 0 else []


# As few as will do, and of those sets the one with the least room


@dataclass(frozen=True, slots=True)
class Chosen:
    """A member of the set, and whether it takes the leader."""

    offer: Offer
    leads: bool

    @property
    def room(self) -> int:
        return _given(self.offer, self.leads)


def _choose(shape: Shape, offers: Sequence[Offer], level: int) -> list[Chosen] | None:
    if level == shape.level:
        return smallest_set(shape.slices, shape.leaders, sorted(offers, key=_plain))
    parents = smallest_set(shape.slices, shape.leaders, sorted(_parents(offers), key=_even))
    if parents is None:
        return None
    inside = {each.offer.domain.values for each in parents}
    pool = [each for each in offers if each.domain.values[:-1] in inside]
    return smallest_set(shape.slices, shape.leaders, sorted(pool, key=_plain))


def smallest_set(wanted: int, leaders: int, offers: Sequence[Offer]) -> list[Chosen] | None:
    """Of equals, those that come first; None where there is none, or too many to compare."""
    most = len(_greedy(wanted, leaders, offers))
    if not most or most * len(offers) > COMPARED_MAX:
        return None
    reached = _reached(wanted, leaders, offers, most)
    for size in range(1, most + 1):
        enough = reached.sums[0][size][leaders] >> wanted - reached.floors[size]
        if enough:
            total = wanted + (enough & -enough).bit_length() - 1
            return _walk(offers, reached, size, leaders, total)
    return None


@dataclass(frozen=True, slots=True)
class Reached:
    """How much room sets of some size have that begin at some offer or after it."""

    floors: list[int]
    """By size: with less than this, all others together would not be enough."""
    sums: list[list[list[int]]]
    """By the offer, the size and the leaders taken: bit n stands for n more than the floor."""

    def has(self, at: int, size: int, leaders: int, total: int) -> bool:
        above = total - self.floors[size]
        return above >= 0 and bool(self.sums[at][size][leaders] >> above & 1)


def _reached(wanted: int, leaders: int, offers: Sequence[Offer], most: int) -> Reached:
    rooms = sorted((each.room for each in offers), reverse=True)
    floors = [max(0, wanted - sum(rooms[: most - size])) for size in range(most + 1)]
    none = [[0] * (leaders + 1) for _ in range(most + 1)]
    none[0][0] = 1 if floors[0] == 0 else 0
    sums = [none]
    for offer in reversed(offers):
        sums.append(_with_offer(offer, sums[-1], floors))
    return Reached(floors, sums[::-1])


def _with_offer(offer: Offer, after: list[list[int]], floors: list[int]) -> list[list[int]]:
    made = [[*row] for row in after]
    for size in range(1, len(made)):
        step = floors[size] - floors[size - 1]
        for led in range(len(made[size])):
            made[size][led] |= _moved(after[size - 1][led], offer.room - step)
            if led and offer.leads:
                before = after[size - 1][led - 1]
                made[size][led] |= _moved(before, offer.room_with_leader - step)
    return made


def _moved(sums: int, by: int) -> int:
    return sums << by if by >= 0 else sums >> -by


def _walk(
    offers: Sequence[Offer], reached: Reached, size: int, leaders: int, total: int
) -> list[Chosen]:
    chosen: list[Chosen] = []
    for at, offer in enumerate(offers):
        for leads in (True, False):
            room = _given(offer, leads)
            is_open = size > 0 and (not leads or (leaders > 0 and offer.leads))
            if is_open and reached.has(at + 1, size - 1, leaders - leads, total - room):
                chosen.append(Chosen(offer, leads))
                size, leaders, total = size - 1, leaders - leads, total - room
                break
    return chosen


def _left_over(chosen: Sequence[Chosen]) -> tuple[int, tuple[str, ...]]:
    return sum(each.room for each in chosen), chosen[0].offer.domain.values


def _plain(offer: Offer) -> tuple[int, int, tuple[str, ...]]:
    return -offer.room, offer.domain.pods, offer.domain.values


def _parents(offers: Sequence[Offer]) -> list[Offer]:
    """What is left of the level above once its members are cut."""
    by_parent: dict[tuple[str, ...], list[Offer]] = {}
    for each in offers:
        by_parent.setdefault(each.domain.values[:-1], []).append(each)
    return [_parent(each) for each in by_parent.values()]


def _parent(children: Sequence[Offer]) -> Offer:
    domain = children[0].domain.parent
    assert domain is not None
    room = sum(each.room for each in children)
    lost = [each.room - each.room_with_leader for each in children if each.leads]
    return Offer(domain, room, bool(lost), room - min(lost, default=0))


def _even(offer: Offer) -> tuple[float, int, tuple[str, ...]]:
    """Those first whose room is spread the most evenly over the most children."""
    rooms = [each.slices for each in offer.domain.children if each.slices]
    entropy = -sum(room / sum(rooms) * log2(room / sum(rooms)) for room in rooms)
    return -round(entropy, 9), -offer.room, offer.domain.values


# What each gets


def _share(shape: Shape, chosen: Sequence[Chosen], threshold: int) -> list[Share]:
    """The threshold for each; the rest from the front."""
    rest, shares = shape.slices - threshold * len(chosen), []
    for each in sorted(chosen, key=lambda each: not each.leads):
        more = min(rest, each.room - threshold)
        rest -= more
        pods = (threshold + more) * shape.slice_size
        shares.append(Share(each.offer.domain, pods, 1 if each.leads else 0))
    return shares
