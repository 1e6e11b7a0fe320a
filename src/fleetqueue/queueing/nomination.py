"""Whether a workload at the head of its queue may be tried, and what it could get: flavors, or
those whom it would have to preempt for them.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from fleetqueue.queueing import flavors, partial, places
from fleetqueue.queueing.assignment import Assignment, Mode, Record
from fleetqueue.queueing.flavors import Only
from fleetqueue.queueing.plan import FailPlace, Wait
from fleetqueue.queueing.preemption import search
from fleetqueue.queueing.preemption.targets import Target
from fleetqueue.queueing.queues import Requeue
from fleetqueue.queueing.state import State
from fleetqueue.queueing.workload import Workload


@dataclass(frozen=True, slots=True)
class Problem:
    """What keeps a workload from being tried, found outside: its namespace, or its requests."""

    reason: str
    """"": nothing is written."""
    message: str
    requeue: Requeue = Requeue.GENERIC


@dataclass(frozen=True, slots=True)
class Head:
    """A workload to decide about: the first of its queue, or one that needs a second pass."""

    workload: Workload
    problem: Problem | None = None
    record: Record | None = None
    """What its last attempt left."""
    is_preemptor: bool = False
    """Whether it waits for its own preemptions."""


@dataclass(slots=True)
class Entry:
    """A head, and what it could get; changes while others are decided before it."""

    head: Head
    assignment: Assignment
    targets: tuple[Target, ...] = ()
    record: Record | None = None

    @property
    def workload(self) -> Workload:
        return self.head.workload

    @property
    def is_second_pass(self) -> bool:
        """Whether it holds quota, and only lacks places."""
        replaced = self.assignment.replaced
        return replaced is not None and replaced.key == self.workload.key

    @property
    def has_hope(self) -> bool:
        """Whether it fits, or would without others."""
        return self.assignment.mode >= Mode.DEFERRED_FIT or bool(self.targets)


def nominate(state: State, head: Head, cycle: int) -> Entry | Wait | FailPlace | None:
    """What the head could get, or why it is not tried; None where there is nothing to decide."""
    workload = head.workload
    holder = state.holder(workload.key)
    if (holder is not None) is not workload.needs_second_pass:
        return None
    problem = _problem(state, head)
    if problem is not None:
        return refuse(state, head, problem)
    if holder is not None:
        return Entry(head, *_second_pass(state, workload, holder))
    generation = state.generation(workload.cluster_queue)
    record = _usable(state, head, generation, cycle)
    assignment, targets = _best(state, workload, record)
    return Entry(head, assignment, targets, assignment.record(workload, generation, cycle))


def refuse(state: State, head: Head, problem: Problem) -> Wait | FailPlace:
    """It is not tried; one that holds quota keeps that, and is tried again later. What its last
    attempt left is forgotten: flavors that it had not tried would have it come again at once.
    """
    workload = head.workload
    if workload.needs_second_pass:
        nothing = Assignment((), replaced=state.holder(workload.key))
        return FailPlace(workload, nothing, problem.message)
    reason = told_reason(state, problem.reason) if problem.reason else ""
    return Wait(workload, reason, problem.message, problem.requeue)


def broken(error: Exception) -> Problem:
    """A workload that nobody foresaw waits for a change, like one that does not fit."""
    text = f"The workload could not be evaluated: {type(error).__name__}: {error}"
    return Problem("PendingEvaluation", text)


def attempt(
    state: State,
    workload: Workload,
    *,
    counts: Mapping[str, int] | None = None,
    only: Only | None = None,
    record: Record | None = None,
) -> tuple[Assignment, tuple[Target, ...]]:
    """Flavors, and whom to preempt for them where that is needed."""
    assignment = flavors.assign(state, workload, counts=counts, only=only, record=record)
    return assignment, _targets(state, workload, assignment)


def told_reason(state: State, reason: str) -> str:
    return reason if state.settings.explains_waiting else "Pending"


def _problem(state: State, head: Head) -> Problem | None:
    workload, name = head.workload, head.workload.cluster_queue
    if workload.has_failed_checks:
        return Problem("PendingEvaluation", "The workload has failed admission checks")
    node = state.tree.queues.get(name)
    if name in state.inactive or (node is not None and state.tree.has_cycle(node)):
        return Problem("Suspended", f"ClusterQueue {name} is inactive")
    if node is None:
        return Problem("Misconfigured", f"ClusterQueue {name} not found")
    return head.problem


def _usable(state: State, head: Head, generation: int, cycle: int) -> Record | None:
    """The record, unless what it says no longer holds."""
    record = head.record
    if record is None or record.hash != head.workload.hash:
        return None
    is_recent = state.settings.keeps_scan_progress and record.cycle >= cycle - 1
    return record if is_recent or record.generation == generation else None


def _best(
    state: State, workload: Workload, record: Record | None
) -> tuple[Assignment, tuple[Target, ...]]:
    """With all pods; or, where the workload allows it, with as many as can be had."""
    full = attempt(state, workload, record=record)
    if _does(full) or not state.settings.admits_partially or workload.replaces is not None:
        return full
    if not partial.may_shrink(workload.pod_sets):
        return full

    def with_counts(
        counts: Mapping[str, int],
    ) -> tuple[Assignment, tuple[Target, ...]] | None:
        found = attempt(state, workload, counts=counts, record=record)
        return found if _does(found) else None

    return partial.fewest_less(workload.pod_sets, with_counts) or full


def _does(found: tuple[Assignment, tuple[Target, ...]]) -> bool:
    assignment, targets = found
    return assignment.mode is Mode.FIT or bool(targets)


def _second_pass(
    state: State, workload: Workload, holder: Workload
) -> tuple[Assignment, tuple[Target, ...]]:
    assignment = places.place_later(state, workload, holder)
    if workload.unhealthy_nodes:
        return assignment, ()
    return assignment, _targets(state, workload, assignment)


def _targets(state: State, workload: Workload, assignment: Assignment) -> tuple[Target, ...]:
    if assignment.mode is not Mode.PREEMPT:
        return ()
    wanted = places.wanted(state, workload, assignment)
    finds_places = (lambda: not state.topologies.find(wanted).failed) if wanted else None
    return tuple(
        search.find_targets(
            state, workload, assignment.charge(), assignment.contested(), finds_places
        )
    )
