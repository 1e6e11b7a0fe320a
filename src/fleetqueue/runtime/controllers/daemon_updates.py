"""Rolling updates of DaemonSets: which old pods go and which nodes get a second pod in a step."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from fleetqueue.kube.finalizers import is_deleting
from fleetqueue.kube.resources import Object
from fleetqueue.runtime import pod_facts
from fleetqueue.runtime.amounts import scaled
from fleetqueue.runtime.controllers.daemon_nodes import belongs, is_updated


@dataclass(slots=True)
class Moves:
    """Pods to delete, and names of nodes that need one."""

    going: list[Object] = field(default_factory=list)
    nodes: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Update:
    """A DaemonSet in the middle of an update."""

    parent: Object
    hash: str
    nodes: Mapping[str, Object]
    pods: Mapping[str, list[Object]]
    """By node."""
    now: datetime

    def is_available(self, pod: Object) -> bool:
        wait = self.parent["spec"].get("minReadySeconds") or 0
        return pod_facts.is_available(pod, wait, self.now)

    def wants(self, node: str) -> bool:
        return node in self.nodes and belongs(self.nodes[node], self.parent)[0]

    def split(self, node: str) -> tuple[list[Object], list[Object]]:
        """The new and the old pods there that stay."""
        there = [pod for pod in self.pods.get(node, ()) if not is_deleting(pod)]
        new = [pod for pod in there if is_updated(pod, self.parent, self.hash)]
        return new, [pod for pod in there if pod not in new]


def surge_of(parent: Object, count: int) -> int:
    strategy = parent["spec"].get("updateStrategy") or {}
    rolling = strategy.get("rollingUpdate") or {}
    if strategy.get("type") != "RollingUpdate":
        return 0
    return scaled(rolling.get("maxSurge"), count, up=True)


def roll(update: Update) -> Moves:
    wanted = [name for name in update.nodes if update.wants(name)]
    surge = surge_of(update.parent, len(wanted))
    if surge:
        return _surge(update, surge, len(wanted))
    rolling = (update.parent["spec"].get("updateStrategy") or {}).get("rollingUpdate") or {}
    allowed = scaled(rolling.get("maxUnavailable"), len(wanted), up=True)
    return _replace(update, allowed or int(bool(wanted)), wanted)


def _replace(update: Update, allowed: int, wanted: list[str]) -> Moves:
    """Old pods go before new ones come; those that serve nobody at once."""
    sick, healthy, unavailable = [], [], 0
    for node in sorted({*update.pods, *wanted}):
        new, old = update.split(node)
        if len(new) + len(old) != 1:
            unavailable += 1
        elif new:
            unavailable += not update.is_available(new[0])
        elif update.is_available(old[0]):
            healthy.append(old[0])
        else:
            sick.append(old[0])
            unavailable += 1
    return Moves([*sick, *healthy[: max(allowed - unavailable, 0)]])


def _surge(update: Update, surge: int, wanted_count: int) -> Moves:
    """New pods come first, and old ones go when their successor is available."""
    moves = Moves()
    out_of_place: list[Object] = []
    candidates: list[str] = []
    surging = available = 0
    for node in sorted(update.pods):
        new, old = update.split(node)
        if len(new) > 1 or len(old) > 1:
            surging += 1
            continue
        available += sum(update.is_available(pod) for pod in (old or new)[:1])
        if not old:
            continue
        if new:
            if update.is_available(new[0]):
                moves.going.append(old[0])
            else:
                surging += 1
        elif update.is_available(old[0]):
            if update.wants(node):
                candidates.append(node)
            else:
                out_of_place.append(old[0])
        elif update.wants(node):
            moves.nodes.append(node)
        else:
            moves.going.append(old[0])
    moves.going += out_of_place[: max(available - wanted_count, 0)]
    moves.nodes += candidates[: max(surge - surging, 0)]
    return moves
