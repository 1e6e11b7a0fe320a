"""Whether the volumes a pod claims let it run, and on which nodes; told as kube-scheduler does."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from fleetqueue.api.pods.terms import NodeTerm, node_term
from fleetqueue.kube.resources import Object
from fleetqueue.runtime.scheduling.nodes import NodeState
from fleetqueue.runtime.scheduling.pods import PodInfo
from fleetqueue.runtime.scheduling.verdicts import Filter, Unfit

UNBOUND = "pod has unbound immediate PersistentVolumeClaims"
IN_USE = (
    "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already "
    "in-use by another pod"
)
WRONG_NODE = "node(s) didn't match PersistentVolume's node affinity"
ELSEWHERE = "node(s) didn't find available persistent volumes to bind"
SELECTED_NODE = "volume.kubernetes.io/selected-node"
"""On a claim: the node of the pod that waits for its volume."""
_WAITS = "WaitForFirstConsumer"

Lookup = Callable[[str, str], Object | None]
"""(namespace, name) -> the object, where there is one."""


def _nothing(namespace: str, name: str) -> Object | None:
    return None


@dataclass(frozen=True, slots=True)
class Volumes:
    """Where claims, volumes and storage classes are looked up."""

    claim: Lookup = _nothing
    volume: Lookup = _nothing
    storage_class: Lookup = _nothing


NO_VOLUMES = Volumes()


def claims_problem(info: PodInfo, volumes: Volumes) -> str:
    """What keeps the pod off every node; "" where nothing does."""
    for name in info.claims:
        claim = volumes.claim(info.namespace, name)
        if claim is None:
            return f'persistentvolumeclaim "{name}" not found'
        if claim["metadata"].get("deletionTimestamp"):
            return f'persistentvolumeclaim "{name}" is being deleted'
        if (claim.get("status") or {}).get("phase") == "Lost":
            bound = claim["spec"].get("volumeName") or ""
            what = f'bound to non-existent persistentvolume "{bound}"'
            return f'persistentvolumeclaim "{name}" {what}'
    unbound = unbound_claims(info, volumes)
    return UNBOUND if any(not _may_wait(claim, volumes) for claim in unbound) else ""


def unbound_claims(info: PodInfo, volumes: Volumes) -> list[Object]:
    found = (volumes.claim(info.namespace, name) for name in info.claims)
    return [claim for claim in found if claim is not None and not is_bound(claim)]


def is_bound(claim: Object) -> bool:
    return (claim.get("status") or {}).get("phase") == "Bound"


def volume_filter(
    info: PodInfo,
    volumes: Volumes,
    users: Mapping[tuple[str, str], int],
    nodes: Mapping[str, NodeState],
) -> Filter:
    """The node must be one from which every bound volume can be reached, and the one for which a
    volume is being made.
    """
    is_taken = any(
        users.get((info.namespace, name)) and _is_for_one(volumes.claim(info.namespace, name))
        for name in info.claims
    )
    rules = [rule for name in info.claims if (rule := _node_terms(info, name, volumes))]

    chosen = {
        name
        for claim in unbound_claims(info, volumes)
        if (name := (claim["metadata"].get("annotations") or {}).get(SELECTED_NODE)) in nodes
    }

    def check(node: NodeState) -> Unfit | None:
        if is_taken:
            return Unfit((IN_USE,), may_preempt=True)
        if chosen and chosen != {node.name}:
            return Unfit((ELSEWHERE,))
        for rule in rules:
            if not any(term.matches(node.name, node.labels) for term in rule):
                return Unfit((WRONG_NODE,))
        return None

    return check


def _may_wait(claim: Object, volumes: Volumes) -> bool:
    """Whether its volume is made only when a pod that uses it has a node."""
    name = claim["spec"].get("storageClassName") or ""
    found = volumes.storage_class("", name)
    return found is not None and found.get("volumeBindingMode") == _WAITS


def _is_for_one(claim: Object | None) -> bool:
    return claim is not None and "ReadWriteOncePod" in (claim["spec"].get("accessModes") or ())


def _node_terms(info: PodInfo, name: str, volumes: Volumes) -> list[NodeTerm]:
    claim = volumes.claim(info.namespace, name)
    bound = claim and volumes.volume("", claim["spec"].get("volumeName") or "")
    if not bound:
        return []
    required = (bound["spec"].get("nodeAffinity") or {}).get("required") or {}
    return [node_term(term) for term in required.get("nodeSelectorTerms") or ()]
