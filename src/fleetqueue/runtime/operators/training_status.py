"""A training job's status in the making: its replicas by state, its conditions and their events."""

from collections.abc import Iterable
from datetime import datetime
from typing import Literal

from fleetqueue.api.times import format_time
from fleetqueue.kube.finalizers import is_deleting
from fleetqueue.kube.plan import Note
from fleetqueue.kube.resources import Object
from fleetqueue.runtime import conditions, pod_facts
from fleetqueue.runtime.operators import training_pods as made
from fleetqueue.runtime.operators.training_kinds import Replica, TrainingJob

_COUNTERS = ("active", "succeeded", "failed")
_EACH_OTHER = {"Running": "Restarting", "Restarting": "Running"}
"""Conditions of which a job has only one at a time."""


class Draft:
    """Starts as the status that is; events tell what it changes.

    Clients take the last condition for the state of the job, so a changed one goes to the end.
    """

    def __init__(self, job: TrainingJob, now: datetime) -> None:
        self._job = job
        self._now = format_time(now)
        self.status: Object = dict(job.obj.get("status") or {})
        self.notes: list[Note] = []
        self._first_succeeded: set[str] = set()
        self.failed_before = sum(
            each.get("failed") or 0 for each in (self.status.get("replicaStatuses") or {}).values()
        )

    @property
    def is_finished(self) -> bool:
        return self.is_true("Succeeded") or self.is_true("Failed")

    def is_true(self, type: str) -> bool:
        return conditions.is_true(self.status.get("conditions"), type)

    def set(
        self,
        type: str,
        reason: str,
        message: str,
        *,
        status: bool = True,
        event: Literal["Normal", "Warning", ""] = "",
    ) -> None:
        """A condition, and an event if it is new; once failed, a job says nothing more."""
        new: Object = {
            "type": type,
            "status": "True" if status else "False",
            "reason": f"{self._job.family.name}{reason}",
            "message": message,
            "lastUpdateTime": self._now,
            "lastTransitionTime": self._now,
        }
        before = self.status.get("conditions") or []
        after = conditions.renewed(before, new)
        if after == before or self.is_true("Failed"):
            return
        self.status["conditions"] = [
            _beside(new, each) for each in after if each["type"] != _EACH_OTHER.get(type)
        ]
        if event:
            self.notes.append(Note(new["reason"], message, event))

    def finish(
        self,
        type: Literal["Succeeded", "Failed"],
        message: str,
        event: Literal["Normal", "Warning"] = "Normal",
    ) -> None:
        self.status.setdefault("completionTime", self._now)
        self.set(type, type, message, event=event)

    def count(self, replica: Replica, pods: list[Object]) -> None:
        """The replicas of a role by the phases of their pods; pending ones count nowhere."""
        counts = dict.fromkeys(_COUNTERS, 0)
        for pod in pods:
            state = self._state(pod, replica)
            if state:
                counts[state] += 1
            if made.index_of(pod) == 0 and state == "succeeded":
                self._first_succeeded.add(replica.role)
        self._tell_exits(replica, pods, counts)
        chosen = made.labels(self._job, replica.role)
        selector = ",".join(f"{key}={chosen[key]}" for key in sorted(chosen))
        self._write_counts(replica.role, counts, selector)

    def first_succeeded(self, role: str) -> bool:
        """Whether the first pod of a role, among those counted, has succeeded."""
        return role in self._first_succeeded

    def counts(self, role: str) -> dict[str, int]:
        found = (self.status.get("replicaStatuses") or {}).get(role) or {}
        return {name: found.get(name) or 0 for name in _COUNTERS}

    def count_running(self, pods: Iterable[Object]) -> None:
        """Of a suspended job: only what is left of its pods changes."""
        left = [made.role_of(pod) for pod in pods if pod_facts.phase(pod) == "Running"]
        for role, old in (self.status.get("replicaStatuses") or {}).items():
            counts = {**self.counts(role), "active": left.count(role.lower())}
            self._write_counts(role, counts, old.get("selector"))

    def settle(self) -> None:
        """The job is over: where it succeeded, so did whatever was still active."""
        self.status.setdefault("completionTime", self._now)
        if not self.is_true("Succeeded"):
            return
        for role, old in (self.status.get("replicaStatuses") or {}).items():
            counts = self.counts(role)
            counts["succeeded"] += counts["active"]
            counts["active"] = 0
            self._write_counts(role, counts, old.get("selector"))

    def warn_of_restart_policy(self) -> None:
        text = "Restart policy in pod template will be overwritten by restart policy"
        note = Note("SetPodTemplateRestartPolicy", f"{text} in replica spec", "Warning")
        if note not in self.notes:
            self.notes.append(note)

    def _state(self, pod: Object, replica: Replica) -> str:
        phase = pod_facts.phase(pod)
        if phase == "Running":
            if not is_deleting(pod):
                return "active"
            is_left_over = self._is_left_over(pod) or made.index_of(pod) >= replica.count
            return "" if is_left_over else "failed"
        return {"Succeeded": "succeeded", "Failed": "failed"}.get(phase, "")

    def _is_left_over(self, pod: Object) -> bool:
        """Whether the pod is one that a suspension ended, and the job has been resumed since."""
        created_at = pod["metadata"].get("creationTimestamp") or self._now
        return bool(created_at < (self.status.get("startTime") or ""))

    def _tell_exits(self, replica: Replica, pods: list[Object], counts: dict[str, int]) -> None:
        """Told when the number of ended pods changes, lest every look tell it again."""
        before = self.counts(replica.role)
        if all(before[name] == counts[name] for name in ("succeeded", "failed")):
            return
        for pod in pods:
            code = made.ended_with(pod, self._job.family.container)
            if code is not None:
                where = f"{self._job.namespace}.{pod['metadata']['name']}"
                text = f"Pod: {where} exited with code {code}"
                self.notes.append(Note("ExitedWithCode", text))

    def _write_counts(self, role: str, counts: dict[str, int], selector: str | None) -> None:
        entry: Object = {name: number for name, number in counts.items() if number}
        if selector:
            entry["selector"] = selector
        statuses = self.status.get("replicaStatuses") or {}
        self.status["replicaStatuses"] = {**statuses, role: entry}


def _beside(new: Object, old: Object) -> Object:
    """A condition as it is once the new one is set: what has ended does not run."""
    if new["type"] in ("Succeeded", "Failed") and old["type"] == "Running":
        return {**old, "status": "False"}
    return old
