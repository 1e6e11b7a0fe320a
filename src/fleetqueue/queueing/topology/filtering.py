"""Which nodes a pod set may use at all, and which it likes best, where a topology goes down to
single nodes.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from fleetqueue.api.pods import taints, terms
from fleetqueue.api.requirements import Requirement
from fleetqueue.queueing.topology.shape import Filter, Score, Unplaceable
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


def check_rules(
    tree: Tree, name: str, spec: Mapping[str, Any], selector: Mapping[str, str]
) -> None:
    """Raises Unplaceable where the rules of a pod set, or what checks add to them, are such that
    nobody can tell which nodes are meant.
    """
    wanted = spec.get("nodeSelector") or {}
    for key in sorted(wanted.keys() & selector.keys()):
        if wanted[key] != selector[key]:
            raise Unplaceable(
                f"invalid podSetUpdate for PodSet {name}, error: invalid admission check "
                f"PodSetUpdate: conflict for nodeSelector: conflict for key={key}, "
                f"value1={wanted[key]}, value2={selector[key]}"
            )
    if not tree.is_by_host:
        return
    equals = [Requirement(key, "=", (value,)) for key, value in {**wanted, **selector}.items()]
    _refuse("invalid node selectors", equals)
    affinity = terms.node_rule({"affinity": spec.get("affinity")})
    if affinity is not None:
        asked = [each for term in affinity.terms or () for each in term.labels]
        _refuse("invalid affinity node selectors", asked)


def _refuse(what: str, requirements: Sequence[Requirement]) -> None:
    wrong = dict.fromkeys(text for each in requirements if (text := each.wrong()))
    if wrong:
        raise Unplaceable(f"{what}: {', '.join(wrong)}")


def node_score(tree: Tree, spec: Mapping[str, Any]) -> Score | None:
    """The weights of what the pod spec prefers of nodes; None where that does not matter."""
    preferred = terms.preferred_nodes({"affinity": spec.get("affinity")})
    if not tree.is_by_host or not preferred:
        return None

    def score(node: NodeFacts) -> int:
        return sum(weight for weight, term in preferred if term.matches(node.name, node.labels))

    return score
