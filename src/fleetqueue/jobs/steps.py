"""The steps of a look at a job whose Workload is known, in upstream's order; each may end it."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta

from fleetqueue.api.kueue import admission_status as status_of
from fleetqueue.api.kueue.workloads import scaled_down
from fleetqueue.api.times import parse_time
from fleetqueue.base.leisure import Leisure
from fleetqueue.jobs import identity, starting
from fleetqueue.jobs.choosing import apply_status, release_finalizer, spec_patch, title
from fleetqueue.jobs.infos import CannotStart
from fleetqueue.jobs.kind import JobKind, NotYet, Sight
from fleetqueue.jobs.pods_ready import NOT_STARTED, Readiness, is_told, readiness
from fleetqueue.kube.finalizers import is_deleting
from fleetqueue.kube.plan import NOTHING, Apply, Delete, Look, Note, Plan, Step
from fleetqueue.kube.resources import Object

DEACTIVATED_BY_QUEUE = "DeactivatedDueTo"
COPIED_WITHIN = timedelta(seconds=15)
READY_WITHIN = timedelta(seconds=2)
"""While much happens, what ends so soon after its admission is never told to be ready."""


@dataclass(frozen=True, slots=True)
class Pass:
    """One look at a job that stands for itself, with the Workload that stands for it."""

    kind: JobKind
    sight: Sight
    look: Look
    workload: Object
    is_elastic: bool
    leisure: Leisure = field(default_factory=Leisure)

    @property
    def is_active(self) -> bool:
        return self.kind.is_active(self.sight)


def _after_finish(here: Pass) -> Plan | None:
    if not status_of.is_finished(here.workload):
        return None
    steps = [*let_go(here.kind, here.sight), *release_finalizer(here.workload)]
    return Plan([_finished_note(here.workload), *steps]) if steps else NOTHING


def _while_deleted(here: Pass) -> Plan | None:
    """What has ended before anybody finished its Workload has nothing to stop, and could not be
    put back as it was.
    """
    if not is_deleting(here.workload):
        return None
    has_ended = here.kind.verdict(here.sight) is not None
    steps = [] if has_ended else _stop(here, "Workload is deleted", "WorkloadDeleted")
    return Plan([*steps, *release_finalizer(here.workload)])


def _on_hold(here: Pass) -> Plan | None:
    if here.kind.on_hold is None or not here.kind.on_hold(here.sight):
        return None
    if not status_of.has_quota(here.workload):
        return NOTHING
    settings = here.sight.settings
    held = status_of.release(
        here.workload, "OnHold", "Job is on hold", here.look.now, settings.wording
    )
    return Plan([apply_status(held)])


def _finish(here: Pass) -> Plan | None:
    verdict = here.kind.verdict(here.sight)
    if verdict is None:
        return None
    if (rest := _left_to_dispatch(here)) > 0:
        return Plan(after=rest)
    reason = "Succeeded" if verdict.is_success else "Failed"
    over = status_of.finish(here.workload, reason, verdict.message, here.look.now)
    return Plan([apply_status(over), _finished_note(over)])


def _left_to_dispatch(here: Pass) -> float:
    """For how many seconds the end of a job that another cluster ran is left to whoever copied it
    from there: they finish its Workload in the same moment, and of two writes one is refused. That
    cluster's clock may be wrong by more than this.
    """
    if not (here.workload.get("status") or {}).get("clusterName"):
        return 0.0
    conditions = (here.sight.job.get("status") or {}).get("conditions") or ()
    times = [each.get("lastTransitionTime") for each in conditions if each["status"] == "True"]
    past = [abs(here.look.now - parse_time(time)) for time in times if time]
    return max(0.0, (COPIED_WITHIN - min(past, default=COPIED_WITHIN)).total_seconds())


def _reclaim(here: Pass) -> Plan | None:
    """Pods that are not needed again; never more than the pod set has."""
    kind, settings = here.kind, here.sight.settings
    if kind.reclaimable is None or not settings.gates.reclaimable_pods:
        return None
    sizes = {each.get("name", "main"): each.get("count", 1) for each in _pod_sets(here)}
    try:
        found = kind.reclaimable(here.sight)
    except NotYet:
        return None
    present = (here.workload.get("status") or {}).get("reclaimablePods") or ()
    told = {each["name"]: int(each["count"]) for each in present}
    if status_of.has_quota(here.workload):
        # What was given back cannot be taken again while the rest is held; a job may begin anew
        # all the same, such as one that is sent to another worker. Where an elastic job asks for
        # less than it was given, what is left of that counts anew.
        shrunk = scaled_down(here.workload)
        kept = {name: count for name, count in told.items() if name not in shrunk}
        found = {name: max(found.get(name, 0), kept.get(name, 0)) for name in {**kept, **found}}
    wanted = {name: min(count, sizes[name]) for name, count in found.items() if name in sizes}
    if wanted == told:
        return None
    entries = [{"name": name, "count": count} for name, count in wanted.items()]
    body = status_of.reclaimable_patch(here.workload, entries)
    return Plan([Apply(body, status_of.RECLAIMABLE_PODS_MANAGER, "status")])


def _tell_readiness(here: Pass) -> Plan | None:
    if not here.sight.settings.waits_for_pods_ready:
        return None
    try:
        is_ready = status_of.is_admitted(here.workload) and here.kind.is_ready(here.sight)
    except NotYet:
        return None
    told = readiness(here.workload, is_ready)
    if is_told(here.workload, told) or _is_spared(here, told):
        return None
    if (rest := _told_later(here, told)) > 0:
        return Plan(after=rest)
    type = status_of.PODS_READY
    made = status_of.with_condition(here.workload, type, *told, here.look.now)
    body = status_of.condition_patch(made, type)
    return Plan([Apply(body, status_of.condition_manager(type), "status")])


def _is_spared(here: Pass, told: Readiness) -> bool:
    """While much happens, a job that never ran is not told that it does not."""
    is_new = status_of.find_condition(here.workload, status_of.PODS_READY) is None
    return is_new and told == NOT_STARTED and not here.leisure.take(here.look.now)


def _told_later(here: Pass, told: Readiness) -> float:
    """In how many seconds it is told that the pods are ready; 0: now."""
    admitted = status_of.find_condition(here.workload, status_of.ADMITTED)
    stays = not status_of.is_evicted(here.workload) and not here.kind.suspends(here.sight.job)
    if not told.value or admitted is None or not stays or here.sight.settings.blocks_admission:
        return 0.0
    since = here.look.now - parse_time(admitted["lastTransitionTime"])
    if since >= READY_WITHIN or here.leisure.take(here.look.now):
        return 0.0
    return (READY_WITHIN - since).total_seconds()


def _leave_after_eviction(here: Pass) -> Plan | None:
    if not status_of.is_evicted(here.workload):
        return None
    evicted = status_of.find_condition(here.workload, status_of.EVICTED)
    assert evicted is not None
    steps = _stop(here, evicted["message"], f"WorkloadEvictedDueTo{evicted['reason']}")
    if steps and (here.kind.halt is None or here.is_active):
        return Plan(steps)
    # What cannot be suspended is deleted, and not looked at again to see whether it has stopped.
    plan = Plan(steps)
    if status_of.has_quota(here.workload) and not here.is_active:
        again = here.kind.stays_out is None or not here.kind.stays_out(here.sight, here.workload)
        wording = here.sight.settings.wording
        plan.add(
            apply_status(
                status_of.release_evicted(
                    here.workload, here.look.now, may_queue_again=again, wording=wording
                )
            )
        )
    if not steps:
        _retire(here, evicted, plan)
    return plan


def _retire(here: Pass, evicted: Object, plan: Plan) -> None:
    """A job that the queue itself deactivated is deleted after a while, if so configured."""
    after = here.sight.settings.deletes_deactivated_after
    by_queue = evicted["reason"].startswith(DEACTIVATED_BY_QUEUE)
    if after is None or not by_queue or status_of.is_active(here.workload):
        return
    left = parse_time(evicted["lastTransitionTime"]) + after - here.look.now
    if left > timedelta():
        plan.look_again(left.total_seconds())
    else:
        message = "Deleted job: deactivation retention period expired"
        plan.add(Delete(here.sight.job), Note("Deleted", message))


def _start_or_wait(here: Pass) -> Plan | None:
    if not here.kind.suspends(here.sight.job):
        return None
    if status_of.is_admitted(here.workload):
        return _start(here)
    steps: list[Step] = []
    if status_of.has_quota(here.workload):
        waiting = "; ".join(
            f"{check['name']}: {check['message']}"
            for check in status_of.checks_of(here.workload)
            if check["state"] == "Pending" and check.get("message")
        )
        return Plan([note("UpdatedAdmissionCheck", waiting)]) if waiting else NOTHING
    if here.kind.follows_queue is not None and not here.kind.follows_queue(here.sight):
        return NOTHING
    queue = identity.queue_of(here.sight.job)
    if (here.workload["spec"].get("queueName") or "") != queue:
        steps += spec_patch(here.workload, {"queueName": queue})
    return Plan(steps)


def _start(here: Pass) -> Plan:
    """A kind that tells of each of its pods does so itself."""
    runs_elsewhere = here.kind.runs_elsewhere
    if runs_elsewhere is not None and runs_elsewhere(here.sight, here.workload):
        return NOTHING
    try:
        steps = starting.start(here.kind, here.sight, here.workload)
    except CannotStart as error:
        over = status_of.finish(here.workload, "FailedToStart", str(error), here.look.now)
        return Plan([apply_status(over)])
    if not steps or any(isinstance(step, Note) for step in steps):
        return Plan(steps)
    return Plan([*steps, started_note(here.workload)])


def _stop_unadmitted(here: Pass) -> Plan | None:
    """The pods of elastic jobs are gated, so those may run."""
    if status_of.is_admitted(here.workload) or here.is_elastic:
        return None
    message = "Not admitted by cluster queue"
    return Plan(_stop(here, message, "NotAdmitted"))


def _stop(here: Pass, message: str, reason: str) -> list[Step]:
    return starting.stop(here.kind, here.sight, here.workload, message, reason)


def let_go(kind: JobKind, sight: Sight) -> list[Step]:
    """What a kind does when nothing is left to do for the job."""
    return [] if kind.finalize is None else kind.finalize(sight)


def started_note(workload: Object) -> Note:
    cluster_queue = workload["status"]["admission"]["clusterQueue"]
    return note("Started", f"Admitted by clusterQueue {cluster_queue}")


def _finished_note(workload: Object) -> Note:
    return note("FinishedWorkload", f"Workload '{title(workload)}' is declared finished")


def note(reason: str, message: str) -> Note:
    return Note(reason, status_of.event_message(message))


def _pod_sets(here: Pass) -> list[Object]:
    found: list[Object] = here.workload["spec"]["podSets"]
    return found


BEFORE: tuple[Callable[[Pass], Plan | None], ...] = (
    _after_finish,
    _while_deleted,
    _on_hold,
    _finish,
)
"""Those that come before a new slice of an elastic job is made."""

AFTER: tuple[Callable[[Pass], Plan | None], ...] = (
    _reclaim,
    _tell_readiness,
    _leave_after_eviction,
    _start_or_wait,
    _stop_unadmitted,
)
