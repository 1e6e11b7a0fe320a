"""Chooses domains for pods: one that is just large enough, or as few as will do; then goes down,
level by level, to the leaves.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from fleetqueue.queueing.topology.balancing import balance
from fleetqueue.queueing.topology.counting import count
from fleetqueue.queueing.topology.shape import Shape, Share, Unplaceable
from fleetqueue.queueing.topology.tree import Domain, Tree

Capacity = Callable[[Domain], int]


@dataclass(frozen=True, slots=True)
class Found:
    """How many pods each leaf gets, and which one gets the leader."""

    pods: dict[tuple[str, ...], int]
    leader: tuple[str, ...] | None = None


def place(tree: Tree, shape: Shape) -> Found:
    """Raises Unplaceable where there is no room."""
    excluded = count(tree, shape)
    balanced = _balanced(tree, shape)
    if balanced is not None:
        return balanced
    try:
        level, chosen = _choose(tree, shape, shape.level)
        shares = _distribute(chosen, shape, shape.slices, shape.leaders, _slices(shape))
        return _descend(tree, shape, level, shares)
    except NoRoom as error:
        text = _told(tree, shape, error)
        raise Unplaceable(text + _left_out(tree, excluded)) from error


class NoRoom(Exception):
    """So many of the slices fit."""

    def __init__(self, fitting: int) -> None:
        super().__init__(fitting)
        self.fitting = fitting


def _balanced(tree: Tree, shape: Shape) -> Found | None:
    """None where it is not asked for, or there is no such place."""
    shares = balance(tree, shape) if shape.is_balanced else None
    if shares is None:
        return None
    try:
        return _descend_each(tree, shape, *shares)
    except NoRoom:
        return None


# Orders


def _with_leader(shape: Shape) -> Callable[[Domain], Any]:
    sign = 1 if shape.least_free else -1
    return lambda each: (
        -each.leaders,
        -each.score,
        sign * each.slices_with_leader,
        each.pods_with_leader,
        each.values,
    )


def _plain(shape: Shape) -> Callable[[Domain], Any]:
    sign = 1 if shape.least_free else -1
    return lambda each: (-each.score, sign * each.slices, each.pods, each.values)


def best_pick(
    domains: Sequence[Domain], wanted: int, capacity: Capacity, *, has_leader: bool
) -> Domain:
    """The first of those that are just large enough, the best liked before the others; where none
    is, the first.
    """
    able = [each for each in domains if not has_leader or each.leaders]
    large = [each for each in able if capacity(each) >= wanted]
    return min(large, key=lambda each: (-each.score, capacity(each))) if large else domains[0]


# One domain, or as few as will do


def _choose(tree: Tree, shape: Shape, level: int) -> tuple[int, list[Domain]]:
    ordered = sorted(tree.at(level), key=_with_leader(shape))
    if not ordered:
        raise Unplaceable(f"no topology domains at level: {tree.levels[level]}")
    one = _choose_one(shape, ordered)
    if one is not None:
        return level, [one]
    if shape.is_required:
        raise NoRoom(max(ordered, key=lambda each: (each.leaders, each.slices_with_leader)).slices)
    if level > 0 and not shape.is_unconstrained:
        return _choose(tree, shape, level - 1)
    return level, _choose_several(shape, ordered)


def _choose_one(shape: Shape, ordered: Sequence[Domain]) -> Domain | None:
    wanted, has_leader = shape.slices, bool(shape.leaders)
    if shape.least_free:
        for each in ordered:
            room = each.slices_with_leader if has_leader else each.slices
            if room >= wanted and each.leaders >= shape.leaders:
                return each
        return None
    able = (each for each in ordered if each.leaders >= shape.leaders)
    if any(each.slices_with_leader >= wanted for each in able):
        return best_pick(ordered, wanted, _room(has_leader), has_leader=has_leader)
    return None


def _choose_several(shape: Shape, ordered: Sequence[Domain]) -> list[Domain]:
    left, leaders = shape.slices, shape.leaders
    rest = _leader_first(shape, list(ordered))
    chosen: list[Domain] = []
    while leaders and rest:
        each = rest[0]
        if not shape.least_free and each.leaders and each.slices_with_leader >= left:
            each = best_pick(rest, left, _room(True), has_leader=True)
        rest.remove(each)
        chosen.append(each)
        leaders -= min(leaders, each.leaders)
        left -= min(left, each.slices_with_leader)
    if leaders:
        raise NoRoom(shape.slices - left if left < shape.slices else 0)
    rest.sort(key=_plain(shape))
    while left > 0 and rest:
        each = rest[0]
        if not shape.least_free and each.slices >= left:
            each = best_pick(rest, left, _room(False), has_leader=False)
        rest.remove(each)
        if each.slices or not chosen:
            chosen.append(each)
        left -= min(left, each.slices)
    if left > 0:
        raise NoRoom(shape.slices - left)
    return chosen


def _leader_first(shape: Shape, domains: list[Domain]) -> list[Domain]:
    """The first that can take the leader while all slices still fit goes to the front."""
    if not shape.leaders:
        return domains
    total = sum(each.slices for each in domains)
    for at, each in enumerate(domains):
        penalty = each.slices - each.slices_with_leader
        if each.leaders and total - penalty >= shape.slices:
            return [each, *domains[:at], *domains[at + 1 :]]
    return domains


def _room(has_leader: bool) -> Capacity:
    return lambda each: each.slices_with_leader if has_leader else each.slices


# Down to the leaves


@dataclass(frozen=True, slots=True)
class Units:
    """What is handed out: so many pods at a time, and how many times that fits."""

    size: int
    room: Capacity
    room_with_leader: Capacity


def _slices(shape: Shape) -> Units:
    return Units(shape.slice_size, _room(False), _room(True))


def _pods(size: int) -> Units:
    return Units(size, lambda each: each.pods // size, lambda each: each.pods_with_leader // size)


def _distribute(
    domains: Sequence[Domain], shape: Shape, wanted: int, leaders: int, units: Units
) -> list[Share]:
    """Gives each domain in turn as much as it can take."""
    rest, shares = list(domains), []
    total = sum(units.room(each) for each in rest)
    while rest and (wanted > 0 or leaders):
        each = rest[0]
        lost = units.room(each) - units.room_with_leader(each)
        leads = bool(leaders and each.leaders and total - lost >= wanted)
        room = units.room_with_leader if leads else units.room
        if not shape.least_free and room(each) >= wanted and (leads or not leaders):
            each = best_pick(rest, wanted, room, has_leader=leads)
        rest.remove(each)
        total -= units.room(each)
        given = min(room(each), wanted)
        if given or leads:
            shares.append(Share(each, given * units.size, 1 if leads else 0))
        wanted -= given
        leaders -= 1 if leads else 0
    if wanted > 0 or leaders:
        raise NoRoom(shape.slices - max(wanted, 1))
    return shares


def _descend(tree: Tree, shape: Shape, level: int, shares: list[Share]) -> Found:
    while level < shape.slice_level:
        pool = [child for share in shares for child in share.domain.children]
        pool.sort(key=_plain(shape))
        shares = _distribute(pool, shape, shape.slices, shape.leaders, _slices(shape))
        level += 1
    return _descend_each(tree, shape, level, shares)


def _descend_each(tree: Tree, shape: Shape, level: int, shares: list[Share]) -> Found:
    """Each domain keeps to what it was given."""
    while level < len(tree.levels) - 1:
        level += 1
        is_sliced = level <= shape.slice_level
        units = _slices(shape) if is_sliced else _pods(shape.size_at(level))
        shares = [part for share in shares for part in _split(shape, share, units)]
    pods = {tree.written(share.domain): share.pods for share in shares if share.pods}
    leader = next((tree.written(share.domain) for share in shares if share.leaders), None)
    return Found(dict(sorted(pods.items())), leader)


def _split(shape: Shape, share: Share, units: Units) -> list[Share]:
    children = sorted(share.domain.children, key=_plain(shape))
    return _distribute(children, shape, share.pods // units.size, share.leaders, units)


# Why not


def _told(tree: Tree, shape: Shape, error: NoRoom) -> str:
    if shape.layers:
        return _told_by_layer(tree, shape)
    if error.fitting <= 0:
        return (
            f'topology "{tree.topology}" doesn\'t allow to fit any of {shape.slices} {shape.unit}'
        )
    return (
        f'topology "{tree.topology}" allows to fit only {error.fitting} out of '
        f"{shape.slices} {shape.unit}"
    )


def _told_by_layer(tree: Tree, shape: Shape) -> str:
    """Of the domain with the most slices: how far each layer gets."""
    layers = [(shape.slice_level, shape.slice_size), *shape.layers]
    best = max(tree.at(shape.level), key=lambda each: (each.slices, each.values))
    parts = []
    for level, size in layers:
        inside = [each for each in tree.at(level) if each.ancestor(shape.level) is best]
        fitting = sum(each.pods // size for each in inside)
        wanted = shape.slices * shape.slice_size // size
        parts.append(f"{min(fitting, wanted)}/{wanted} slice(s) fit on level {tree.levels[level]}")
    return f'topology "{tree.topology}" doesn\'t allow to fit; {"; ".join(parts)}'


def _left_out(tree: Tree, excluded: Counter[str]) -> str:
    if not excluded:
        return ""
    reasons = ", ".join(f"{reason}: {number}" for reason, number in sorted(excluded.items()))
    return f". Total nodes: {len(tree.leaves)}; excluded: {reasons}"
