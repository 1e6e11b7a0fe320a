"""Nodes and pods in one line, for tests of what runs where."""

from typing import Any

from fleetqueue.kube.resources import Object
from fleetqueue.runtime.scheduling.pods import PodInfo
from fleetqueue.runtime.scheduling.state import ClusterState

HOST = "kubernetes.io/hostname"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def node(
    name: str,
    *,
    cpu: str = "4",
    memory: str = "8Gi",
    pods: str = "110",
    labels: dict[str, str] | None = None,
    taints: list[Object] | None = None,
    is_cordoned: bool = False,
    **extended: str,
) -> Object:
    spec: Object = {"taints": taints or []}
    if is_cordoned:
        spec["unschedulable"] = True
    extra = {key.replace("__", "/").replace("_", "."): value for key, value in extended.items()}
    amounts = {"cpu": cpu, "memory": memory, "pods": pods, **extra}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {HOST: name, **(labels or {})}},
        "spec": spec,
        "status": {"capacity": amounts, "allocatable": amounts},
    }


def pod(
    name: str,
    *,
    requests: dict[str, str] | None = None,
    labels: dict[str, str] | None = None,
    namespace: str = "default",
    status: Object | None = None,
    annotations: dict[str, str] | None = None,
    **spec: Any,
) -> Object:
    """As it would be stored; `spec` adds to one container that asks for `requests`."""
    container: Object = {"name": "main", "image": "busybox"}
    if requests:
        container["resources"] = {"requests": requests}
    metadata: Object = {
        "name": name,
        "namespace": namespace,
        "uid": f"uid-{name}",
        "creationTimestamp": "2026-01-01T00:00:00Z",
    }
    if labels:
        metadata["labels"] = labels
    if annotations:
        metadata["annotations"] = annotations
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": {"containers": [container], **spec},
        "status": status or {},
    }


def cluster_of(*nodes: Object, placed: dict[str, list[Object]] | None = None) -> ClusterState:
    """Nodes, and by their name the pods that run there."""
    state = ClusterState()
    state.set_namespace("default", {"kubernetes.io/metadata.name": "default"})
    for each in nodes:
        state.set_node(each)
    for name, pods in (placed or {}).items():
        for each in pods:
            state.place(PodInfo(each), name)
    return state
