"""What Ray kinds must be like, and what is said of those that are not."""

from typing import Any

import pytest
from tests.support import ray
from tests.support.ray import cluster_spec, template, worker_group

from fleetqueue.kube.resources import Object
from fleetqueue.runtime.operators import ray_cluster_rules, ray_job_rules, ray_service_rules

pytestmark = [pytest.mark.rule("jobs B.7"), pytest.mark.rule("jobs D.6")]

_SUCCEEDED: Object = {"jobStatus": "SUCCEEDED"}


@pytest.mark.parametrize(
    ("change", "reason", "text"),
    [
        ({"name": "x" * 54}, "Metadata", "RayCluster name should be no more than 53 characters"),
        (
            {"name": "1x"},
            "Metadata",
            "RayCluster name should be a valid DNS1035 label: [a DNS-1035",
        ),
        ({"headGroupSpec": {"template": {}}}, "Spec", "headGroupSpec should have at least one"),
        (
            {"workerGroupSpecs": [worker_group(template={})]},
            "Spec",
            "workerGroupSpec should have at least one container",
        ),
        (
            {"workerGroupSpecs": [worker_group(minReplicas=3, maxReplicas=2)]},
            "Spec",
            "worker group small has minReplicas 3 greater than maxReplicas 2",
        ),
        (
            {"workerGroupSpecs": [worker_group(suspend=True)], "enableInTreeAutoscaling": True},
            "Spec",
            "worker group small cannot be suspended with Autoscaler enabled",
        ),
        (
            {"headGroupSpec": {"template": template(), "rayStartParams": {"labels": "a=b"}}},
            "Spec",
            "rayStartParams['labels'] is not supported for Head group",
        ),
        (
            {"authOptions": {"mode": "token"}},
            "Spec",
            "authOptions.mode is 'token' but RayVersion was not specified",
        ),
        (
            {"authOptions": {"mode": "token"}, "rayVersion": "2.51.0"},
            "Spec",
            "authOptions.mode is 'token' but minimum Ray version is 2.52.0, got 2.51.0",
        ),
    ],
)
def test_what_is_wrong_with_a_cluster(change: Any, reason: str, text: str) -> None:
    problem = ray_cluster_rules.problem_of(ray.ray_cluster_of(**change))
    assert problem is not None
    assert problem.reason == f"InvalidRayCluster{reason}"
    assert text in problem.text
    what = {"Metadata": "metadata", "Spec": "spec"}[reason]
    assert problem.text.startswith(f"The RayCluster {what} is invalid default/")


def test_a_good_cluster_has_no_problem() -> None:
    assert ray_cluster_rules.problem_of(ray.ray_cluster_of(worker_group())) is None


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        (
            {"suspend": True},
            "The RayJob spec is invalid: a RayJob with shutdownAfterJobFinishes set to false is not"
            " allowed to be suspended",
        ),
        (
            {
                "suspend": True,
                "shutdownAfterJobFinishes": True,
                "clusterSelector": {"ray.io/cluster": "c"},
            },
            "The RayJob spec is invalid: the ClusterSelector mode doesn't support the suspend"
            " operation",
        ),
        (
            {"rayClusterSpec": None},
            "The RayJob spec is invalid: one of RayClusterSpec or ClusterSelector must be set",
        ),
        ({"clusterSelector": {"a": "b"}}, "cluster name in ClusterSelector should not be empty"),
        (
            {"clusterSelector": {"ray.io/cluster": "c"}, "backoffLimit": 1},
            "The RayJob spec is invalid: BackoffLimit is incompatible with ClusterSelector mode",
        ),
        (
            {"submissionMode": "InteractiveMode", "backoffLimit": 1},
            "The RayJob spec is invalid: BackoffLimit is incompatible with InteractiveMode",
        ),
        (
            {"submissionMode": "SidecarMode", "submitterPodTemplate": template()},
            "Currently, SidecarMode doesn't support SubmitterPodTemplate",
        ),
        (
            {"ttlSecondsAfterFinished": 5},
            "The RayJob spec is invalid: a RayJob with shutdownAfterJobFinishes set to false cannot"
            " have TTLSecondsAfterFinished",
        ),
        (
            {"activeDeadlineSeconds": 0},
            "The RayJob spec is invalid: activeDeadlineSeconds must be a positive integer",
        ),
        (
            {"rayClusterSpec": cluster_spec(headGroupSpec={})},
            "The RayJob spec is invalid: headGroupSpec should have at least one container",
        ),
        (
            {
                "shutdownAfterJobFinishes": True,
                "deletionStrategy": {
                    "deletionRules": [{"policy": "DeleteSelf", "condition": _SUCCEEDED}]
                },
            },
            "The RayJob spec is invalid: spec.shutdownAfterJobFinishes and"
            " spec.deletionStrategy.deletionRules are mutually exclusive",
        ),
        (
            {
                "deletionStrategy": {
                    "deletionRules": [
                        {"policy": "DeleteCluster", "condition": {**_SUCCEEDED, "ttlSeconds": 9}},
                        {"policy": "DeleteSelf", "condition": {**_SUCCEEDED, "ttlSeconds": 8}},
                    ]
                },
            },
            "for JobStatus 'SUCCEEDED': DeleteSelf TTL (8) must be >= DeleteCluster TTL (9)",
        ),
    ],
)
def test_what_is_wrong_with_a_job(spec: Any, text: str) -> None:
    problem = ray_job_rules.problem_of(ray.ray_job_of(**spec))
    assert problem == ("InvalidRayJobSpec", text)


def test_a_job_whose_runtime_environment_is_no_yaml_is_wrong() -> None:
    problem = ray_job_rules.problem_of(ray.ray_job_of(runtimeEnvYAML="a: [b"))
    assert problem is not None
    assert problem.text.startswith("failed to unmarshal RuntimeEnvYAML: a: [b")


def test_a_name_leaves_room_for_the_name_of_its_cluster() -> None:
    assert ray_job_rules.problem_of(ray.ray_job_of(name="x" * 47)) is None
    problem = ray_job_rules.problem_of(ray.ray_job_of(name="x" * 48))
    text = "The RayJob metadata is invalid: RayJob name should be no more than 47 characters"
    assert problem == ("InvalidRayJobMetadata", text)
    assert ray_service_rules.problem_of(ray.ray_service_of(name="x" * 48)) is not None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("5m", ""),
        ("300", ""),
        ("-5m", "must be a positive duration, got: -5m"),
        ("soon", "has invalid format: soon. Expected Go duration format"),
    ],
)
def test_the_time_a_service_may_take_must_be_one(text: str, message: str) -> None:
    service = ray.ray_service_of()
    service["metadata"]["annotations"] = {"ray.io/initializing-timeout": text}
    problem = ray_service_rules.problem_of(service)
    assert (problem is None) == (not message)
    assert message in (problem.text if problem else "")
