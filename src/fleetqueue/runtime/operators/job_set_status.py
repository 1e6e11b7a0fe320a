"""A JobSet's status in the making: how many Jobs are where, its conditions, and their events."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from fleetqueue.api.times import format_time
from fleetqueue.kube.plan import Note
from fleetqueue.kube.resources import Object
from fleetqueue.runtime import conditions
from fleetqueue.runtime.operators.job_set_children import (
    ATTEMPT_KEY,
    replicas_of,
    replicated_job_of,
    replicated_jobs,
)

FINISHED = ("Completed", "Failed")
COUNTERS = ("ready", "succeeded", "failed", "active", "suspended")
_EXCLUSIVE = {
    "StartupPolicyInProgress": "StartupPolicyCompleted",
    "StartupPolicyCompleted": "StartupPolicyInProgress",
}


@dataclass(slots=True)
class Attempt:
    """The Jobs of the current attempt by their state, and those of earlier ones."""

    active: list[Object] = field(default_factory=list)
    succeeded: list[Object] = field(default_factory=list)
    failed: list[Object] = field(default_factory=list)
    previous: list[Object] = field(default_factory=list)

    @property
    def all(self) -> list[Object]:
        return [*self.active, *self.succeeded, *self.failed, *self.previous]


def sort_jobs(jobs: Iterable[Object], restarts: int) -> Attempt:
    attempt = Attempt()
    for job in jobs:
        if _attempt_of(job) < restarts:
            attempt.previous.append(job)
        elif true_condition(job, "Complete"):
            attempt.succeeded.append(job)
        elif true_condition(job, "Failed"):
            attempt.failed.append(job)
        else:
            attempt.active.append(job)
    return attempt


class Draft:
    """Starts as the status that is; what is set is written, and told, when it differs."""

    def __init__(self, job_set: Object, now: datetime) -> None:
        self._job_set = job_set
        self._now = format_time(now)
        self.status: Object = {"restarts": 0, **(job_set.get("status") or {})}
        self.notes: list[Note] = []
        self._counts: dict[str, Object] = {}

    @property
    def restarts(self) -> int:
        return int(self.status["restarts"])

    @property
    def is_finished(self) -> bool:
        return any(self.is_true(type) for type in FINISHED)

    @property
    def finished_at(self) -> str:
        found = (self._find(type) for type in FINISHED if self.is_true(type))
        return str(next(each["lastTransitionTime"] for each in found if each))

    def is_true(self, type: str) -> bool:
        found = self._find(type)
        return found is not None and found["status"] == "True"

    def count(self, attempt: Attempt) -> None:
        """One entry per replicated job, the last name first."""
        names = [each["name"] for each in replicated_jobs(self._job_set)]
        self._counts = {name: {"name": name} | dict.fromkeys(COUNTERS, 0) for name in names}
        for job in attempt.active:
            self._add(job, "ready", _is_ready(job))
            self._add(job, "active", int((job.get("status") or {}).get("active") or 0) > 0)
            self._add(job, "suspended", bool(job["spec"].get("suspend")))
        for job in attempt.succeeded:
            self._add(job, "succeeded")
        for job in attempt.failed:
            self._add(job, "failed")
        if self._counts:
            ordered = sorted(self._counts, reverse=True)
            self.status["replicatedJobsStatus"] = [self._counts[name] for name in ordered]
        else:
            self.status.pop("replicatedJobsStatus", None)

    def has_started(self, replicated: Object) -> bool:
        counts = self._counts[replicated["name"]]
        started = counts["ready"] + counts["succeeded"] + counts["failed"]
        return bool(started == replicas_of(replicated))

    def may_start(self, replicated: Object) -> bool:
        """Whether all that it depends on has come as far as it asks."""
        return all(map(self._is_reached, replicated.get("dependsOn") or ()))

    @property
    def all_ready(self) -> bool:
        wanted = sum(map(replicas_of, replicated_jobs(self._job_set)))
        done = sum(each["ready"] + each["succeeded"] for each in self._counts.values())
        return bool(wanted == done)

    def set(
        self,
        type: str,
        status: bool,
        reason: str,
        message: str,
        event: Literal["Normal", "Warning"] = "Normal",
    ) -> None:
        """A condition; one that never was is only added when it holds."""
        new = {
            "type": type,
            "status": "True" if status else "False",
            "reason": reason,
            "message": message,
            "lastTransitionTime": self._now,
        }
        before: list[Object] = self.status.get("conditions") or []
        after = [_settled(old, new) for old in before]
        if status and self._find(type) is None:
            after.append(new)
        if after != before:
            self.status["conditions"] = after
            self.notes.append(Note(reason, message, event))

    def complete(self) -> None:
        self.set("Completed", True, "AllJobsCompleted", "jobset completed successfully")
        self.stop_restarting("JobSetCompleted", "jobset completed successfully")
        self.status["terminalState"] = "Completed"

    def fail(self, reason: str, message: str) -> None:
        self.set("Failed", True, reason, message, "Warning")
        self.stop_restarting("JobSetFailed", "jobset failed")
        self.status["terminalState"] = "Failed"

    def stop_restarting(self, reason: str, message: str) -> None:
        self.set("RestartingJobSet", False, reason, message)

    def start_in_order(self) -> None:
        self.set(
            "StartupPolicyInProgress",
            True,
            "InOrderStartupPolicyInProgress",
            "in order startup policy is in progress",
        )

    def started_in_order(self) -> None:
        self.set(
            "StartupPolicyCompleted",
            True,
            "InOrderStartupPolicyCompleted",
            "in order startup policy has completed",
        )

    def _add(self, job: Object, counter: str, holds: bool = True) -> None:
        counts = self._counts.get(replicated_job_of(job))
        if counts is not None and holds:
            counts[counter] += 1

    def _is_reached(self, dependency: Object) -> bool:
        listed = {each["name"]: each for each in replicated_jobs(self._job_set)}
        other = listed.get(dependency["name"])
        if other is None:
            return False
        if dependency["status"] == "Complete":
            return bool(self._counts[other["name"]]["succeeded"] == replicas_of(other))
        return self.has_started(other)

    def _find(self, type: str) -> Object | None:
        return conditions.find(self.status.get("conditions"), type)


def true_condition(obj: Object, type: str) -> Object | None:
    """The condition of that type, if the object has it and it holds."""
    found = conditions.find((obj.get("status") or {}).get("conditions"), type)
    return found if found is not None and found["status"] == "True" else None


def _settled(old: Object, new: Object) -> Object:
    """What becomes of an old condition when the new one is set."""
    if old["type"] != new["type"]:
        rules_out = _EXCLUSIVE.get(old["type"]) == new["type"]
        both = old["status"] == new["status"] == "True"
        return {**old, "status": "False"} if rules_out and both else old
    if old["status"] != new["status"]:
        return new
    return {**old, "reason": new["reason"], "message": new["message"]}


def _attempt_of(job: Object) -> int:
    """A Job whose label says nothing sensible belongs to no attempt that still counts."""
    text: Any = (job["metadata"].get("labels") or {}).get(ATTEMPT_KEY)
    return int(text) if text and text.isdecimal() else -1


def _is_ready(job: Object) -> bool:
    """Whether as many pods as can run at once are ready, or done already."""
    spec, status = job["spec"], job.get("status") or {}
    pods = spec["parallelism"] if spec.get("parallelism") is not None else 1
    if spec.get("completions") is not None:
        pods = min(pods, spec["completions"])
    return bool((status.get("succeeded") or 0) + (status.get("ready") or 0) >= pods)
