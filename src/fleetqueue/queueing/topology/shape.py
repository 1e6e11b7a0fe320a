"""What is asked of a topology, resolved against its levels; and why that cannot be."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from fleetqueue.queueing.amounts import Requests
from fleetqueue.queueing.topology.tree import Domain, NodeFacts, Tree
from fleetqueue.queueing.workload import TopologyRequest

Filter = Callable[[Domain], str]
"""Why the nodes of a leaf are left out; "" where they are not."""


Score = Callable[[NodeFacts], int]
"""How much pods would like to be on a node."""


class Unplaceable(Exception):
    """There is no place; the text says why."""


@dataclass(frozen=True, slots=True)
class Shape:
    """How the pods of a set, or of two that go together, are to be placed."""

    count: int
    requests: Requests
    """Of one pod, the pod itself counted."""
    leader: Requests | None
    level: int
    """Where one domain is looked for first."""
    is_required: bool
    is_unconstrained: bool
    slice_size: int
    slice_level: int
    layers: tuple[tuple[int, int], ...]
    """Inner layers below the slices: level and size, coarse to fine."""
    least_free: bool
    """Whether the fullest domains are taken first."""
    leaves_out: Filter
    as_if_empty: bool = False
    is_balanced: bool = False
    """Whether siblings get about the same, where that can be."""
    score: Score | None = None

    @property
    def slices(self) -> int:
        return self.count // self.slice_size

    @property
    def leaders(self) -> int:
        return 0 if self.leader is None else 1

    @property
    def unit(self) -> str:
        return "slice(s)" if self.slice_size > 1 else "pod(s)"

    def size_at(self, level: int) -> int:
        """How many pods go together in a domain of a level below the slices."""
        return next((size for at, size in self.layers if at >= level), 1)


@dataclass(slots=True)
class Share:
    """What a domain is given."""

    domain: Domain
    pods: int
    leaders: int = 0


def resolve(
    tree: Tree,
    request: TopologyRequest | None,
    count: int,
    requests: Mapping[str, int],
    leader: Mapping[str, int] | None,
    leaves_out: Filter,
    *,
    mixes_profiles: bool = True,
    as_if_empty: bool = False,
    balances: bool = False,
    score: Score | None = None,
) -> Shape:
    """Raises Unplaceable where the topology has no such levels."""
    wanted = request or TopologyRequest()
    outer, layers = _outer(wanted)
    lowest = len(tree.levels) - 1
    slice_level = lowest if outer is None else _slice_level(tree, outer[0])
    is_unconstrained = not (wanted.required or wanted.preferred)
    level = _requested(tree, wanted, outer is not None)
    if outer is not None and not outer[1]:
        raise Unplaceable("slice topology requested, but slice size not provided")
    if slice_level < level:
        above = f"podset slice topology {tree.levels[slice_level]}"
        raise Unplaceable(f"{above} is above the podset topology {tree.levels[level]}")
    size = 1 if outer is None else outer[1]
    return Shape(
        count=count,
        requests=_with_pod(requests),
        leader=None if leader is None else _with_pod(leader),
        level=level,
        is_required=bool(wanted.required),
        is_unconstrained=is_unconstrained,
        slice_size=size,
        slice_level=slice_level,
        layers=_inner(tree, layers, slice_level, size),
        least_free=is_unconstrained and mixes_profiles,
        leaves_out=leaves_out,
        as_if_empty=as_if_empty,
        is_balanced=balances and bool(wanted.preferred) and not wanted.required,
        score=score,
    )


def _outer(
    wanted: TopologyRequest,
) -> tuple[tuple[str, int] | None, tuple[tuple[str, int], ...]]:
    if wanted.layers:
        return wanted.layers[0], wanted.layers[1:]
    return ((wanted.slice_level, wanted.slice_size) if wanted.slice_level else None), ()


def _requested(tree: Tree, wanted: TopologyRequest, has_slices: bool) -> int:
    label = wanted.required or wanted.preferred
    if not label:
        return 0 if has_slices else len(tree.levels) - 1
    level = tree.level_of(label)
    if level is None:
        raise Unplaceable(f"no requested topology level: {label}")
    return level


def _slice_level(tree: Tree, label: str) -> int:
    level = tree.level_of(label)
    if level is None:
        raise Unplaceable(f"no requested topology level for slices: {label}")
    return level


def _inner(
    tree: Tree, layers: tuple[tuple[str, int], ...], above: int, size: int
) -> tuple[tuple[int, int], ...]:
    found = []
    for label, inner in layers:
        level = tree.level_of(label)
        if level is None:
            text = f"no requested topology level for additional slice layer: {label}"
            raise Unplaceable(text)
        if level <= above:
            raise Unplaceable(
                f"additional slice layer topology {label} must be at a lower level than "
                f"{tree.levels[above]}"
            )
        if size % inner:
            raise Unplaceable(
                f"additional slice layer size {inner} must evenly divide parent layer size {size}"
            )
        found.append((level, inner))
        above, size = level, inner
    return tuple(found)


def _with_pod(requests: Mapping[str, int]) -> Requests:
    return {**requests, "pods": 1}
