"""RayJobs step by step, without a server."""

from typing import Any

import pytest
from tests.support import operators, ray

from fleetqueue.kube.plan import Delete, Patch, Plan, owner_reference
from fleetqueue.kube.resources import Object
from fleetqueue.runtime.operators import ray_job
from fleetqueue.runtime.operators import ray_job_submission as submission
from fleetqueue.runtime.operators.ray_job_draft import Settings

pytestmark = [pytest.mark.rule("jobs B.7")]

SETTINGS = Settings(has_ray=lambda image: True)
NEVER_AGAIN: Object = {"jobDeploymentStatus": "Complete", "jobStatus": "SUCCEEDED"}


def decide(job: Object, *others: Object, after: float = 0.0) -> Plan:
    return ray_job.decide(SETTINGS, operators.look(job, *others, after=after))


def with_status(job: Object, status: Object) -> Object:
    return {**job, "status": status}


def cluster_by(owner: Object | None) -> Object:
    cluster = ray.ray_cluster_of(ray.worker_group(), name="j-1")
    if owner is not None:
        cluster["metadata"]["ownerReferences"] = [owner_reference(owner)]
    return cluster


def test_a_job_created_suspended_passes_through_all_states() -> None:
    job = ray.ray_job_of(suspend=True, shutdownAfterJobFinishes=True)
    seen = []
    for _ in range(3):
        plan = decide(job)
        assert operators.created(plan) == []
        job = with_status(job, operators.status(plan))
        seen.append(job["status"]["jobDeploymentStatus"])
    assert seen == ["Initializing", "Suspending", "Suspended"]
    assert decide(job).steps == []


def test_names_are_there_before_what_has_them_and_stay_the_same() -> None:
    job = ray.ray_job_of()
    first, again = operators.status(decide(job)), operators.status(decide(job))
    assert first == again
    assert operators.created(decide(job)) == []
    assert first["jobId"] != first["rayClusterName"]
    [made] = operators.created(decide(with_status(job, first)))
    assert made["metadata"]["name"] == first["rayClusterName"]
    moved = {**job, "metadata": {**job["metadata"], "resourceVersion": "2"}}
    assert operators.status(decide(moved))["rayClusterName"] != first["rayClusterName"]


def test_a_given_id_is_taken() -> None:
    assert operators.status(decide(ray.ray_job_of(jobId="mine")))["jobId"] == "mine"


def test_suspending_ends_suspended_though_the_wish_is_gone() -> None:
    job = with_status(ray.ray_job_of(), {"jobDeploymentStatus": "Suspending", "jobId": "x"})
    found = operators.status(decide(job))
    assert found["jobDeploymentStatus"] == "Suspended"
    assert "jobId" not in found


@pytest.mark.parametrize("phase", ["Waiting", "Complete", "Failed", "Retrying"])
def test_only_some_states_can_be_suspended(phase: str) -> None:
    mode = "InteractiveMode" if phase == "Waiting" else "K8sJobMode"
    spec = {"suspend": True, "shutdownAfterJobFinishes": True, "submissionMode": mode}
    status = {"jobDeploymentStatus": phase, "startTime": operators.TIME, "endTime": operators.TIME}
    plan = decide(with_status(ray.ray_job_of(**spec), status))
    written = [step for step in plan.steps if type(step).__name__ == "Status"]
    assert all(step.status.get("jobDeploymentStatus") != "Suspending" for step in written)


@pytest.mark.parametrize(
    ("spec", "status", "seconds"),
    [
        ({"shutdownAfterJobFinishes": True, "ttlSecondsAfterFinished": 10}, {}, 10),
        (
            {
                "deletionStrategy": {
                    "onSuccess": {"policy": "DeleteCluster"},
                    "onFailure": {"policy": "DeleteNone"},
                }
            },
            {},
            0,
        ),
    ],
)
def test_the_cluster_goes_at_its_time(spec: Any, status: Object, seconds: int) -> None:
    cluster = cluster_by(ray.ray_job_of())
    whole = {**NEVER_AGAIN, **status, "rayClusterName": "j-1", "endTime": operators.TIME}
    job = with_status(ray.ray_job_of(**spec), whole)
    if seconds:
        plan = decide(job, cluster, after=seconds - 1)
        assert (plan.steps, plan.after) == ([], 1.0)
    assert operators.deleted_names(decide(job, cluster, after=seconds), "RayCluster") == ["j-1"]
    failed = with_status(ray.ray_job_of(), whole)
    assert decide(failed, cluster, after=999).steps == []


SUSPENDED: Object = {"suspend": True, "shutdownAfterJobFinishes": True}
LEFT_ALONE: dict[str, tuple[Object, Object]] = {
    "suspended": (SUSPENDED, {"jobDeploymentStatus": "Suspending"}),
    "to be tried again": ({}, {"jobDeploymentStatus": "Retrying"}),
    "ended": ({"shutdownAfterJobFinishes": True}, NEVER_AGAIN),
    "ended, without its workers": (
        {"deletionStrategy": {"deletionRules": [
            {"policy": "DeleteWorkers", "condition": {"jobStatus": "SUCCEEDED"}}]}},
        NEVER_AGAIN),
}  # fmt: skip


@pytest.mark.parametrize(("spec", "status"), LEFT_ALONE.values(), ids=LEFT_ALONE)
@pytest.mark.parametrize("owner", [None, ray.ray_job_of(name="other")])
def test_a_cluster_that_the_job_did_not_make_is_left_alone(
    spec: Object, status: Object, owner: Object | None
) -> None:
    whole = {**status, "rayClusterName": "j-1", "endTime": operators.TIME}
    job = with_status(ray.ray_job_of(**spec), whole)
    plan = decide(job, cluster_by(owner))
    assert not any(isinstance(step, Delete | Patch) for step in plan.steps)
    assert [event[:2] for event in operators.events(plan)] == [("Warning", "ErrResourceExists")]
    own = decide(job, cluster_by(job))
    assert any(isinstance(step, Delete | Patch) for step in own.steps)


@pytest.mark.parametrize("owner", [None, ray.ray_job_of(name="other")])
def test_a_job_is_suspended_though_its_name_is_that_of_a_foreign_cluster(
    owner: Object | None,
) -> None:
    status = {"jobDeploymentStatus": "Suspending", "rayClusterName": "j-1"}
    plan = decide(with_status(ray.ray_job_of(**SUSPENDED), status), cluster_by(owner))
    assert operators.status(plan)["jobDeploymentStatus"] == "Suspended"


def test_the_script_submits_once_and_follows() -> None:
    status = {"jobId": "j-1", "dashboardURL": "head:8265"}
    spec = {"runtimeEnvYAML": "pip: [torch]", "metadata": {"k": "v"}, "entrypointNumCpus": 1.5}
    job = ray.ray_job_of(entrypoint=" python a.py ", **spec)
    script = submission.submit_script(job, status, "http://$RAY_DASHBOARD_ADDRESS")
    assert "if ! ray job status --address http://$RAY_DASHBOARD_ADDRESS j-1 >/dev/null" in script
    assert (
        "ray job submit --address http://$RAY_DASHBOARD_ADDRESS --no-wait --submission-id j-1"
        ' --runtime-env-json "{\\"pip\\":[\\"torch\\"]}" --metadata-json "{\\"k\\":\\"v\\"}"'
        " --entrypoint-num-cpus 1.500000 -- python a.py ; fi ; "
        "ray job logs --address http://$RAY_DASHBOARD_ADDRESS --follow j-1"
    ) in script


def test_the_submitter_is_that_of_the_user_or_a_small_one() -> None:
    job, status = ray.ray_job_of(), {"jobId": "j-1", "dashboardURL": "head:8265"}
    cluster = ray.ray_cluster_of()
    made = submission.make_submitter(job, status, cluster, runs_it=False)
    [container] = made["spec"]["template"]["spec"]["containers"]
    assert (made["metadata"]["name"], made["spec"]["backoffLimit"]) == ("j", 2)
    assert "podFailurePolicy" not in made["spec"]
    assert container["name"] == "ray-job-submitter"
    assert container["image"] == ray.IMAGE
    assert container["command"] == ["/bin/bash", "-ce", "--"]
    assert container["env"] == [
        {"name": "PYTHONUNBUFFERED", "value": "1"},
        {"name": "RAY_DASHBOARD_ADDRESS", "value": "head:8265"},
        {"name": "RAY_JOB_SUBMISSION_ID", "value": "j-1"},
    ]
    own = ray.ray_job_of(
        submitterPodTemplate=ray.template("mine", command=["go"]),
        submitterConfig={"backoffLimit": 0},
    )
    made = submission.make_submitter(own, status, cluster, runs_it=False)
    assert made["spec"]["backoffLimit"] == 0
    assert made["spec"]["template"]["spec"]["containers"][0]["command"] == ["go"]


def test_a_late_submitter_is_not_waited_for_for_ever() -> None:
    info = {"endTime": operators.TIME}
    status = {"jobDeploymentStatus": "Running", "jobStatus": "SUCCEEDED", "rayJobInfo": info}
    job = with_status(ray.ray_job_of(), {**status, "rayClusterName": "j-1"})
    found = operators.status(decide(job, after=301))
    assert found["jobDeploymentStatus"] == "Complete"
    assert found["reason"] == "JobDeploymentStatusTransitionGracePeriodExceeded"
