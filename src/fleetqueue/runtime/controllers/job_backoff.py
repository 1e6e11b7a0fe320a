"""How long a Job waits before it replaces failed pods: ten seconds, then twice that, and so on,
from the end of the last failure, until a pod succeeds."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from fleetqueue.api.times import parse_time
from fleetqueue.kube.remembered import Remembered
from fleetqueue.kube.resources import Object
from fleetqueue.runtime import pod_facts

REMEMBERED_JOBS_MAX = 10_000


@dataclass(frozen=True, slots=True)
class Backoff:
    """The delays; upstream's by default."""

    base_seconds: float = 10.0
    seconds_max: float = 600.0

    def left(self, failures: int, last_at: datetime | None, now: datetime) -> float:
        """The seconds still to wait after so many failures in a row."""
        if not failures or last_at is None:
            return 0.0
        delay = self.base_seconds
        for _ in range(failures - 1):
            delay *= 2
            if delay >= self.seconds_max:
                delay = self.seconds_max
                break
        return max(0.0, delay - (now - last_at).total_seconds())


@dataclass(slots=True)
class Failures:
    """The failures of each Job since its last success, by pod.

    Deleted pods take the evidence with them, so it is kept here; after a restart it begins with
    what the pods that are still there tell. To look twice at the same pods changes nothing.
    """

    _by_job: Remembered[dict[str, datetime]] = field(
        default_factory=lambda: Remembered(REMEMBERED_JOBS_MAX)
    )

    def look(
        self,
        job: str,
        pods: Iterable[Object],
        succeeded: Sequence[Object],
        failed: Iterable[Object],
    ) -> tuple[int, datetime | None]:
        """How many in a row and when the last one ended; `pods` are all, the others the new."""
        known = self._by_job.get(job)
        if known is None:
            known = _evidence(pods)
        latest = {pod["metadata"]["uid"]: finished_at(pod) for pod in failed}
        if succeeded:
            success = max(map(finished_at, succeeded))
            known = {uid: at for uid, at in latest.items() if at > success}
        elif latest:
            known = {**known, **latest}
        self._by_job.put(job, known)
        return len(known), max(known.values(), default=None)


def finished_at(pod: Object) -> datetime:
    """When its containers ended, or else when it stopped to be ready, or when it was deleted."""
    metadata = pod["metadata"]
    ended = _containers_ended(pod)
    if ended is not None:
        return ended
    ready = pod_facts.condition(pod, "Ready")
    if ready and ready.get("status") == "False" and ready.get("lastTransitionTime"):
        return parse_time(ready["lastTransitionTime"])
    if metadata.get("deletionTimestamp"):
        grace = timedelta(seconds=metadata.get("deletionGracePeriodSeconds") or 0)
        return parse_time(metadata["deletionTimestamp"]) - grace
    return parse_time(metadata["creationTimestamp"])


def _containers_ended(pod: Object) -> datetime | None:
    """The end of the last container or sidecar; None while one of them has none."""
    status = pod.get("status") or {}
    sidecars = {
        each["name"]
        for each in pod["spec"].get("initContainers") or ()
        if each.get("restartPolicy") == "Always"
    }
    beside = [
        each for each in status.get("initContainerStatuses") or () if each["name"] in sidecars
    ]
    ends = [
        str(((each.get("state") or {}).get("terminated") or {}).get("finishedAt") or "")
        for each in [*(status.get("containerStatuses") or ()), *beside]
    ]
    return max(map(parse_time, ends)) if ends and all(ends) else None


def _evidence(pods: Iterable[Object]) -> dict[str, datetime]:
    ended = [(pod, finished_at(pod)) for pod in pods if pod_facts.is_terminal(pod)]
    successes = [at for pod, at in ended if pod_facts.phase(pod) == "Succeeded"]
    return {
        pod["metadata"]["uid"]: at
        for pod, at in ended
        if pod_facts.phase(pod) == "Failed" and all(at > success for success in successes)
    }
