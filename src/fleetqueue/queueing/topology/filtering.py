"""Which nodes a pod set may use at all, and which it likes best, where a topology goes down to
single nodes.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from fleetqueue.api.pods import taints, terms
from fleetqueue.queueing.topology.shape import Filter, Score
from fleetqueue.queueing.topology.tree import Domain, NodeFacts, Tree

OUTSIDE = "topologyDomain"


def node_filter(
    tree: Tree,
    spec: Mapping[str, Any],
    tolerations: Sequence[Any],
    selector: Mapping[str, str],
    inside: Domain | None = None,
) -> Filter:
    """`tolerations` and `selector` come on top of those of the pod spec; leaves that are not
    `inside` a domain are left out as well.
    """
    tolerated = [*(spec.get("tolerations") or ()), *tolerations]
    wanted = {**(spec.get("nodeSelector") or {}), **selector}
    affinity = terms.node_rule({"affinity": spec.get("affinity")})

    def leaves_out(leaf: Domain) -> str:
        if inside is not None and leaf.ancestor(inside.level) is not inside:
            return OUTSIDE
        if not tree.is_by_host:
            return ""
        node = leaf.nodes[0]
        keeping_out = taints.untolerated([dict(each) for each in node.taints], tolerated)
        if keeping_out is not None:
            key, value = keeping_out.get("key"), keeping_out.get("value") or ""
            return f'taint "{key}={value}:{keeping_out.get("effect")}"'
        if any(node.labels.get(key) != value for key, value in wanted.items()):
            return "nodeSelector"
        if affinity is not None and not affinity.matches(node.name, node.labels):
            return "affinity"
        return ""

    return leaves_out


def node_score(tree: Tree, spec: Mapping[str, Any]) -> Score | None:
    """The weights of what the pod spec prefers of nodes; None where that does not matter."""
    preferred = terms.preferred_nodes({"affinity": spec.get("affinity")})
    if not tree.is_by_host or not preferred:
        return None

    def score(node: NodeFacts) -> int:
        return sum(weight for weight, term in preferred if term.matches(node.name, node.labels))

    return score
