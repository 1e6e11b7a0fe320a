"""Workloads that are to be preempted, why, and what is said about it to both sides."""

from dataclasses import dataclass

from fleetqueue.queueing.state import State
from fleetqueue.queueing.workload import Workload

IN_CLUSTER_QUEUE = "InClusterQueue"
IN_COHORT_RECLAMATION = "InCohortReclamation"
IN_COHORT_FAIR_SHARING = "InCohortFairSharing"
IN_COHORT_RECLAIM_WHILE_BORROWING = "InCohortReclaimWhileBorrowing"

_TEXTS = {
    IN_CLUSTER_QUEUE: "prioritization in the ClusterQueue",
    IN_COHORT_RECLAMATION: "reclamation within the cohort",
    IN_COHORT_FAIR_SHARING: "Fair Sharing within the cohort",
    IN_COHORT_RECLAIM_WHILE_BORROWING: "reclamation within the cohort while borrowing",
}


@dataclass(frozen=True, slots=True)
class Target:
    """A workload that has to go; it may be on its way out already (`workload.is_evicted`)."""

    workload: Workload
    reason: str
    """InClusterQueue, InCohortReclamation, InCohortFairSharing or InCohortReclaimWhileBorrowing."""


def preempted_message(preemptor: Workload, target: Target, state: State) -> str:
    """What the conditions Evicted and Preempted of the target say."""
    ids = f"UID: {preemptor.uid or 'UNKNOWN'}, JobUID: {preemptor.job_uid or 'UNKNOWN'}"
    return (
        f"Preempted to accommodate a workload ({ids}) due to {_TEXTS[target.reason]}; "
        f"preemptor path: {_path(preemptor, state)}; "
        f"preemptee path: {_path(target.workload, state)}"
    )


def preempted_event(preemptor: Workload, target: Target, state: State) -> str:
    """The event `Preempted` on the target."""
    return preempted_message(preemptor, target, state) + _priorities(preemptor, target.workload)


def preempted_workload_event(preemptor: Workload, target: Target) -> str:
    """The event `PreemptedWorkload` on the preemptor."""
    gone = target.workload
    where = f"{gone.key} (UID: {gone.uid}) in ClusterQueue {gone.cluster_queue}"
    return f"Preempted workload {where}{_priorities(preemptor, gone)}"


def _priorities(preemptor: Workload, preemptee: Workload) -> str:
    sides = (("preemptor", preemptor), ("preemptee", preemptee))
    return "".join(
        f"; {side} effective priority: {one.effective_priority} "
        f"(base: {one.priority}, boost: {one.boost})"
        for side, one in sides
    )


def _path(workload: Workload, state: State) -> str:
    node = state.tree.queues.get(workload.cluster_queue)
    return f"/{workload.cluster_queue}" if node is None else node.path
