"""The status of a Workload through reservation, eviction, release and the end, and its patches."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from fleetqueue.api.kueue import admission_status as status_of

Json = dict[str, Any]

NOW = datetime(2026, 1, 1, 12, 0, 0, 900_000, tzinfo=UTC)
LATER = NOW + timedelta(seconds=7)
ADMISSION = {
    "clusterQueue": "cq",
    "podSetAssignments": [{"name": "main", "count": 1, "flavors": {"cpu": "default"}}],
}


def workload(**status: Any) -> Json:
    metadata = {
        "name": "w",
        "namespace": "ns",
        "uid": "u",
        "resourceVersion": "7",
        "generation": 3,
        "labels": {"kueue.x-k8s.io/job-uid": "j"},
        "managedFields": [],
    }
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "Workload",
        "metadata": metadata,
        "spec": {"podSets": []},
        "status": status,
    }


def check(name: str, state: str, **more: Any) -> Json:
    when = "2026-01-01T00:00:00Z"
    return {"name": name, "state": state, "message": "", "lastTransitionTime": when, **more}


def told(obj: Json, type: str) -> tuple[str, str, str]:
    found = status_of.find_condition(obj, type)
    assert found is not None, f"no condition {type}"
    return found["status"], found["reason"], found["message"]


def reserved() -> Json:
    return status_of.reserve(workload(), ADMISSION, NOW)


@pytest.mark.rule("kueue 3.3")
def test_a_reservation_without_checks_admits_at_once() -> None:
    made = status_of.reserve(workload(resourceRequests=[{"name": "main"}]), ADMISSION, NOW)
    assert made["status"]["admission"] == ADMISSION
    assert "resourceRequests" not in made["status"]
    told_so = ("True", "QuotaReserved", "Quota reserved in ClusterQueue cq")
    assert told(made, "QuotaReserved") == told_so
    assert told(made, "Admitted") == ("True", "Admitted", "The workload is admitted")
    assert made["status"]["conditions"][0]["observedGeneration"] == 3
    assert made["status"]["conditions"][0]["lastTransitionTime"] == "2026-01-01T12:00:00Z"


CHECKS = {
    "listed and ready": ([check("a", "Ready")], ["a"], ("True", "Admitted")),
    "listed and pending": (
        [check("a", "Pending")],
        ["a"],
        ("False", "UnsatisfiedAdmissionChecks"),
    ),
    "not listed yet": ([], ["a"], None),
}


@pytest.mark.rule("kueue 3.3")
@pytest.mark.parametrize(("listed", "needed", "expected"), CHECKS.values(), ids=CHECKS.keys())
def test_a_reservation_is_admitted_once_its_checks_are_ready(
    listed: list[Json], needed: list[str], expected: tuple[str, str] | None
) -> None:
    made = status_of.reserve(workload(admissionChecks=listed), ADMISSION, NOW, checks=needed)
    found = status_of.find_condition(made, "Admitted")
    assert expected == (found and (found["status"], found["reason"]))


@pytest.mark.rule("kueue 3.3")
def test_a_new_reservation_says_what_was_before() -> None:
    evicted = status_of.preempt(reserved(), "InClusterQueue", "make room", NOW)
    again = status_of.reserve(status_of.release_evicted(evicted, NOW), ADMISSION, LATER)
    assert told(again, "Evicted") == ("False", "QuotaReserved", "Previously: make room")
    assert told(again, "Preempted") == ("False", "QuotaReserved", "Previously: make room")


@pytest.mark.rule("kueue 3.2")
def test_a_delayed_topology_keeps_a_workload_from_being_admitted() -> None:
    assignment = {"name": "main", "delayedTopologyRequest": "Pending"}
    made = status_of.reserve(
        workload(), {"clusterQueue": "cq", "podSetAssignments": [assignment]}, NOW
    )
    assert told(made, "Admitted") == (
        "False",
        "PendingDelayedTopologyRequests",
        "There are pending delayed topology requests",
    )


@pytest.mark.rule("kueue 3.2")
def test_a_check_that_comes_later_does_not_take_admission_away() -> None:
    late = status_of.changed(reserved(), admissionChecks=[check("a", "Pending")])
    assert status_of.settle_admitted(late, LATER) is late


@pytest.mark.rule("kueue 3.2")
def test_legacy_wording() -> None:
    pending = workload(admissionChecks=[check("a", "Pending")])
    made = status_of.release(pending, "Pending", "m", NOW, status_of.LEGACY)
    assert told(made, "Admitted") == (
        "False",
        "NoReservationUnsatisfiedChecks",
        "The workload has no reservation and not all checks ready",
    )


@pytest.mark.rule("kueue 3.4", "kueue 3.8")
def test_a_release_gives_quota_back_and_adds_up_the_time_admitted() -> None:
    evicted = status_of.preempt(reserved(), "InClusterQueue", "make room", NOW)
    made = status_of.release_evicted(evicted, LATER)
    assert "admission" not in made["status"]
    assert made["status"]["accumulatedPastExecutionTimeSeconds"] == 7
    assert told(made, "Requeued") == ("True", "Preempted", "make room")
    assert told(made, "QuotaReserved") == ("False", "PendingEvaluation", "make room")
    assert told(made, "Admitted") == ("False", "NoReservation", "The workload has no reservation")


# fmt: off
EVICTIONS = {  #              reason               cause               requeued  condition reason
    "preempted":             ("Preempted",         "",                 "True",   "Preempted"),
    "nodes failed":          ("NodeFailures",      "",                 "True",   "NodeFailures"),
    "pods not ready":        ("PodsReadyTimeout",  "WaitForStart",     "False",
                              "PodsReadyTimeout"),
    "deactivated":           ("Deactivated",       "",                 "False",  "Deactivated"),
    "deactivated by a rule": ("Deactivated",       "AdmissionCheck",   "False",
                              "DeactivatedDueToAdmissionCheck"),
}
# fmt: on


@pytest.mark.rule("kueue 3.4")
@pytest.mark.parametrize(
    ("reason", "cause", "requeued", "told_reason"), EVICTIONS.values(), ids=EVICTIONS.keys()
)
def test_evictions(reason: str, cause: str, requeued: str, told_reason: str) -> None:
    made = status_of.evict(reserved(), reason, "why", NOW, cause=cause)
    assert told(made, "Evicted") == ("True", told_reason, "why")
    assert made["status"]["admission"] == ADMISSION
    assert status_of.eviction_event(reason, cause) == f"EvictedDueTo{told_reason}"
    counted = [{"reason": reason, "underlyingCause": cause, "count": 1}]
    assert made["status"]["schedulingStats"]["evictions"] == counted
    released = status_of.release_evicted(made, LATER)
    assert told(released, "Requeued") == (requeued, told_reason, "why")


@pytest.mark.rule("kueue 3.4")
def test_a_workload_of_one_plain_pod_is_never_queued_again() -> None:
    evicted = status_of.preempt(reserved(), "InClusterQueue", "make room", NOW)
    made = status_of.release_evicted(evicted, NOW, may_queue_again=False)
    assert told(made, "Requeued")[0] == "False"


@pytest.mark.rule("kueue 3.4")
def test_an_eviction_resets_checks_gates_nodes_and_clusters() -> None:
    gate = {"name": "g", "position": "Open", "lastTransitionTime": "2026-01-01T00:00:00Z"}
    busy = status_of.changed(
        reserved(),
        admissionChecks=[
            check("a", "Retry", requeueAfterSeconds=5, retryCount=1, podSetUpdates=[{}]),
            check("b", "Ready"),
            check("c", "Pending"),
        ],
        preemptionGates=[gate],
        unhealthyNodes=[{"name": "n"}],
        clusterName="east",
        nominatedClusterNames=["east"],
    )
    busy = status_of.with_condition(busy, "BlockedOnPreemptionGates", True, "X", "y", NOW)
    made = status_of.evict(busy, "AdmissionCheck", "why", NOW)
    a, b, c = made["status"]["admissionChecks"]
    assert a == {
        "name": "a",
        "state": "Pending",
        "lastTransitionTime": "2026-01-01T12:00:00Z",
        "message": "Reset to Pending after eviction. Previously: Retry",
        "requeueAfterSeconds": 5,
        "retryCount": 2,
        "podSetUpdates": [],
    }
    assert "podSetUpdates" not in b
    assert b["message"] == "Reset to Pending after eviction. Previously: Ready"
    assert "retryCount" not in b
    assert c == check("c", "Pending")
    assert made["status"]["preemptionGates"][0]["position"] == "Closed"
    assert told(made, "BlockedOnPreemptionGates") == ("False", "AdmissionCheck", "why")
    assert not {"unhealthyNodes", "clusterName", "nominatedClusterNames"} & set(made["status"])


@pytest.mark.rule("kueue 3.4")
def test_evictions_of_one_kind_are_counted() -> None:
    once = status_of.evict(reserved(), "Preempted", "m", NOW)
    twice = status_of.evict(once, "Preempted", "m", NOW)
    counted = [{"reason": "Preempted", "underlyingCause": "", "count": 2}]
    assert twice["status"]["schedulingStats"]["evictions"] == counted


@pytest.mark.rule("kueue 3.10")
def test_who_finishes_a_workload_first_is_right() -> None:
    done = status_of.finish(reserved(), "Succeeded", "all good", NOW)
    assert told(done, "Finished") == ("True", "Succeeded", "all good")
    assert status_of.finish(done, "Failed", "no", LATER) is done
    assert done["status"]["admission"] == ADMISSION


@pytest.mark.rule("kueue 3.1")
def test_the_time_of_a_condition_moves_with_its_status_alone() -> None:
    made = status_of.with_condition(workload(), "Requeued", False, "A", "a", NOW)
    same = status_of.with_condition(made, "Requeued", False, "B", "b", LATER)
    other = status_of.with_condition(same, "Requeued", True, "C", "c", LATER)
    times = [each["status"]["conditions"][0]["lastTransitionTime"] for each in (made, same, other)]
    assert times == ["2026-01-01T12:00:00Z", "2026-01-01T12:00:00Z", "2026-01-01T12:00:07Z"]
    assert told(same, "Requeued") == ("False", "B", "b")


@pytest.mark.rule("kueue 3.1")
def test_the_patch_carries_all_that_the_manager_owns_and_nothing_else() -> None:
    full = status_of.changed(
        status_of.preempt(reserved(), "InClusterQueue", "m", NOW),
        reclaimablePods=[{"name": "main", "count": 1}],
        requeueState={"count": 1},
    )
    full = status_of.with_condition(full, "WaitingForReplacementPods", True, "X", "y", NOW)
    full = status_of.with_condition(full, "PodsReady", True, "Started", "y", NOW)
    body = status_of.admission_patch(full)
    assert [each["type"] for each in body["status"]["conditions"]] == [
        "QuotaReserved",
        "Evicted",
        "Admitted",
        "Preempted",
        "PodsReady",
    ]
    fields = {"admission", "requeueState", "schedulingStats", "conditions"}
    assert set(body["status"]) == fields
    assert body["metadata"] == {
        "name": "w",
        "namespace": "ns",
        "uid": "u",
        "resourceVersion": "7",
        "labels": {"kueue.x-k8s.io/job-uid": "j"},
    }
    assert "spec" not in body


NAMES = {"f:status": {"f:nominatedClusterNames": {}}}
V1BETA2, V1BETA1 = "kueue.x-k8s.io/v1beta2", "kueue.x-k8s.io/v1beta1"


def owned_by(manager: str, operation: str, version: str, fields: Json = NAMES) -> Json:
    made = status_of.changed(reserved(), nominatedClusterNames=["w1"])
    entry = {"manager": manager, "operation": operation, "apiVersion": version, "fieldsV1": fields}
    return {**made, "metadata": {**made["metadata"], "managedFields": [entry]}}


@pytest.mark.rule("IMP-5")
@pytest.mark.parametrize(
    ("owner", "is_cleared"),
    [
        (("example", "Apply", V1BETA2), True),
        (("example", "Update", V1BETA2), True),
        (("kueue-admission", "Update", V1BETA2), True),
        (("kueue-admission", "Apply", V1BETA1), True),
        (("kueue-admission", "Apply", V1BETA2), False),
        (("example", "Apply", V1BETA2, {"f:status": {"f:other": {}}}), False),
        (("example", "Apply", V1BETA2, {}), False),
    ],
)
def test_names_that_others_hold_are_cleared_by_taking_them_over(
    owner: Any, is_cleared: bool
) -> None:
    claimed = status_of.changed(owned_by(*owner), clusterName="w1", nominatedClusterNames=None)
    evicted = status_of.evict(owned_by(*owner), "Preempted", "m", NOW)

    for made in (claimed, evicted):
        found = status_of.admission_patch(made)["status"].get("nominatedClusterNames")
        assert found == ([] if is_cleared else None)


@pytest.mark.rule("IMP-5")
def test_names_that_stay_are_carried_whoever_wrote_them() -> None:
    body = status_of.admission_patch(owned_by("example", "Apply", V1BETA2))

    assert body["status"]["nominatedClusterNames"] == ["w1"]


@pytest.mark.rule("kueue 3.1")
def test_a_loose_patch_holds_for_any_version() -> None:
    body = status_of.admission_patch(reserved(), is_strict=False, requeueState={"count": 2})
    assert "resourceVersion" not in body["metadata"]
    assert body["status"]["requeueState"] == {"count": 2}


@pytest.mark.rule("kueue 3.1")
def test_other_managers_own_one_thing_each() -> None:
    ready = status_of.with_condition(reserved(), "PodsReady", True, "Started", "m", NOW)
    body = status_of.condition_patch(ready, "PodsReady")
    assert [each["type"] for each in body["status"]["conditions"]] == ["PodsReady"]
    assert status_of.condition_manager("PodsReady") == "kueue-job-controller-PodsReady"
    pods = [{"name": "main", "count": 1}]
    assert status_of.reclaimable_patch(ready, pods)["status"] == {"reclaimablePods": pods}


TEXTS = {
    "short": ("a" * 1024, "a" * 1024),
    "long": ("a" * 1025, "a" * 1020 + " ..."),
    "cut inside a letter": ("ä" * 600, "ä" * 510 + " ..."),
}


@pytest.mark.rule("kueue 3.1")
@pytest.mark.parametrize(("text", "expected"), TEXTS.values(), ids=TEXTS.keys())
def test_messages_of_events_are_cut(text: str, expected: str) -> None:
    assert status_of.event_message(text) == expected


@pytest.mark.rule("kueue 3.1")
def test_messages_of_conditions_are_cut() -> None:
    made = status_of.with_condition(workload(), "Evicted", True, "X", "m" * 40000, NOW)
    message = told(made, "Evicted")[2]
    assert len(message) == 32768
    assert message.endswith(" ...")


@pytest.mark.rule("kueue 3.1")
def test_nothing_given_is_changed() -> None:
    given = reserved()
    before = repr(given)
    status_of.release_evicted(status_of.preempt(given, "X", "m", NOW), NOW)
    status_of.finish(given, "Succeeded", "m", NOW)
    assert repr(given) == before


@pytest.mark.rule("kueue 3.1")
@pytest.mark.parametrize(
    "field",
    [
        "accumulatedPastExecutionTimeSeconds",
        "admission",
        "admissionChecks",
        "clusterName",
        "nominatedClusterNames",
        "preemptionGates",
        "requeueState",
        "resourceRequests",
        "schedulingStats",
        "unhealthyNodes",
    ],
)
def test_every_field_of_the_manager_is_in_its_patch(field: str) -> None:
    assert status_of.admission_patch(workload(**{field: "x"}))["status"] == {field: "x"}
