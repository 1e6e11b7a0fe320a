"""A pod as the scheduler sees it: everything its placement depends on, read once."""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

from fleetqueue.api.meta import Key
from fleetqueue.api.pods import terms
from fleetqueue.api.pods.requests import Amounts, pod_requests, weighed_requests
from fleetqueue.api.times import parse_time
from fleetqueue.base import codec
from fleetqueue.kube.resources import Object

DEFAULT_SCHEDULER = "default-scheduler"
ANYWHERE = "0.0.0.0"
_RULES = (
    "nodeSelector", "affinity", "tolerations", "topologySpreadConstraints", "volumes", "overhead",
    "preemptionPolicy", "resources",
)  # fmt: skip
_LONG_AGO = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Port:
    """A port of the node that a pod takes."""

    address: str
    protocol: str
    number: int

    def conflicts(self, other: "Port") -> bool:
        if (self.protocol, self.number) != (other.protocol, other.number):
            return False
        return ANYWHERE in (self.address, other.address) or self.address == other.address


class PodInfo:
    """One pod. What most pods do not have is read when it is asked for."""

    def __init__(self, pod: Object) -> None:
        metadata, spec = pod["metadata"], pod["spec"]
        self.object = pod
        self.uid = str(metadata["uid"])
        self.name = str(metadata["name"])
        self.namespace = str(metadata.get("namespace") or "")
        self.labels: Mapping[str, str] = metadata.get("labels") or {}
        self.spec: Object = spec
        self.priority = int(spec.get("priority") or 0)
        self.requests: Amounts = pod_requests(spec)
        self.weighed_cpu, self.weighed_memory = weighed_requests(spec)
        self.tolerations: list[Object] = spec.get("tolerations") or []
        self.nominated = self.told_nomination
        """The node that is being emptied for it."""
        self.is_ending = bool(metadata.get("deletionTimestamp"))
        affinity = spec.get("affinity") or {}
        self.has_pod_affinity = bool(affinity.get("podAffinity") or affinity.get("podAntiAffinity"))

    @property
    def key(self) -> Key:
        return Key(self.namespace, self.name)

    @property
    def node_name(self) -> str:
        return str(self.spec.get("nodeName") or "")

    @property
    def told_nomination(self) -> str:
        """What the object says of `nominated`."""
        return str((self.object.get("status") or {}).get("nominatedNodeName") or "")

    def nominate(self, node: str) -> None:
        self.nominated = node
        self.__dict__.pop("likeness", None)

    @cached_property
    def created_at(self) -> datetime:
        return _time(self.object["metadata"].get("creationTimestamp")) or _LONG_AGO

    @property
    def started_at(self) -> datetime | None:
        return _time((self.object.get("status") or {}).get("startTime"))

    @cached_property
    def node_rule(self) -> terms.NodeRule | None:
        return terms.node_rule(self.spec)

    @cached_property
    def preferred_nodes(self) -> tuple[tuple[int, terms.NodeTerm], ...]:
        return terms.preferred_nodes(self.spec)

    @cached_property
    def affinity(self) -> tuple[terms.PodTerm, ...]:
        return terms.pod_terms(self.spec, "podAffinity", self.namespace)

    @cached_property
    def anti_affinity(self) -> tuple[terms.PodTerm, ...]:
        return terms.pod_terms(self.spec, "podAntiAffinity", self.namespace)

    @cached_property
    def pulls(self) -> tuple[tuple[int, terms.PodTerm], ...]:
        """Preferred pods with their weight, those to stay away from with a negative one."""
        near = terms.preferred_pods(self.spec, "podAffinity", self.namespace)
        far = terms.preferred_pods(self.spec, "podAntiAffinity", self.namespace)
        return (*near, *((-weight, term) for weight, term in far))

    @cached_property
    def spreads(self) -> list[terms.Spread]:
        return terms.spreads(self.spec, self.labels, self.namespace, "DoNotSchedule")

    @cached_property
    def soft_spreads(self) -> list[terms.Spread]:
        return terms.spreads(self.spec, self.labels, self.namespace, "ScheduleAnyway")

    @cached_property
    def ports(self) -> tuple[Port, ...]:
        """Also those of sidecars, which run beside the containers."""
        sidecars = [
            each
            for each in self.spec.get("initContainers") or ()
            if each.get("restartPolicy") == "Always"
        ]
        return tuple(
            Port(port.get("hostIP") or ANYWHERE, port.get("protocol") or "TCP", port["hostPort"])
            for container in (*sidecars, *(self.spec.get("containers") or ()))
            for port in container.get("ports") or ()
            if port.get("hostPort")
        )

    @cached_property
    def claims(self) -> tuple[str, ...]:
        """The names of the volume claims it uses."""
        found = []
        for volume in self.spec.get("volumes") or ():
            if claim := volume.get("persistentVolumeClaim"):
                found.append(str(claim.get("claimName") or ""))
            elif volume.get("ephemeral") is not None:
                found.append(f"{self.name}-{volume['name']}")
        return tuple(found)

    @cached_property
    def likeness(self) -> Hashable:
        """Pods that share it fit the same nodes and wait for the same reasons."""
        rules: dict[str, Any] = {name: self.spec[name] for name in _RULES if self.spec.get(name)}
        # The token that every pod of a service account mounts has a name of its own in each pod.
        if not self.claims:
            rules.pop("volumes", None)
        text = codec.encode([rules, self.labels if self._minds_labels else None])
        amounts = frozenset(self.requests.items())
        weight = (self.weighed_cpu, self.weighed_memory)
        # A pod for which room is being made is like no other.
        single = self.uid if self.nominated or self.claims else ""
        return (self.namespace, self.priority, amounts, weight, text, self.ports, single)

    @property
    def _minds_labels(self) -> bool:
        return self.has_pod_affinity or bool(self.spec.get("topologySpreadConstraints"))


def waits(pod: Object) -> bool:
    """Whether the pod is ours to place, now."""
    spec, metadata = pod["spec"], pod["metadata"]
    return (
        not spec.get("nodeName")
        and not spec.get("schedulingGates")
        and not metadata.get("deletionTimestamp")
        and (spec.get("schedulerName") or DEFAULT_SCHEDULER) == DEFAULT_SCHEDULER
        and (pod.get("status") or {}).get("phase") not in ("Succeeded", "Failed")
    )


def takes_room(pod: Object) -> bool:
    """Whether the pod is on a node and has not ended."""
    phase = (pod.get("status") or {}).get("phase")
    return bool(pod["spec"].get("nodeName")) and phase not in ("Succeeded", "Failed")


def _time(text: str | None) -> datetime | None:
    return parse_time(text) if text else None
