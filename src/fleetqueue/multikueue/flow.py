"""What becomes of a workload that is sent to workers: one look at it, here and there, one decision.

    reserved ──▶ nominated ──▶ claimed ──▶ finished
        ▲            │            │
        └── evicted ◀┴────────────┘

The first step that applies ends the look (S1 to S9, as the steps are called upstream).
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from fleetqueue.admission.lifecycle import admitted_text
from fleetqueue.api.kueue import admission_status as status
from fleetqueue.api.kueue import labels
from fleetqueue.api.times import parse_time
from fleetqueue.kube.resources import Object
from fleetqueue.multikueue import copies, preemption_gates
from fleetqueue.multikueue.components import Component, primary_of
from fleetqueue.multikueue.copies import Same, Update
from fleetqueue.multikueue.dispatcher import Nomination
from fleetqueue.multikueue.settings import DispatchSettings

REASON = "MultiKueue"
EVICTED_ON_MANAGER = "EvictedOnManagerCluster"
OUT_OF_SYNC = "OutOfSync"
OWNER_NOT_FOUND = "OwnerNotFound"
SLICE_REPLACED = "WorkloadSliceReplaced"
REST_SECONDS_MAX = 60.0


@dataclass(frozen=True, slots=True)
class Site:
    """One worker, and what is there of the workload."""

    name: str
    is_connected: bool = True
    lost_since: datetime | None = None
    copy: Object | None = None
    has_mirror: bool = False
    has_ended: bool = False
    """Whether the job there says that it is over."""

    @property
    def is_clean(self) -> bool:
        return self.copy is None and not self.has_mirror


@dataclass(frozen=True, slots=True)
class Situation:
    """A local workload and all that is known of it elsewhere."""

    workload: Object
    check: Object
    """The state of its MultiKueue check."""
    sites: Sequence[Site]
    """The configured workers, in the order of the configuration."""
    now: datetime
    settings: DispatchSettings
    nominate: Callable[[], Nomination]
    """Asks the dispatcher."""
    former: Sequence[Site] = ()
    """Workers that are not configured any more but still have something of it."""
    components: Sequence[Component] = ()
    """All Workloads of its job, this one too, where there are several."""
    components_wanted: int = 0
    is_activity_mirrored: bool = False
    """Whether the local job says of pods elsewhere that they run."""
    had: str | None = ""
    """The worker that had it last; None: one had it, and nobody knows which."""
    has_leisure: Callable[[], bool] = lambda: True
    """Whether each of its states is shown by a write of its own."""


# What is to be done; those that name a worker are done there


@dataclass(frozen=True, slots=True)
class Remove:
    """Mirror and copy go."""

    site: str


@dataclass(frozen=True, slots=True)
class MakeCopy:
    """A Workload is made."""

    site: str
    obj: Object


@dataclass(frozen=True, slots=True)
class UpdateCopy:
    """The spec of a copy becomes this."""

    site: str
    copy: Object
    spec: Object


@dataclass(frozen=True, slots=True)
class WriteCopy:
    """The status of a copy becomes what `made` has."""

    site: str
    made: Object


@dataclass(frozen=True, slots=True)
class Sync:
    """The mirror is made, brought up to the job, and its status copied back."""

    site: str
    copy: Object
    makes: bool = True
    is_final: bool = False
    is_stopped: bool = False
    """Nothing of it runs there any more."""


@dataclass(frozen=True, slots=True)
class Test:
    """What has the mirror's name there must be ours, or nothing."""

    site: str
    copy: Object


@dataclass(frozen=True, slots=True)
class Reset:
    """Nothing runs anywhere: what the local job says of that is taken back."""


@dataclass(frozen=True, slots=True)
class Write:
    """The status of the local workload becomes what `made` has."""

    made: Object


@dataclass(frozen=True, slots=True)
class SetCheck:
    """The check alone, by the dispatching controller."""

    state: str
    message: str


@dataclass(frozen=True, slots=True)
class Tell:
    """An event about the local workload."""

    message: str
    type: str = "Normal"
    reason: str = REASON


@dataclass(frozen=True, slots=True)
class Count:
    """One more workload that a worker admitted."""

    site: str


@dataclass(frozen=True, slots=True)
class WakeComponents:
    """The other Workloads of the job have something to do now."""


Step = (
    Remove | MakeCopy | UpdateCopy | WriteCopy | Sync | Test | Reset | Write | SetCheck | Tell
    | Count | WakeComponents
)  # fmt: skip


@dataclass(slots=True)
class Decision:
    """Steps in their order, when to look again, and what is wrong."""

    steps: list[Step] = field(default_factory=list)
    after: float | None = None
    problem: str = ""
    """Logged, and tried again later and later."""
    note: str = ""


def decide(seen: Situation) -> Decision:
    """One look at a workload that has a check of ours, is not deleted, and has an adapter."""
    look = _Look(seen)
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


@dataclass(slots=True)
class _Look:
    """A situation and what was decided so far."""

    seen: Situation
    decision: Decision = field(default_factory=Decision)
    removed: set[str] = field(default_factory=set)

    @property
    def workload(self) -> Object:
        return self.seen.workload

    @property
    def claimed(self) -> str:
        """The worker that has it."""
        return str((self.workload.get("status") or {}).get("clusterName") or "")

    @property
    def state(self) -> str:
        return str(self.seen.check.get("state") or "Pending")

    @property
    def is_elastic(self) -> bool:
        annotations = self.workload["metadata"].get("annotations") or {}
        return self.seen.settings.gates.slices and annotations.get(labels.ELASTIC_JOB) == "true"

    @property
    def is_slice(self) -> bool:
        """Whether it takes the place of another Workload of its job."""
        annotations = self.workload["metadata"].get("annotations") or {}
        return labels.WORKLOAD_SLICE_REPLACEMENT_FOR in annotations

    @property
    def awaited(self) -> float:
        """Seconds until it is given up that a worker out of reach still runs what it had."""
        if self.claimed or status.is_evicted(self.workload):
            return 0.0
        lost = [site for site in self.seen.sites if not site.is_connected]
        left = [_seconds_left(self.seen, site) for site in lost if self.had(site)]
        return max(left, default=0.0)

    def had(self, site: Site) -> bool:
        return self.seen.had in (None, site.name)

    def here(self) -> list[Site]:
        """Connected workers with a copy that is not on its way out."""
        return [
            site
            for site in self.seen.sites
            if site.is_connected and site.copy is not None and site.name not in self.removed
        ]

    def holders(self) -> list[Site]:
        """Those that may speak for the workload: the one that has it, or all while none has; nobody
        while it may still run elsewhere.
        """
        if self.awaited > 0:
            return []
        return [site for site in self.here() if self.claimed in ("", site.name)]

    def first(self, type: str) -> Site | None:
        """The one whose copy got the condition first; of several the first configured."""
        found = [site for site in self.holders() if status.is_true(site.copy or {}, type)]
        return min(found, key=lambda site: _since(site, type), default=None)

    def was_asked(self, site: Site) -> bool:
        """Whether it can be written down that this worker has it."""
        is_open = not self.claimed and not status.is_evicted(self.workload)
        return not is_open or site.name in _nominated(self.workload)

    def add(self, *steps: Step) -> None:
        self.decision.steps += steps

    def remove(self, sites: Iterable[Site]) -> None:
        for site in sites:
            if site.is_connected and not site.is_clean and site.name not in self.removed:
                self.removed.add(site.name)
                self.add(Remove(site.name))

    def retry(self, message: str) -> None:
        self.add(SetCheck("Retry", copies.with_previous(message, self.state)))


def _replaced_slice(look: _Look) -> bool:
    """S1: a slice that was replaced leaves all to its successor, and that waits for quota."""
    if not look.is_elastic:
        return False
    finished = status.find_condition(look.workload, status.FINISHED)
    if finished is not None and finished["status"] == "True":
        return bool(finished["reason"] == SLICE_REPLACED)
    return look.is_slice and not status.has_quota(look.workload)


def _over(look: _Look) -> bool:
    """S2: without quota nothing of it is anywhere."""
    if not status.is_finished(look.workload) and status.has_quota(look.workload):
        look.remove(look.seen.former)
        return False
    look.remove([*look.seen.sites, *look.seen.former])
    return True


def _finish(look: _Look) -> bool:
    """S3: it ended on a worker."""
    site = look.first(status.FINISHED)
    if site is None or site.copy is None:
        return False
    finished = status.find_condition(site.copy, status.FINISHED)
    assert finished is not None
    text = _lost_touch(look, site, str(finished["reason"]))
    if text:
        if look.state == "Ready":
            look.retry(text)
            look.add(Tell(copies.with_previous(text, "Ready"), "Warning"))
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


def _lost_touch(look: _Look, site: Site, reason: str) -> str:
    """Why a copy that is finished says nothing of the job; "" where it does."""
    if reason == OUT_OF_SYNC and not look.is_elastic:
        return (
            f'Remote workload on worker cluster "{site.name}" is out of sync with its user job,'
            " resetting for re-dispatch"
        )
    if reason == OWNER_NOT_FOUND:
        return f'The job on worker cluster "{site.name}" is gone, resetting for re-dispatch'
    return ""


def _evicted_there(look: _Look) -> bool:
    """S4: a worker put it out."""
    site = look.first(status.EVICTED)
    if site is None or site.copy is None:
        return False
    if status.is_evicted(look.workload):
        is_stopped = not status.has_quota(site.copy)
        look.add(Sync(site.name, site.copy, makes=False, is_stopped=is_stopped))
        return True
    if look.state != "Ready":
        return False
    text = (
        f'Workload evicted on worker cluster: "{site.name}", resetting for re-admission.'
        ' Previously: "Ready"'
    )
    look.add(Write(_with_check(look.seen, "Retry", text)), Tell(text))
    return True


def _align(look: _Look) -> bool:
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


def _lose(look: _Look) -> bool:
    """S6a: the worker that had it does not any more, or cannot be asked."""
    if look.state != "Ready" or look.first(status.ADMITTED) is not None:
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
    if site is None or site.is_connected:
        look.retry("Admitting remote no longer exists")
        return True
    left = _seconds_left(look.seen, site)
    if left > 0:
        look.decision.after = left
    else:
        look.retry("Admitting remote lost")
    return True


def _seconds_left(seen: Situation, site: Site) -> float:
    """How long a worker that is lost may still come back."""
    since = site.lost_since or seen.now
    until = since + timedelta(seconds=seen.settings.worker_lost_seconds)
    return (until - seen.now).total_seconds()


def _converge(look: _Look) -> bool:
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
    if not look.claimed and _run_on(look, others):
        return True
    look.add(Test(site.name, site.copy))
    if look.state in ("Pending", "Ready") and was_asked:
        _claim(look, site)
    look.add(Sync(site.name, site.copy))
    return True


def _run_on(look: _Look, sites: Iterable[Site]) -> bool:
    """Whether one of these still has a mirror: it goes before there is another."""
    found = [site.name for site in sites if site.is_connected and site.has_mirror]
    if found:
        look.decision.note = f"waits until {', '.join(found)} has nothing of it"
    return bool(found)


def _stop_there(look: _Look, site: Site) -> None:
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


def _claim(look: _Look, site: Site) -> None:
    """Written before the mirror is made: whatever fails next, no other worker can have it."""
    assert site.copy is not None
    message = f'The workload was admitted on "{site.name}"'
    made = _with_check(look.seen, "Ready", message)
    made = status.changed(made, clusterName=site.name, nominatedClusterNames=None)
    made = _with_topology(made, site.copy)
    if made["status"] == look.workload.get("status"):
        return
    admitted = _admitted_too(look, made)
    look.add(Write(admitted or made))
    if look.state != "Ready":
        look.add(Tell(message), Count(site.name))
    if admitted is not None:
        text = admitted_text(look.workload, look.seen.now)
        look.add(Tell(text, reason=status.ADMITTED))
    if look.seen.components:
        look.add(WakeComponents())


def _admitted_too(look: _Look, made: Object) -> Object | None:
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


def _open_gate(look: _Look) -> bool:
    """S7: at most one worker preempts for it."""
    if look.seen.settings.gates.orchestrated_preemption:
        by_name = {site.name: site.copy for site in look.here() if site.copy is not None}
        turn = look.seen.settings.preemption_seconds
        opening = preemption_gates.decide(by_name, look.seen.now, turn)
        if opening.opened is not None:
            look.add(WriteCopy(opening.site, opening.opened))
        look.decision.after = opening.after
    return False


def _rest(look: _Look) -> bool:
    """S8: it has a worker, or is on its way out."""
    if status.is_evicted(look.workload):
        if look.seen.is_activity_mirrored and not look.here():
            look.add(Reset())
        return True
    return look.state != "Pending" or (bool(look.claimed) and not look.is_elastic)


def _nominate(look: _Look) -> bool:
    """S9: it is offered to workers."""
    others = [check for check in status.checks_of(look.workload) if check != look.seen.check]
    if any(check["state"] != "Ready" for check in others):
        look.decision.note = "waits for other checks"
        return True
    if look.awaited > 0:
        look.decision.note = "may still run on a worker that cannot be asked"
        look.decision.after = look.awaited
        return True
    if (rest := _rest_seconds(look.seen)) > 0:
        look.decision.note = "was sent back again and again, and rests"
        look.decision.after = rest
        return True
    if look.is_elastic and look.claimed:
        _offer(look, [look.claimed])
    elif look.seen.components:
        _nominate_component(look)
    else:
        _ask(look)
    return True


def _rest_seconds(seen: Situation) -> float:
    """How long one that came back from workers several times in a row is not offered again: what
    none of them can run would go round and round without an end.
    """
    times = int(seen.check.get("retryCount") or 0)
    if times < 2 or not seen.check.get("lastTransitionTime"):
        return 0.0
    seconds = min(2.0 ** (times - 2), REST_SECONDS_MAX)
    until = parse_time(seen.check["lastTransitionTime"]) + timedelta(seconds=seconds)
    return (until - seen.now).total_seconds()


def _ask(look: _Look) -> None:
    nomination = look.seen.nominate()
    look.decision.note = nomination.note
    if nomination.after is not None:
        before = look.decision.after
        look.decision.after = nomination.after if before is None else min(before, nomination.after)
    stored = _nominated(look.workload)
    names = stored if nomination.names is None else list(nomination.names)
    _write_names(look, names)
    _offer(look, names)


def _nominate_component(look: _Look) -> None:
    seen = look.seen
    primary = primary_of(seen.workload, seen.components, seen.components_wanted)
    look.decision.problem = primary.problem
    if primary.cluster:
        site = next((each for each in seen.sites if each.name == primary.cluster), None)
        if site is None or not site.is_connected:
            text = f'assigned worker cluster "{primary.cluster}" is not available'
            look.decision.problem = text
            return
        _write_names(look, [primary.cluster])
        _offer(look, [primary.cluster], is_follower=True)
    elif primary.is_first:
        _ask(look)
    elif not primary.problem:
        look.decision.note = "waits for the first component"


def _write_names(look: _Look, names: Sequence[str]) -> None:
    if list(names) != _nominated(look.workload):
        look.add(Write(status.changed(look.workload, nominatedClusterNames=list(names) or None)))


def _offer(look: _Look, names: Sequence[str], *, is_follower: bool = False) -> None:
    here = {site.name for site in look.here()}
    reachable = {site.name for site in look.seen.sites if site.is_connected}
    others = [site for site in look.seen.sites if site.name not in names]
    look.remove(others)
    if _run_on(look, others):
        return
    for name in dict.fromkeys(names):
        if name not in reachable:
            look.decision.note = f"cluster {name}: no remote client for nominated cluster"
        elif name not in here and name not in look.removed:
            made = copies.make(look.workload, look.seen.settings, is_follower=is_follower)
            look.add(MakeCopy(name, made))


def _nominated(workload: Object) -> list[str]:
    return list((workload.get("status") or {}).get("nominatedClusterNames") or ())


def _with_check(seen: Situation, state: str, message: str) -> Object:
    made = copies.check_state(seen.check, state, message, seen.now)
    checks = [
        made if each["name"] == made["name"] else each for each in status.checks_of(seen.workload)
    ]
    return status.changed(seen.workload, admissionChecks=checks)


def _since(site: Site, type: str) -> datetime:
    found: Any = status.find_condition(site.copy or {}, type)
    return parse_time(found["lastTransitionTime"])


_STEPS: tuple[Callable[[_Look], bool], ...] = (
    _replaced_slice,
    _over,
    _finish,
    _evicted_there,
    _align,
    _lose,
    _converge,
    _open_gate,
    _rest,
    _nominate,
)
