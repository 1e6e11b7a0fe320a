"""Which objects are of use already, and which jobs have ended."""

from datetime import UTC, datetime
from typing import Any

import pytest

from fleetqueue.fleet.decide.delivery import availability, job_ends
from fleetqueue.fleet.decide.delivery.availability import AVAILABLE, NOT_TRACKABLE, NOT_YET

Json = dict[str, Any]
NOW = datetime(2026, 1, 1, tzinfo=UTC)


def obj(api_version: str, kind: str, spec: Json | None = None, **status: Any) -> Json:
    metadata = {"name": "x", "generation": 2}
    made = {"apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": spec or {}}
    return {**made, "status": status}


def judged(found: Json, *, is_job_aware: bool = True) -> availability.Availability:
    return availability.availability(found, is_job_aware=is_job_aware)


ROLLED = {"observedGeneration": 2, "updatedReplicas": 3, "availableReplicas": 3}
SET = {"observedGeneration": 2, "availableReplicas": 3, "currentReplicas": 3, "updatedReplicas": 3,
       "currentRevision": "a", "updateRevision": "a"}  # fmt: skip
DAEMONS = {"observedGeneration": 2, "numberAvailable": 2, "desiredNumberScheduled": 2,
           "currentNumberScheduled": 2, "updatedNumberScheduled": 2}  # fmt: skip


@pytest.mark.rule("kubefleet 7.6")
@pytest.mark.parametrize(
    ("kind", "status", "expected"),
    [
        ("Deployment", ROLLED, AVAILABLE),
        ("Deployment", {**ROLLED, "observedGeneration": 1}, NOT_YET),
        ("Deployment", {**ROLLED, "updatedReplicas": 2}, NOT_YET),
        ("Deployment", {**ROLLED, "availableReplicas": 2}, NOT_YET),
        ("Deployment", {**ROLLED, "unavailableReplicas": 1}, NOT_YET),
        ("Deployment", {}, NOT_YET),
        ("StatefulSet", SET, AVAILABLE),
        ("StatefulSet", {**SET, "availableReplicas": 2}, NOT_YET),
        ("StatefulSet", {**SET, "currentReplicas": 2}, NOT_YET),
        ("StatefulSet", {**SET, "updateRevision": "b"}, NOT_YET),
        ("DaemonSet", DAEMONS, AVAILABLE),
        ("DaemonSet", {**DAEMONS, "numberAvailable": 1}, NOT_YET),
        ("DaemonSet", {**DAEMONS, "updatedNumberScheduled": 1}, NOT_YET),
        ("ControllerRevision", {}, AVAILABLE),
        ("ReplicaSet", {}, NOT_TRACKABLE),
    ],
)
def test_workloads_are_available_when_they_are_rolled_out(
    kind: str, status: Json, expected: availability.Availability
) -> None:
    assert judged(obj("apps/v1", kind, {"replicas": 3}, **status)) == expected


@pytest.mark.rule("kubefleet 7.6")
@pytest.mark.parametrize(
    ("spec", "status", "expected"),
    [
        ({"clusterIPs": ["10.0.0.1"]}, {}, AVAILABLE),
        ({"type": "NodePort", "clusterIPs": ["10.0.0.1"]}, {}, AVAILABLE),
        ({"type": "ClusterIP", "clusterIP": "None", "clusterIPs": ["None"]}, {}, AVAILABLE),
        ({"type": "ClusterIP"}, {}, NOT_YET),
        ({"type": "LoadBalancer", "clusterIPs": ["10.0.0.1"]}, {}, NOT_YET),
        ({"type": "LoadBalancer"}, {"loadBalancer": {"ingress": [{"ip": "1.1.1.1"}]}}, AVAILABLE),
        ({"type": "LoadBalancer"}, {"loadBalancer": {"ingress": [{"hostname": "h"}]}}, AVAILABLE),
        ({"type": "LoadBalancer"}, {"loadBalancer": {"ingress": [{}]}}, NOT_YET),
        ({"type": "ExternalName"}, {}, NOT_TRACKABLE),
    ],
)
def test_services_are_available_when_they_have_an_address(
    spec: Json, status: Json, expected: availability.Availability
) -> None:
    assert judged(obj("v1", "Service", spec, **status)) == expected


def held(*types: str) -> Json:
    return {"conditions": [{"type": each, "status": "True"} for each in types]}


@pytest.mark.rule("kubefleet 7.6")
@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (obj("apiextensions.k8s.io/v1", "CustomResourceDefinition",
             **held("Established", "NamesAccepted")), AVAILABLE),
        (obj("apiextensions.k8s.io/v1", "CustomResourceDefinition", **held("NamesAccepted")),
         NOT_YET),
        (obj("policy/v1", "PodDisruptionBudget", observedGeneration=2), AVAILABLE),
        (obj("policy/v1", "PodDisruptionBudget", observedGeneration=1), NOT_YET),
        (obj("v1", "ConfigMap"), AVAILABLE),
        (obj("v1", "Namespace"), AVAILABLE),
        (obj("rbac.authorization.k8s.io/v1", "Role"), AVAILABLE),
        (obj("scheduling.k8s.io/v1", "PriorityClass"), AVAILABLE),
        (obj("example.org/v1", "Namespace"), NOT_TRACKABLE),
        (obj("batch/v1", "CronJob"), NOT_TRACKABLE),
        (obj("kueue.x-k8s.io/v1beta1", "ClusterQueue"), NOT_TRACKABLE),
    ],
)  # fmt: skip
def test_other_kinds_are_judged_by_what_they_are(
    found: Json, expected: availability.Availability
) -> None:
    assert judged(found) == expected


ENDINGS: list[tuple[str, str, Json, Json]] = [
    ("batch/v1", "Job", held("Complete"), held("Failed")),
    ("jobset.x-k8s.io/v1alpha2", "JobSet", held("Completed"), held("Failed")),
    ("trainer.kubeflow.org/v1alpha1", "TrainJob", held("Complete"), held("Failed")),
    *[
        ("kubeflow.org/v1", kind, held("Succeeded"), held("Failed"))
        for kind in ("PyTorchJob", "TFJob", "XGBoostJob", "PaddleJob", "JAXJob")
    ],
    ("kubeflow.org/v2beta1", "MPIJob", held("Succeeded"), held("Failed")),
    (
        "ray.io/v1",
        "RayJob",
        {"jobDeploymentStatus": "Complete", "jobStatus": "SUCCEEDED"},
        {"jobDeploymentStatus": "Failed", "jobStatus": "FAILED", "message": "boom"},
    ),
    ("workload.codeflare.dev/v1beta2", "AppWrapper", {"phase": "Succeeded"}, {"phase": "Failed"}),
]


@pytest.mark.rule("KJ-4")
@pytest.mark.parametrize(
    ("version", "kind", "succeeded", "failed"), ENDINGS, ids=[each[1] for each in ENDINGS]
)
def test_a_job_is_available_once_it_has_ended_well(
    version: str, kind: str, succeeded: Json, failed: Json
) -> None:
    assert judged(obj(version, kind)) == NOT_YET
    assert judged(obj(version, kind, active=1)) == NOT_YET
    assert judged(obj(version, kind, **succeeded)) == AVAILABLE
    told = judged(obj(version, kind, **failed))
    assert (told.reason, told.is_true) == ("Failed", False)
    for status in ({}, succeeded, failed):
        found = obj(version, kind, **status)
        assert judged(found, is_job_aware=False) == NOT_TRACKABLE


@pytest.mark.rule("KJ-4")
def test_why_a_job_failed_is_told() -> None:
    condition = {"type": "Failed", "status": "True", "reason": "BackoffLimitExceeded",
                 "message": "Job has reached the specified backoff limit"}  # fmt: skip
    assert judged(obj("batch/v1", "Job", conditions=[condition])).message == (
        "Failed to track the availability of the applied manifest (error ="
        " BackoffLimitExceeded: Job has reached the specified backoff limit)"
    )


@pytest.mark.rule("KJ-5")
@pytest.mark.parametrize(
    "end", [job_ends.End("Complete"), job_ends.End("Failed", "a; b"), job_ends.End("Gone")]
)
def test_how_a_job_ended_is_remembered_for_its_manifest_alone(end: job_ends.End) -> None:
    entry = {"conditions": [job_ends.tombstone(end, "abc", NOW)]}
    assert job_ends.remembered(entry, "abc") == end
    assert job_ends.remembered(entry, "def") is None
    assert not job_ends.was_running(entry, "abc")


@pytest.mark.rule("KJ-5")
def test_that_a_job_runs_is_remembered_where_it_may_go_unseen() -> None:
    entry = {"conditions": [job_ends.running("abc", NOW)]}
    assert job_ends.was_running(entry, "abc")
    assert not job_ends.was_running(entry, "def")
    assert job_ends.remembered(entry, "abc") is None
    assert job_ends.lives_on_time({"spec": {"ttlSecondsAfterFinished": 0}})
    assert job_ends.lives_on_time({"spec": {"runPolicy": {"ttlSecondsAfterFinished": 5}}})
    assert not job_ends.lives_on_time({"spec": {}})
