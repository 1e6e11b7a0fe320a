"""Who must go so that a more important pod can run, if that helps at all.

On each node the fewest and least important pods are chosen; then the node where it hurts least.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from fleetqueue.api import selectors
from fleetqueue.kube.resources import Object
from fleetqueue.runtime.conditions import find
from fleetqueue.runtime.scheduling import messages
from fleetqueue.runtime.scheduling.fitting import fits
from fleetqueue.runtime.scheduling.nodes import NodeState
from fleetqueue.runtime.scheduling.pods import PodInfo
from fleetqueue.runtime.scheduling.state import ClusterState
from fleetqueue.runtime.scheduling.verdicts import Unfit
from fleetqueue.runtime.scheduling.volumes import Volumes

REASON = "PreemptionByScheduler"
CANDIDATES_MIN = 100
CANDIDATES_SHARE = 10
"""In hundredths of the nodes: in large clusters not every node is tried."""
_NEVER_STARTED = datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Preemption:
    """These pods leave the node, and the pod waits for that."""

    node: str
    victims: tuple[PodInfo, ...]
    violations: int
    """How many of them a disruption budget would have kept."""


@dataclass(frozen=True, slots=True)
class NotPossible:
    """Nothing is gained; why."""

    message: str
    keeps_nomination: bool = False
    """Whether room is being made already, so that the pod still waits for that node."""


def preempt(
    state: ClusterState,
    info: PodInfo,
    unfit: Mapping[str, Unfit],
    budgets: Sequence[Object] = (),
    volumes: Volumes | None = None,
) -> Preemption | NotPossible:
    """`unfit`: what the filters said of each node; those that are missing cannot be won."""
    if info.spec.get("preemptionPolicy") == "Never":
        return NotPossible(messages.NEVER, keeps_nomination=True)
    if _waits_for_victims(state, info, unfit):
        return NotPossible(messages.TERMINATING, keeps_nomination=True)
    names = [name for name in state.node_names() if name in unfit and unfit[name].may_preempt]
    enough = max(CANDIDATES_MIN, len(names) * CANDIDATES_SHARE // 100)
    candidates: list[Preemption] = []
    refused: dict[str, Unfit] = {}
    for name in names:
        found = _try_node(state, info, state.nodes[name], budgets, volumes)
        if isinstance(found, Unfit):
            refused[name] = found
        else:
            candidates.append(found)
            if len(candidates) >= enough and any(not each.violations for each in candidates):
                break
    if candidates:
        return min(candidates, key=_pain)
    count = len(state.node_names())
    others = [Unfit((messages.NOT_HELPFUL,))] * (count - len(refused))
    return NotPossible(messages.fit_message(count, [*refused.values(), *others]))


def _waits_for_victims(state: ClusterState, info: PodInfo, unfit: Mapping[str, Unfit]) -> bool:
    node = state.nodes.get(info.nominated) if info.nominated else None
    if node is None or (node.name in unfit and not unfit[node.name].may_preempt):
        return False
    return any(
        other.priority < info.priority and other.is_ending and _is_preempted(other)
        for other in node.pods.values()
    )


def _is_preempted(info: PodInfo) -> bool:
    found = find((info.object.get("status") or {}).get("conditions"), "DisruptionTarget")
    return found is not None and (found["status"], found.get("reason")) == ("True", REASON)


def _try_node(
    state: ClusterState,
    info: PodInfo,
    node: NodeState,
    budgets: Sequence[Object],
    volumes: Volumes | None,
) -> Preemption | Unfit:
    """All lesser pods leave; then as many as possible come back, the most important first."""
    lesser = [other for other in node.pods.values() if other.priority < info.priority]
    if not lesser:
        return Unfit((messages.NO_VICTIMS,))
    lesser.sort(key=_importance)
    try:
        for other in lesser:
            state.take_away(other.uid)
        refused = fits(state, info, node.name, volumes)
        if refused is not None:
            return refused
        protected = _protected(lesser, budgets)
        first = [other for other in lesser if other.uid in protected]
        rest = [other for other in lesser if other.uid not in protected]
        victims = []
        for other in (*first, *rest):
            state.place(other, node.name)
            if fits(state, info, node.name, volumes) is not None:
                state.take_away(other.uid)
                victims.append(other)
    finally:
        for other in lesser:
            state.place(other, node.name)
    violations = sum(victim.uid in protected for victim in victims)
    return Preemption(node.name, tuple(sorted(victims, key=_importance)), violations)


def _importance(info: PodInfo) -> tuple[int, datetime, str]:
    """The most important first: by priority, then the one that has run longest."""
    return (-info.priority, info.started_at or _NEVER_STARTED, info.uid)


def _protected(ordered: Sequence[PodInfo], budgets: Sequence[Object]) -> set[str]:
    """The uids of those whose removal some budget does not allow, taken in this order."""
    left = [int((each.get("status") or {}).get("disruptionsAllowed") or 0) for each in budgets]
    chosen = [selectors.labels_from_object(each["spec"].get("selector")) for each in budgets]
    found = set()
    for info in ordered:
        for at, budget in enumerate(budgets):
            if budget["metadata"].get("namespace") != info.namespace or not info.labels:
                continue
            if chosen[at].is_empty() or not chosen[at].matches(info.labels):
                continue
            if info.name in ((budget.get("status") or {}).get("disruptedPods") or {}):
                continue
            left[at] -= 1
            if left[at] < 0:
                found.add(info.uid)
    return found


def _pain(candidate: Preemption) -> tuple[int, int, int, int, float, str]:
    """Budgets first, then the most important victim, then all of them, and how long they ran."""
    victims = candidate.victims
    highest = victims[0].priority
    begun = min(
        victim.started_at or _NEVER_STARTED for victim in victims if victim.priority == highest
    )
    total = sum(victim.priority + 2**31 for victim in victims)
    latest_first = -begun.timestamp()
    return (candidate.violations, highest, total, len(victims), latest_first, candidate.node)
