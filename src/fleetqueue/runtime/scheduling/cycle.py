"""One pod, one decision: the node it goes to, or why it waits and what is done about that."""

from collections.abc import Sequence
from dataclasses import dataclass

from fleetqueue.kube.resources import Object
from fleetqueue.runtime.scheduling import messages
from fleetqueue.runtime.scheduling.filters import filters_of
from fleetqueue.runtime.scheduling.fitting import fits
from fleetqueue.runtime.scheduling.pods import PodInfo
from fleetqueue.runtime.scheduling.preemption import NotPossible, Preemption, preempt
from fleetqueue.runtime.scheduling.scoring import choose
from fleetqueue.runtime.scheduling.state import ClusterState
from fleetqueue.runtime.scheduling.verdicts import Unfit
from fleetqueue.runtime.scheduling.volumes import NO_VOLUMES, Volumes, claims_problem

CONFLICT = "pod affinity terms conflict"


@dataclass(frozen=True, slots=True)
class Placed:
    node: str


@dataclass(frozen=True, slots=True)
class Waits:
    """No node now; `preemption`: what makes room."""

    message: str
    preemption: Preemption | None = None
    keeps_nomination: bool = False


def schedule(
    state: ClusterState,
    info: PodInfo,
    volumes: Volumes = NO_VOLUMES,
    budgets: Sequence[Object] = (),
) -> Placed | Waits:
    """The state is as it was afterwards: whoever acts on a decision says so to it."""
    count = len(state.node_names())
    if not count:
        return Waits(messages.NO_NODES)
    problem = _pod_problem(info, volumes)
    if problem:
        refused = preempt(state, info, {}, budgets, volumes)
        assert isinstance(refused, NotPossible)
        return Waits(messages.pod_message(count, problem, refused.message))
    if _is_emptied(state, info, volumes):
        return Placed(info.nominated)
    unfit, nodes = {}, []
    filters = filters_of(state, info, volumes)
    for node in state.ordered_nodes():
        why = fits(state, info, node.name, volumes, filters)
        if why is None:
            nodes.append(node)
        else:
            unfit[node.name] = why
    if nodes:
        return Placed(choose(state, info, nodes).name)
    return _make_room(state, info, unfit, volumes, budgets)


def _is_emptied(state: ClusterState, info: PodInfo, volumes: Volumes) -> bool:
    """Whether the node that others were removed from has room by now."""
    node = state.nodes.get(info.nominated) if info.nominated else None
    if node is None or node.object is None:
        return False
    return fits(state, info, node.name, volumes) is None


def _pod_problem(info: PodInfo, volumes: Volumes) -> str:
    rule = info.node_rule
    if rule is not None and rule.names() == frozenset():
        return CONFLICT
    return claims_problem(info, volumes) if info.claims else ""


def _make_room(
    state: ClusterState,
    info: PodInfo,
    unfit: dict[str, Unfit],
    volumes: Volumes,
    budgets: Sequence[Object],
) -> Waits:
    found = preempt(state, info, unfit, budgets, volumes)
    count = len(unfit)
    if isinstance(found, Preemption):
        return Waits(messages.fit_message(count, unfit.values()), found, keeps_nomination=True)
    message = messages.fit_message(count, unfit.values(), found.message)
    return Waits(message, keeps_nomination=found.keeps_nomination)
