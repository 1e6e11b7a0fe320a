"""Reads Nodes and Pods as far as places depend on them."""

from collections.abc import Mapping
from typing import Any

from fleetqueue.api.kueue import labels
from fleetqueue.api.pods.requests import amounts_of, pod_requests
from fleetqueue.queueing.amounts import Requests
from fleetqueue.queueing.topology.tree import NodeFacts

Json = Mapping[str, Any]
_PLACED = (
    labels.PODSET_REQUIRED_TOPOLOGY,
    labels.PODSET_PREFERRED_TOPOLOGY,
    labels.PODSET_UNCONSTRAINED_TOPOLOGY,
    labels.PODSET_SLICE_REQUIRED_TOPOLOGY,
    labels.PODSET_SLICE_REQUIRED_TOPOLOGY_CONSTRAINTS,
)


def read_node(obj: Json) -> NodeFacts | None:
    """None where no pod can be placed: it is not ready, or closed."""
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    conditions = status.get("conditions") or ()
    is_ready = any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)
    if not is_ready or spec.get("unschedulable"):
        return None
    return NodeFacts(
        obj["metadata"]["name"],
        obj["metadata"].get("labels") or {},
        tuple(spec.get("taints") or ()),
        amounts_of(status.get("allocatable")),
    )


def read_pod(obj: Json) -> tuple[str, Requests] | None:
    """The node of a pod that runs, and what it takes there; None where we placed it, or it takes
    nothing.
    """
    spec = obj.get("spec") or {}
    node, phase = spec.get("nodeName"), (obj.get("status") or {}).get("phase")
    notes = obj["metadata"].get("annotations") or {}
    if not node or phase in ("Succeeded", "Failed") or any(key in notes for key in _PLACED):
        return None
    return str(node), {**pod_requests(spec), "pods": 1}
