"""What a cycle decided, line by line in the order in which it was decided; carrying it out is left
to others. Each line has the attempt it rests on, for those who ask why.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeAlias

from fleetqueue.api.meta import Key
from fleetqueue.queueing import admission_form, verdict
from fleetqueue.queueing.assignment import Assignment, Record
from fleetqueue.queueing.preemption.targets import Target
from fleetqueue.queueing.queues import Requeue
from fleetqueue.queueing.workload import Workload

Json = dict[str, Any]

WAITS_FOR_PODS = "waiting for all admitted workloads to be in PodsReady condition"
"""With the reason WaitingForPodsReady, on a workload that may not be admitted before others run."""


@dataclass(frozen=True, slots=True)
class Admit:
    """Quota is reserved."""

    workload: Workload
    assignment: Assignment
    held: Workload
    """What the state has to hold from now on."""
    packs_by_prefix: bool = True

    @property
    def replaced(self) -> Workload | None:
        """The older slice that is finished, now that this one holds quota."""
        return self.assignment.replaced

    @property
    def admission(self) -> Json:
        """`status.admission`."""
        return admission_form.admission(
            self.held.cluster_queue, self.held.assignments, self.packs_by_prefix
        )

    @property
    def considered(self) -> str:
        """What the event tells of the flavors; "" where there is nothing to tell."""
        return verdict.considered(self.assignment)


@dataclass(frozen=True, slots=True)
class Wait:
    """Nothing happens but that the workload is told why, and queued again."""

    workload: Workload
    reason: str
    """Of the condition QuotaReserved and of the event; "": the status stays as it is."""
    message: str
    requeue: Requeue
    record: Record | None = None
    """Where the next attempt goes on."""
    assignment: Assignment | None = None
    is_gated: bool = False
    """BlockedOnPreemptionGates: it would have to preempt, and may not."""

    @property
    def resource_requests(self) -> list[Json]:
        """`status.resourceRequests`."""
        return admission_form.resource_requests(self.workload)

    @property
    def has_more_flavors(self) -> bool:
        return self.record is not None and self.record.has_more


@dataclass(frozen=True, slots=True)
class Preempt:
    """Others are evicted, and the workload waits until they are gone."""

    workload: Workload
    assignment: Assignment
    targets: tuple[Target, ...]
    """Some may be on their way out already, and are not evicted again."""
    wait: Wait
    wait_if_failed: Wait
    """Told where they could not be evicted."""


@dataclass(frozen=True, slots=True)
class Migrate:
    """A variant on a less wanted flavor is evicted, and this one waits until it is gone."""

    workload: Workload
    assignment: Assignment
    target: Workload
    message: str
    """Of the eviction, whose reason is FlavorMigration."""
    wait: Wait


@dataclass(frozen=True, slots=True)
class Place:
    """A workload that holds quota gets the places it lacked."""

    workload: Workload
    assignment: Assignment
    held: Workload
    packs_by_prefix: bool = True

    @property
    def admission(self) -> Json:
        return admission_form.admission(
            self.held.cluster_queue, self.held.assignments, self.packs_by_prefix
        )


@dataclass(frozen=True, slots=True)
class FailPlace:
    """No places were found for one that holds quota; it is tried again later."""

    workload: Workload
    assignment: Assignment
    message: str
    """Of the event SecondPassFailed."""
    targets: tuple[Target, ...] = ()
    """Who is evicted to make room."""


@dataclass(frozen=True, slots=True)
class Evict:
    """A workload loses its quota, since nothing replaces a node that failed."""

    workload: Workload
    assignment: Assignment
    message: str
    reason: str = "NodeFailures"


Decision: TypeAlias = Admit | Preempt | Migrate | Wait | Place | FailPlace | Evict


@dataclass(frozen=True, slots=True)
class Plan:
    """What was decided about every head; those that hold quota already are left out."""

    decisions: tuple[Decision, ...]
    decided_at: datetime
    cycle: int
    recomputed: tuple[tuple[str, str], ...] = ()
    """Where the victims were those of others and were looked for again: the queue, and what came
    of it (new_targets, deferred_fit or skipped).
    """
    failures: tuple[tuple[Key, Exception], ...] = ()
    """What was raised where nobody could decide about a workload, for those who mend it."""

    def of(self, key: Key) -> Decision | None:
        return next((each for each in self.decisions if each.workload.key == key), None)

    def admitted(self) -> list[Admit]:
        return [each for each in self.decisions if isinstance(each, Admit)]


def explain(decision: Decision) -> list[Json]:
    """Per pod set, flavor and resource: what was needed, free and borrowable, and why not."""
    return [] if decision.assignment is None else verdict.explain(decision.assignment)
