"""When a training job is over because it failed too often or ran too long."""

from collections.abc import Iterable
from datetime import datetime

from fleetqueue.api.times import parse_time
from fleetqueue.kube.resources import Object
from fleetqueue.runtime import pod_facts
from fleetqueue.runtime.operators import training_pods as made
from fleetqueue.runtime.operators.training_kinds import TrainingJob
from fleetqueue.runtime.operators.training_status import Draft


def exceeded(job: TrainingJob, draft: Draft, pods: list[Object], now: datetime) -> str:
    """What has come to an end, in words; "" while nothing has."""
    if _is_past_backoff_limit(job, draft, pods):
        return f"Job {job.name} has failed because it has reached the specified backoff limit"
    if _is_past_deadline(job, draft, now):
        return f"Job {job.name} has failed because it was active longer than specified deadline"
    return ""


def _is_past_backoff_limit(job: TrainingJob, draft: Draft, pods: list[Object]) -> bool:
    limit = job.run_policy.get("backoffLimit")
    if limit is None:
        return False
    restarts = sum(_restarts(job, pods))
    if limit > 0:
        return bool(restarts >= limit)
    return restarts > 0 or _has_new_failure(job, draft, pods)


def _restarts(job: TrainingJob, pods: list[Object]) -> Iterable[int]:
    """Container restarts in running pods of roles that are retried."""
    for replica in job.replicas:
        if not replica.is_retried:
            continue
        for pod in made.of_role(pods, replica.role):
            if pod_facts.phase(pod) != "Running":
                continue
            status = pod["status"]
            for part in ("initContainerStatuses", "containerStatuses"):
                yield from (each.get("restartCount") or 0 for each in status.get(part) or ())


def _has_new_failure(job: TrainingJob, draft: Draft, pods: list[Object]) -> bool:
    failed = sum(pod_facts.phase(pod) == "Failed" for pod in pods)
    return failed > draft.failed_before and sum(map(pod_facts.is_active, pods)) != job.total


def _is_past_deadline(job: TrainingJob, draft: Draft, now: datetime) -> bool:
    seconds = job.run_policy.get("activeDeadlineSeconds")
    started_at = draft.status.get("startTime")
    if seconds is None or not started_at:
        return False
    return bool((now - parse_time(started_at)).total_seconds() >= seconds)
