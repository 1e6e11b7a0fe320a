"""Which of the nodes a pod can run on it should run on: the least used, by what the pod and the
pods that are there prefer. Equal nodes are taken by name.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence

from fleetqueue.api.pods import taints
from fleetqueue.runtime.scheduling.filters import counts_for
from fleetqueue.runtime.scheduling.nodes import NodeState
from fleetqueue.runtime.scheduling.pods import PodInfo
from fleetqueue.runtime.scheduling.state import ClusterState

BEST = 100
TAINT_WEIGHT, NODE_WEIGHT, POD_WEIGHT, SPREAD_WEIGHT, ROOM_WEIGHT = 3, 2, 2, 2, 1


def choose(state: ClusterState, info: PodInfo, nodes: Sequence[NodeState]) -> NodeState:
    """The best of the nodes, of which there must be one; they come in the order of their names."""
    if len(nodes) == 1:
        return nodes[0]
    scores = score(state, info, nodes)
    return nodes[max(range(len(nodes)), key=lambda at: (scores[at], -at))]


def score(state: ClusterState, info: PodInfo, nodes: Sequence[NodeState]) -> list[int]:
    """A number for each node, from all that is taken into account."""
    total = [ROOM_WEIGHT * room(info, node) for node in nodes]
    if any(node.taints for node in nodes):
        disliked = [taints.disliked(node.taints, info.tolerations) for node in nodes]
        _add(total, TAINT_WEIGHT, [BEST - each for each in _scaled(disliked)])
    if info.preferred_nodes:
        liked = [_node_preference(info, node) for node in nodes]
        _add(total, NODE_WEIGHT, _scaled(liked))
    if info.pulls or state.pulls:
        _add(total, POD_WEIGHT, _stretched(_pod_preferences(state, info, nodes)))
    if info.soft_spreads:
        _add(total, SPREAD_WEIGHT, _evenness(state, info, nodes))
    return total


def room(info: PodInfo, node: NodeState) -> int:
    """How much of the node would be left, in hundredths, for cpu and memory alike."""
    found = [
        (whole - used) * BEST // whole if used <= whole else 0
        for whole, used in (
            (node.cpu, node.weighed_cpu + info.weighed_cpu),
            (node.memory, node.weighed_memory + info.weighed_memory),
        )
        if whole
    ]
    return sum(found) // len(found) if found else 0


def _node_preference(info: PodInfo, node: NodeState) -> int:
    return sum(
        weight for weight, term in info.preferred_nodes if term.matches(node.name, node.labels)
    )


def _pod_preferences(state: ClusterState, info: PodInfo, nodes: Sequence[NodeState]) -> list[int]:
    """What the pod wants of those that are there, and what they want of it."""
    places: Counter[tuple[str, str]] = Counter()
    for weight, term in info.pulls:
        _pull(state, places, term.topology, weight, state.count(term))
    for (term, weight), holders in state.pulls.items():
        if state.matches(term, info):
            _pull(state, places, term.topology, weight, holders)
    return [sum(places.get(pair, 0) for pair in node.labels.items()) for node in nodes]


def _pull(
    state: ClusterState,
    places: Counter[tuple[str, str]],
    topology: str,
    weight: int,
    counts: Mapping[str, int],
) -> None:
    for place, number in state.by_place(counts, topology).items():
        if number:
            places[topology, place] += weight * number


def _evenness(state: ClusterState, info: PodInfo, nodes: Sequence[NodeState]) -> list[int]:
    """The fewer pods of the same kind in a place the better; small topologies weigh no less."""
    keys = [spread.term.topology for spread in info.soft_spreads]
    ignored = [any(key not in node.labels for key in keys) for node in nodes]
    crowds = [0.0] * len(nodes)
    counted = [at for at, skip in enumerate(ignored) if not skip]
    for spread in info.soft_spreads:
        topology = spread.term.topology
        places = [nodes[at].labels[topology] for at in counted]
        among = [node for node in state.ordered_nodes() if counts_for(spread, info, node)]
        numbers = state.by_place(state.count(spread.term), topology, among)
        weight = math.log(len(set(places)) + 2)
        for at, place in zip(counted, places, strict=True):
            crowds[at] += numbers[place] * weight + spread.skew_max - 1
    return _reversed([round(crowd) for crowd in crowds], ignored)


def _reversed(crowds: list[int], ignored: list[bool]) -> list[int]:
    counted = [crowd for crowd, skip in zip(crowds, ignored, strict=True) if not skip]
    least, most = min(counted, default=0), max(counted, default=0)
    return [
        0 if skip else BEST if not most else BEST * (most + least - crowd) // most
        for crowd, skip in zip(crowds, ignored, strict=True)
    ]


def _scaled(values: list[int]) -> list[int]:
    """The largest becomes the best."""
    most = max(values)
    return [BEST * value // most for value in values] if most else values


def _stretched(values: list[int]) -> list[int]:
    """The largest becomes the best, the least zero."""
    least, most = min(values), max(values)
    return [BEST * (value - least) // (most - least) if most > least else 0 for value in values]


def _add(total: list[int], weight: int, more: list[int]) -> None:
    for at, value in enumerate(more):
        total[at] += weight * value
