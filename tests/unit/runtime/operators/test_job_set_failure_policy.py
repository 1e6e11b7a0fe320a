"""What failed Jobs mean to a JobSet: its end, or another attempt."""

from typing import Any

import pytest
from tests.support import operators
from tests.support.job_sets import ended, job_set, jobs, replicated

from fleetqueue.kube.plan import Plan
from fleetqueue.kube.resources import Object
from fleetqueue.runtime.operators.job_set import decide

pytestmark = pytest.mark.rule("jobs B.3.4")

FIRST = "(first failed job: train-b-0)"


def fail(policy: Object | None, status: Object | None = None) -> Plan:
    """Both Jobs have failed, the second one first."""
    spec: dict[str, Any] = {} if policy is None else {"failurePolicy": policy}
    parent = job_set(replicated("a"), replicated("b"), status=status or {"restarts": 0}, **spec)
    late, early = jobs(parent)
    reason, why = "BackoffLimitExceeded", "Job has reached the specified backoff limit"
    late["status"] = ended("Failed", "2026-01-01T11:00:00Z", "DeadlineExceeded", "too late")
    early["status"] = ended("Failed", "2026-01-01T10:00:00Z", reason, why)
    return decide(operators.look(parent, late, early))


def rule(action: str, **more: Any) -> Object:
    return {"name": "one", "action": action, **more}


@pytest.mark.parametrize(
    ("policy", "reason", "message"),
    [
        (None, "FailedJobs", f"jobset failed due to one or more job failures {FIRST}"),
        (
            {},
            "ReachedMaxRestarts",
            f"jobset failed due to reaching max number of restarts {FIRST}",
        ),
        (
            {"maxRestarts": 9, "rules": [rule("FailJobSet")]},
            "FailJobSetFailurePolicyAction",
            f"applying FailJobSet failure policy action {FIRST}",
        ),
    ],
)
def test_a_jobset_fails(policy: Object | None, reason: str, message: str) -> None:
    plan = fail(policy)
    assert operators.conditions(plan) == [("Failed", "True", reason, message)]
    assert operators.status(plan)["terminalState"] == "Failed"
    assert operators.events(plan) == [("Warning", reason, message)]
    assert operators.created(plan) == []


@pytest.mark.parametrize(
    ("rules", "action", "reason", "counted"),
    [
        ([], "RestartJobSet", "DefaultFailurePolicy", 1),
        ([rule("RestartJobSet")], "RestartJobSet", "FailurePolicy_one", 1),
        (
            [rule("RestartJobSetAndIgnoreMaxRestarts")],
            "RestartJobSetAndIgnoreMaxRestarts",
            "FailurePolicy_one",
            None,
        ),
    ],
)
def test_a_jobset_starts_again(
    rules: list[Object], action: str, reason: str, counted: int | None
) -> None:
    plan = fail({"maxRestarts": 1, "rules": rules})
    text = f"applying {action} failure policy action {FIRST}"
    status = operators.status(plan)
    assert (status["restarts"], status.get("restartsCountTowardsMax")) == (1, counted)
    assert operators.conditions(plan) == [("RestartingJobSet", "True", reason, text)]
    assert operators.events(plan) == [
        ("Warning", reason, text),
        ("Warning", f"{action}FailurePolicyAction", text),
    ]


@pytest.mark.parametrize(
    ("action", "fails"), [("RestartJobSet", True), ("RestartJobSetAndIgnoreMaxRestarts", False)]
)
def test_only_restarts_that_count_use_up_the_limit(action: str, fails: bool) -> None:
    used_up = {"restarts": 3, "restartsCountTowardsMax": 1}
    plan = fail({"maxRestarts": 1, "rules": [rule(action)]}, used_up)
    assert (operators.status(plan).get("terminalState") == "Failed") is fails


@pytest.mark.parametrize(
    ("rules", "named"),
    [
        ([rule("FailJobSet", onJobFailureReasons=["DeadlineExceeded"])], "train-a-0"),
        ([rule("FailJobSet", targetReplicatedJobs=["a"])], "train-a-0"),
        ([rule("FailJobSet", onJobFailureMessagePatterns=["^too .*e$"])], "train-a-0"),
        ([rule("FailJobSet", onJobFailureMessagePatterns=["(", "backoff"])], "train-b-0"),
        (
            [
                rule("RestartJobSet", onJobFailureReasons=["PodFailurePolicy"]),
                rule("FailJobSet", targetReplicatedJobs=["b"]),
            ],
            "train-b-0",
        ),
    ],
)
def test_the_first_rule_that_matches_decides_and_names_the_earliest_match(
    rules: list[Object], named: str
) -> None:
    [(type, _, reason, message)] = operators.conditions(fail({"maxRestarts": 5, "rules": rules}))
    assert (type, reason) == ("Failed", "FailJobSetFailurePolicyAction")
    assert message.endswith(f"(first failed job: {named})")


def test_a_rule_that_matches_nothing_leaves_the_default() -> None:
    rules = [rule("FailJobSet", targetReplicatedJobs=["a"], onJobFailureReasons=["FailedIndexes"])]
    [(type, _, reason, _)] = operators.conditions(fail({"maxRestarts": 1, "rules": rules}))
    assert (type, reason) == ("RestartingJobSet", "DefaultFailurePolicy")


def test_failure_ends_a_restart_that_was_under_way() -> None:
    restarting = {
        "type": "RestartingJobSet",
        "status": "True",
        "reason": "DefaultFailurePolicy",
        "message": "m",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }
    plan = fail(None, {"restarts": 0, "conditions": [restarting]})
    assert operators.conditions(plan)[0] == (
        "RestartingJobSet",
        "False",
        "JobSetFailed",
        "jobset failed",
    )
