"""What a training job decides at a look: its state, restarts, limits, suspension and its end."""

from typing import Any

import pytest
from tests.support import operators, training
from tests.support.training import JAX, PADDLE, PYTORCH, TF, XGBOOST

from fleetqueue.kube.errors import Refused
from fleetqueue.kube.plan import Create, Delete, Plan
from fleetqueue.kube.resources import Object
from fleetqueue.runtime.operators.training_jobs import created, refused
from fleetqueue.runtime.operators.training_kinds import Family

pytestmark = [pytest.mark.rule("jobs B.4"), pytest.mark.rule("jobs B.4.1")]

CREATED = ("Created", "True")


def state(plan: Plan) -> list[tuple[str, str]]:
    return [(type, status) for type, status, _, _ in operators.conditions(plan)]


def last(plan: Plan) -> tuple[str, str, str, str]:
    return operators.conditions(plan)[-1]


def counts(plan: Plan, role: str = "Worker") -> Object:
    found = dict(operators.status(plan)["replicaStatuses"][role])
    del found["selector"]
    return found


def condition(kind: str, type: str, status: str = "True", reason: str = "") -> Object:
    return {
        "type": type,
        "status": status,
        "reason": f"{kind}{reason or type}",
        "message": "m",
        "lastUpdateTime": "2026-01-01T00:00:00Z",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }


def started(kind: str, *types: str, **more: Any) -> Object:
    """A status with these conditions, after Created."""
    listed = [condition(kind, type) for type in ("Created", *types)]
    return {"conditions": listed, "startTime": "2026-01-01T11:00:00Z", **more}


@pytest.mark.parametrize("family", training.FAMILIES, ids=lambda family: family.name)
def test_a_new_job_is_created_and_started(family: Family) -> None:
    plan = training.see(training.job(family, {"Worker": 2}), family)
    name = family.name
    assert operators.conditions(plan) == [
        ("Created", "True", f"{name}Created", f"{name} mnist is created.")
    ]
    status = operators.status(plan)
    assert status["startTime"] == operators.TIME
    assert status["conditions"][0]["lastUpdateTime"] == operators.TIME
    assert counts(plan) == {}
    assert status["replicaStatuses"]["Worker"]["selector"] == (
        "training.kubeflow.org/job-name=mnist,"
        f"training.kubeflow.org/operator-name={name.lower()}-controller,"
        "training.kubeflow.org/replica-type=worker"
    )


SHORT, WHOLE = "mnist", "default/mnist"


@pytest.mark.rule("jobs B.4.2")
@pytest.mark.parametrize(
    ("family", "roles", "states", "where"),
    [
        (PYTORCH, {"Master": 1, "Worker": 1}, {"master_0": "Running"}, SHORT),
        (PYTORCH, {"Worker": 2}, {"worker_1": "Running"}, WHOLE),
        (PADDLE, {"Master": 1, "Worker": 1}, {"master_0": "Running"}, SHORT),
        (PADDLE, {"Worker": 2}, {"worker_1": "Running"}, WHOLE),
        (XGBOOST, {"Master": 1, "Worker": 1}, {"worker_0": "Running"}, SHORT),
        (JAX, {"Worker": 2}, {"worker_1": "Running"}, WHOLE),
        (TF, {"Chief": 1, "Worker": 1}, {"chief_0": "Running"}, WHOLE),
        (TF, {"Master": 1, "Worker": 1}, {"master_0": "Running"}, WHOLE),
        (TF, {"Worker": 2, "PS": 1}, {"worker_1": "Running"}, WHOLE),
    ],
)
def test_a_job_runs(family: Family, roles: Any, states: Any, where: str) -> None:
    plan = training.run(training.job(family, roles), family, **states)
    name = family.name
    assert last(plan) == ("Running", "True", f"{name}Running", f"{name} {where} is running.")


@pytest.mark.rule("jobs B.4.2")
@pytest.mark.parametrize(
    ("family", "roles", "states"),
    [
        (PYTORCH, {"Master": 1, "Worker": 1}, {"worker_0": "Running"}),
        (PYTORCH, {"Worker": 1}, {"worker_0": "Pending"}),
        (TF, {"Chief": 1, "Worker": 1}, {"worker_0": "Running"}),
        (TF, {"Worker": 1, "PS": 1}, {"ps_0": "Running"}),
    ],
)
def test_a_job_does_not_run_while_those_that_matter_do_not(
    family: Family, roles: Any, states: Any
) -> None:
    plan = training.run(training.job(family, roles), family, **states)
    assert state(plan) == [CREATED]


@pytest.mark.rule("jobs B.4.2")
@pytest.mark.parametrize(
    ("pod", "end"), [("Succeeded 0", "Succeeded"), ("Failed 1", "Failed")], ids=["well", "badly"]
)
def test_a_job_that_ended_before_it_was_seen_active_never_ran(pod: str, end: str) -> None:
    obj = training.job(XGBOOST, {"Master": 1, "Worker": 1})
    plan = training.run(obj, XGBOOST, master_0=pod, worker_0="Pending")
    assert state(plan) == [CREATED, (end, "True")]


ELASTIC = {"elasticPolicy": {"minReplicas": 1, "maxReplicas": 2}}
ALL_WORKERS = {"successPolicy": "AllWorkers"}


@pytest.mark.rule("jobs B.4.2")
@pytest.mark.parametrize(
    ("family", "roles", "spec", "states", "text"),
    [
        (
            PYTORCH,
            {"Master": 1, "Worker": 1},
            {},
            {"master_0": "Succeeded 0", "worker_0": "Running"},
            "PyTorchJob mnist is successfully completed.",
        ),
        (
            PYTORCH,
            {"Worker": 2},
            {},
            {"worker_0": "Succeeded 0", "worker_1": "Succeeded 0"},
            "PyTorchJob default/mnist successfully completed.",
        ),
        (
            PYTORCH,
            {"Worker": 2},
            ELASTIC,
            {"worker_0": "Running", "worker_1": "Succeeded 0"},
            "PyTorchJob default/mnist successfully completed.",
        ),
        (
            PADDLE,
            {"Worker": 1},
            {},
            {"worker_0": "Succeeded 0"},
            "PaddleJob default/mnist successfully completed.",
        ),
        (
            XGBOOST,
            {"Master": 1, "Worker": 1},
            {},
            {"master_0": "Succeeded 0", "worker_0": "Running"},
            "XGBoostJob mnist is successfully completed.",
        ),
        (
            JAX,
            {"Worker": 1},
            {},
            {"worker_0": "Succeeded 0"},
            "JAXJob default/mnist successfully completed.",
        ),
        (
            TF,
            {"Chief": 1, "Worker": 1},
            {},
            {"chief_0": "Succeeded 0", "worker_0": "Running"},
            "TFJob default/mnist successfully completed.",
        ),
        (
            TF,
            {"Worker": 2},
            {},
            {"worker_0": "Succeeded 0", "worker_1": "Running"},
            "TFJob default/mnist successfully completed.",
        ),
        (
            TF,
            {"Worker": 2, "PS": 1},
            ALL_WORKERS,
            {"worker_0": "Succeeded 0", "worker_1": "Succeeded 0", "ps_0": "Running"},
            "TFJob default/mnist successfully completed.",
        ),
    ],
)
def test_a_job_succeeds(family: Family, roles: Any, spec: Any, states: Any, text: str) -> None:
    plan = training.run(training.job(family, roles, **spec), family, **states)
    expected = ("Succeeded", "True", f"{family.name}Succeeded", text)
    assert last(plan) == expected
    assert ("Normal", *expected[2:]) in operators.events(plan)
    assert operators.status(plan)["completionTime"] == operators.TIME


@pytest.mark.rule("jobs B.4.2")
@pytest.mark.parametrize(
    ("family", "roles", "spec", "states"),
    [
        (PYTORCH, {"Master": 1, "Worker": 1}, {}, {"master_0": "Running", "worker_0": "Succeeded"}),
        (PYTORCH, {"Worker": 2}, {}, {"worker_0": "Succeeded", "worker_1": "Running"}),
        (TF, {"Worker": 2}, {}, {"worker_0": "Running", "worker_1": "Succeeded 0"}),
        (TF, {"Worker": 2}, ALL_WORKERS, {"worker_0": "Succeeded 0", "worker_1": "Running"}),
        (TF, {"Chief": 1, "Worker": 1}, {}, {"chief_0": "Running", "worker_0": "Succeeded 0"}),
        (JAX, {"Worker": 2}, {}, {"worker_0": "Succeeded", "worker_1": "Running"}),
    ],
)
def test_a_job_goes_on_until_those_that_matter_have_succeeded(
    family: Family, roles: Any, spec: Any, states: Any
) -> None:
    plan = training.run(training.job(family, roles, **spec), family, **states)
    assert state(plan)[-1] == ("Running", "True")


def never(count: int = 1) -> Object:
    return {"replicas": count, "restartPolicy": "Never"}


@pytest.mark.rule("jobs B.4.2")
@pytest.mark.parametrize(
    ("family", "roles", "states", "text"),
    [
        (
            PYTORCH,
            {"Master": never(), "Worker": never(2)},
            {"master_0": "Running", "worker_0": "Failed 1", "worker_1": "Running"},
            "PyTorchJob mnist is failed because 1 Worker replica(s) failed.",
        ),
        (
            PADDLE,
            {"Worker": never(2)},
            {"worker_0": "Failed 1", "worker_1": "Failed 1"},
            "PaddleJob mnist is failed because 2 Worker replica(s) failed.",
        ),
        (
            XGBOOST,
            {"Master": 1, "Worker": 1},
            {"master_0": "Failed 1", "worker_0": "Running"},
            "XGBoostJob mnist is failed because 1 Master replica(s) failed.",
        ),
        (
            JAX,
            {"Worker": 2},
            {"worker_0": "Failed 1", "worker_1": "Running"},
            "JAXJob mnist is failed because 1 Worker replica(s) failed.",
        ),
        (
            TF,
            {"Worker": 2, "PS": 1},
            {"worker_0": "Running", "worker_1": "Running", "ps_0": "Failed 1"},
            "TFJob default/mnist has failed because 1 PS replica(s) failed.",
        ),
    ],
)
def test_a_job_fails_with_a_replica_that_is_not_retried(
    family: Family, roles: Any, states: Any, text: str
) -> None:
    plan = training.run(training.job(family, roles), family, **states)
    expected = ("Failed", "True", f"{family.name}Failed", text)
    assert last(plan) == expected
    assert ("Normal", *expected[2:]) in operators.events(plan)
    assert operators.status(plan)["completionTime"] == operators.TIME
    assert ("Running", "True") not in state(plan)
    assert operators.deleted_names(plan, "Pod") == []


def test_a_dynamic_worker_may_fail() -> None:
    obj = training.job(TF, {"Worker": 2, "PS": 1}, enableDynamicWorker=True)
    states = {"worker_0": "Running", "worker_1": "Failed 1", "ps_0": "Running"}
    assert state(training.run(obj, TF, **states))[-1] == ("Running", "True")


@pytest.mark.parametrize("family", training.FAMILIES, ids=lambda family: family.name)
@pytest.mark.parametrize(
    ("policy", "code"), [("OnFailure", 1), ("Always", 1), ("ExitCode", 128), ("ExitCode", 137)]
)
def test_a_failed_replica_that_is_retried_makes_way(family: Family, policy: str, code: int) -> None:
    obj = training.job(family, {"Worker": {"replicas": 2, "restartPolicy": policy}})
    plan = training.run(obj, family, worker_0="Pending", worker_1=f"Failed {code}")
    reason = f"{family.name}Restarting"
    text = "job mnist is restarting because Worker replica(s) failed."
    assert operators.deleted_names(plan, "Pod") == ["mnist-worker-1"]
    assert operators.deleted_names(plan, "Service") == []
    assert last(plan) == ("Restarting", "True", reason, text)
    assert ("Warning", reason, text) in operators.events(plan)
    exited = f"Pod: default.mnist-worker-1 exited with code {code}"
    assert ("Normal", "ExitedWithCode", exited) in operators.events(plan)
    assert counts(plan) == {"failed": 1}


def test_a_pod_is_only_replaced_when_it_is_gone() -> None:
    obj = training.job(PYTORCH, {"Worker": 1}, status=started("PyTorchJob", "Restarting"))
    plan = training.run(obj, PYTORCH, worker_0="Failed! 1")
    assert operators.created(plan) == []
    assert operators.deleted_names(plan, "Pod") == []
    assert operators.created_names(training.run(obj, PYTORCH), "Pod") == ["mnist-worker-0"]


@pytest.mark.parametrize("family", training.FAMILIES, ids=lambda family: family.name)
def test_an_exit_code_of_the_program_itself_ends_the_job(family: Family) -> None:
    obj = training.job(family, {"Worker": {"restartPolicy": "ExitCode"}})
    plan = training.run(obj, family, worker_0="Failed 127")
    text = 'job "mnist" is failing because "Worker" replica(s) failed.'
    assert last(plan) == ("Failed", "True", f"{family.name}Failed", text)
    assert operators.deleted_names(plan, "Pod") == []
    assert operators.status(plan)["completionTime"] == operators.TIME


def test_a_running_master_does_not_hide_that_a_worker_restarts() -> None:
    obj = training.job(PYTORCH, {"Master": 1, "Worker": 1}, status=started("PyTorchJob", "Running"))
    plan = training.run(obj, PYTORCH, master_0="Running", worker_0="Failed 1")
    assert last(plan) == (
        "Restarting",
        "True",
        "PyTorchJobRestarting",
        "PyTorchJob mnist is restarting because 1 Worker replica(s) failed.",
    )
    assert ("Running", "True") not in state(plan)


def test_running_takes_the_place_of_restarting() -> None:
    status = started("PyTorchJob", "Restarting")
    obj = training.job(PYTORCH, {"Worker": 1}, status=status)
    assert state(training.run(obj, PYTORCH, worker_0="Running")) == [CREATED, ("Running", "True")]


@pytest.mark.parametrize(
    ("states", "expected"),
    [
        ({"worker_0": "Running", "worker_1": "Pending"}, {"active": 1}),
        ({"worker_0": "Running!", "worker_1": "Running"}, {"active": 1, "failed": 1}),
        ({"worker_0": "Succeeded", "worker_1": "Failed 1"}, {"succeeded": 1, "failed": 1}),
        ({"worker_0": "Running", "worker_3": "Running!"}, {"active": 1}),
    ],
)
def test_replicas_are_counted_by_the_phases_of_their_pods(
    states: Any, expected: dict[str, int]
) -> None:
    obj = training.job(PYTORCH, {"Worker": 2})
    assert counts(training.run(obj, PYTORCH, **states)) == expected


def test_an_unchanged_job_is_left_as_it_is() -> None:
    obj = training.job(PYTORCH, {"Worker": 1})
    obj["status"] = operators.status(training.run(obj, PYTORCH, worker_0="Running"))
    plan = training.run(obj, PYTORCH, after=30, worker_0="Running")
    assert operators.status(plan) == obj["status"]
    assert operators.events(plan) == []


def test_an_exit_is_told_once() -> None:
    obj = training.job(PYTORCH, {"Worker": 2})
    states = {"worker_0": "Running", "worker_1": "Succeeded 0"}
    plan = training.run(obj, PYTORCH, **states)
    text = "Pod: default.mnist-worker-1 exited with code 0"
    assert operators.events(plan) == [("Normal", "ExitedWithCode", text)]
    obj["status"] = operators.status(plan)
    assert operators.events(training.run(obj, PYTORCH, **states)) == []


@pytest.mark.parametrize("policy", ["Never", "OnFailure"])
def test_a_replica_that_is_not_wanted_any_more_may_fail(policy: str) -> None:
    obj = training.job(PYTORCH, {"Worker": {"replicas": 1, "restartPolicy": policy}})
    plan = training.run(obj, PYTORCH, worker_0="Running", worker_3="Failed 1")
    assert state(plan) == [CREATED, ("Running", "True")]
    assert operators.deleted_names(plan, "Pod") == ["mnist-worker-3"]


def test_replicas_beyond_the_count_are_deleted() -> None:
    obj = training.job(PYTORCH, {"Worker": 3})
    others = [
        *training.services(obj, PYTORCH),
        *training.pods(obj, PYTORCH, worker_0="Running", worker_2="Running"),
    ]
    obj["spec"]["pytorchReplicaSpecs"]["Worker"]["replicas"] = 1
    plan = training.see(obj, PYTORCH, *others)
    assert operators.deleted_names(plan, "Pod") == ["mnist-worker-2"]
    assert operators.deleted_names(plan, "Service") == ["mnist-worker-1", "mnist-worker-2"]
    assert ("Normal", "SuccessfulDeletePod", "Deleted pod: mnist-worker-2") in operators.events(
        plan
    )


def restarted(times: int) -> Object:
    obj = training.job(PYTORCH, {"Worker": 2})
    [pod] = training.pods(obj, PYTORCH, worker_0="Running")
    pod["status"]["containerStatuses"] = [{"name": "pytorch", "restartCount": times}]
    return pod


@pytest.mark.parametrize(
    ("limit", "restarts", "fails"),
    [(3, 2, False), (3, 3, True), (0, 0, False), (0, 1, True), (None, 99, False)],
)
def test_restarts_of_running_pods_count_against_the_limit(
    limit: int | None, restarts: int, fails: bool
) -> None:
    obj = training.job(PYTORCH, {"Worker": 2}, runPolicy={"backoffLimit": limit})
    plan = training.see(obj, PYTORCH, *training.services(obj, PYTORCH), restarted(restarts))
    text = "Job mnist has failed because it has reached the specified backoff limit"
    failed = ("Failed", "True", "PyTorchJobFailed", text)
    assert (failed in operators.conditions(plan)) is fails
    assert (operators.deleted_names(plan, "Pod") == ["mnist-worker-0"]) is fails
    assert ("completionTime" in operators.status(plan)) is fails
    assert (len(operators.deleted_names(plan, "Service")) == 2) is fails


def test_pods_that_are_not_retried_do_not_count_against_the_limit() -> None:
    roles = {"Worker": {"replicas": 2, "restartPolicy": "Never"}}
    obj = training.job(PYTORCH, roles, runPolicy={"backoffLimit": 1})
    plan = training.see(obj, PYTORCH, restarted(5))
    assert "Failed" not in [type for type, _ in state(plan)]


@pytest.mark.parametrize(("limit", "fails"), [(0, True), (1, False)])
def test_a_new_failure_is_one_too_many_where_none_is_allowed(limit: int, fails: bool) -> None:
    obj = training.job(PYTORCH, {"Worker": 1}, runPolicy={"backoffLimit": limit})
    plan = training.run(obj, PYTORCH, worker_0="Failed 1")
    assert (state(plan)[-1] == ("Failed", "True")) is fails


@pytest.mark.parametrize(("after", "fails"), [(59, False), (60, True)])
def test_a_job_may_run_so_long_and_no_longer(after: float, fails: bool) -> None:
    status = started("PyTorchJob", startTime=operators.TIME)
    obj = training.job(
        PYTORCH, {"Worker": 1}, runPolicy={"activeDeadlineSeconds": 60}, status=status
    )
    plan = training.run(obj, PYTORCH, after=after, worker_0="Running")
    text = "Job mnist has failed because it was active longer than specified deadline"
    assert (last(plan)[3] == text) is fails
    assert plan.after == (None if fails else 1)
    assert (operators.deleted_names(plan, "Pod") == ["mnist-worker-0"]) is fails


@pytest.mark.parametrize(
    ("policy", "deleted"),
    [
        (None, []),
        ("None", []),
        ("Running", ["mnist-worker-0", "mnist-worker-1"]),
        ("All", ["mnist-worker-0", "mnist-worker-1", "mnist-worker-2"]),
    ],
)
def test_a_finished_job_is_cleaned_by_its_policy(policy: str | None, deleted: list[str]) -> None:
    done = {"completionTime": operators.TIME, "replicaStatuses": {"Worker": {"active": 2}}}
    status = started("PyTorchJob", "Succeeded", **done)
    run_policy = {"cleanPodPolicy": policy} if policy else {}
    obj = training.job(PYTORCH, {"Worker": 3}, runPolicy=run_policy, status=status)
    states = {"worker_0": "Running", "worker_1": "Pending", "worker_2": "Succeeded"}
    plan = training.run(obj, PYTORCH, **states)
    assert operators.deleted_names(plan, "Pod") == deleted
    assert operators.deleted_names(plan, "Service") == deleted
    assert operators.status(plan)["replicaStatuses"] == {"Worker": {"succeeded": 2}}


def test_a_failed_job_keeps_its_counts_and_its_conditions() -> None:
    done = {"completionTime": operators.TIME, "replicaStatuses": {"Worker": {"active": 2}}}
    status = started("PyTorchJob", "Failed", **done)
    obj = training.job(PYTORCH, {"Worker": 1}, status=status)
    plan = training.run(obj, PYTORCH, worker_0="Succeeded 0")
    assert operators.status(plan) == status


def test_a_finished_job_goes_when_its_time_is_up() -> None:
    status = started("PyTorchJob", "Succeeded", completionTime=operators.TIME)
    run_policy = {"ttlSecondsAfterFinished": 60}
    obj = training.job(PYTORCH, {"Worker": 1}, runPolicy=run_policy, status=status)
    assert training.see(obj, PYTORCH, after=20).after == 40
    plan = training.see(obj, PYTORCH, after=60)
    assert [step.obj["kind"] for step in plan.steps if isinstance(step, Delete)] == ["PyTorchJob"]


@pytest.mark.parametrize("family", training.FAMILIES, ids=lambda family: family.name)
def test_a_job_created_suspended_waits(family: Family) -> None:
    obj = training.job(family, {"Worker": 1}, runPolicy={"suspend": True})
    plan = training.see(obj, family)
    name = family.name
    assert operators.created(plan) == []
    assert operators.conditions(plan)[1:] == [
        ("Suspended", "True", f"{name}Suspended", f"{name} mnist is suspended.")
    ]
    assert "startTime" not in operators.status(plan)
    obj["status"] = operators.status(plan)
    assert operators.events(training.see(obj, family)) == []


def test_suspension_deletes_everything_whatever_the_clean_policy() -> None:
    counted = {"replicaStatuses": {"Worker": {"active": 1, "succeeded": 1, "selector": "s"}}}
    status = started("PyTorchJob", "Running", **counted)
    run_policy = {"suspend": True, "cleanPodPolicy": "None"}
    obj = training.job(PYTORCH, {"Worker": 2}, runPolicy=run_policy, status=status)
    plan = training.run(obj, PYTORCH, worker_0="Running", worker_1="Succeeded")
    assert operators.deleted_names(plan, "Pod") == ["mnist-worker-0", "mnist-worker-1"]
    assert operators.deleted_names(plan, "Service") == ["mnist-worker-0", "mnist-worker-1"]
    text = "PyTorchJob mnist is suspended."
    assert operators.conditions(plan)[1:] == [
        ("Running", "False", "PyTorchJobSuspended", text),
        ("Suspended", "True", "PyTorchJobSuspended", text),
    ]
    assert ("Normal", "PyTorchJobSuspended", text) in operators.events(plan)


@pytest.mark.rule("jobs A.19")
@pytest.mark.parametrize(
    ("states", "active"), [({"worker_0": "Running!"}, 1), ({"worker_0": "Succeeded!"}, None)]
)
def test_a_suspended_job_is_active_until_its_pods_are_gone(states: Any, active: int | None) -> None:
    counted = {"replicaStatuses": {"Worker": {"active": 1}}}
    status = started("PyTorchJob", "Suspended", **counted)
    obj = training.job(PYTORCH, {"Worker": 1}, runPolicy={"suspend": True}, status=status)
    plan = training.run(obj, PYTORCH, **states)
    assert operators.status(plan)["replicaStatuses"]["Worker"].get("active") == active


def test_resumption_starts_the_clock_anew() -> None:
    status = started("PyTorchJob", "Suspended")
    obj = training.job(PYTORCH, {"Worker": 1}, status=status)
    plan = training.see(obj, PYTORCH, after=5)
    text = "PyTorchJob mnist is resumed."
    assert last(plan) == ("Suspended", "False", "PyTorchJobResumed", text)
    assert ("Normal", "PyTorchJobResumed", text) in operators.events(plan)
    assert operators.status(plan)["startTime"] == "2026-01-01T12:00:05Z"
    assert operators.created_names(plan, "Pod") == ["mnist-worker-0"]


def test_pods_that_a_suspension_left_behind_do_not_fail_the_resumed_job() -> None:
    status = started("JAXJob", "Suspended")
    obj = training.job(JAX, {"Worker": 1}, status=status)
    plan = training.run(obj, JAX, after=5, worker_0="Running!")
    assert counts(plan) == {}
    assert ("Failed", "True") not in state(plan)


def test_creations_are_told() -> None:
    obj = training.job(JAX, {"Worker": 1})
    look = operators.look(obj)
    [service, pod] = operators.created(training.see(obj, JAX))
    assert operators.events(created(look, pod)) == [
        ("Normal", "SuccessfulCreatePod", "Created pod: mnist-worker-0")
    ]
    assert operators.events(created(look, service)) == [
        ("Normal", "SuccessfulCreateService", "Created service: mnist-worker-0")
    ]
    error = Refused({"message": "no", "code": 403})
    assert operators.events(refused(look, Create(pod), error)) == [
        ("Warning", "FailedCreatePod", "Error creating: no")
    ]


METRICS = [{"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization"}}}]


def test_an_elastic_job_with_metrics_has_an_autoscaler() -> None:
    elastic = {"minReplicas": 1, "maxReplicas": 4, "metrics": METRICS}
    obj = training.job(PYTORCH, {"Worker": 2}, elasticPolicy=elastic)
    made = operators.created(training.see(obj, PYTORCH))[0]
    assert (made["apiVersion"], made["kind"]) == ("autoscaling/v2", "HorizontalPodAutoscaler")
    assert made["spec"] == {
        "scaleTargetRef": {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "name": "mnist"},
        "minReplicas": 1,
        "maxReplicas": 4,
        "metrics": METRICS,
    }
    assert training.see(obj, PYTORCH, made).steps[0] != Create(made)
    obj["spec"]["elasticPolicy"]["maxReplicas"] = 5
    [(name, patch)] = operators.patches(training.see(obj, PYTORCH, made))
    assert (name, patch["spec"]["maxReplicas"]) == ("mnist", 5)
    obj["spec"]["runPolicy"]["suspend"] = True
    plan = training.see(obj, PYTORCH, made)
    assert operators.deleted_names(plan, "HorizontalPodAutoscaler") == ["mnist"]


def test_an_autoscaler_of_somebody_else_is_left_alone() -> None:
    elastic = {"minReplicas": 1, "maxReplicas": 4, "metrics": METRICS}
    obj = training.job(PYTORCH, {"Worker": 2}, elasticPolicy=elastic)
    theirs = operators.created(training.see(obj, PYTORCH))[0]
    theirs["metadata"]["ownerReferences"][0]["uid"] = "other"
    theirs["spec"]["maxReplicas"] = 9
    plan = training.see(obj, PYTORCH, theirs)
    assert operators.patches(plan) == []
    assert operators.created_names(plan, "HorizontalPodAutoscaler") == []
    assert ("Warning", "ErrResourceExists") in [event[:2] for event in operators.events(plan)]
    obj["spec"]["runPolicy"]["suspend"] = True
    plan = training.see(obj, PYTORCH, theirs)
    assert operators.deleted_names(plan, "HorizontalPodAutoscaler") == []
