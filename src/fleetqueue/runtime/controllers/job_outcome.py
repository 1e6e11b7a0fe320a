"""Whether a Job is to end now, how and why; and the conditions that say so, in upstream's words."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from fleetqueue.api.times import format_time, parse_time
from fleetqueue.kube.resources import Object
from fleetqueue.runtime import conditions, pod_facts
from fleetqueue.runtime.controllers import job_success_policy
from fleetqueue.runtime.controllers.job_sight import Sight

COMPLETE, FAILED = "Complete", "Failed"
SUCCESS_CRITERIA_MET, FAILURE_TARGET = "SuccessCriteriaMet", "FailureTarget"


@dataclass(frozen=True, slots=True)
class Outcome:
    """The end of a Job; announced by one condition, and made final by another."""

    is_success: bool
    reason: str
    message: str

    @property
    def announced_by(self) -> str:
        return SUCCESS_CRITERIA_MET if self.is_success else FAILURE_TARGET

    @property
    def made_final_by(self) -> str:
        return COMPLETE if self.is_success else FAILED


COMPLETIONS_REACHED = Outcome(
    True, "CompletionsReached", "Reached expected number of succeeded pods"
)
BACKOFF_LIMIT = Outcome(
    False, "BackoffLimitExceeded", "Job has reached the specified backoff limit"
)
DEADLINE = Outcome(False, "DeadlineExceeded", "Job was active longer than specified deadline")
MAX_FAILED_INDEXES = Outcome(
    False,
    "MaxFailedIndexesExceeded",
    "Job has exceeded the specified maximal number of failed indexes",
)
FAILED_INDEXES = Outcome(False, "FailedIndexes", "Job has failed indexes")


def find_outcome(sight: Sight) -> Outcome | None:
    """The first reason to end, in upstream's order; completions come later, when pods are done."""
    return (
        _announced(sight)
        or _by_failure_policy(sight)
        or _by_limits(sight)
        or _by_failed_indexes(sight)
        or _by_success_policy(sight)
    )


def is_complete(sight: Sight, active: int) -> bool:
    """Without a number of completions one success is enough."""
    wanted = 1 if sight.completions is None else sight.completions
    return sight.succeeded >= wanted and active == 0


def seconds_to_deadline(sight: Sight) -> float | None:
    """Until it was active for too long; None where nothing limits that."""
    limit = sight.spec.get("activeDeadlineSeconds")
    since = started_at(sight)
    if limit is None or since is None or sight.is_suspended:
        return None
    if is_resumed(sight):
        # Upstream looks at the former start once more and fails a Job that slept too long.
        since = sight.now
    return float(limit) - (sight.now - since).total_seconds()


def started_at(sight: Sight) -> datetime | None:
    """When it started, which may be now; None while it never ran."""
    if sight.status.get("startTime"):
        return parse_time(sight.status["startTime"])
    return None if sight.is_suspended else sight.now


def is_resumed(sight: Sight) -> bool:
    """Whether it was suspended until now."""
    before = conditions.find(sight.status.get("conditions"), "Suspended")
    return before is not None and before.get("status") == "True" and not sight.is_suspended


def is_finished(job: Object) -> bool:
    return finished_condition(job) is not None


def finished_condition(job: Object) -> Object | None:
    for each in (job.get("status") or {}).get("conditions") or ():
        if each.get("type") in (COMPLETE, FAILED) and each.get("status") == "True":
            return dict(each)
    return None


def condition(type: str, status: str, reason: str, message: str, now: datetime) -> Object:
    at = format_time(now)
    return {
        "type": type,
        "status": status,
        "lastProbeTime": at,
        "lastTransitionTime": at,
        "reason": reason,
        "message": message,
    }


def ensured(before: Sequence[Object], new: Object) -> list[Object]:
    """With the condition in its place, or at the end; a False one is not begun."""
    old = conditions.find(before, new["type"])
    if old is None:
        return [*before, new] if new["status"] != "False" else list(before)
    if all(old.get(name) == new[name] for name in ("status", "reason", "message")):
        return list(before)
    return [new if each is old else each for each in before]


def _announced(sight: Sight) -> Outcome | None:
    for type in (SUCCESS_CRITERIA_MET, FAILURE_TARGET):
        found = conditions.find(sight.status.get("conditions"), type)
        if found is not None and found.get("status") == "True":
            reason, message = found.get("reason") or "", found.get("message") or ""
            return Outcome(type == SUCCESS_CRITERIA_MET, reason, message)
    return None


def _by_failure_policy(sight: Sight) -> Outcome | None:
    if sight.spec.get("podFailurePolicy") is None:
        return None
    for pod in sight.pods:
        if sight.is_failed(pod):
            message = sight.judge(pod).message
            if message:
                return Outcome(False, "PodFailurePolicy", message)
    return None


def _by_limits(sight: Sight) -> Outcome | None:
    if sight.failed > sight.spec["backoffLimit"] or _restarts_too_often(sight):
        return BACKOFF_LIMIT
    left = seconds_to_deadline(sight)
    return DEADLINE if left is not None and left <= 0 else None


def _restarts_too_often(sight: Sight) -> bool:
    if sight.spec["template"]["spec"].get("restartPolicy") != "OnFailure":
        return False
    restarts = sum(
        container.get("restartCount") or 0
        for pod in sight.pods
        if pod_facts.phase(pod) in ("Running", "Pending")
        for statuses in ("initContainerStatuses", "containerStatuses")
        for container in pod["status"].get(statuses) or ()
    )
    return bool(restarts >= max(sight.spec["backoffLimit"], 1))


def _by_failed_indexes(sight: Sight) -> Outcome | None:
    failed = sight.failed_indexes
    if failed is None:
        return None
    most = sight.spec.get("maxFailedIndexes")
    if most is not None and len(failed) > most:
        return MAX_FAILED_INDEXES
    all_ended = len(failed) + len(sight.succeeded_indexes) >= (sight.completions or 0)
    return FAILED_INDEXES if len(failed) and all_ended else None


def _by_success_policy(sight: Sight) -> Outcome | None:
    if not sight.is_indexed:
        return None
    policy = sight.spec.get("successPolicy")
    message = job_success_policy.reached(policy, sight.completions or 0, sight.succeeded_indexes)
    return Outcome(True, "SuccessPolicy", message) if message else None
