"""Whether a queue has quota for an amount in one flavor, now or after preemption."""

from fleetqueue.queueing.amounts import FlavorResource, minus, plus, print_amount
from fleetqueue.queueing.assignment import Cause, Chance, Trial
from fleetqueue.queueing.preemption import search
from fleetqueue.queueing.quota import Node
from fleetqueue.queueing.state import State
from fleetqueue.queueing.workload import Workload

_CHANCES = {
    "none": Chance.NO_CANDIDATES,
    "preempt": Chance.PREEMPT,
    "reclaim": Chance.RECLAIM,
}


def check(state: State, workload: Workload, at: FlavorResource, before: int, amount: int) -> Trial:
    """`before` is what pod sets that were looked at earlier take."""
    flavor, resource = at
    node = state.node(workload.cluster_queue)
    needed = plus(before, amount)
    most = node.potential(at)
    available = max(0, node.available(at))
    free = min(available, max(0, minus(node.subtree_quota(at), node.used(at))))
    seen = (resource, needed, free, minus(available, free))
    if needed > most:
        taken, asked, capacity = (print_amount(resource, each) for each in (before, amount, most))
        why = (
            f"insufficient quota for {resource} in flavor {flavor}, previously considered podsets "
            f"requests ({taken}) + current podset request ({asked}) > maximum capacity ({capacity})"
        )
        return Trial(*seen, Chance.NO_FIT, why=why, cause=Cause.MAXIMUM)
    borrowing, is_below_root = node.borrowing_level(at, needed)
    if needed <= available:
        return Trial(*seen, Chance.FIT, borrowing)
    missing = print_amount(resource, minus(needed, available))
    why = f"insufficient unused quota for {resource} in flavor {flavor}, {missing} more needed"
    chance = Chance.NO_FIT
    if is_below_root or _may_preempt(state, workload, node, at, needed):
        found, borrowing = search.possibility(state, workload, at, needed)
        chance = _CHANCES[found]
    return Trial(*seen, chance, borrowing, why, Cause.QUOTA)


def _may_preempt(
    state: State, workload: Workload, node: Node, at: FlavorResource, needed: int
) -> bool:
    """Whether somebody may have to go for this amount, though the queue may have to borrow."""
    if node.quota(at).nominal >= needed:
        return True
    rules = state.queues[workload.cluster_queue].preemption
    shares_fairly = state.settings.fair_sharing is not None
    return rules.borrow != "Never" or (shares_fairly and rules.reclaim != "Never")
