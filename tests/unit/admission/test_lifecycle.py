"""The life of a workload: what one look at it writes, tells, or waits for."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from fleetqueue.admission import lifecycle
from fleetqueue.admission.facts import Facts, Place
from fleetqueue.admission.life_settings import LifeSettings, PodsReadyRules
from fleetqueue.api.kueue import admission_status as status
from fleetqueue.api.times import format_time
from fleetqueue.kube.plan import Apply, Delete, Note, Patch, Plan

NOW = datetime(2026, 1, 1, tzinfo=UTC)
LATER = NOW + timedelta(hours=1)
RUNNING = Facts(
    Place("main", True, True), Place("queue", True, True), checks=(), problem="", bypassed=None
)
Json = dict[str, Any]


def workload(*conditions: Json, **parts: Any) -> Json:
    metadata = {"name": "w", "namespace": "team", "uid": "1", "generation": 1}
    known: Json = {"conditions": list(conditions)} if conditions else {}
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "Workload",
        "metadata": {**metadata, "creationTimestamp": format_time(NOW), **parts.get("meta", {})},
        "spec": {"queueName": "main", "podSets": [], **parts.get("spec", {})},
        "status": {**known, **parts.get("status", {})},
    }


def condition(type: str, value: str, reason: str = "", message: str = "", at: int = 0) -> Json:
    return {
        "type": type,
        "status": value,
        "reason": reason or type,
        "message": message,
        "lastTransitionTime": format_time(NOW + timedelta(seconds=at)),
        "observedGeneration": 1,
    }


ADMISSION = {"clusterQueue": "queue", "podSetAssignments": []}
RESERVED = condition("QuotaReserved", "True")
ADMITTED = condition("Admitted", "True")
EVICTED = condition("Evicted", "True", "Preempted", "to make room")


def holding(*more: Json, **parts: Any) -> Json:
    parts["status"] = {"admission": ADMISSION, **parts.get("status", {})}
    return workload(RESERVED, *more, **parts)


def decide(obj: Json, facts: Facts = RUNNING, now: datetime = NOW, **settings: Any) -> Plan:
    plan = lifecycle.decide(obj, facts, LifeSettings(**settings), now)
    are_told = [isinstance(step, Note) for step in plan.steps]
    assert are_told == sorted(are_told), "told before it is written"
    return plan


def written(plan: Plan) -> dict[str, tuple[str, str, str]]:
    """The conditions in what the plan applies."""
    found = next((step.obj for step in plan.steps if isinstance(step, Apply)), {"status": {}})
    conditions = found["status"].get("conditions") or ()
    return {each["type"]: (each["status"], each["reason"], each["message"]) for each in conditions}


def applied(plan: Plan) -> Json:
    found = next(step for step in plan.steps if isinstance(step, Apply))
    assert (found.manager, found.subresource) == ("kueue-admission", "status")
    result: Json = found.obj["status"]
    return result


def notes(plan: Plan) -> list[tuple[str, str, str]]:
    steps = [step for step in plan.steps if isinstance(step, Note)]
    return [(step.type, step.reason, step.message) for step in steps]


# Waiting

NOT_RESERVED = condition("Admitted", "False", "NoReservation", "The workload has no reservation")
PENDING = condition("QuotaReserved", "False", "PendingEvaluation", "before")


def waits(local: Place | None = None, queue: Place | None = None, **rest: Any) -> Facts:
    return Facts(local or RUNNING.local, queue or RUNNING.queue, rest.pop("checks", ()), **rest)


NAMED = Place("main", True, True)
# fmt: off
BLOCKED = {
    "no local queue": (
        waits(local=Place("main")), "Misconfigured", "LocalQueue main doesn't exist"),
    "local queue stopped": (
        waits(local=Place("main", True, False, stop_policy="Hold")),
        "Suspended", "LocalQueue main is inactive"),
    "no cluster queue": (
        waits(queue=Place("queue"), checks=None),
        "Misconfigured", "ClusterQueue queue doesn't exist"),
    "cluster queue inactive": (
        waits(queue=Place("queue", True, False)), "Suspended", "ClusterQueue queue is inactive"),
    "not to be tried": (waits(problem="resources: no"), "Misconfigured", "resources: no"),
}
# fmt: on


@pytest.mark.rule("kueue 3.2")
@pytest.mark.parametrize(("facts", "reason", "message"), BLOCKED.values(), ids=BLOCKED.keys())
def test_one_that_waits_says_what_keeps_it(facts: Facts, reason: str, message: str) -> None:
    told = written(decide(workload(), facts))

    assert told["QuotaReserved"] == ("False", reason, message)
    assert told["Admitted"] == ("False", "NoReservation", "The workload has no reservation")


@pytest.mark.rule("kueue 3.2")
def test_before_anything_is_known_nothing_is_said() -> None:
    assert decide(workload()).steps == []
    assert written(decide(workload(), says_at_once=True))["QuotaReserved"] == (
        "False",
        "PendingEvaluation",
        "Workload is pending evaluation in the scheduling queue",
    )


@pytest.mark.rule("kueue 3.2")
def test_what_the_scheduler_said_stays() -> None:
    told = condition("QuotaReserved", "False", "WaitingForQuota", "2 more needed")
    waiting = workload(told, NOT_RESERVED)

    assert decide(waiting).steps == []


@pytest.mark.rule("kueue 3.2", "kueue 4.5")
def test_one_that_was_bypassed_says_so() -> None:
    told = written(decide(workload(PENDING), waits(bypassed="WaitingForQuota")))

    assert told["QuotaReserved"] == (
        "False",
        "WaitingForQuota",
        "Bypassed scheduling evaluation because an equivalent workload recently failed",
    )


@pytest.mark.rule("kueue 2.4")
def test_a_gate_keeps_it_out_and_its_removal_lets_it_in() -> None:
    gated = workload(meta={"annotations": {"kueue.x-k8s.io/admission-gated-by": "a.io/x"}})
    plan = decide(gated)

    assert written(plan)["QuotaReserved"] == (
        "False",
        "AdmissionGated",
        "Admission is gated by: a.io/x",
    )
    assert notes(plan) == [("Normal", "AdmissionGated", "Workload admission is gated by: a.io/x")]

    # In the older wording too, where the reason is that of all who cannot be tried.
    plan = decide(gated, explains_waiting=False)
    assert written(plan)["QuotaReserved"][1] == "Inadmissible"
    assert [reason for _, reason, _ in notes(plan)] == ["AdmissionGated"]
    assert not notes(decide(gated, honors_gates=False))

    told = condition("QuotaReserved", "False", "AdmissionGated", "Admission is gated by: a.io/x")
    plan = decide(workload(told))
    assert written(plan)["QuotaReserved"] == (
        "False",
        "PendingEvaluation",
        "AdmissionGatedBy cleared, waiting for quota reservation",
    )
    assert notes(plan) == [
        (
            "Normal",
            "AdmissionGateCleared",
            "Admission gate cleared, workload is now admissible",
        )
    ]


# Checks


@pytest.mark.rule("kueue 3.3")
def test_checks_come_and_go_with_what_the_queue_asks_for() -> None:
    ready = {
        "name": "keep",
        "state": "Ready",
        "lastTransitionTime": format_time(NOW),
        "message": "ok",
    }
    gone = {**ready, "name": "gone"}
    obj = holding(status={"admissionChecks": [gone, ready]})

    [step] = decide(obj, waits(checks=("new", "keep"))).steps

    fresh = {"state": "Pending", "lastTransitionTime": format_time(NOW), "message": ""}
    assert isinstance(step, Patch)
    assert step.subresource == "status"
    assert step.patch["status"] == {"admissionChecks": [ready, {"name": "new", **fresh}]}


def check(state: str, message: str = "", name: str = "prov", **more: Any) -> Json:
    moment = format_time(NOW)
    made = {"name": name, "state": state, "lastTransitionTime": moment, "message": message}
    return {**made, **more}


@pytest.mark.rule("kueue 3.3")
def test_ready_checks_admit_it() -> None:
    obj = holding(status={"admissionChecks": [check("Ready")]})
    plan = decide(obj, waits(checks=("prov",)), now=NOW + timedelta(seconds=7))

    assert written(plan)["Admitted"] == ("True", "Admitted", "The workload is admitted")
    text = "Admitted by ClusterQueue queue, wait time since reservation was 7s"
    assert notes(plan) == [("Normal", "Admitted", text)]


# fmt: off
REJECTED = {
    "one": ([check("Rejected", "no room")], 'AdmissionCheck in Rejected state: "prov" (no room)'),
    "several": (
        [check("Rejected", name="b"), check("Rejected", "no", name="a")],
        'AdmissionChecks in Rejected state: "a" (no); "b"'),
    "before those that retry": (
        [check("Rejected"), check("Retry", name="z")], 'AdmissionCheck in Rejected state: "prov"'),
}
# fmt: on


@pytest.mark.rule("kueue 3.3")
@pytest.mark.parametrize(("checks", "message"), REJECTED.values(), ids=REJECTED.keys())
def test_a_rejected_check_deactivates_it(checks: list[Json], message: str) -> None:
    names = tuple(each["name"] for each in checks)
    obj = holding(
        condition("Admitted", "False", "UnsatisfiedAdmissionChecks",
                  "The workload has not all checks ready"),
        status={"admissionChecks": checks},
    )  # fmt: skip
    plan = decide(obj, waits(checks=names))

    assert written(plan)["DeactivationTarget"] == ("True", "AdmissionCheck", message)
    assert notes(plan) == [("Warning", "AdmissionCheckRejected", f"Deactivated due to {message}")]


@pytest.mark.rule("kueue 3.3", "kueue 3.4")
def test_a_check_that_retries_evicts_it_and_starts_over() -> None:
    obj = holding(
        condition("Admitted", "False", "UnsatisfiedAdmissionChecks",
                  "The workload has not all checks ready"),
        status={"admissionChecks": [check("Retry", "full")]},
    )  # fmt: skip
    plan = decide(obj, waits(checks=("prov",)))

    message = 'Evicted due to AdmissionCheck in Retry state: "prov" (full)'
    assert written(plan)["Evicted"] == ("True", "AdmissionCheck", message)
    assert notes(plan) == [("Normal", "EvictedDueToAdmissionCheck", message)]
    assert applied(plan)["admissionChecks"] == [
        check("Pending", "Reset to Pending after eviction. Previously: Retry", retryCount=1)
    ]


@pytest.mark.rule("kueue 3.5")
def test_a_check_says_how_long_to_wait_before_the_next_try() -> None:
    retry = check("Retry", requeueAfterSeconds=60)
    obj = holding(status={"admissionChecks": [retry]})

    state = applied(decide(obj, waits(checks=("prov",))))["requeueState"]

    assert state == {"requeueAt": format_time(NOW + timedelta(seconds=60))}


# Coming back


@pytest.mark.rule("kueue 3.5")
def test_it_waits_for_the_end_of_its_back_off() -> None:
    later = NOW + timedelta(seconds=30)
    requeued = condition("Requeued", "False", "PodsReadyTimeout", "")
    state = {"count": 1, "requeueAt": format_time(later)}
    obj = workload(requeued, PENDING, NOT_RESERVED, status={"requeueState": state})
    plan = decide(obj)
    assert plan.steps == []
    assert plan.after == 30.0

    plan = decide(obj, now=later)
    assert written(plan)["Requeued"] == (
        "True",
        "BackoffFinished",
        "The workload backoff was finished",
    )
    assert applied(plan)["requeueState"] == {"count": 1}


# fmt: off
BACK = {
    "by a user": ("Deactivated", "Reactivated", "The workload was reactivated"),
    "by us": ("DeactivatedDueToAdmissionCheck", "Reactivated", "The workload was reactivated"),
    "check": ("AdmissionCheck", "BackoffFinished", "The workload backoff was finished"),
    "local queue": (
        "LocalQueueStopped", "LocalQueueRestarted",
        "The LocalQueue was restarted after being stopped"),
    "cluster queue": (
        "ClusterQueueStopped", "ClusterQueueRestarted",
        "The ClusterQueue was restarted after being stopped"),
}
# fmt: on


@pytest.mark.rule("kueue 3.4", "kueue 3.5", "kueue 3.6")
@pytest.mark.parametrize(("was", "reason", "message"), BACK.values(), ids=BACK.keys())
def test_what_kept_it_out_is_over(was: str, reason: str, message: str) -> None:
    plan = decide(workload(condition("Requeued", "False", was, ""), PENDING))

    assert written(plan)["Requeued"] == ("True", reason, message)


@pytest.mark.rule("kueue 3.11")
def test_a_queue_that_is_still_stopped_keeps_it_out() -> None:
    stopped = waits(local=Place("main", True, False, stop_policy="HoldAndDrain"))
    plan = decide(workload(condition("Requeued", "False", "LocalQueueStopped", "")), stopped)

    assert written(plan)["Requeued"][0] == "False"


# Deactivation


@pytest.mark.rule("kueue 3.6")
def test_a_target_of_deactivation_is_deactivated_then_evicted() -> None:
    target = condition("DeactivationTarget", "True", "RequeuingLimitExceeded", "too often")
    plan = decide(holding(ADMITTED, target))
    assert plan.steps == [Patch(holding(ADMITTED, target), {"spec": {"active": False}})]

    inactive = holding(
        ADMITTED, target, spec={"active": False}, status={"requeueState": {"count": 3}}
    )
    plan = decide(inactive)
    message = "The workload is deactivated due to too often"
    told = written(plan)
    assert told["Evicted"] == ("True", "DeactivatedDueToRequeuingLimitExceeded", message)
    assert "DeactivationTarget" not in told
    assert "requeueState" not in applied(plan)
    assert applied(plan)["schedulingStats"]["evictions"] == [
        {"reason": "Deactivated", "underlyingCause": "RequeuingLimitExceeded", "count": 1}
    ]
    assert notes(plan) == [
        ("Normal", "EvictedDueToDeactivatedDueToRequeuingLimitExceeded", message)
    ]


@pytest.mark.rule("kueue 3.4")
def test_one_without_quota_is_evicted_in_silence() -> None:
    plan = decide(workload(spec={"active": False}))

    assert written(plan)["Evicted"] == ("True", "Deactivated", "The workload is deactivated")
    assert notes(plan) == []


# Queues that stop

# fmt: off
STOPPED = {
    "local queue gone": (
        waits(local=Place("main")), "Misconfigured", "LocalQueue main is terminating or missing"),
    "local queue held": (
        waits(local=Place("main", True, False, stop_policy="Hold")),
        "Suspended", "LocalQueue main is stopped"),
    "cluster queue ends": (
        waits(queue=Place("queue", True, False, True)),
        "Misconfigured", "ClusterQueue queue is terminating or missing"),
    "cluster queue drained": (
        waits(queue=Place("queue", True, False, False, "HoldAndDrain")),
        "Suspended", "ClusterQueue queue is stopped"),
}
# fmt: on
NOT_READY = condition(
    "Admitted", "False", "UnsatisfiedAdmissionChecks", "The workload has not all checks ready"
)


@pytest.mark.rule("kueue 3.11")
@pytest.mark.parametrize(("facts", "reason", "message"), STOPPED.values(), ids=STOPPED.keys())
def test_a_reservation_ends_with_its_queue(facts: Facts, reason: str, message: str) -> None:
    pending = [check("Pending")]
    facts = Facts(facts.local, facts.queue, ("prov",))
    plan = decide(holding(NOT_READY, status={"admissionChecks": pending}), facts)

    assert written(plan)["QuotaReserved"] == ("False", reason, message)
    assert "admission" not in applied(plan)


@pytest.mark.rule("kueue 3.11", "kueue 3.4")
@pytest.mark.parametrize("kind", ["LocalQueue", "ClusterQueue"])
@pytest.mark.parametrize("policy", ["Hold", "HoldAndDrain"])
def test_an_admitted_one_stops_only_when_its_queue_is_drained(kind: str, policy: str) -> None:
    stopped = Place("x", True, False, stop_policy=policy)
    facts = waits(local=stopped) if kind == "LocalQueue" else waits(queue=stopped)
    told = written(decide(holding(ADMITTED), facts))

    wanted = ("True", f"{kind}Stopped", f"The {kind} is stopped") if policy != "Hold" else None
    assert told.get("Evicted") == wanted


# Pods that do not get ready

READY = PodsReadyRules(timedelta(seconds=60), timedelta(seconds=30), retries_max=2)


@pytest.mark.rule("kueue 3.7")
@pytest.mark.parametrize(
    ("ready", "after", "cause"),
    [
        (condition("PodsReady", "False", "WaitForStart"), 60, "WaitForStart"),
        (condition("PodsReady", "False", "WaitForRecovery", at=40), 70, "WaitForRecovery"),
    ],
)
def test_pods_that_take_too_long_cost_the_quota(ready: Json, after: int, cause: str) -> None:
    obj = holding(ADMITTED, ready)
    plan = decide(obj, pods_ready=READY)
    assert plan.steps == []
    assert plan.after == after

    plan = decide(obj, now=NOW + timedelta(seconds=after), pods_ready=READY)
    message = "Exceeded the PodsReady timeout team/w"
    assert written(plan)["Evicted"] == ("True", "PodsReadyTimeout", message)
    assert applied(plan)["requeueState"]["count"] == 1
    assert applied(plan)["schedulingStats"]["evictions"][0]["underlyingCause"] == cause


@pytest.mark.rule("kueue 3.5")
@pytest.mark.parametrize(("count", "seconds"), [(1, 60), (2, 120), (3, 240), (9, 3600)])
def test_the_back_off_doubles_up_to_a_limit(count: int, seconds: int) -> None:
    obj = holding(ADMITTED, status={"requeueState": {"count": count - 1}})
    rules = PodsReadyRules(timedelta(seconds=60))
    at = NOW + timedelta(seconds=60)
    plan = decide(obj, now=at, pods_ready=rules)

    until = applied(plan)["requeueState"]["requeueAt"]
    allowed = {format_time(at + timedelta(seconds=seconds + more)) for more in (0, 1)}
    assert until in allowed


@pytest.mark.rule("kueue 3.5")
def test_after_too_many_tries_it_is_deactivated() -> None:
    obj = holding(ADMITTED, status={"requeueState": {"count": 2}})
    plan = decide(obj, now=NOW + timedelta(seconds=60), pods_ready=READY)

    assert written(plan)["DeactivationTarget"] == (
        "True",
        "RequeuingLimitExceeded",
        "exceeding the maximum number of re-queuing retries",
    )
    assert "Evicted" not in written(plan)


@pytest.mark.rule("kueue 3.7")
def test_ready_pods_and_no_limit_wait_for_nothing() -> None:
    ready = condition("PodsReady", "True", "Started")
    recovering = condition("PodsReady", "False", "WaitForRecovery")
    for_ever = PodsReadyRules(recovery_timeout=None)

    assert decide(holding(ADMITTED, ready), now=LATER, pods_ready=READY) == Plan()
    assert decide(holding(ADMITTED, recovering), now=LATER, pods_ready=for_ever) == Plan()
    assert decide(holding(ADMITTED), now=LATER, pods_ready=None) == Plan()


# Time


@pytest.mark.rule("kueue 3.8")
def test_a_workload_may_run_only_so_long_over_all_its_admissions() -> None:
    obj = holding(
        ADMITTED,
        condition("PodsReady", "True"),
        spec={"maximumExecutionTimeSeconds": 10},
        status={"accumulatedPastExecutionTimeSeconds": 4},
    )
    assert decide(obj).after == 6.0

    plan = decide(obj, now=NOW + timedelta(seconds=6))
    assert written(plan)["DeactivationTarget"] == (
        "True",
        "MaximumExecutionTimeExceeded",
        "exceeding the maximum execution time",
    )
    assert "accumulatedPastExecutionTimeSeconds" not in applied(plan)
    text = "The maximum execution time (10s) exceeded"
    assert notes(plan) == [("Warning", "MaximumExecutionTimeExceeded", text)]


@pytest.mark.rule("kueue 3.8")
def test_one_that_is_evicted_already_is_not_told_its_time_again() -> None:
    obj = holding(ADMITTED, EVICTED, spec={"maximumExecutionTimeSeconds": 10})

    assert decide(obj, now=LATER) == Plan()


# The end


@pytest.mark.rule("kueue 3.10")
def test_an_orphan_is_finished_and_let_go() -> None:
    finalizer = "kueue.x-k8s.io/resource-in-use"
    meta = {"labels": {"kueue.x-k8s.io/job-uid": "9"}, "finalizers": [finalizer]}
    plan = decide(workload(meta=meta))

    message = "The workload's owner no longer exists"
    assert written(plan)["Finished"] == ("True", "OwnerNotFound", message)
    assert plan.steps[-1] == Patch(workload(meta=meta), {"metadata": {"finalizers": None}})
    assert decide(workload(meta=meta), finishes_orphans=False).steps == []


@pytest.mark.rule("kueue 3.10")
def test_a_users_own_workload_is_no_orphan() -> None:
    assert decide(workload()).steps == []


@pytest.mark.rule("kueue 3.10")
def test_finished_ones_go_when_their_time_is_over() -> None:
    done = workload(condition("Finished", "True", "Succeeded"))
    kept = decide(done, after_finished=timedelta(minutes=1))
    assert kept.steps == []
    assert kept.after == 60.0
    assert decide(done, now=LATER).steps == []

    plan = decide(done, now=LATER, after_finished=timedelta(minutes=1))
    assert plan.steps[0] == Delete(done)
    text = "Deleted finished workload due to elapsed retention"
    assert notes(plan) == [("Normal", "Deleted", text)]


@pytest.mark.rule("FLOW-55")
def test_the_copy_of_a_managers_workload_is_left_to_the_manager() -> None:
    done = workload(condition("Finished", "True", "Succeeded"))
    done["metadata"]["labels"] = {"kueue.x-k8s.io/multikueue-origin": "multikueue"}

    assert decide(done, now=LATER, after_finished=timedelta()).steps == []


@pytest.mark.rule("kueue 3.14")
def test_the_first_thing_to_write_ends_the_pass() -> None:
    target = condition("DeactivationTarget", "True", "AdmissionCheck", "")
    busy = holding(target, status={"admissionChecks": [check("Retry", requeueAfterSeconds=9)]})

    assert [type(step) for step in decide(busy).steps] == [Apply]
    assert status.MANAGER == "kueue-admission"
