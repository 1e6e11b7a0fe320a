"""A rank that fails: it is started again and all ends well, or the job has failed for good."""

from pathlib import Path
from typing import Any

import pytest

from live import objects
from live.conftest import Live
from live.objects import REDUCE

Object = dict[str, Any]
ONCE = (*REDUCE, "fail-once-at-1")
ALWAYS = (*REDUCE, "fail-at-1")


@pytest.fixture
def env(tmp_path: Path) -> Object:
    return {"MARKS": str(tmp_path)}


@pytest.mark.rule("jobs B.4")
def test_a_rank_of_a_training_job_is_started_again_in_its_pod(live: Live, env: Object) -> None:
    live.create(objects.training_job("PyTorchJob", ONCE, env, "OnFailure"))
    live.until("the job succeeds", lambda: live.condition("PyTorchJob", "t", "Succeeded"))
    (status,) = live.get("Pod", "t-worker-0")["status"]["containerStatuses"]
    assert status["restartCount"] == 1


@pytest.mark.rule("jobs B.4")
@pytest.mark.parametrize("kind", ["PyTorchJob", "TFJob", "JAXJob"])
def test_an_exit_code_of_a_signal_makes_a_new_pod(live: Live, env: Object, kind: str) -> None:
    live.create(objects.training_job(kind, ONCE, {**env, "EXIT_CODE": "130"}, "ExitCode"))
    live.until("the job succeeds", lambda: live.condition(kind, "t", "Succeeded"))
    failed = [text for text in live.events("ExitedWithCode") if text.endswith("with code 130")]
    assert len(failed) == 1
    for pod in live.all("Pod"):
        (status,) = pod["status"]["containerStatuses"]
        assert status["restartCount"] == 0


@pytest.mark.rule("jobs B.4")
@pytest.mark.parametrize("policy", ["Never", "ExitCode"])
@pytest.mark.parametrize("kind", ["PyTorchJob", "TFJob", "JAXJob", "XGBoostJob"])
def test_a_training_job_fails_for_good(live: Live, env: Object, kind: str, policy: str) -> None:
    made = objects.training_job(kind, ALWAYS, env, policy, runPolicy={"cleanPodPolicy": "All"})
    live.create(made)
    live.until(f"the {kind} fails", lambda: live.condition(kind, "t", "Failed"))
    live.until("its pods are gone", lambda: not live.pods())


@pytest.mark.rule("jobs B.3")
def test_a_job_set_begins_anew_where_its_policy_lets_it(live: Live, env: Object) -> None:
    live.create(objects.job_set(ONCE, env, failurePolicy={"maxRestarts": 1}))
    live.until("it completes", lambda: live.condition("JobSet", "s", "Completed"))
    assert live.get("JobSet", "s")["status"]["restarts"] == 1
    assert sorted(live.logs(pod) for pod in live.pods())[0] == "rank 0 of 3: sum 3\n"


@pytest.mark.rule("jobs B.3")
def test_a_job_set_fails_for_good(live: Live, env: Object) -> None:
    live.create(objects.job_set(ALWAYS, env))
    failed = live.until("it fails", lambda: live.condition("JobSet", "s", "Failed"))
    assert (failed["reason"], failed["message"]) == (
        "FailedJobs",
        "jobset failed due to one or more job failures (first failed job: s-workers-0)",
    )


@pytest.mark.rule("jobs B.6")
def test_a_train_job_fails_with_its_node(live: Live, env: Object) -> None:
    pod = {"containers": [{"name": "node", "image": "python:3"}], "restartPolicy": "Never"}
    inner = {"backoffLimit": 0, "template": {"spec": pod}}
    node = {"name": "node", "template": {"spec": inner, **objects.TRAINER}}
    live.create(objects.training_runtime({"torch": {}}, node))
    variables = [{"name": key, "value": value} for key, value in env.items()]
    live.create(objects.own_train_job(ALWAYS, env=variables))
    failed = live.until("it fails", lambda: live.condition("TrainJob", "t", "Failed"))
    theirs = live.condition("JobSet", "t", "Failed")
    assert theirs is not None
    assert (failed["reason"], failed["message"]) == (theirs["reason"], theirs["message"])


@pytest.mark.rule("jobs B.1")
def test_an_index_that_fails_too_often_fails_its_job(live: Live) -> None:
    command = ["sh", "-c", "exit $JOB_COMPLETION_INDEX"]
    counts = {"completions": 2, "parallelism": 2, "completionMode": "Indexed"}
    live.create(objects.job(command, **counts, backoffLimitPerIndex=0))
    failed = live.until("it fails", lambda: live.condition("Job", "j", "Failed"))
    assert failed["reason"] == "FailedIndexes"
    status = live.get("Job", "j")["status"]
    assert (status["completedIndexes"], status["failedIndexes"]) == ("0", "1")
