"""The worker that has a workload: how it gets it, and how it is lost."""

from collections.abc import Iterable

from fleetqueue.admission.lifecycle import admitted_text
from fleetqueue.api.kueue import admission_status as status
from fleetqueue.api.times import parse_time
from fleetqueue.kube.resources import Object
from fleetqueue.multikueue.flow.look import Look, seconds_left, with_check
from fleetqueue.multikueue.flow.situation import Site
from fleetqueue.multikueue.flow.steps import (
    Count,
    Sync,
    Tell,
    Test,
    WakeComponents,
    Write,
    WriteCopy,
)

EVICTED_ON_MANAGER = "EvictedOnManagerCluster"
START_SECONDS_MAX = 2.0
"""So long after its admission a job is expected to be let go."""


def lose(look: Look) -> bool:
    """S6a: the worker that had it does not any more, or cannot be asked. A slice that waits is
    bound to the worker that has its job.
    """
    is_bound = look.state == "Pending" and look.is_elastic and bool(look.claimed)
    if not (look.is_taken or is_bound) or look.first(status.ADMITTED) is not None:
        return False
    if not look.claimed:
        look.retry(
            "Admission check is Ready but no admitting cluster is recorded;"
            " this is unexpected, please report it"
        )
        return True
    site = next((each for each in look.seen.sites if each.name == look.claimed), None)
    if site is not None and site.is_connected and site.copy is None and site.has_ended:
        # Its copy was cleared away there: what the job says is all that will ever be told.
        look.add(Sync(site.name, {}, makes=False, is_final=True))
        return True
    if is_bound and site is not None and site.is_connected:
        return False
    if site is None or site.is_connected:
        look.retry("Admitting remote no longer exists")
        return True
    left = seconds_left(look.seen, site)
    if left > 0:
        look.decision.note = f"waits until {site.name} is back"
        look.decision.after = left
    else:
        look.retry("Admitting remote lost")
    return True


def converge(look: Look) -> bool:
    """S6b: a worker admitted it. One that was not asked, such as one that returns with what it had
    long ago, is asked first.
    """
    site = look.first(status.ADMITTED)
    if site is None or site.copy is None:
        return False
    was_asked = look.was_asked(site)
    if not was_asked and look.state == "Pending":
        return False
    others = [each for each in look.seen.sites if each.name != site.name]
    look.remove(others)
    if status.is_evicted(look.workload):
        _stop_there(look, site)
        return True
    if not (look.claimed and site.has_mirror) and run_on(look, [*others, *look.seen.former]):
        return True
    if _awaits_start(look, look.workload, site):
        return True
    if not look.claimed:
        look.add(Test(site.name, site.copy))
    claims = look.state in ("Pending", "Ready") and was_asked
    claimed = _claim(look, site) if claims else look.workload
    if not _awaits_start(look, claimed, site):
        look.add(Sync(site.name, site.copy))
    return True


def _awaits_start(look: Look, workload: Object, site: Site) -> bool:
    """Whether the job here is about to be let go: its mirror is made after that. What it tells
    could not be written before, and the two writes would meet.
    """
    admitted = status.find_condition(workload, status.ADMITTED)
    is_new = look.seen.is_held and not site.has_mirror
    if not is_new or admitted is None or not status.is_admitted(workload):
        return False
    passed = (look.seen.now - parse_time(admitted["lastTransitionTime"])).total_seconds()
    if passed >= START_SECONDS_MAX:
        return False
    look.decision.after = START_SECONDS_MAX - max(passed, 0.0)
    return True


def run_on(look: Look, sites: Iterable[Site]) -> bool:
    """Whether one of these still has a mirror: it goes before there is another."""
    found = [site.name for site in sites if site.is_connected and site.has_mirror]
    if found:
        look.decision.note = f"waits until {', '.join(found)} has nothing of it"
    return bool(found)


def _stop_there(look: Look, site: Site) -> None:
    assert site.copy is not None
    if status.is_true(site.copy, status.DEACTIVATION_TARGET) or not status.is_active(site.copy):
        return
    evicted = status.find_condition(look.workload, status.EVICTED)
    assert evicted is not None
    message = f"Evicted on manager: {evicted['message']}"
    made = status.with_condition(
        site.copy, status.DEACTIVATION_TARGET, True, EVICTED_ON_MANAGER, message, look.seen.now
    )
    look.add(WriteCopy(site.name, made))


def _claim(look: Look, site: Site) -> Object:
    """Written before the mirror is made: whatever fails next, no other worker can have it. The
    workload as it is then.
    """
    assert site.copy is not None
    message = f'The workload was admitted on "{site.name}"'
    made = with_check(look.seen, "Ready", message)
    made = status.changed(made, clusterName=site.name, nominatedClusterNames=None)
    made = _with_topology(made, site.copy)
    if made["status"] == look.workload.get("status"):
        return look.workload
    admitted = _admitted_too(look, made)
    look.add(Write(admitted or made))
    if look.state != "Ready":
        look.add(Tell(message), Count(site.name))
    if admitted is not None:
        text = admitted_text(look.workload, look.seen.now)
        look.add(Tell(text, reason=status.ADMITTED))
    if look.seen.components:
        look.add(WakeComponents())
    return admitted or made


def _admitted_too(look: Look, made: Object) -> Object | None:
    """Admitted in the same write, where there is no time for one more and nothing else to wait for;
    its job is let go the sooner, and can be told what becomes of its mirror.
    """
    if status.is_admitted(made):
        return None
    wording = look.seen.settings.jobs.wording
    admitted = status.settle_admitted(made, look.seen.now, wording)
    if not status.is_admitted(admitted) or look.seen.has_leisure():
        return None
    return admitted


def _with_topology(workload: Object, copy: Object) -> Object:
    """Pod sets that have their places on the worker wait for none here."""
    placed = {
        each["name"] for each in status.assignments_of(copy) if each.get("topologyAssignment")
    }
    assignments = status.assignments_of(workload)
    waiting = [each for each in assignments if each.get("delayedTopologyRequest") == "Pending"]
    if not any(each["name"] in placed for each in waiting):
        return workload
    made = [
        {**each, "delayedTopologyRequest": "Ready"}
        if each in waiting and each["name"] in placed
        else each
        for each in assignments
    ]
    admission = {**workload["status"]["admission"], "podSetAssignments": made}
    return status.changed(workload, admission=admission)
