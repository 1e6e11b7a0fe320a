"""What a pod says of itself: its group, its role, its gates, and how far it has come."""

from datetime import datetime, timedelta

from fleetqueue.api.kueue import labels
from fleetqueue.api.times import parse_time
from fleetqueue.jobs.identity import annotations_of, labels_of
from fleetqueue.jobs.settings import JobSettings
from fleetqueue.jobs.topology import read_int
from fleetqueue.kube.finalizers import is_deleting
from fleetqueue.kube.resources import Object

FRAMEWORK = "pod"


def total_of(pod: Object) -> int | None:
    """How many pods its group has; None where it says no number."""
    return read_int(annotations_of(pod).get(labels.POD_GROUP_TOTAL_COUNT) or "")


def role_of(pod: Object) -> str:
    return annotations_of(pod).get(labels.ROLE_HASH) or ""


def says(pod: Object, annotation: str) -> bool:
    """Whether one of its annotations is "true"."""
    return annotations_of(pod).get(annotation) == "true"


def is_managed(pod: Object, settings: JobSettings) -> bool:
    """Where pods are no framework of their own, only those of a parent are looked at."""
    if labels_of(pod).get(labels.MANAGED) != "true":
        return False
    return FRAMEWORK in settings.frameworks or has_parent(pod)


def has_parent(pod: Object) -> bool:
    """Whether what made the pod is queued by way of its pods."""
    return labels.POD_SUSPENDING_PARENT in annotations_of(pod)


def phase_of(pod: Object) -> str:
    return str((pod.get("status") or {}).get("phase") or "")


def is_terminated(pod: Object) -> bool:
    return phase_of(pod) in ("Succeeded", "Failed")


def is_gated(pod: Object, gate: str = labels.ADMISSION_GATE) -> bool:
    return any(each["name"] == gate for each in pod["spec"].get("schedulingGates") or ())


def is_suspended(pod: Object) -> bool:
    return is_gated(pod) or is_terminated(pod)


def is_ready(pod: Object) -> bool:
    found = (pod.get("status") or {}).get("conditions") or ()
    return any(each["type"] == "Ready" and each["status"] == "True" for each in found)


def counts(pod: Object) -> bool:
    """Whether it runs, may run or has succeeded; one that does not has to be replaced."""
    is_leaving_early = is_deleting(pod) and not pod["spec"].get("nodeName")
    return phase_of(pod) != "Failed" and not is_leaving_early


def ends_at(pod: Object) -> datetime | None:
    """When a running pod that is being deleted holds its resources no more, at the latest."""
    metadata = pod["metadata"]
    if not metadata.get("deletionTimestamp"):
        return None
    grace = timedelta(seconds=metadata.get("deletionGracePeriodSeconds") or 0)
    return parse_time(metadata["deletionTimestamp"]) + grace


def told_to_go_at(pod: Object) -> datetime:
    """When the deletion of a pod began; what it says of it is when its time is over."""
    metadata = pod["metadata"]
    grace = timedelta(seconds=metadata.get("deletionGracePeriodSeconds") or 0)
    return parse_time(metadata["deletionTimestamp"]) - grace
