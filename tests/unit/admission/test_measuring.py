"""What each change of a workload counts for, and how long what took."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from fleetqueue.admission.measuring import (
    Measurement,
    cluster_queue,
    measure,
    preemption_reason,
    why_unadmitted,
)
from fleetqueue.admission.metric_settings import MetricSettings
from fleetqueue.api.kueue import admission_status as status
from fleetqueue.api.times import format_time

pytestmark = pytest.mark.rule("kueue 11.2")
Json = dict[str, Any]
START = datetime(2026, 1, 1, tzinfo=UTC)
ADMISSION = {"clusterQueue": "queue", "podSetAssignments": []}
SETTINGS = MetricSettings()


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def workload(**spec: Any) -> Json:
    metadata = {"name": "w", "namespace": "team", "creationTimestamp": format_time(START)}
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "Workload",
        "metadata": metadata,
        "spec": {"queueName": "main", "podSets": [], **spec},
    }


def reserved(seconds: float = 5, **more: Any) -> Json:
    return status.reserve(workload(), ADMISSION, at(seconds), **more)


def measured(old: Json | None, new: Json, seconds: float) -> dict[str, Any]:
    """By name: labels and seconds."""
    found = list(measure(old, new, at(seconds), SETTINGS))
    assert len({each.name for each in found}) == len(found)
    return {each.name: (each.labels, each.seconds) for each in found}


def test_quota_and_admission_at_once() -> None:
    old = workload(priorityClassRef={"name": "high"})
    new = status.reserve(old, ADMISSION, at(5))

    assert measured(old, new, 5) == {
        "quota_reserved_workloads_total": (("high",), None),
        "quota_reserved_wait_time_seconds": (("high",), 5.0),
        "admitted_workloads_total": (("high",), None),
        "admission_wait_time_seconds": (("high",), 5.0),
    }


def test_admission_after_checks_tells_how_long_they_took() -> None:
    pending = status.reserve(workload(), ADMISSION, at(5), checks=["check"])
    entry = {"name": "check", "state": "Ready", "message": "", "lastTransitionTime": "x"}
    ready = status.changed(pending, admissionChecks=[entry])
    new = status.settle_admitted(ready, at(12))

    assert measured(pending, new, 12) == {
        "admitted_workloads_total": (("",), None),
        "admission_wait_time_seconds": (("",), 12.0),
        "admission_checks_wait_time_seconds": (("",), 7.0),
    }


def test_one_that_was_queued_again_waits_since_then() -> None:
    old = status.with_condition(workload(), status.REQUEUED, True, "Preempted", "", at(100))
    new = status.reserve(old, ADMISSION, at(103))

    assert measured(old, new, 103)["quota_reserved_wait_time_seconds"] == (("",), 3.0)


def test_readiness_counts_from_queued_and_from_admitted() -> None:
    old = reserved(5)
    new = status.with_condition(old, status.PODS_READY, True, "Started", "", at(9))

    assert measured(old, new, 9) == {
        "ready_wait_time_seconds": (("",), 9.0),
        "admitted_until_ready_wait_time_seconds": (("",), 4.0),
    }
    off = MetricSettings(tells_readiness=False)
    assert list(measure(old, new, at(9), off)) == []


def test_the_end_tells_how_long_it_ran_in_all() -> None:
    old = status.changed(reserved(5), accumulatedPastExecutionTimeSeconds=30)
    new = status.finish(old, "Succeeded", "", at(15))

    assert measured(old, new, 15) == {
        "finished_workloads_total": (("",), None),
        "execution_time_seconds": (("",), 40.0),
    }


def test_one_that_never_ran_has_no_execution_time() -> None:
    new = status.finish(workload(), "Failed", "", at(15))

    assert measured(workload(), new, 15) == {"finished_workloads_total": (("",), None)}


@pytest.mark.parametrize(
    ("reason", "cause"),
    [
        ("Preempted", ""),
        ("PodsReadyTimeout", "WaitForStart"),
        ("PodsReadyTimeout", "WaitForRecovery"),
        ("AdmissionCheck", ""),
        ("ClusterQueueStopped", ""),
        ("LocalQueueStopped", ""),
        ("Deactivated", ""),
        ("Deactivated", "RequeuingLimitExceeded"),
        ("Deactivated", "AdmissionCheck"),
        ("NodeFailures", ""),
    ],
)
def test_an_eviction_is_told_by_its_bare_reason_and_its_cause(reason: str, cause: str) -> None:
    old = reserved()
    new = status.evict(old, reason, "because", at(20), cause=cause)

    labels = (reason, cause, "")
    assert measured(old, new, 20) == {
        "evicted_workloads_total": (labels, None),
        "evicted_workloads_once_total": (labels, None),
    }
    gone = status.release_evicted(new, at(26))
    assert measured(new, gone, 26) == {"workload_eviction_latency_seconds": ((reason,), 6.0)}


def test_the_same_eviction_again_is_not_the_first() -> None:
    first = status.evict(reserved(), "Preempted", "", at(20))
    back = status.reserve(status.release_evicted(first, at(21)), ADMISSION, at(22))
    again = status.evict(back, "Preempted", "", at(30))

    assert set(measured(back, again, 30)) == {"evicted_workloads_total"}
    other = status.evict(back, "NodeFailures", "", at(30))
    assert "evicted_workloads_once_total" in measured(back, other, 30)


def test_an_eviction_after_readiness_tells_how_long_that_lasted() -> None:
    old = status.with_condition(reserved(5), status.PODS_READY, True, "Started", "", at(9))
    new = status.evict(old, "Preempted", "", at(20))

    labels, seconds = measured(old, new, 20)["pods_ready_to_evicted_time_seconds"]
    assert (labels, seconds) == (("Preempted", ""), 11.0)


def test_an_eviction_of_one_without_quota_is_not_measured() -> None:
    old = workload(active=False)
    new = status.evict(old, "Deactivated", "The workload is deactivated", at(20))

    assert measured(old, new, 20) == {}


def test_a_change_of_nothing_that_matters_is_not_measured() -> None:
    old = reserved()
    new = status.changed(old, clusterName="one")

    assert measured(old, new, 30) == {}
    assert measured(workload(), workload(), 30) == {}


def test_local_queues_have_the_same_but_for_three() -> None:
    ready = status.with_condition(reserved(5), status.PODS_READY, True, "Started", "", at(9))
    evicted = status.evict(ready, "Preempted", "", at(20))
    found: list[Measurement] = [
        *measure(ready, evicted, at(20), SETTINGS),
        *measure(evicted, status.release_evicted(evicted, at(21)), at(21), SETTINGS),
    ]

    assert {each.name for each in found if not each.is_local} == {
        "evicted_workloads_once_total",
        "pods_ready_to_evicted_time_seconds",
        "workload_eviction_latency_seconds",
    }


def test_why_a_workload_is_not_admitted() -> None:
    waits = (False, "WaitingForQuota", "", at(1))
    pending = status.with_condition(workload(), status.QUOTA_RESERVED, *waits)
    settled = status.settle_admitted(pending, at(1))
    checked = status.settle_admitted(
        status.changed(
            reserved(checks=["check"]), admissionChecks=[{"name": "check", "state": "Pending"}]
        ),
        at(6),
    )

    assert why_unadmitted(workload()) == ("NoReservation", "PendingEvaluation")
    assert why_unadmitted(settled) == ("NoReservation", "WaitingForQuota")
    assert why_unadmitted(checked) == ("UnsatisfiedAdmissionChecks", "")
    assert why_unadmitted(reserved()) is None
    assert why_unadmitted(status.finish(pending, "Failed", "", at(2))) is None


def test_who_has_to_make_room_is_told_once() -> None:
    old = reserved()
    new = status.preempt(old, "InClusterQueue", "", at(9))

    assert preemption_reason(old, new) == "InClusterQueue"
    assert preemption_reason(new, new) == ""
    assert cluster_queue(new) == "queue"
    assert cluster_queue(workload()) == ""


@pytest.mark.rule("kueue 9.10")
def test_a_workload_and_its_variants_are_measured_once() -> None:
    parent, variant = workload(), workload()
    parent["metadata"]["labels"] = {"kueue.x-k8s.io/concurrent-admission-parent": "true"}
    variant["metadata"]["ownerReferences"] = [{"kind": "Workload", "uid": "1", "controller": True}]

    def admitted(obj: Json) -> Json:
        return status.reserve(obj, ADMISSION, at(5))

    def finished(obj: Json) -> Json:
        return status.finish(admitted(obj), "Succeeded", "", at(9))

    assert measured(parent, admitted(parent), 5) == {}
    assert "admitted_workloads_total" in measured(variant, admitted(variant), 5)
    assert "finished_workloads_total" in measured(admitted(parent), finished(parent), 9)
    assert measured(admitted(variant), finished(variant), 9) == {}
