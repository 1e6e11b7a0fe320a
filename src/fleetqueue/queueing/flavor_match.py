"""Whether the pods of a set may run on the nodes of a flavor: topology, taints, labels."""

from collections.abc import Collection
from datetime import datetime
from typing import Any

from fleetqueue.api.pods import taints, terms
from fleetqueue.api.pods.terms import NodeRule
from fleetqueue.api.requirements import Requirement, SelectorError
from fleetqueue.queueing.model import ClusterQueue, Flavor, ResourceGroup
from fleetqueue.queueing.state import State
from fleetqueue.queueing.workload import PodSet, TopologyRequest

NO_REQUEST = TopologyRequest()


def mismatch(
    state: State,
    group: ResourceGroup,
    name: str,
    pods: PodSet,
    *,
    places_all: bool,
    is_elsewhere: bool = False,
) -> str:
    """Why the flavor is none for these pods; "" where it may be. `places_all` tells whether the
    queue places the pods of everybody, `is_elsewhere` whether another cluster does that. Raises
    SelectorError where nobody can tell what the pods ask of nodes.
    """
    flavor = state.flavors.get(name)
    if flavor is None:
        return f"flavor {name} not found"
    return (
        _topology_mismatch(state, group, flavor, pods, places_all, is_elsewhere)
        or _taint_mismatch(flavor, pods)
        or _affinity_mismatch(flavor, pods)
    )


def is_explicit(pods: PodSet) -> bool:
    return pods.topology is not None and pods.topology.is_explicit


def places_everybody(state: State, queue: ClusterQueue) -> bool:
    """Whether all flavors of the queue have a topology."""
    if not state.settings.places_pods:
        return False
    names = [name for group in queue.groups for name in group.flavors]
    return bool(names) and all(has_topology(state, name) for name in names)


def has_topology(state: State, flavor: str) -> bool:
    found = state.flavors.get(flavor)
    return found is not None and bool(found.topology)


def _topology_mismatch(
    state: State,
    group: ResourceGroup,
    flavor: Flavor,
    pods: PodSet,
    places_all: bool,
    is_elsewhere: bool,
) -> str:
    if not state.settings.places_pods:
        return ""
    if not is_explicit(pods):
        if flavor.topology and not places_all:
            return f'Flavor "{flavor.name}" supports only TopologyAwareScheduling'
        return ""
    if not flavor.topology:
        # What pods do not ask their nodes for is bound to no place.
        if not any(pods.pod_requests.get(resource) for resource in group.resources):
            return ""
        return f'Flavor "{flavor.name}" does not support TopologyAwareScheduling'
    if not state.topologies.is_known(flavor.name):
        if is_elsewhere:
            return ""
        return f'Flavor "{flavor.name}" information missing in TAS cache'
    if not set(_levels(pods.topology or NO_REQUEST)) <= set(state.topologies.levels(flavor.name)):
        return f'Flavor "{flavor.name}" does not contain the requested level'
    return ""


def _levels(request: TopologyRequest) -> list[str]:
    named = [request.required, request.preferred, request.slice_level]
    return [level for level in (*named, *(level for level, _ in request.layers)) if level]


def _taint_mismatch(flavor: Flavor, pods: PodSet) -> str:
    if not flavor.node_taints:
        return ""
    tolerations = [*(pods.spec.get("tolerations") or ()), *flavor.tolerations]
    taint = taints.untolerated(map(dict, flavor.node_taints), tolerations)
    return "" if taint is None else f"untolerated taint {_printed(taint)} in flavor {flavor.name}"


def _printed(taint: dict[str, Any]) -> str:
    """The taint as Go prints such a struct."""
    since = taint.get("timeAdded")
    added = f"{datetime.fromisoformat(since):%Y-%m-%d %H:%M:%S %z} UTC" if since else "<nil>"
    return f"{{{taint.get('key', '')} {taint.get('value', '')} {taint.get('effect', '')} {added}}}"


def _affinity_mismatch(flavor: Flavor, pods: PodSet) -> str:
    if not flavor.node_labels:
        return ""
    rule = terms.node_rule(dict(pods.spec))
    if rule is None or _matches(rule, flavor):
        return ""
    return f"flavor {flavor.name} doesn't match node affinity"


def _matches(rule: NodeRule, flavor: Flavor) -> bool:
    """What is asked of labels that the flavor does not have is left to its nodes."""
    labels = flavor.node_labels
    if any(labels[key] != value for key, value in rule.labels if key in labels):
        return False
    asked = [_about(term.labels, labels) for term in rule.terms or ()]
    if not asked or not all(asked):
        return True
    faults: list[str] = []
    for term in asked:
        wrong = [text for each in term if (text := each.wrong())]
        if not wrong and all(each.matches(labels) for each in term):
            return True
        faults += wrong
    if faults:
        raise SelectorError(", ".join(dict.fromkeys(faults)))
    return False


def _about(requirements: Collection[Requirement], keys: Collection[str]) -> list[Requirement]:
    return [each for each in requirements if each.key in keys]
