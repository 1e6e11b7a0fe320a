"""Pods that nobody ends: on nodes that are gone, deleted before they had one, or too many ended."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from fleetqueue.api import times
from fleetqueue.kube.calls import PatchType
from fleetqueue.kube.finalizers import is_deleting
from fleetqueue.kube.frame import Operator, nobody
from fleetqueue.kube.plan import Delete, Look, Patch, Plan, Step
from fleetqueue.kube.resources import Object
from fleetqueue.runtime import pod_facts
from fleetqueue.runtime.kinds import NAMESPACE, NODE, POD

OUT_OF_SERVICE = "node.kubernetes.io/out-of-service"
CLOCK = "kube-system"
"""The one parent of this controller: all pods are looked at together, every so often."""


@dataclass(frozen=True, slots=True)
class Periods:
    """When pods are looked at, and how patient it is."""

    check_seconds: float = 20.0
    quarantine_seconds: float = 40.0
    """How long a node must be gone before its pods are given up."""
    ended_max: int = 12_500


@dataclass(slots=True)
class PodCollector:
    """The decision, with its memory of when a node was first missed."""

    periods: Periods = field(default_factory=Periods)
    _missed: dict[str, datetime] = field(default_factory=dict)

    def decide(self, look: Look) -> Plan:
        if look.name != CLOCK:
            return Plan()
        pods = look.source.all(POD, "")
        nodes = {node["metadata"]["name"]: node for node in look.source.all(NODE, "")}
        plan = Plan(after=self.periods.check_seconds)
        plan.add(*_ended(surplus(pods, self.periods.ended_max)))
        plan.add(*_ended(out_of_service(pods, nodes)))
        for pod in self._orphans(pods, nodes, look.now):
            plan.add(*_end(pod, _disruption(pod, look.now)))
        plan.add(*_ended(pod for pod in pods if is_deleting(pod) and not pod_facts.node_name(pod)))
        return plan

    def _orphans(
        self, pods: Sequence[Object], nodes: dict[str, Object], now: datetime
    ) -> list[Object]:
        orphans = [pod for pod in pods if _is_orphan(pod, nodes)]
        names = {pod_facts.node_name(pod) for pod in orphans}
        self._missed = {name: self._missed.get(name, now) for name in names}
        return [
            pod
            for pod in orphans
            if (now - self._missed[pod_facts.node_name(pod)]).total_seconds()
            >= self.periods.quarantine_seconds
        ]


def surplus(pods: Sequence[Object], ended_max: int) -> list[Object]:
    """Ended pods beyond the limit: evicted ones first, then the oldest; no limit below one."""
    if ended_max <= 0:
        return []
    ended = [pod for pod in pods if pod_facts.phase(pod) not in ("Pending", "Running", "Unknown")]
    return sorted(ended, key=_by_use)[: max(len(ended) - ended_max, 0)]


def out_of_service(pods: Sequence[Object], nodes: dict[str, Object]) -> list[Object]:
    """Pods on their way out, on a node that somebody declared lost."""
    return [
        pod for pod in pods if is_deleting(pod) and _is_lost(nodes.get(pod_facts.node_name(pod)))
    ]


def operator(periods: Periods | None = None) -> Operator:
    return Operator(
        "pod-garbage-collector",
        NAMESPACE,
        PodCollector(periods or Periods()).decide,
        reads=(nobody(POD), nobody(NODE)),
        manager="kube-controller-manager",
    )


def _ended(pods: Iterable[Object]) -> list[Step]:
    return [step for pod in pods for step in _end(pod)]


def _end(pod: Object, condition: Object | None = None) -> list[Step]:
    """Nobody will tell how it ended, so it counts as failed; then it goes at once."""
    delete = Delete(pod, grace_seconds=0)
    if pod_facts.is_terminal(pod):
        return [delete]
    status: Object = {"phase": "Failed"}
    if pod["metadata"].get("generation"):
        status["observedGeneration"] = pod["metadata"]["generation"]
    if condition is not None:
        status["conditions"] = [condition]
    patch = {"metadata": {"uid": pod["metadata"]["uid"]}, "status": status}
    return [Patch(pod, patch, "status", PatchType.STRATEGIC), delete]


def _disruption(pod: Object, now: datetime) -> Object:
    made = {
        "type": "DisruptionTarget",
        "status": "True",
        "reason": "DeletionByPodGC",
        "message": "PodGC: node no longer exists",
        "lastTransitionTime": times.format_time(now),
    }
    generation = pod["metadata"].get("generation")
    return {**made, "observedGeneration": generation} if generation else made


def _is_orphan(pod: Object, nodes: dict[str, Object]) -> bool:
    name = pod_facts.node_name(pod)
    return bool(name) and name not in nodes


def _is_lost(node: Object | None) -> bool:
    if node is None:
        return False
    keys = [taint.get("key") for taint in (node.get("spec") or {}).get("taints") or ()]
    return OUT_OF_SERVICE in keys and not pod_facts.is_ready(node)


def _by_use(pod: Object) -> tuple[bool, str, str]:
    metadata = pod["metadata"]
    is_evicted = (pod.get("status") or {}).get("reason") == "Evicted"
    return not is_evicted, metadata.get("creationTimestamp") or "", metadata["name"]


OPERATOR = operator()
