"""A workload that looks for room: what it wants and whether that fits now, while others are taken
out of the state and put back."""

from collections.abc import Callable
from dataclasses import dataclass

from fleetqueue.queueing.amounts import Amounts, FlavorResource
from fleetqueue.queueing.model import PreemptionRules
from fleetqueue.queueing.preemption.targets import Target
from fleetqueue.queueing.quota import Node
from fleetqueue.queueing.state import State
from fleetqueue.queueing.workload import Workload


@dataclass(frozen=True, slots=True)
class Demand:
    """One search for targets; whoever starts it brings the state back."""

    state: State
    workload: Workload
    wanted: Amounts
    """Everything the workload would use."""
    places: frozenset[FlavorResource]
    """Where others have to give way."""
    fits_place: Callable[[], bool] | None
    """Whether its pods find nodes; asked once quota is enough."""

    @property
    def node(self) -> Node:
        return self.state.node(self.workload.cluster_queue)

    @property
    def rules(self) -> PreemptionRules:
        return self.state.queues[self.workload.cluster_queue].preemption

    @property
    def only_borrows(self) -> bool:
        """Whether the queue may take nothing back, since it uses all of its own where it is short;
        it may use what is free."""
        node = self.node
        return self.rules.borrow == "Never" and any(
            node.used(at) >= node.quota(at).nominal for at in self.places
        )

    def fits(self, may_borrow: bool) -> bool:
        node = self.node
        if not may_borrow and any(node.borrows(at, wants) for at, wants in self.wanted.items()):
            return False
        return node.fits(self.wanted) and (self.fits_place is None or self.fits_place())

    def fill_back(self, targets: list[Target], may_borrow: bool) -> list[Target]:
        """Drops the targets that are not needed. All are taken out when it begins; the last one
        made it fit, so it is needed.
        """
        kept = list(targets)
        for index in reversed(range(len(targets) - 1)):
            self.state.give(kept[index].workload)
            if self.fits(may_borrow):
                # The order of what is left is part of the behaviour: the last one moves here.
                kept[index] = kept[-1]
                kept.pop()
            else:
                self.state.take(kept[index].workload)
        return kept
