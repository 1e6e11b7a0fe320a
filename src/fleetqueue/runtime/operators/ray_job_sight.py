"""What there is to see of a RayJob's run: how its submitter fares, and what Ray, or the pod that
stands in for Ray, says of the job.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from fleetqueue.api.times import parse_time
from fleetqueue.kube.plan import Look
from fleetqueue.kube.resources import Object
from fleetqueue.runtime import conditions
from fleetqueue.runtime.kinds import JOB, POD
from fleetqueue.runtime.operators import ray_names as names
from fleetqueue.runtime.operators.ray_job_submission import HTTP, K8S_JOB, SIDECAR, mode_of
from fleetqueue.runtime.ray_dashboard import JobInfo
from fleetqueue.runtime.without_ray import job_seen


@dataclass(frozen=True, slots=True)
class Submitter:
    """How far the one that submits is."""

    is_there: bool = True
    finished_at: datetime | None = None
    failure: str = ""
    """Why it failed, as the status tells it."""


@dataclass(frozen=True, slots=True)
class Sight:
    """What Ray says; neither an answer nor a problem: it knows no such job."""

    info: JobInfo | None = None
    problem: str = ""


def has_submitter(job: Object, *, has_ray: bool) -> bool:
    """Without Ray nobody but a submitter could run the job."""
    return mode_of(job) in (K8S_JOB, SIDECAR) or (mode_of(job) == HTTP and not has_ray)


def see_submitter(look: Look) -> Submitter:
    if mode_of(look.parent) == SIDECAR:
        return _see_sidecar(look)
    job = look.find(JOB, look.name)
    if job is None:
        return Submitter(is_there=False)
    listed = (job.get("status") or {}).get("conditions")
    ends = [conditions.find(listed, type) for type in ("Failed", "Complete")]
    end = next((each for each in ends if each and each.get("status") == "True"), None)
    if end is None:
        return Submitter()
    finished = _moment(end.get("lastTransitionTime"))
    if end["type"] == "Complete":
        return Submitter(finished_at=finished)
    reason, message = end.get("reason") or "", end.get("message") or ""
    text = f"Job submission has failed. Reason: {reason}. Message: {message}"
    return Submitter(finished_at=finished, failure=text)


def see_job(look: Look, has_ray: Callable[[str], bool], cluster: Object) -> Sight:
    if has_ray(names.head_image(cluster["spec"])):
        return Sight(look.observed.get("job"), str(look.observed.get("problem") or ""))
    if mode_of(look.parent) == SIDECAR:
        return Sight(job_seen(head_pods(look), names.SUBMITTER))
    if has_submitter(look.parent, has_ray=False):
        return Sight(_seen_of_submitter(look))
    return Sight(problem="there is no Ray to ask")


def head_pods(look: Look) -> list[Object]:
    name = str((look.parent.get("status") or {}).get("rayClusterName") or "")
    labels = {names.CLUSTER_KEY: name, names.NODE_TYPE_KEY: names.HEAD}
    return look.selected(POD, {"matchLabels": labels})


def _seen_of_submitter(look: Look) -> JobInfo | None:
    labels = {"batch.kubernetes.io/job-name": look.name}
    pods = look.selected(POD, {"matchLabels": labels})
    if pods:
        return job_seen(pods)
    submitter = see_submitter(look)
    if submitter.finished_at is None:
        return job_seen(())
    return None if submitter.failure else JobInfo("SUCCEEDED", "Job finished successfully.")


def _see_sidecar(look: Look) -> Submitter:
    pods = head_pods(look)
    if not pods:
        return Submitter(is_there=False)
    listed = (pods[0].get("status") or {}).get("containerStatuses") or ()
    ours: list[Object] = [each for each in listed if each["name"] == names.SUBMITTER]
    ending = (ours[0].get("state") or {}).get("terminated") if ours else None
    if not ending:
        return Submitter()
    finished, code = _moment(ending.get("finishedAt")), ending.get("exitCode") or 0
    if code == 0:
        return Submitter(finished_at=finished)
    text = f"Ray head pod container {names.SUBMITTER} terminated with exit code {code}"
    return Submitter(finished_at=finished, failure=f"{text}: {ending.get('reason') or ''}")


def _moment(text: str | None) -> datetime | None:
    return parse_time(text) if text else None
