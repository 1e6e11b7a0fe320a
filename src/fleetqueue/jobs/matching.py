"""Which Workload stands for a job as it is now, and which ones do not any more."""

from collections.abc import Sequence
from dataclasses import dataclass

from fleetqueue.api.kueue import admission_status as status_of
from fleetqueue.api.owners import controller_uid
from fleetqueue.jobs import identity
from fleetqueue.jobs.infos import CannotStart
from fleetqueue.jobs.kind import JobKind, NotYet, Sight
from fleetqueue.jobs.pod_sets import are_equivalent, as_running
from fleetqueue.jobs.starting import admitted_infos
from fleetqueue.kube.resources import Object, uid_of


@dataclass(frozen=True, slots=True)
class Matching:
    """The one that matches, if any, and all others."""

    match: Object | None
    others: list[Object]


def find_match(
    kind: JobKind, sight: Sight, pod_sets: list[Object], workloads: Sequence[Object]
) -> Matching:
    match: Object | None = None
    others = []
    for workload in workloads:
        if match is None and is_equivalent(kind, sight, pod_sets, workload):
            match = workload
        else:
            others.append(workload)
    return Matching(match, others)


def is_equivalent(
    kind: JobKind,
    sight: Sight,
    pod_sets: list[Object],
    workload: Object,
    *,
    ignores_counts: bool = False,
) -> bool:
    """Whether the Workload is this job's, as the job is now, running or not."""
    if controller_uid(workload) != uid_of(sight.job):
        return False
    if workload["spec"].get("maximumExecutionTimeSeconds") != identity.max_seconds_of(sight.job):
        return False
    is_running = status_of.is_admitted(workload) and not kind.suspends(sight.job)
    if kind.is_fixed and is_running:
        return True
    ignores_tolerations = status_of.is_admitted(workload)

    def is_like(theirs: Sequence[Object]) -> bool:
        return are_equivalent(
            pod_sets,
            theirs,
            ignores_tolerations=ignores_tolerations,
            ignores_counts=ignores_counts,
        )

    running = running_pod_sets(sight, workload)
    if running is None:
        return is_like(workload["spec"]["podSets"])
    if is_like(running):
        return True
    return kind.suspends(sight.job) and is_like(workload["spec"]["podSets"])


def running_pod_sets(sight: Sight, workload: Object) -> list[Object] | None:
    """The pod sets as the job has them once it is started; None without a reservation."""
    if not status_of.has_quota(workload):
        return None
    try:
        infos = admitted_infos(workload, sight)
        is_whole = len(infos) == len(workload["spec"]["podSets"])
        return as_running(workload, infos) if is_whole else None
    except (CannotStart, NotYet):
        return None
