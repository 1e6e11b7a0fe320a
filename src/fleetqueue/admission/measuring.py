"""What a change of a Workload means for counters and histograms: two states in, measures out."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from fleetqueue.admission.metric_settings import MetricSettings
from fleetqueue.api.kueue import admission_status as status
from fleetqueue.api.kueue import workloads
from fleetqueue.api.times import parse_time

Json = dict[str, Any]
NO_RESERVATION = "NoReservation"
PENDING = "PendingEvaluation"


@dataclass(frozen=True, slots=True)
class Measurement:
    """One count, or one span of time. The name and labels are those of the metric of the
    ClusterQueue, whose first label is left to whoever knows it.
    """

    name: str
    labels: tuple[str, ...] = ()
    seconds: float | None = None
    """None: it is counted."""
    is_local: bool = True
    """Whether LocalQueues have the same."""


def measure(
    old: Json | None, new: Json, now: datetime, settings: MetricSettings
) -> Iterator[Measurement]:
    """`now` is when the change was seen. A workload and its variants are measured once: what
    happens to quota by the variants, the end by the workload.
    """
    before = old or {}
    if _becomes(before, new, status.FINISHED) and not workloads.is_variant(new):
        yield from _finished(new, now)
    if workloads.is_parent(new):
        return
    if _becomes(before, new, status.QUOTA_RESERVED):
        yield from _reserved(new, now)
    if _becomes(before, new, status.ADMITTED):
        yield from _admitted(new, now)
    if settings.tells_readiness and _becomes(before, new, status.PODS_READY):
        yield from _ready(new, now)
    if status.has_quota(before):
        yield from _evicted(before, new, now)
        yield from _released(before, new, now)


def cluster_queue(obj: Json) -> str:
    """The ClusterQueue whose quota it holds; "" where it holds none."""
    return str(((obj.get("status") or {}).get("admission") or {}).get("clusterQueue") or "")


def why_unadmitted(obj: Json) -> tuple[str, str] | None:
    """Why a workload is not admitted: reason and cause; None where it is, or is finished."""
    if status.is_admitted(obj) or status.is_finished(obj):
        return None
    admitted = status.find_condition(obj, status.ADMITTED)
    reason = NO_RESERVATION if admitted is None else str(admitted["reason"])
    if status.has_quota(obj):
        return reason, ""
    reserved = status.find_condition(obj, status.QUOTA_RESERVED)
    return reason, PENDING if reserved is None else str(reserved["reason"])


def preemption_reason(old: Json | None, new: Json) -> str:
    """Why it has to make room from now on; "" where it has not, or had before."""
    if not _becomes(old or {}, new, status.PREEMPTED):
        return ""
    found = status.find_condition(new, status.PREEMPTED)
    return "" if found is None else str(found["reason"])


def _reserved(new: Json, now: datetime) -> Iterator[Measurement]:
    labels = (_priority_class(new),)
    yield Measurement("quota_reserved_workloads_total", labels)
    yield Measurement("quota_reserved_wait_time_seconds", labels, _since_queued(new, now))


def _admitted(new: Json, now: datetime) -> Iterator[Measurement]:
    labels = (_priority_class(new),)
    yield Measurement("admitted_workloads_total", labels)
    yield Measurement("admission_wait_time_seconds", labels, _since_queued(new, now))
    if status.checks_of(new):
        waited = _since(new, status.QUOTA_RESERVED, now)
        yield Measurement("admission_checks_wait_time_seconds", labels, waited)


def _ready(new: Json, now: datetime) -> Iterator[Measurement]:
    if not status.is_admitted(new):
        return
    labels = (_priority_class(new),)
    yield Measurement("ready_wait_time_seconds", labels, _since_queued(new, now))
    waited = _since(new, status.ADMITTED, now)
    yield Measurement("admitted_until_ready_wait_time_seconds", labels, waited)


def _evicted(old: Json, new: Json, now: datetime) -> Iterator[Measurement]:
    """The statistics in its status tell how often it was evicted for what, in plain words."""
    former = _evictions(old)
    for (reason, cause), count in _evictions(new).items():
        if count <= former.get((reason, cause), 0):
            continue
        labels = (reason, cause, _priority_class(new))
        yield Measurement("evicted_workloads_total", labels)
        if (reason, cause) not in former:
            yield Measurement("evicted_workloads_once_total", labels, is_local=False)
        if status.is_true(old, status.PODS_READY):
            spent = _since(old, status.PODS_READY, now)
            name = "pods_ready_to_evicted_time_seconds"
            yield Measurement(name, (reason, cause), spent, is_local=False)


def _released(old: Json, new: Json, now: datetime) -> Iterator[Measurement]:
    evicted = status.find_condition(new, status.EVICTED)
    if status.has_quota(new) or evicted is None or evicted["status"] != "True":
        return
    reason = str(evicted["reason"])
    if reason.startswith(f"{status.DEACTIVATED}DueTo"):
        reason = status.DEACTIVATED
    spent = _since(new, status.EVICTED, now)
    yield Measurement("workload_eviction_latency_seconds", (reason,), spent, is_local=False)


def _finished(new: Json, now: datetime) -> Iterator[Measurement]:
    labels = (_priority_class(new),)
    yield Measurement("finished_workloads_total", labels)
    past = (new.get("status") or {}).get("accumulatedPastExecutionTimeSeconds") or 0
    if status.is_admitted(new):
        past += _since(new, status.ADMITTED, now)
    elif not past:
        return
    yield Measurement("execution_time_seconds", labels, float(past))


def _becomes(old: Json, new: Json, type: str) -> bool:
    return status.is_true(new, type) and not status.is_true(old, type)


def _evictions(obj: Json) -> dict[tuple[str, str], int]:
    found = ((obj.get("status") or {}).get("schedulingStats") or {}).get("evictions") or ()
    return {(each["reason"], each.get("underlyingCause") or ""): each["count"] for each in found}


def _since_queued(obj: Json, now: datetime) -> float:
    requeued = status.find_condition(obj, status.REQUEUED)
    at = (
        obj["metadata"]["creationTimestamp"] if requeued is None else requeued["lastTransitionTime"]
    )
    return (now - parse_time(at)).total_seconds()


def _since(obj: Json, type: str, now: datetime) -> float:
    found = status.find_condition(obj, type)
    return 0.0 if found is None else (now - parse_time(found["lastTransitionTime"])).total_seconds()


def _priority_class(obj: Json) -> str:
    return str(((obj.get("spec") or {}).get("priorityClassRef") or {}).get("name") or "")
