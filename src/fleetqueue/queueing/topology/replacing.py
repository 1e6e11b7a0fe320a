"""Another place for pods whose node failed, or for pods that came on top: the others stay."""

from fleetqueue.queueing.topology.shape import Unplaceable
from fleetqueue.queueing.topology.tree import Domain, Tree, Values
from fleetqueue.queueing.workload import Placement, TopologyRequest


def kept_pods(tree: Tree, kept: Placement, failed_node: str) -> dict[Values, int] | None:
    """The pods that stay, by leaf; None where no node failed and yet some cannot stay: all are
    placed anew then.
    """
    pods = {
        domain.values: domain.count
        for domain in kept.domains
        if not failed_node or domain.values[-1] != failed_node
    }
    stale = next((values for values in pods if values not in tree.leaves), None)
    if stale is not None and not failed_node:
        return None
    if stale is not None:
        raise Unplaceable(
            "Cannot replace the node, because the existing topologyAssignment is invalid, "
            f"as it contains the stale domain {','.join(stale)}"
        )
    return pods


def cut(pods: dict[Values, int], count: int) -> dict[Values, int]:
    """As many pods as there are now, taken away from the end."""
    left, made = count, {}
    for values, number in pods.items():
        if left > 0:
            made[values] = min(number, left)
            left -= made[values]
    return made


def home(tree: Tree, request: TopologyRequest | None, pods: dict[Values, int]) -> Domain | None:
    """The domain in which the new places have to be: that of the slice that lost some of its pods,
    or the one that all pods are in; None where they may be anywhere.
    """
    if request is None or not pods:
        return None
    size, label = _slice(request)
    if label and (level := tree.level_of(label)) is not None:
        by_domain: dict[Values, int] = {}
        for values, number in pods.items():
            at = tree.leaves[values].ancestor(level).values
            by_domain[at] = by_domain.get(at, 0) + number
        broken = [values for values, number in by_domain.items() if number % size]
        if broken:
            return tree.by_level[level][broken[0]]
    level = tree.level_of(request.required) if request.required else None
    if level is None:
        return None
    return tree.leaves[next(iter(pods))].ancestor(level)


def request_for_rest(request: TopologyRequest | None) -> TopologyRequest | None:
    """A few pods go where there is room, within what is required of all."""
    if request is None or not request.required:
        return None
    return TopologyRequest(preferred=request.required)


def _slice(request: TopologyRequest) -> tuple[int, str]:
    if request.layers:
        return request.layers[0][1], request.layers[0][0]
    return request.slice_size, request.slice_level
