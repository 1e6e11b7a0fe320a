"""What a pod, one of its containers, or an event about it says; `explain` and `logs` read them."""

from datetime import datetime
from typing import Any

from fleetqueue.api.kueue.admission_status import find_condition
from fleetqueue.api.times import parse_time

Object = dict[str, Any]
BEGINNING = ("", "ContainerCreating", "PodInitializing")
"""Why every container waits at first; it does not say what is waited for."""


def status_of(pod: Object) -> Object:
    found: Object = pod.get("status") or {}
    return found


def phase_of(pod: Object) -> str:
    return str(status_of(pod).get("phase") or "")


def waiting_of(container: Object) -> Object:
    """What its status says of why it waits; nothing where it does not."""
    found: Object = (container.get("state") or {}).get("waiting") or {}
    return found


def unscheduled(pod: Object) -> Object | None:
    """The condition by which the scheduler says that it found no node."""
    found = find_condition(pod, "PodScheduled")
    return found if found is not None and found["status"] == "False" else None


def involved(event: Object) -> tuple[str, str]:
    """Whom it is about: the kind, and the name."""
    about = event.get("involvedObject") or {}
    return str(about.get("kind") or ""), str(about.get("name") or "")


def happened_at(event: Object) -> datetime:
    """Of its last occurrence."""
    series = event.get("series") or {}
    told = series.get("lastObservedTime") or event.get("lastTimestamp") or event.get("eventTime")
    return parse_time(str(told or event["metadata"]["creationTimestamp"]))


def sentence(reason: Any, message: Any) -> str:
    return ": ".join(filter(None, [str(reason or ""), str(message or "")]))
