"""Which workloads have to go so that another fits, and whether that is possible at all."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from fleetqueue.queueing.amounts import Amounts, FlavorResource
from fleetqueue.queueing.preemption.classical import classical_targets
from fleetqueue.queueing.preemption.demand import Demand
from fleetqueue.queueing.preemption.fair import fair_targets
from fleetqueue.queueing.preemption.targets import Target
from fleetqueue.queueing.state import Moment, State
from fleetqueue.queueing.workload import Workload


@dataclass(frozen=True, slots=True)
class Search:
    """What was looked for, and found: whether somebody can be preempted is asked before whom."""

    moment: Moment
    workload: Workload
    wanted: Amounts
    places: frozenset[FlavorResource]
    targets: tuple[Target, ...]

    def answers(
        self, state: State, workload: Workload, wanted: Amounts, places: frozenset[FlavorResource]
    ) -> bool:
        is_same = workload is self.workload and wanted == self.wanted and places == self.places
        return is_same and state.is_now(self.moment)


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
    known: Search | None = state.last_search
    if known is not None and fits_place is None and known.answers(state, workload, wanted, places):
        return list(known.targets)
    start, moment = state.mark(), state.moment()
    try:
        found = _search(Demand(state, workload, wanted, places, fits_place))
    finally:
        state.undo(start)
    if fits_place is None:
        state.last_search = Search(moment, workload, dict(wanted), places, tuple(found))
    return found


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
