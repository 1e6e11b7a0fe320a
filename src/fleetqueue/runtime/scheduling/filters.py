"""Which nodes a pod can run on, and why not the others, in kube-scheduler's words.

Filters come in a fixed order and the first that fails speaks for the node.
"""

from collections import Counter
from collections.abc import Mapping

from fleetqueue.api.pods import taints
from fleetqueue.api.pods.requests import CPU, MEMORY
from fleetqueue.api.pods.terms import PodTerm, Spread
from fleetqueue.runtime.scheduling.nodes import NodeState
from fleetqueue.runtime.scheduling.pods import PodInfo
from fleetqueue.runtime.scheduling.state import ClusterState
from fleetqueue.runtime.scheduling.verdicts import Filter, Unfit
from fleetqueue.runtime.scheduling.volumes import Volumes, volume_filter

UNSCHEDULABLE = "node(s) were unschedulable"
TAINTED = "node(s) had untolerated taint(s)"
NO_MATCH = "node(s) didn't match Pod's node affinity/selector"
NOT_NAMED = "node(s) didn't satisfy plugin(s) [NodeAffinity]"
TOO_MANY_PODS = "Too many pods"
NO_PORTS = "node(s) didn't have free ports for the requested pod ports"
NO_AFFINITY = "node(s) didn't match pod affinity rules"
NO_ANTI_AFFINITY = "node(s) didn't match pod anti-affinity rules"
KEPT_AWAY = "node(s) didn't satisfy existing pods anti-affinity rules"
UNEVEN = "node(s) didn't match pod topology spread constraints"
UNLABELLED = f"{UNEVEN} (missing required label)"
_CORDON = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
_FIRST = (CPU, MEMORY, "ephemeral-storage")


def filters_of(state: ClusterState, info: PodInfo, volumes: Volumes) -> list[Filter]:
    """The filters that can say anything about this pod; they see the state as it is now."""
    filters: list[Filter] = [
        lambda node: _schedulable(info, node),
        lambda node: _taints(info, node),
    ]
    if info.node_rule is not None:
        filters.append(lambda node: _node_rule(info, node))
    filters.append(lambda node: _resources(info, node))
    if info.ports:
        filters.append(lambda node: _ports(info, node))
    filters += _affinity_filters(state, info)
    if info.spreads:
        filters.append(_spread_filter(state, info))
    if info.claims:
        filters.append(volume_filter(info, volumes, state.claim_users, state.nodes))
    return filters


def check(filters: list[Filter], node: NodeState) -> Unfit | None:
    for each in filters:
        unfit = each(node)
        if unfit is not None:
            return unfit
    return None


def _schedulable(info: PodInfo, node: NodeState) -> Unfit | None:
    if node.is_unschedulable and not taints.tolerates(info.tolerations, _CORDON):
        return Unfit((UNSCHEDULABLE,))
    return None


def _taints(info: PodInfo, node: NodeState) -> Unfit | None:
    if node.taints and taints.untolerated(node.taints, info.tolerations) is not None:
        return Unfit((TAINTED,))
    return None


def _node_rule(info: PodInfo, node: NodeState) -> Unfit | None:
    rule = info.node_rule
    assert rule is not None
    if rule.matches(node.name, node.labels):
        return None
    names = rule.names()
    return Unfit((NO_MATCH if names is None or node.name in names else NOT_NAMED,))


def _resources(info: PodInfo, node: NodeState) -> Unfit | None:
    """All that is short is named; what the node never had cannot be won by removing pods."""
    free, used = node.allocatable, node.used
    lacking = [
        name
        for name, amount in info.requests.items()
        if amount > free.get(name, 0) - used.get(name, 0)
    ]
    is_crowded = len(node.pods) >= node.pods_max
    if not lacking and not is_crowded:
        return None
    ordered = sorted(lacking, key=_rank)
    reasons = ((TOO_MANY_PODS,) if is_crowded else ()) + tuple(
        f"Insufficient {name}" for name in ordered
    )
    return Unfit(reasons, all(info.requests[name] <= free.get(name, 0) for name in lacking))


def _rank(name: str) -> tuple[int, str]:
    return (_FIRST.index(name) if name in _FIRST else len(_FIRST), name)


def _ports(info: PodInfo, node: NodeState) -> Unfit | None:
    if any(port.conflicts(taken) for port in info.ports for taken in node.ports):
        return Unfit((NO_PORTS,), may_preempt=True)
    return None


def _affinity_filters(state: ClusterState, info: PodInfo) -> list[Filter]:
    filters: list[Filter] = []
    if info.affinity:
        filters.append(_affinity_filter(state, info))
    if info.anti_affinity:
        full = [
            (term.topology, state.by_place(state.count(term), term.topology))
            for term in info.anti_affinity
        ]
        filters.append(
            lambda node: Unfit((NO_ANTI_AFFINITY,), True) if _is_near(full, node) else None
        )
    kept = _kept_away(state, info)
    if kept:
        filters.append(lambda node: Unfit((KEPT_AWAY,), True) if _is_in(kept, node) else None)
    return filters


def _affinity_filter(state: ClusterState, info: PodInfo) -> Filter:
    """Pods that match all terms must be in the same place by each of them; the first of a group
    that wants to be together may go anywhere.
    """
    together = _together(state, info.affinity)
    places = [(term.topology, state.by_place(together, term.topology)) for term in info.affinity]
    is_first = not any(number for _, counts in places for number in counts.values()) and all(
        state.matches(term, info) for term in info.affinity
    )

    def check(node: NodeState) -> Unfit | None:
        for topology, counts in places:
            place = node.labels.get(topology)
            if place is None or (not counts.get(place) and not is_first):
                return Unfit((NO_AFFINITY,))
        return None

    return check


def _together(state: ClusterState, wanted: tuple[PodTerm, ...]) -> Mapping[str, int]:
    """How many pods on each node match all the terms."""
    counts = [state.count(term) for term in wanted]
    if len(counts) == 1:
        return counts[0]
    likely = [name for name in counts[0] if all(each.get(name) for each in counts)]
    return {
        name: sum(
            all(state.matches(term, other) for term in wanted)
            for other in state.nodes[name].pods.values()
        )
        for name in likely
        if name in state.nodes
    }


def _is_near(full: list[tuple[str, Counter[str]]], node: NodeState) -> bool:
    return any(counts.get(node.labels.get(topology, ""), 0) > 0 for topology, counts in full)


def _kept_away(state: ClusterState, info: PodInfo) -> set[tuple[str, str]]:
    """The places where some pod does not want this one."""
    places = set()
    for term, holders in state.keep_away.items():
        if state.matches(term, info):
            for name in holders:
                place = state.nodes[name].labels.get(term.topology)
                if place is not None:
                    places.add((term.topology, place))
    return places


def _is_in(places: set[tuple[str, str]], node: NodeState) -> bool:
    return any(pair in places for pair in node.labels.items())


def _spread_filter(state: ClusterState, info: PodInfo) -> Filter:
    """No place may have more than `maxSkew` pods above the least of all eligible places."""
    keys = [spread.term.topology for spread in info.spreads]
    eligible = [n for n in state.nodes.values() if n.object and all(k in n.labels for k in keys)]
    rows = []
    for spread in info.spreads:
        counts = state.by_place(
            state.count(spread.term),
            spread.term.topology,
            [node for node in eligible if counts_for(spread, info, node)],
        )
        least = min(counts.values(), default=0) if len(counts) >= spread.domains_min else 0
        own = int(spread.term.selector.matches(info.labels))
        rows.append((spread.term.topology, counts, spread.skew_max - own + least))

    def check(node: NodeState) -> Unfit | None:
        for topology, counts, most in rows:
            place = node.labels.get(topology)
            if place is None:
                return Unfit((UNLABELLED,))
            if counts.get(place, 0) > most:
                return Unfit((UNEVEN,), may_preempt=True)
        return None

    return check


def counts_for(spread: Spread, info: PodInfo, node: NodeState) -> bool:
    """Whether a node is one of those over which the pods are spread."""
    rule = info.node_rule if spread.honors_affinity else None
    if rule is not None and not rule.matches(node.name, node.labels):
        return False
    return not spread.honors_taints or taints.untolerated(node.taints, info.tolerations) is None
