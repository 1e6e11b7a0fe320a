"""A TrainJob's status in the making: whether it waits, how its JobSet does, how it ended."""

from datetime import datetime

from fleetqueue.api.times import format_time
from fleetqueue.kube.resources import Object
from fleetqueue.runtime import conditions

_OF_JOB_SET = {"Completed": "Complete", "Failed": "Failed"}
_COUNTERS = ("ready", "succeeded", "failed", "active", "suspended")
_NOT_SUPPORTED = "TrainingRuntimeNotSupported"


class Draft:
    """Starts as the status that is."""

    def __init__(self, train_job: Object, now: datetime) -> None:
        self._train_job = train_job
        self._now = format_time(now)
        self.status: Object = dict(train_job.get("status") or {})

    @property
    def is_finished(self) -> bool:
        return self._is_true("Complete") or self._is_true("Failed")

    @property
    def resumed_at(self) -> str:
        found = conditions.find(self.status.get("conditions"), "Suspended")
        if found is None or found["status"] != "False":
            return ""
        return str(found["lastTransitionTime"])

    def refuse_runtime(self) -> None:
        reference = self._train_job["spec"]["runtimeRef"]
        kind, group = reference.get("kind") or "", reference.get("apiGroup") or ""
        named = f"{kind}.{group}" if group else kind
        self._set("Failed", True, _NOT_SUPPORTED, f"unsupported runtime: {named}")

    def tell_suspension(self) -> None:
        """A job that was never suspended says nothing of it."""
        if self._train_job["spec"].get("suspend"):
            self._set("Suspended", True, "Suspended", "TrainJob is suspended")
        elif self._is_true("Suspended"):
            self._set("Suspended", False, "Resumed", "TrainJob is resumed")

    def mirror(self, job_set: Object | None) -> None:
        """Take over how the JobSet ended, and its counts; one that is gone says nothing."""
        if job_set is None:
            return
        theirs = job_set.get("status") or {}
        for type, ours in _OF_JOB_SET.items():
            found = conditions.find(theirs.get("conditions"), type)
            is_told = ours == "Failed" and self._is_late
            if found is not None and found["status"] == "True" and not is_told:
                self._put({**found, "type": ours})
        counted = [_counts(each) for each in theirs.get("replicatedJobsStatus") or ()]
        self.status.pop("jobsStatus", None)
        if counted:
            self.status["jobsStatus"] = counted

    def exceed_deadline(self) -> None:
        self._set("Failed", True, "DeadlineExceeded", "TrainJob exceeded its active deadline")

    def _is_true(self, type: str) -> bool:
        return conditions.is_true(self.status.get("conditions"), type)

    @property
    def _is_late(self) -> bool:
        found = conditions.find(self.status.get("conditions"), "Failed")
        return found is not None and found.get("reason") == "DeadlineExceeded"

    def _set(self, type: str, is_true: bool, reason: str, message: str) -> None:
        self._put(
            {
                "type": type,
                "status": "True" if is_true else "False",
                "reason": reason,
                "message": message,
                "lastTransitionTime": self._now,
            }
        )

    def _put(self, condition: Object) -> None:
        self.status["conditions"] = conditions.settled(self.status.get("conditions"), condition)


def _counts(replicated: Object) -> Object:
    return {"name": replicated["name"], **{each: replicated.get(each) or 0 for each in _COUNTERS}}
