"""Whether a job has ended and how, for every kind of job; and what is remembered of it in the
status of its Work, so that it is not made again when it goes by itself.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from fleetqueue.fleet.decide import conditions

Json = dict[str, Any]

FINISHED = "Finished"
"""The type of the condition of a manifest whose job has ended."""
COMPLETE, FAILED, GONE, RUNNING = "Complete", "Failed", "Gone", "Running"
_MESSAGE = "The job has ended: it is not made again for the manifest %s"
_RUNNING = "The job was made, and has not ended, for the manifest %s"
_UNSEEN = "The job was gone when it was looked for, as jobs with a time to live are: %s"


@dataclass(frozen=True, slots=True)
class End:
    """How a job ended."""

    reason: str
    message: str = ""

    @property
    def is_success(self) -> bool:
        return self.reason != FAILED


_CONDITIONS: Mapping[tuple[str, str], tuple[str, str]] = {
    ("batch", "Job"): ("Complete", "Failed"),
    ("jobset.x-k8s.io", "JobSet"): ("Completed", "Failed"),
    ("trainer.kubeflow.org", "TrainJob"): ("Complete", "Failed"),
    **{
        ("kubeflow.org", f"{name}Job"): ("Succeeded", "Failed")
        for name in ("PyTorch", "TF", "XGBoost", "Paddle", "JAX", "MPI")
    },
}
"""By kind, the conditions that say that a job went well or not."""
_BY_STATUS = (("ray.io", "RayJob"), ("workload.codeflare.dev", "AppWrapper"))


def is_job(group: str, kind: str) -> bool:
    return (group, kind) in _CONDITIONS or (group, kind) in _BY_STATUS


def end_of(job: Json) -> End | None:
    """None while it has not ended, or where it is no job."""
    group = str(job.get("apiVersion") or "").rpartition("/")[0]
    kind = str(job.get("kind") or "")
    status = job.get("status") or {}
    if (group, kind) == ("ray.io", "RayJob"):
        return _end_of_ray_job(status)
    if (group, kind) == ("workload.codeflare.dev", "AppWrapper"):
        return _end_of_app_wrapper(status)
    names = _CONDITIONS.get((group, kind))
    return None if names is None else _end_by_conditions(status, *names)


def lives_on_time(job: Json) -> bool:
    """Whether the job asks to be removed some time after its end."""
    spec = job.get("spec") or {}
    policy = spec.get("runPolicy") or {}
    return any(each.get("ttlSecondsAfterFinished") is not None for each in (spec, policy))


def tombstone(end: End, manifest_hash: str, now: datetime) -> Json:
    """The condition that outlives the job."""
    text = (_UNSEEN if end.reason == GONE else _MESSAGE) % manifest_hash
    return _condition(conditions.TRUE, end.reason, f"{text}; {end.message}".rstrip("; "), now)


def running(manifest_hash: str, now: datetime) -> Json:
    """The condition of a job that may end, and go, while nobody looks."""
    return _condition(conditions.FALSE, RUNNING, _RUNNING % manifest_hash, now)


def remembered(entry: Json | None, manifest_hash: str) -> End | None:
    """How the job of this very manifest ended, as its Work tells."""
    found = _found(entry, manifest_hash)
    if found is None or found["status"] != conditions.TRUE:
        return None
    return End(str(found["reason"]), str(found["message"]).partition("; ")[2])


def was_running(entry: Json | None, manifest_hash: str) -> bool:
    found = _found(entry, manifest_hash)
    return found is not None and found["status"] == conditions.FALSE


def _found(entry: Json | None, manifest_hash: str) -> Json | None:
    found = conditions.find((entry or {}).get("conditions"), FINISHED)
    text = "" if found is None else str(found["message"]).partition("; ")[0]
    return found if text.endswith(manifest_hash) else None


def _condition(status: str, reason: str, message: str, now: datetime) -> Json:
    made = conditions.make(FINISHED, status, reason, message, generation=0, now=now)
    del made["observedGeneration"]
    return made


def _end_by_conditions(status: Json, succeeded: str, failed: str) -> End | None:
    for type, reason in ((succeeded, COMPLETE), (failed, FAILED)):
        found = conditions.find(status.get("conditions"), type)
        if found is not None and found.get("status") == conditions.TRUE:
            return End(reason, _told(found) if reason == FAILED else "")
    return None


def _end_of_ray_job(status: Json) -> End | None:
    if status.get("jobDeploymentStatus") not in ("Complete", "Failed"):
        return None
    if status.get("jobStatus") == "SUCCEEDED":
        return End(COMPLETE)
    return End(FAILED, str(status.get("message") or status.get("reason") or "the job failed"))


def _end_of_app_wrapper(status: Json) -> End | None:
    phase = status.get("phase")
    if phase == "Succeeded":
        return End(COMPLETE)
    is_there = conditions.status_of(status.get("conditions"), "ResourcesDeployed")
    if phase == "Failed" and is_there != conditions.TRUE:
        return End(FAILED, "the AppWrapper failed")
    return None


def _told(condition: Json) -> str:
    parts = [str(condition.get(name) or "") for name in ("reason", "message")]
    return ": ".join(part for part in parts if part) or "the job failed"
