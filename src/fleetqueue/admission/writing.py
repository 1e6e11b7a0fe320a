"""Writes what the scheduler decided: reservations, reasons to wait, evictions, and their events."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Any

from fleetqueue.admission.check_lists import CheckLists, is_untried
from fleetqueue.admission.controllers.workload import checks_for
from fleetqueue.admission.delivery import deliver
from fleetqueue.admission.kinds import WORKLOAD
from fleetqueue.admission.ledger import Ledger
from fleetqueue.admission.lifecycle import listed
from fleetqueue.admission.pacing import (
    REASONS_AT_ONCE,
    REASONS_PER_SECOND,
    REASONS_UNDER_WAY_MAX,
    Budget,
)
from fleetqueue.admission.slots import Slots
from fleetqueue.api.kueue import admission_status as status
from fleetqueue.api.kueue.admission_status import Wording
from fleetqueue.api.meta import Key
from fleetqueue.api.times import parse_time
from fleetqueue.base.keyed_lock import KeyedLock
from fleetqueue.kube.cluster import Cluster
from fleetqueue.kube.resources import key_of, version_of
from fleetqueue.queueing.model import ClusterQueue
from fleetqueue.queueing.plan import Admit, FailPlace, Place, Preempt, Wait
from fleetqueue.queueing.preemption import targets
from fleetqueue.queueing.preemption.targets import Target
from fleetqueue.queueing.reading import is_unchanged
from fleetqueue.queueing.state import State
from fleetqueue.queueing.workload import Workload

Json = dict[str, Any]
COMPONENT = "kueue-admission"
TRIES_MAX = 3
"""How often a write is made anew where the workload changed meanwhile."""
TELLS_MAX = 8
"""The same for why it waits: much is written to a new workload, and nobody may tell that again."""
LISTED_SECONDS_MAX = 2.0
"""So long a reservation waits for the list of checks that another writes."""
REPLACED = "due to workload slice aggregation"


class Writer:
    """Each method says whether its write was accepted; none raises for a refusal."""

    def __init__(
        self,
        cluster: Cluster,
        ledger: Ledger,
        wording: Wording,
        now: Callable[[], datetime],
        lists: CheckLists | None = None,
    ) -> None:
        self.goes_on: Callable[[Json], Json] | None = None
        """Given a workload with quota, while much happens: with what would be written to it next.
        """
        self._cluster = cluster
        self._ledger = ledger
        self._wording = wording
        self._now = now
        self._lists = lists or CheckLists(now)
        self._slots = Slots()
        self._lock = KeyedLock()
        self._reasons: dict[Key, Wait] = {}
        """Of workloads that are being told why they wait: what is to be said."""
        self._budget = Budget(now, REASONS_PER_SECOND, REASONS_AT_ONCE)
        self._telling = asyncio.Semaphore(REASONS_UNDER_WAY_MAX)
        self._unsaid: set[Key] = set()
        """Those of them whose turn has not come yet."""

    async def caught_up(self) -> None:
        """Returns when there is use in deciding more."""
        await self._slots.caught_up()

    async def reserve(self, decision: Admit) -> bool:
        key, now = decision.workload.key, self._now()
        async with self._alone(key):
            made = await self._reserve(decision, now)
        if made is None:
            return False
        self._tell_reserved(made, decision, now)
        if decision.replaced is not None and decision.replaced.key != key:
            await self._finish_slice(decision.workload, decision.replaced)
        return True

    async def _reserve(self, decision: Admit, now: datetime) -> Json | None:
        """The workload with its quota; None: it may not have it, or the server refused."""
        queue = self._ledger.state.queues.get(decision.held.cluster_queue)
        await self._await_checks(decision.workload.key, queue)
        for _ in range(TRIES_MAX):
            obj = self._ledger.workload(decision.workload.key)
            if obj is None or queue is None or not _is_still(obj, decision.workload):
                return None
            made = self._with_quota(obj, decision, queue, now)
            if await self._apply(made):
                return made
            # Somebody else's status came first: what was decided holds while the spec does.
            if self._ledger.workload(decision.workload.key) is obj:
                return None
        return None

    def _with_quota(self, obj: Json, decision: Admit, queue: ClusterQueue, now: datetime) -> Json:
        """And, while much happens, with its checks and with what dispatching says to it."""
        admission, wording = decision.admission, self._wording
        checks = checks_for(queue, status.reserve(obj, admission, now, wording=wording))
        goes_on = bool(checks) and not self._lists.are_apart(obj)
        if goes_on and is_untried(obj):
            obj = status.changed(obj, admissionChecks=listed(obj, checks, now))
        made = status.reserve(obj, admission, now, checks=checks, wording=wording)
        made = self._with_cluster(made, decision)
        return self.goes_on(made) if goes_on and self.goes_on is not None else made

    async def _await_checks(self, key: Key, queue: ClusterQueue | None) -> None:
        """The checks of a new workload are listed in this very moment, by its controller: of two
        writes at once the server would refuse one. That is, where they are not left to us.
        """
        obj = self._ledger.workload(key)
        if obj is None or queue is None or not queue.checks:
            return
        if is_untried(obj) and not self._lists.are_apart(obj):
            return
        known = {check["name"] for check in status.checks_of(obj)}
        if not known.issuperset(checks_for(queue, obj)):
            workloads = self._cluster.informer(WORKLOAD)
            await workloads.wait_changed(key, version_of(obj), LISTED_SECONDS_MAX)

    def _with_cluster(self, made: Json, decision: Admit) -> Json:
        """A slice goes where the one is whose place it takes."""
        replaced = (
            None if decision.replaced is None else self._ledger.workload(decision.replaced.key)
        )
        cluster = ((replaced or {}).get("status") or {}).get("clusterName")
        return status.changed(made, clusterName=cluster) if cluster else made

    async def place(self, decision: Place) -> bool:
        """New places for one that holds quota; it may be admitted by that."""
        key, now = decision.workload.key, self._now()
        async with self._alone(key):
            obj = self._ledger.workload(key)
            if obj is None or not status.has_quota(obj) or not obj["status"].get("admission"):
                return False
            admission = with_places(obj["status"]["admission"], decision)
            made = status.changed(obj, admission=admission, unhealthyNodes=None)
            made = status.settle_admitted(made, now, self._wording)
            if not await self._apply(made):
                return False
        if status.is_admitted(made) and not status.is_admitted(obj):
            reserved = status.find_condition(made, status.QUOTA_RESERVED)
            assert reserved is not None
            since = parse_time(reserved["lastTransitionTime"])
            self._tell_admitted(made, (now - since).total_seconds())
        return True

    async def wait(self, decision: Wait) -> None:
        """Tells the workload why it waits: an event each time, the status where it changed; of
        several that come while one is written, or while much else is told, the last.
        """
        key = decision.workload.key
        obj = self._ledger.workload(key)
        if not decision.reason or obj is None or not _waits(obj):
            return
        is_begun = key in self._reasons
        if not is_begun and self._says_already(obj, decision):
            self._event(obj, "Warning", decision.reason, decision.message)
            return
        self._reasons[key] = decision
        if is_begun:
            if key not in self._unsaid:
                self._event(obj, "Warning", decision.reason, decision.message)
            return
        self._unsaid.add(key)
        try:
            if (seconds := self._budget.take()) > 0:
                await asyncio.sleep(seconds)
            async with self._telling:
                self._unsaid.discard(key)
                if self._say(key):
                    async with self._alone(key):
                        await self._write_reasons(key)
        finally:
            self._unsaid.discard(key)
            self._reasons.pop(key, None)

    def _say(self, key: Key) -> bool:
        """Whether it still waits, and was told by an event."""
        obj, decision = self._ledger.workload(key), self._reasons[key]
        if obj is None or not _waits(obj):
            return False
        self._event(obj, "Warning", decision.reason, decision.message)
        return True

    async def _write_reasons(self, key: Key) -> None:
        failures = 0
        while failures < TELLS_MAX:
            obj, decision = self._ledger.workload(key), self._reasons[key]
            if obj is None or not _waits(obj):
                return
            made = self._waiting(obj, decision, self._now())
            if made["status"] != obj.get("status") and not await self._apply(made):
                failures += 1
            elif self._reasons[key] is decision:
                return

    def _says_already(self, obj: Json, decision: Wait) -> bool:
        return bool(self._waiting(obj, decision, self._now())["status"] == obj.get("status"))

    def _waiting(self, obj: Json, decision: Wait, now: datetime) -> Json:
        made = status.with_condition(
            obj, status.QUOTA_RESERVED, False, decision.reason, decision.message, now
        )
        if decision.is_gated:
            blocked = (True, "PreemptionGated", decision.message, now)
            made = status.with_condition(made, status.BLOCKED_ON_PREEMPTION_GATES, *blocked)
        made = status.settle_admitted(made, now, self._wording)
        return status.changed(made, resourceRequests=decision.resource_requests or None)

    async def preempt(self, decision: Preempt | FailPlace, state: State) -> bool:
        """Evicts all targets that are not on their way out; whether each of them is by now."""
        told = [
            (target, targets.preempted_message(decision.workload, target, state))
            for target in decision.targets
        ]
        keys = [target.workload.key for target in decision.targets]
        for key in keys:
            self._ledger.begin_evicting(key)
        try:
            done = await asyncio.gather(
                *(self._preempt(decision.workload, target, text, state) for target, text in told)
            )
        finally:
            for key in keys:
                self._ledger.end_evicting(key)
        return all(done)

    async def _preempt(
        self, preemptor: Workload, target: Target, message: str, state: State
    ) -> bool:
        gone = target.workload
        async with self._alone(gone.key):
            obj = self._ledger.workload(gone.key)
            if obj is None or obj["metadata"]["uid"] != gone.uid or not status.has_quota(obj):
                return True
            if status.is_evicted(obj) or status.is_finished(obj):
                return True
            if not await self._apply(status.preempt(obj, target.reason, message, self._now())):
                return False
        self._event(obj, "Normal", "EvictedDueToPreempted", message)
        text = targets.preempted_event(preemptor, target, state)
        self._event(obj, "Normal", "Preempted", text)
        by = self._ledger.workload(preemptor.key)
        if by is not None:
            told = targets.preempted_workload_event(preemptor, target)
            self._event(by, "Normal", "PreemptedWorkload", told)
        return True

    async def write(self, made: Json) -> bool:
        """A status that others worked out."""
        async with self._alone(key_of(made)):
            return await self._apply(made)

    async def evict(self, key: Key, reason: str, message: str) -> bool:
        async with self._alone(key):
            for _ in range(TRIES_MAX):
                obj = self._ledger.workload(key)
                if obj is None or status.is_evicted(obj) or status.is_finished(obj):
                    return True
                if await self._apply(status.evict(obj, reason, message, self._now())):
                    self._event(obj, "Normal", status.eviction_event(reason, ""), message)
                    return True
        return False

    async def fail_place(self, decision: FailPlace) -> None:
        obj = self._ledger.workload(decision.workload.key)
        if obj is not None:
            self._event(obj, "Warning", "SecondPassFailed", decision.message)

    async def _finish_slice(self, by: Workload, old: Workload) -> None:
        """The older slice has done its part."""
        job = by.job_uid or "UNKNOWN"
        text = f"Replaced to accommodate a workload (UID: {by.uid}, JobUID: {job}) {REPLACED}"
        async with self._alone(old.key):
            obj = self._ledger.workload(old.key)
            if obj is None or status.is_finished(obj):
                return
            made = status.finish(obj, "WorkloadSliceReplaced", text, self._now())
            if await self._apply(made):
                self._event(obj, "Normal", "WorkloadSliceReplaced", text)

    # How it is written and told

    @asynccontextmanager
    async def _alone(self, key: Key) -> AsyncIterator[None]:
        """One write of a workload at a time, each on what the one before left."""
        async with self._lock.held(key), self._slots.taken():
            yield

    async def _apply(self, made: Json) -> bool:
        loop = asyncio.get_running_loop()
        began = loop.time()
        is_there = await deliver(self._cluster, made)
        if is_there:
            self._slots.learn(loop.time() - began)
        return is_there

    def _tell_reserved(self, made: Json, decision: Admit, now: datetime) -> None:
        queue = decision.held.cluster_queue
        waited = (now - decision.workload.queued_at).total_seconds()
        text = f"Quota reserved in ClusterQueue {queue}, wait time since queued was {waited:.0f}s"
        if decision.considered:
            text += f"; Flavors considered: {decision.considered}"
        self._event(made, "Normal", "QuotaReserved", text)
        if status.is_admitted(made):
            self._tell_admitted(made, waited_seconds=0.0)

    def _tell_admitted(self, made: Json, waited_seconds: float) -> None:
        """`waited_seconds`: since quota was reserved; conditions know whole seconds only."""
        queue = made["status"]["admission"]["clusterQueue"]
        waited = f"{max(0.0, waited_seconds):.0f}s"
        text = f"Admitted by ClusterQueue {queue}, wait time since reservation was {waited}"
        self._event(made, "Normal", "Admitted", text)

    def _event(self, obj: Json, kind: str, reason: str, message: str) -> None:
        text = status.event_message(message)
        self._cluster.events.record(obj, kind, reason, text, component=COMPONENT, action=reason)


def with_places(admission: Json, decision: Place) -> Json:
    """What the workload holds, with the places that were found; all else stays to the letter: pods
    that need nothing more are part of what is written, but no longer of what is counted.
    """
    before = {each.name: each.placement for each in decision.workload.assignments}
    found = {
        each.name: told["topologyAssignment"]
        for each, told in zip(
            decision.held.assignments, decision.admission["podSetAssignments"], strict=True
        )
        if each.placement is not None and each.placement != before.get(each.name)
    }
    told = admission.get("podSetAssignments") or ()
    made = [_placed(each, found.get(each.get("name") or "main")) for each in told]
    return {**admission, "podSetAssignments": made}


def _placed(assignment: Json, place: Json | None) -> Json:
    if place is None:
        return assignment
    made = {**assignment, "topologyAssignment": place}
    is_delayed = bool(assignment.get("delayedTopologyRequest"))
    return {**made, "delayedTopologyRequest": "Ready"} if is_delayed else made


def _waits(obj: Json) -> bool:
    return not status.has_quota(obj) and not status.is_finished(obj)


def _is_still(obj: Json, tried: Workload) -> bool:
    """Whether it is the workload that was tried, asks for the same, and may have quota."""
    is_same = is_unchanged(obj, tried) and not status.has_quota(obj)
    return is_same and status.is_active(obj) and not status.is_finished(obj)
