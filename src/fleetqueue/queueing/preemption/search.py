"""Which workloads have to go so that another fits, and whether that is possible at all."""

from collections.abc import Callable
from typing import Literal

from fleetqueue.queueing.amounts import Amounts, FlavorResource
from fleetqueue.queueing.preemption.classical import classical_targets
from fleetqueue.queueing.preemption.demand import Demand
from fleetqueue.queueing.preemption.fair import fair_targets
from fleetqueue.queueing.preemption.targets import Target
from fleetqueue.queueing.state import State
from fleetqueue.queueing.workload import Workload


def find_targets(
    state: State,
    workload: Workload,
    wanted: Amounts,
    places: frozenset[FlavorResource],
    fits_place: Callable[[], bool] | None = None,
) -> list[Target]:
    """The fewest that help, as the order of candidates has it; empty where none do.

    `wanted` is all that the workload would use; `places` are those of it where others have to give
    way. `fits_place` says whether its pods find nodes, with the state as it is when it is asked.
    Workloads that were taken out of the state before are not looked at; the state is left as it
    was.
    """
    start = state.mark()
    try:
        return _search(Demand(state, workload, wanted, places, fits_place))
    finally:
        state.undo(start)


def possibility(
    state: State, workload: Workload, at: FlavorResource, amount: int
) -> tuple[Literal["none", "preempt", "reclaim"], int]:
    """Whether preemption would make room for one amount: in the own queue (`preempt`), or in others
    only (`reclaim`); and the borrowing level it would then have.
    """
    node = state.node(workload.cluster_queue)
    targets = find_targets(state, workload, {at: amount}, frozenset((at,)))
    start = state.mark()
    for each in targets:
        state.take(each.workload)
    level, _ = node.borrowing_level(at, amount)
    state.undo(start)
    if not targets:
        return "none", level
    is_own = any(each.workload.cluster_queue == workload.cluster_queue for each in targets)
    return ("preempt" if is_own else "reclaim"), level


def _search(demand: Demand) -> list[Target]:
    rules = demand.state.settings.fair_sharing
    return classical_targets(demand) if rules is None else fair_targets(demand, rules)
