"""An MPIJob's status in the making: its conditions with their events, and its replicas by state."""

from collections.abc import Sequence
from datetime import datetime
from typing import Literal

from fleetqueue.api.times import format_time
from fleetqueue.kube.plan import Note
from fleetqueue.kube.resources import Object
from fleetqueue.runtime import conditions
from fleetqueue.runtime.operators.mpi_job_spec import MpiJob
from fleetqueue.runtime.pod_facts import phase

_TEXT_MAX = 1024
_COUNTERS = {"Running": "active", "Succeeded": "succeeded", "Failed": "failed"}


class Draft:
    """Starts as the status that is; events tell what it changes."""

    def __init__(self, job: MpiJob, now: datetime) -> None:
        self._job = job
        self._now = format_time(now)
        self.status: Object = dict(job.obj.get("status") or {})
        self.notes: list[Note] = []

    @property
    def is_over(self) -> bool:
        """Succeeded or failed for good; evicted workers alone do not end a job."""
        ended = self._is_true("Succeeded") or self._is_true("Failed")
        return ended and bool(self.status.get("completionTime"))

    @property
    def _who(self) -> str:
        return f"MPIJob {self._job.namespace}/{self._job.name}"

    def begin(self) -> None:
        if not self.status.get("conditions"):
            self._set("Created", "MPIJobCreated", f"{self._who} is created.")
            self._tell("MPIJobCreated", f"{self._who} is created.")

    def start(self) -> None:
        if not self._job.is_suspended:
            self.status.setdefault("startTime", self._now)

    def tell_suspension(self) -> None:
        """A job that was never suspended says nothing of it; a resumed one starts anew."""
        was_told = conditions.find(self.status.get("conditions"), "Suspended") is not None
        if not self._job.is_suspended and not was_told:
            return
        word = "suspended" if self._job.is_suspended else "resumed"
        reason, text = f"MPIJob{word.capitalize()}", f"MPIJob {word}"
        if self._set("Suspended", reason, text, is_true=self._job.is_suspended):
            self._tell(reason, text)
            if not self._job.is_suspended:
                self.status["startTime"] = self._now

    def judge_launcher(self, launcher: Object | None, pods: Sequence[Object]) -> None:
        """What its Job says; None where that is being made only now."""
        counts: Object = {}
        theirs = (launcher or {}).get("status") or {}
        if theirs.get("failed"):
            counts["failed"] = theirs["failed"]
        complete, failed = (_condition(theirs, type) for type in ("Complete", "Failed"))
        running = sum(phase(pod) == "Running" for pod in pods)
        if complete is not None:
            counts["succeeded"] = 1
            self._succeed(theirs)
        elif failed is not None:
            self._fail(failed, pods)
        elif running:
            counts["active"] = running
        self._count("Launcher", counts)

    def judge_workers(self, workers: Sequence[Object]) -> None:
        counts: Object = {}
        for pod in workers:
            counter = _COUNTERS.get(phase(pod))
            if counter:
                counts[counter] = counts.get(counter, 0) + 1
        self._count("Worker", counts)
        evicted = sum(
            phase(pod) == "Failed" and pod["status"].get("reason") == "Evicted" for pod in workers
        )
        text = f"{evicted}/{len(workers)} workers are evicted"
        if evicted and self._set("Failed", "MPIJobEvicted", text):
            self._tell("MPIJobEvicted", text, "Warning")

    def judge_running(self, launcher_pods: Sequence[Object], workers: Sequence[Object]) -> None:
        """Running means that the launcher and every worker do."""
        if self._job.is_suspended:
            text = f"{self._who} is suspended."
            self._set("Running", "MPIJobSuspended", text, is_true=False)
            return
        missing = len(self._job.worker_names) - sum(phase(pod) == "Running" for pod in workers)
        if missing or not any(phase(pod) == "Running" for pod in launcher_pods):
            return
        if self._set("Running", "MPIJobRunning", f"{self._who} is running."):
            self._tell("MPIJobRunning", f"{self._who} is running")

    def forget_workers(self) -> None:
        self._count("Worker", {})

    def _succeed(self, theirs: Object) -> None:
        text = f"{self._who} successfully completed."
        ended = theirs.get("completionTime") or self._now
        self.status.setdefault("completionTime", ended)
        if self._set("Succeeded", "MPIJobSucceeded", text):
            self._tell("MPIJobSucceeded", text)

    def _fail(self, failed: Object, pods: Sequence[Object]) -> None:
        reason = failed.get("reason") or "MPIJobFailed"
        text = failed.get("message") or f"{self._who} has failed"
        ended = [pod for pod in pods if phase(pod) == "Failed"]
        if reason == "BackoffLimitExceeded" and ended:
            last = max(ended, key=lambda pod: str(pod["metadata"]["creationTimestamp"]))["status"]
            reason = f"{reason}/{last.get('reason') or ''}"
            text = cut(f"{text}: {last.get('message') or ''}")
        self.status.setdefault("completionTime", self._now)
        if self._set("Failed", reason, text):
            self._tell(reason, text, "Warning")

    def _is_true(self, type: str) -> bool:
        return conditions.is_true(self.status.get("conditions"), type)

    def _set(self, type: str, reason: str, message: str, *, is_true: bool = True) -> bool:
        """Whether it was not so before."""
        new: Object = {
            "type": type,
            "status": "True" if is_true else "False",
            "reason": reason,
            "message": message,
            "lastUpdateTime": self._now,
            "lastTransitionTime": self._now,
        }
        before = self.status.get("conditions") or []
        after = conditions.renewed(before, new)
        if after == before:
            return False
        self.status["conditions"] = [_beside(new, each) for each in after]
        return True

    def _tell(
        self, reason: str, message: str, type: Literal["Normal", "Warning"] = "Normal"
    ) -> None:
        self.notes.append(Note(reason, message, type))

    def _count(self, role: str, counts: Object) -> None:
        statuses = self.status.get("replicaStatuses") or {}
        self.status["replicaStatuses"] = {**statuses, role: counts}


def cut(text: str) -> str:
    """As much of it as an event takes."""
    return text if len(text) <= _TEXT_MAX else f"{text[: _TEXT_MAX - 3]}..."


def _condition(status: Object, type: str) -> Object | None:
    found = conditions.find(status.get("conditions"), type)
    return found if found is not None and found.get("status") == "True" else None


def _beside(new: Object, old: Object) -> Object:
    """A condition as it is once the new one is set: what has ended does not run."""
    is_end = new["type"] in ("Succeeded", "Failed") and old["type"] != new["type"]
    return {**old, "status": "False"} if is_end and old["type"] in ("Running", "Failed") else old
