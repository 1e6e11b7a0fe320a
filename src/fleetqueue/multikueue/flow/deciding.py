"""One look at a workload, here and on workers, one decision.

    reserved ──▶ nominated ──▶ claimed ──▶ finished
        ▲            │            │
        └── evicted ◀┴────────────┘

The first step that applies ends the look (S1 to S9, as the steps are called upstream).
"""

from collections.abc import Callable

from fleetqueue.api.kueue import admission_status as status
from fleetqueue.api.kueue.workloads import is_replacement
from fleetqueue.kube.resources import Object
from fleetqueue.multikueue import copies, preemption_gates
from fleetqueue.multikueue.copies import Same, Update
from fleetqueue.multikueue.flow.claiming import converge, lose
from fleetqueue.multikueue.flow.look import Look, with_check
from fleetqueue.multikueue.flow.nominating import nominate
from fleetqueue.multikueue.flow.situation import Site, Situation
from fleetqueue.multikueue.flow.steps import (
    Decision,
    MakeCopy,
    Reset,
    Sync,
    Tell,
    Test,
    UpdateCopy,
    Write,
    WriteCopy,
)

OUT_OF_SYNC = "OutOfSync"
OWNER_NOT_FOUND = "OwnerNotFound"
SLICE_REPLACED = "WorkloadSliceReplaced"


def decide(seen: Situation) -> Decision:
    """One look at a workload that has a check of ours, is not deleted, and has an adapter."""
    look = Look(seen)
    for step in _STEPS:
        if step(look):
            break
    return look.decision


def nominated_by(decision: Decision) -> Object | None:
    """The workload with those that are asked, where their copies are all that comes after that."""
    match decision.steps:
        case [Write(made), *others] if all(isinstance(each, MakeCopy) for each in others):
            return made
    return None


def _replaced_slice(look: Look) -> bool:
    """S1: a slice that was replaced leaves all to its successor, and that waits for quota."""
    if not look.is_elastic:
        return False
    finished = status.find_condition(look.workload, status.FINISHED)
    if finished is None or finished["status"] != "True":
        return is_replacement(look.workload) and not status.has_quota(look.workload)
    if finished["reason"] != SLICE_REPLACED:
        return False
    sites = [*look.seen.sites, *look.seen.former]
    look.remove(site for site in sites if site.name != look.seen.holder)
    return True


def _over(look: Look) -> bool:
    """S2: without quota nothing of it is anywhere."""
    if not status.is_finished(look.workload) and status.has_quota(look.workload):
        look.remove(look.seen.former)
        return False
    look.remove([*look.seen.sites, *look.seen.former])
    if not status.is_finished(look.workload) and look.seen.is_activity_mirrored:
        look.add(Reset())
    if not status.is_finished(look.workload) and look.claimed:
        # Put on hold, not put out: when it gets quota again it is offered anew.
        text = copies.with_previous("Reset to Pending, the quota was given back", look.state)
        made = with_check(look.seen, "Pending", text)
        look.add(Write(status.changed(made, clusterName=None)))
    return True


def _stay(look: Look) -> bool:
    """It ran here before there was a check of ours: it is sent to workers when it was put out."""
    if not look.seen.runs_here or look.state != "Pending":
        return False
    look.remove(look.seen.sites)
    look.decision.note = "runs here, and is offered to nobody until it is evicted"
    return True


def _finish(look: Look) -> bool:
    """S3: it ended on a worker."""
    site = look.first(status.FINISHED)
    if site is None or site.copy is None:
        return False
    finished = status.find_condition(site.copy, status.FINISHED)
    assert finished is not None
    text = _lost_touch(look, site, str(finished["reason"]))
    if text:
        if look.is_taken:
            look.retry(text)
            look.add(Tell(copies.with_previous(text, look.state), "Warning"))
        elif status.is_evicted(look.workload) and look.seen.is_activity_mirrored:
            look.add(Reset())
        return True
    made = status.finish(look.workload, finished["reason"], finished["message"], look.seen.now)
    look.add(
        Test(site.name, site.copy),
        Sync(site.name, site.copy, makes=False, is_final=True),
        Write(made),
    )
    return True


def _lost_touch(look: Look, site: Site, reason: str) -> str:
    """Why a copy that is finished says nothing of the job; "" where it does."""
    if reason == OUT_OF_SYNC and not look.is_elastic:
        return (
            f'Remote workload on worker cluster "{site.name}" is out of sync with its user job,'
            " resetting for re-dispatch"
        )
    if reason == OWNER_NOT_FOUND:
        return f'The job on worker cluster "{site.name}" is gone, resetting for re-dispatch'
    return ""


def _evicted_there(look: Look) -> bool:
    """S4: a worker put it out."""
    site = look.first(status.EVICTED) or _put_out(look)
    if site is None or site.copy is None:
        return False
    if status.is_evicted(look.workload):
        is_stopped = not status.has_quota(site.copy) or _is_alone(site, site.copy)
        look.add(Sync(site.name, site.copy, makes=False, is_stopped=is_stopped))
        return True
    if not look.is_taken:
        return False
    text = (
        f'Workload evicted on worker cluster: "{site.name}", resetting for re-admission.'
        f' Previously: "{look.state}"'
    )
    look.add(Write(with_check(look.seen, "Retry", text)), Tell(text))
    return True


def _put_out(look: Look) -> Site | None:
    """The worker that evicted it and has admitted it again since then."""
    if look.state != "Ready" or status.is_evicted(look.workload):
        return None
    return next((each for each in look.holders() if each.was_put_out), None)


def _is_alone(site: Site, copy: Object) -> bool:
    """Whether no job there ever took the copy for its own: nothing runs that somebody could stop,
    and nobody gives back the quota that the copy got.
    """
    return not site.has_mirror and not copy["metadata"].get("ownerReferences")


def _align(look: Look) -> bool:
    """S5: copies say what the workload says; those of one on its way out are left to stop."""
    if status.is_evicted(look.workload) or not status.is_active(look.workload):
        return False
    for site in look.here():
        assert site.copy is not None
        outcome = copies.compare(look.workload, site.copy, look.seen.settings)
        if isinstance(outcome, Update):
            look.add(UpdateCopy(site.name, site.copy, outcome.spec))
        elif not isinstance(outcome, Same):
            look.remove([site])
    return False


def _open_gate(look: Look) -> bool:
    """S7: at most one worker preempts for it."""
    if look.seen.settings.gates.orchestrated_preemption:
        by_name = {site.name: site.copy for site in look.here() if site.copy is not None}
        turn = look.seen.settings.preemption_seconds
        opening = preemption_gates.decide(by_name, look.seen.now, turn)
        if opening.opened is not None:
            look.add(WriteCopy(opening.site, opening.opened))
        look.decision.after = opening.after
    return False


def _rest(look: Look) -> bool:
    """S8: it has a worker, or is on its way out."""
    if status.is_evicted(look.workload):
        runs_on = any(site.has_mirror for site in look.seen.former)
        if look.seen.is_activity_mirrored and not look.here() and not runs_on:
            if look.doubted > 0:
                # It may be asked to stop yet; until then it runs, and has its quota.
                look.decision.after = look.doubted
            else:
                look.add(Reset())
        return True
    return look.state != "Pending" or (bool(look.claimed) and not look.is_elastic)


_STEPS: tuple[Callable[[Look], bool], ...] = (
    _replaced_slice,
    _over,
    _stay,
    _finish,
    _evicted_there,
    _align,
    lose,
    converge,
    _open_gate,
    _rest,
    nominate,
)
