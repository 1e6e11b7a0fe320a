"""One sync of a Job that has not finished: what to make, remove, count and say."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime

from fleetqueue.api.times import format_time
from fleetqueue.kube.finalizers import is_deleting
from fleetqueue.kube.plan import Create, Delete, Note, Plan, Status
from fleetqueue.kube.resources import Object
from fleetqueue.runtime import pod_facts
from fleetqueue.runtime.controllers import job_outcome, job_pods, job_tracking
from fleetqueue.runtime.controllers.job_backoff import Backoff, finished_at
from fleetqueue.runtime.controllers.job_outcome import COMPLETIONS_REACHED, Outcome
from fleetqueue.runtime.controllers.job_sight import Sight, all_failure_count, is_tracked
from fleetqueue.runtime.controllers.job_tracking import Tally

PODS_AT_ONCE_MAX = 500
"""So many pods at most are made or removed in one sync."""
_OMITTED_WHEN_EMPTY = ("active", "succeeded", "failed", "completedIndexes", "conditions")


@dataclass
class Sync:
    """Fills a plan; the numbers run ahead of the pods, as if its steps were done."""

    sight: Sight
    backoff: Backoff
    failures: tuple[int, datetime | None]
    """How many pods failed in a row, and when the last one ended."""
    makes_pods: bool = True
    plan: Plan = field(default_factory=Plan)
    active: int = field(init=False)
    ready: int = field(init=False)
    terminating: int = field(init=False)
    conditions: list[Object] = field(init=False)
    started_at: datetime | None = field(init=False)

    def __post_init__(self) -> None:
        sight = self.sight
        self.active = len(sight.active)
        self.ready = sum(map(pod_facts.is_ready, sight.active))
        self.terminating = len(sight.terminating)
        self.conditions = list(sight.status.get("conditions") or ())
        self.started_at = job_outcome.started_at(sight)

    def run(self) -> Plan:
        outcome = job_outcome.find_outcome(self.sight)
        notes: list[Note] = []
        if outcome is not None:
            self._remove(self.sight.active)
        else:
            self._look_again_at_deadline()
            is_managed = not is_deleting(self.sight.job)
            if is_managed:
                self._manage()
            if job_outcome.is_complete(self.sight, self.active):
                outcome = COMPLETIONS_REACHED
            elif is_managed:
                notes = self._say_whether_suspended()
        self._track(outcome, notes)
        return self.plan

    # Pods

    def _manage(self) -> None:
        sight = self.sight
        if sight.is_suspended:
            self._remove(job_pods.surplus(sight, self.active), released=True)
            return
        wanted = job_pods.wanted_active(sight)
        surplus = job_pods.surplus(sight, max(0, self.active - wanted))[:PODS_AT_ONCE_MAX]
        if surplus:
            # Never both in one sync: what is missing is made in the next.
            self._remove(surplus, released=True)
            return
        held = self.terminating if sight.replaces_failed_only else 0
        missing = wanted - held - self.active
        if missing > 0 and self.makes_pods:
            self._make(min(missing, PODS_AT_ONCE_MAX))

    def _make(self, count: int) -> None:
        sight = self.sight
        if sight.limit_per_index is None and self._waits(*self.failures):
            return
        if not sight.is_indexed:
            pods = [job_pods.new_pod(sight) for _ in range(count)]
        else:
            indexes = job_pods.indexes_to_add(sight, count)
            if sight.limit_per_index is not None:
                indexes = self._without_waiting(indexes)
            pods = [job_pods.new_indexed_pod(sight, index) for index in indexes]
        self.plan.add(*map(Create, pods))
        self.active += len(pods)

    def _without_waiting(self, indexes: list[int]) -> list[int]:
        """Those whose own back-off is over."""
        waits: dict[int, float] = {}
        for index in indexes:
            before = self.sight.awaiting_replacement.get(index)
            if before is not None:
                failures = all_failure_count(before) + 1
                waits[index] = self.backoff.left(failures, finished_at(before), self.sight.now)
        ready = [index for index in indexes if not waits.get(index)]
        if not ready and indexes:
            self.plan.look_again(min(waits.values()))
        return ready

    def _waits(self, failures: int, last_at: datetime | None) -> bool:
        left = self.backoff.left(failures, last_at, self.sight.now)
        if left > 0:
            # Upstream says meanwhile that no pod is active at all, which its own API server refuses
            # where one of them is ready. The true number is told here.
            self.plan.look_again(left)
        return left > 0

    def _remove(self, pods: Iterable[Object], *, released: bool = False) -> None:
        """`released`: they count for nothing; otherwise the tally comes first, with their end."""
        removed = list(pods)
        if released:
            self.plan.add(*(job_tracking.release(pod) for pod in removed if is_tracked(pod)))
        self.plan.add(*map(Delete, removed))
        for pod in removed:
            self.plan.add(Note("SuccessfulDelete", f"Deleted pod: {pod['metadata']['name']}"))
        self.active -= len(removed)
        self.ready -= sum(map(pod_facts.is_ready, removed))
        self.terminating += len(removed)

    # Status

    def _look_again_at_deadline(self) -> None:
        left = job_outcome.seconds_to_deadline(self.sight)
        if left is not None:
            self.plan.look_again(max(left, 0.0))

    def _say_whether_suspended(self) -> list[Note]:
        now = self.sight.now
        if self.sight.is_suspended:
            said = job_outcome.condition("Suspended", "True", "JobSuspended", "Job suspended", now)
            note = Note("Suspended", "Job suspended")
        else:
            said = job_outcome.condition("Suspended", "False", "JobResumed", "Job resumed", now)
            note = Note("Resumed", "Job resumed")
        after = job_outcome.ensured(self.conditions, said)
        if after == self.conditions:
            return []
        self.conditions = after
        if not self.sight.is_suspended:
            # The deadline counts from here.
            self.started_at = now
        return [note]

    def _track(self, outcome: Outcome | None, notes: list[Note]) -> None:
        tally = job_tracking.tally(self.sight, outcome)
        if outcome is not None:
            self._announce(outcome)
        self.plan.add(Status(self._status(tally)))
        self.plan.add(*notes)
        self.plan.add(*map(job_tracking.release, tally.released))
        tracked = {pod["metadata"]["uid"] for pod in self.sight.pods if is_tracked(pod)}
        tally.settle(tracked - {pod["metadata"]["uid"] for pod in tally.released})
        if outcome is None or tally.is_full or self.terminating or self._has_uncounted(tally):
            self.plan.add(Status(self._status(tally)))
            return
        self._finish(outcome, tally)

    def _announce(self, outcome: Outcome) -> None:
        said = job_outcome.condition(
            outcome.announced_by, "True", outcome.reason, outcome.message, self.sight.now
        )
        self.conditions = job_outcome.ensured(self.conditions, said)

    def _finish(self, outcome: Outcome, tally: Tally) -> None:
        said = job_outcome.condition(
            outcome.made_final_by, "True", outcome.reason, outcome.message, self.sight.now
        )
        self.conditions = job_outcome.ensured(self.conditions, said)
        status = self._status(tally)
        if outcome.is_success:
            status["completionTime"] = said["lastTransitionTime"]
        self.plan.add(Status(status))
        completions = self.sight.completions
        if not outcome.is_success:
            self.plan.add(Note(outcome.reason, outcome.message, "Warning"))
            return
        if completions is not None and tally.succeeded > completions:
            text = "Too many succeeded pods running after completion count reached"
            self.plan.add(Note("TooManySucceededPods", text, "Warning"))
        self.plan.add(Note("Completed", "Job completed"))

    def _has_uncounted(self, tally: Tally) -> bool:
        return bool(tally.uncounted_succeeded or tally.uncounted_failed)

    def _status(self, tally: Tally) -> Object:
        """In the form in which it is kept: numbers that are zero are left out, but for two."""
        status = {
            **self.sight.status,
            "active": self.active,
            "ready": self.ready,
            "terminating": self.terminating,
            "conditions": list(self.conditions),
            **tally.fields(),
        }
        if not self.sight.is_indexed:
            status.pop("completedIndexes", None)
        if self.started_at is not None:
            status["startTime"] = format_time(self.started_at)
        for name in _OMITTED_WHEN_EMPTY:
            if not status.get(name):
                status.pop(name, None)
        return status
