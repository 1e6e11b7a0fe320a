"""A node as the scheduler sees it: what it offers, and what the pods on it take of that."""

from collections.abc import Mapping

from fleetqueue.api.pods.requests import CPU, MEMORY, PODS, Amounts, amounts_of
from fleetqueue.kube.resources import Object
from fleetqueue.runtime.scheduling.pods import PodInfo, Port


class NodeState:
    """One node with its pods; one that nobody has described yet has no `object`."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.object: Object | None = None
        self.labels: Mapping[str, str] = {}
        self.taints: list[Object] = []
        self.is_unschedulable = False
        self.allocatable: Amounts = {}
        self.pods_max = 0
        self.cpu, self.memory = 0, 0
        self.pods: dict[str, PodInfo] = {}
        self.used: Amounts = {}
        self.weighed_cpu, self.weighed_memory = 0, 0
        self.ports: dict[Port, int] = {}

    def describe(self, node: Object) -> None:
        spec = node.get("spec") or {}
        self.object = node
        self.labels = node["metadata"].get("labels") or {}
        self.taints = spec.get("taints") or []
        self.is_unschedulable = bool(spec.get("unschedulable"))
        status = node.get("status") or {}
        self.allocatable = amounts_of(status.get("allocatable") or status.get("capacity"))
        self.pods_max = self.allocatable.get(PODS, 0)
        self.cpu, self.memory = self.allocatable.get(CPU, 0), self.allocatable.get(MEMORY, 0)

    def add(self, info: PodInfo) -> None:
        self.pods[info.uid] = info
        self._count(info, 1)

    def remove(self, uid: str) -> PodInfo:
        info = self.pods.pop(uid)
        self._count(info, -1)
        return info

    def _count(self, info: PodInfo, sign: int) -> None:
        used = self.used
        for name, amount in info.requests.items():
            used[name] = used.get(name, 0) + sign * amount
        self.weighed_cpu += sign * info.weighed_cpu
        self.weighed_memory += sign * info.weighed_memory
        for port in info.ports:
            self.ports[port] = self.ports.get(port, 0) + sign
            if not self.ports[port]:
                del self.ports[port]
