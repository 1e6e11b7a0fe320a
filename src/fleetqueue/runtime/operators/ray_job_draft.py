"""The status of a RayJob while it is thought about: its states, its deadlines, its attempts."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from fleetqueue.api.times import format_duration, format_time, parse_time
from fleetqueue.kube.plan import Look, Plan, Status
from fleetqueue.kube.resources import Object
from fleetqueue.runtime.operators import ray_cluster_status as states

TERMINAL = ("STOPPED", "SUCCEEDED", "FAILED")


@dataclass(frozen=True, slots=True)
class Settings:
    """How Ray is reached, and how patient the operator is."""

    has_ray: Callable[[str], bool]
    """Whether the environment of an image has Ray; without it pods stand in."""
    poll_seconds: float = 1.0
    submitter_grace_seconds: float = 300.0
    """For Ray to end a job whose submitter is done."""
    end_grace_seconds: float = 300.0
    """For the submitter to end after the job."""
    silence_seconds_max: float = 300.0
    """How long the dashboard may be out of reach."""


class Draft:
    """The status as it is to become; what there is to do is in the plan."""

    def __init__(self, look: Look, settings: Settings) -> None:
        self.look, self.settings = look, settings
        self.spec: Object = look.parent["spec"]
        self.old: Object = look.parent.get("status") or {}
        self.status: Object = {**self.old}
        self.plan = Plan()

    def set(self, phase: str, reason: str = "", message: str = "") -> None:
        told = {"jobDeploymentStatus": phase, "reason": reason, "message": message}
        self.status |= told
        for field, value in told.items():
            if not value:
                del self.status[field]

    @property
    def message(self) -> str:
        return str(self.status.get("message") or "")

    def passes(self, field: str) -> bool:
        seconds = self.spec.get(field)
        if seconds is None:
            return False
        started = parse_time(self.status["startTime"])
        left = (started + timedelta(seconds=seconds) - self.look.now).total_seconds()
        if left > 0:
            self.plan.look_again(left)
            return False
        name = f"{field[0].upper()}{field[1:]}"
        text = f"The RayJob has passed the {field}. StartTime: {shown(started)}. {name}: {seconds}"
        reason = "DeadlineExceeded" if field.startswith("active") else "PreRunningDeadlineExceeded"
        self.set("Failed", reason, text)
        return True

    def is_overdue(self) -> bool:
        """Whether the job has ended long ago, and yet its submitter has not."""
        ended = (self.status.get("rayJobInfo") or {}).get("endTime")
        if self.status.get("jobStatus") not in TERMINAL or not ended:
            return False
        grace = timedelta(seconds=self.settings.end_grace_seconds)
        left = (parse_time(ended) + grace - self.look.now).total_seconds()
        if left > 0:
            self.plan.look_again(left)
            return False
        text = (
            "JobDeploymentStatus does not transition to Complete or Failed within the grace period"
            " after JobStatus reaches a terminal state."
        )
        phase = "Failed" if self.status["jobStatus"] == "FAILED" else "Complete"
        self.set(phase, "JobDeploymentStatusTransitionGracePeriodExceeded", text)
        return True

    def outlasts(self, finished: datetime) -> bool:
        """Whether the submitter is done for so long that the job should be, too."""
        grace = timedelta(seconds=self.settings.submitter_grace_seconds)
        left = (finished + grace - self.look.now).total_seconds()
        if left > 0:
            self.plan.look_again(left)
            return False
        text = (
            f"The RayJob submitter finished at {finished:%Y-%m-%d %H:%M:%S} but the ray job did not"
            f" reach terminal state within {format_duration(grace)}"
        )
        self.status["jobStatus"] = "FAILED"
        self.set("Failed", "JobDeploymentStatusTransitionGracePeriodExceeded", text)
        return True

    def endure(self, problem: str) -> bool:
        """The dashboard cannot be asked; that must not go on for ever."""
        now = format_time(self.look.now)
        since = self.status.setdefault("jobStatusCheckFailureStartTime", now)
        limit = timedelta(seconds=self.settings.silence_seconds_max)
        left = (parse_time(since) + limit - self.look.now).total_seconds()
        if left > 0:
            self.plan.look_again(left)
            return True
        text = (
            f"The status of the Ray job could not be checked for {format_duration(limit)}, since"
            f" {shown(parse_time(since))}: {problem}"
        )
        self.set("Failed", "JobStatusCheckTimeoutExceeded", text)
        return True

    def conclude(self) -> None:
        """Attempts are counted, another one begins where it may, and news are written."""
        phase = self.status.get("jobDeploymentStatus")
        failed, succeeded = self.old.get("failed") or 0, self.old.get("succeeded") or 0
        failed += phase == "Failed"
        succeeded += phase == "Complete" and self.status.get("jobStatus") == "SUCCEEDED"
        self.status |= {"failed": failed, "succeeded": succeeded}
        may_retry = failed <= (self.spec.get("backoffLimit") or 0)
        if phase == "Failed" and may_retry and self.status.get("reason") != "DeadlineExceeded":
            self.status["jobDeploymentStatus"] = "Retrying"
        elif phase in ("Complete", "Failed"):
            self.status["endTime"] = format_time(self.look.now)
        if self._has_news():
            self.plan.add(Status(self.status))

    def _has_news(self) -> bool:
        decisive = ("jobStatus", "jobDeploymentStatus", "jobStatusCheckFailureStartTime")
        if any(self.status.get(field) != self.old.get(field) for field in decisive):
            return True
        before, now = self.old.get("rayClusterStatus"), self.status.get("rayClusterStatus")
        return states.differs(before or {}, now or {})


def shown(moment: datetime) -> str:
    """As Go prints it."""
    return f"{moment:%Y-%m-%d %H:%M:%S} +0000 UTC"
