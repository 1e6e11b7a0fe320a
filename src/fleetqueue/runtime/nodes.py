"""Nodes as options and files declare them, and the Node objects that follow from that."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Literal

from fleetqueue.api.times import format_time
from fleetqueue.base import codec
from fleetqueue.kube.resources import Object
from fleetqueue.runtime.machine import Machine
from fleetqueue.runtime.modes import KWOK_NODE, RUNTIME, SIMULATED

HOST_NAME, OS, ARCHITECTURE = "kubernetes.io/hostname", "kubernetes.io/os", "kubernetes.io/arch"
DECLARED = "fleetqueue.io/declared-capacity"
"""What was declared when the node was last described: a change of that alone replaces what users
have made of it since."""
NAME_RESOLUTION = "fleetqueue.io/name-resolution"
"""How pods of a node find each other by name: one of the next two."""
HOSTS_FILE, SUBSTITUTION = "hosts-file", "substitution"
KUBELET_VERSION = "v1.34.4"
SIMULATED_CAPACITY = {"cpu": "1k", "memory": "1Ti", "pods": "1M"}
_PRESSURES = (
    ("MemoryPressure", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    ("DiskPressure", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    ("PIDPressure", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
)
_READY = ("Ready", "KubeletReady", "kubelet is posting ready status")


@dataclass(frozen=True, slots=True)
class NodeSpec:
    """One node, or `count` of them that differ by number."""

    name: str
    mode: Literal["process", "simulated"] = "process"
    capacity: Mapping[str, str] = field(default_factory=dict)
    """Replaces what the mode gives: this machine's capacity, or that of a node without limits."""
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[Object, ...] = ()
    count: int = 1

    def each(self) -> list["NodeSpec"]:
        """One of them each; several are numbered from 0."""
        if self.count == 1:
            return [self]
        return [
            replace(self, name=f"{self.name}-{number}", count=1) for number in range(self.count)
        ]


@dataclass(frozen=True, slots=True)
class Site:
    """What all nodes of a process share."""

    machine: Machine
    address: str = "127.0.0.1"
    gpu_count: int | None = None
    """So many GPUs are offered by nodes that run processes, whatever the machine has."""
    version: str = KUBELET_VERSION
    name_resolution: str = HOSTS_FILE


def default_nodes(machine: Machine) -> list[NodeSpec]:
    """This machine as one node."""
    return [NodeSpec(machine.name)]


def expanded(specs: Iterable[NodeSpec]) -> list[NodeSpec]:
    return [one for spec in specs for one in spec.each()]


def capacity_of(spec: NodeSpec, site: Site) -> dict[str, str]:
    if spec.mode == SIMULATED:
        return {**SIMULATED_CAPACITY, **spec.capacity}
    return {**site.machine.capacity(site.gpu_count), **spec.capacity}


def node_object(spec: NodeSpec, site: Site) -> Object:
    """The Node to create; its status follows when it exists."""
    annotations = {**spec.annotations, DECLARED: declaration(spec, site)}
    if spec.mode == SIMULATED:
        annotations[KWOK_NODE] = "fake"
    else:
        annotations[NAME_RESOLUTION] = site.name_resolution
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": spec.name,
            "labels": {**node_labels(spec.name, site), RUNTIME: spec.mode, **spec.labels},
            "annotations": annotations,
        },
        "spec": {"taints": list(spec.taints)} if spec.taints else {},
    }


def node_labels(name: str, site: Site) -> dict[str, str]:
    return {HOST_NAME: name, OS: "linux", ARCHITECTURE: site.machine.architecture}


def declaration(spec: NodeSpec, site: Site) -> str:
    return codec.encode(dict(sorted(capacity_of(spec, site).items()))).decode()


def node_status(node: Object, site: Site, now: datetime, capacity: Mapping[str, str]) -> Object:
    """The whole status of a node that is well. Capacity that the object has already stays, and is
    allocatable where nobody said otherwise.
    """
    old: Object = node.get("status") or {}
    whole = old.get("capacity") or old.get("allocatable") or dict(capacity)
    return {
        **old,
        "capacity": whole,
        "allocatable": {**whole, **(old.get("allocatable") or {})},
        "conditions": ready_conditions(node, now),
        "addresses": old.get("addresses") or _addresses(node["metadata"]["name"], site),
        "nodeInfo": {**_node_info(site), **_said(old.get("nodeInfo") or {})},
    }


def ready_conditions(node: Object, now: datetime) -> list[Object]:
    """Those of a node that is well; conditions of other kinds stay as they are."""
    old = (node.get("status") or {}).get("conditions") or []
    known = {each.get("type"): each for each in old}
    wanted = [(*pressure, "False") for pressure in _PRESSURES] + [(*_READY, "True")]
    own = [_condition(known.get(type), type, status, reason, message, now)
           for type, reason, message, status in wanted]  # fmt: skip
    names = {type for type, *_ in wanted}
    return [*own, *(each for each in old if each.get("type") not in names)]


def _condition(
    old: Object | None, type: str, status: str, reason: str, message: str, now: datetime
) -> Object:
    if old is not None and (old.get("status"), old.get("reason")) == (status, reason):
        return old
    is_same = old is not None and old.get("status") == status
    moved_at = old.get("lastTransitionTime") if old is not None and is_same else None
    return {
        "type": type,
        "status": status,
        "reason": reason,
        "message": message,
        "lastHeartbeatTime": format_time(now),
        "lastTransitionTime": moved_at or format_time(now),
    }


def _addresses(name: str, site: Site) -> list[Object]:
    return [
        {"type": "InternalIP", "address": site.address},
        {"type": "Hostname", "address": name},
    ]


def _node_info(site: Site) -> Object:
    machine = site.machine
    return {
        "machineID": machine.machine_id,
        "systemUUID": machine.machine_id,
        "bootID": machine.boot_id,
        "kernelVersion": machine.kernel,
        "osImage": machine.os_image,
        "containerRuntimeVersion": f"fleetqueue://{site.version.removeprefix('v')}",
        "kubeletVersion": site.version,
        "kubeProxyVersion": "",
        "operatingSystem": "linux",
        "architecture": machine.architecture,
    }


def _said(info: Object) -> Object:
    return {name: value for name, value in info.items() if value}
