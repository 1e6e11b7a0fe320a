"""Ends pods whose node cannot be reached and so never says that they ended: those that are being
deleted, whose time to end is over, and which say that ending them so is safe.
"""

from collections.abc import Hashable, Iterable
from functools import partial

from fleetqueue.admission import kinds, node_health
from fleetqueue.api.kueue import labels
from fleetqueue.api.meta import Key
from fleetqueue.api.times import format_time, parse_time
from fleetqueue.kube.finalizers import is_deleting
from fleetqueue.kube.frame import Follow, Operator
from fleetqueue.kube.plan import NOTHING, Look, Note, Patch, Plan
from fleetqueue.kube.resources import Object, key_of, version_of
from fleetqueue.kube.sources import Index, Source

UNREACHABLE = "node.kubernetes.io/unreachable"
REASON = "NodeUnreachable"


def operator() -> Operator:
    index = Index(kinds.POD, "recoverable on node", _nodes)
    return Operator(
        "kueue-failure-recovery-controller",
        kinds.POD,
        decide,
        follows=(Follow(kinds.NODE, partial(_pods_on, index), when=_changes_reach),),
        indexes=(index,),
        manager="kueue",
        decides_deletion=True,
        skips=lambda pod: not may_be_ended(pod),
        tells_action=True,
    )


def decide(look: Look) -> Plan:
    pod = look.parent
    if not may_be_ended(pod) or _is_reachable(look.find(kinds.NODE, _node(pod))):
        return NOTHING
    left = (parse_time(pod["metadata"]["deletionTimestamp"]) - look.now).total_seconds()
    if left > 0:
        return Plan(after=left)
    message = f"Pod terminated by Kueue since its node {_node(pod)} cannot be reached"
    ended = node_health.terminated(pod, format_time(look.now), REASON, message)
    # The conditions are replaced as a whole, so this holds for the version that was read.
    patch = {"metadata": {"resourceVersion": version_of(pod)}, **ended}
    return Plan([Patch(pod, patch, "status"), Note("PodTerminatedByKueue", message)])


def may_be_ended(pod: Object) -> bool:
    """Whether it agrees, and would be gone by now if its node ended it."""
    has_ended = (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed")
    return _agrees(pod) and is_deleting(pod) and bool(_node(pod)) and not has_ended


def _agrees(pod: Object) -> bool:
    notes = pod["metadata"].get("annotations") or {}
    return bool(notes.get(labels.SAFE_TO_FORCEFULLY_DELETE) == "true")


def _is_reachable(node: Object | None) -> bool:
    """A node that is no more cannot be reached either."""
    taints = ((node or {}).get("spec") or {}).get("taints") or ()
    return node is not None and all(each["key"] != UNREACHABLE for each in taints)


def _changes_reach(old: Object | None, new: Object | None) -> bool:
    return _is_reachable(old) != _is_reachable(new)


def _pods_on(index: Index, source: Source, node: Object) -> Iterable[Key]:
    return [key_of(pod) for pod in source.found(index, node["metadata"]["name"])]


def _nodes(pod: Object) -> Iterable[Hashable]:
    return [_node(pod)] if _node(pod) and _agrees(pod) else []


def _node(pod: Object) -> str:
    return str((pod.get("spec") or {}).get("nodeName") or "")
