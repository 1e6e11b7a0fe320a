"""What belongs to a member's controllers is taken from the live object, in every kind of job."""

from typing import Any

import pytest

from fleetqueue.fleet.decide.delivery import job_fields

Json = dict[str, Any]
pytestmark = pytest.mark.rule("KJ-3")
QUEUE = "kueue.x-k8s.io/queue-name"
ADMITTED = {
    "metadata": {"labels": {"app": "x", "kueue.x-k8s.io/podset": "main"}},
    "spec": {
        "containers": [{"name": "c", "image": "i"}],
        "nodeSelector": {"pool": "gpu"},
        "tolerations": [{"key": "gpu"}],
        "schedulingGates": [{"name": "g"}],
    },
}
PLAIN = {
    "metadata": {"labels": {"app": "x"}},
    "spec": {"containers": [{"name": "c", "image": "i"}]},
}


def obj(api_version: str, kind: str, spec: Json, *, queue: str = "q") -> Json:
    labels = {QUEUE: queue} if queue else {}
    metadata = {"name": "j", "labels": labels}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": spec}


def ray(template: Json) -> Json:
    return {
        "headGroupSpec": {"template": template},
        "workerGroupSpecs": [{"groupName": "w", "template": template}],
    }


def specs(kind: str, template: Json, *, is_suspended: bool) -> tuple[str, Json]:
    """The apiVersion of a kind, and the spec of a job of it."""
    run = {"runPolicy": {"suspend": is_suspended}}
    worker = {"Worker": {"replicas": 1, "template": template}}
    replicated = [
        {"name": "a", "template": {"spec": {"template": template}}},
        {"name": "b", "template": {"spec": {"template": template}}},
    ]
    held = {"suspend": is_suspended}
    parts = {"leaderTemplate": template, "workerTemplate": template}
    return {
        "Job": ("batch/v1", {**held, "template": template}),
        "JobSet": ("jobset.x-k8s.io/v1alpha2", {**held, "replicatedJobs": replicated}),
        "PyTorchJob": ("kubeflow.org/v1", {**run, "pytorchReplicaSpecs": worker}),
        "TFJob": ("kubeflow.org/v1", {**run, "tfReplicaSpecs": worker}),
        "XGBoostJob": ("kubeflow.org/v1", {**run, "xgbReplicaSpecs": worker}),
        "PaddleJob": ("kubeflow.org/v1", {**run, "paddleReplicaSpecs": worker}),
        "JAXJob": ("kubeflow.org/v1", {**run, "jaxReplicaSpecs": worker}),
        "MPIJob": ("kubeflow.org/v2beta1", {**run, "mpiReplicaSpecs": worker}),
        "RayJob": ("ray.io/v1", {**held, "rayClusterSpec": ray(template)}),
        "RayCluster": ("ray.io/v1", {**held, **ray(template)}),
        "RayService": ("ray.io/v1", {"rayClusterConfig": {**held, **ray(template)}}),
        "Deployment": ("apps/v1", {"replicas": 1, "template": template}),
        "StatefulSet": ("apps/v1", {"replicas": 1, "template": template}),
        "LeaderWorkerSet": ("leaderworkerset.x-k8s.io/v1", {"leaderWorkerTemplate": parts}),
    }[kind]


KINDS = ("Job", "JobSet", "PyTorchJob", "TFJob", "XGBoostJob", "PaddleJob", "JAXJob", "MPIJob",
         "RayJob", "RayCluster", "RayService", "Deployment", "StatefulSet",
         "LeaderWorkerSet")  # fmt: skip


def pair(kind: str, *, queue: str = "q") -> tuple[Json, Json]:
    """The manifest, and the live object after its admission."""
    version, spec = specs(kind, PLAIN, is_suspended=True)
    _, live = specs(kind, ADMITTED, is_suspended=False)
    return obj(version, kind, spec, queue=queue), obj(version, kind, live, queue=queue)


@pytest.mark.parametrize("kind", KINDS)
def test_an_admitted_job_is_as_its_manifest_says(kind: str) -> None:
    manifest, live = pair(kind)
    assert job_fields.aligned(manifest, live) == live


@pytest.mark.parametrize("kind", KINDS)
def test_a_job_that_was_stopped_is_as_its_manifest_says(kind: str) -> None:
    live, manifest = pair(kind)
    assert job_fields.aligned(manifest, live) == live


@pytest.mark.parametrize("kind", KINDS)
def test_without_a_queue_everything_is_the_authors(kind: str) -> None:
    manifest, live = pair(kind, queue="")
    assert job_fields.aligned(manifest, live) == manifest


@pytest.mark.parametrize("kind", KINDS)
def test_what_users_change_stays_a_difference(kind: str) -> None:
    manifest, _ = pair(kind)
    _, changed = specs(kind, {**ADMITTED, "spec": {**ADMITTED["spec"], "containers": []}},
                       is_suspended=False)  # fmt: skip
    live = obj(manifest["apiVersion"], kind, changed)
    assert job_fields.aligned(manifest, live) != live


def test_a_queue_that_an_annotation_names_counts() -> None:
    manifest, live = pair("Job", queue="")
    manifest["metadata"]["annotations"] = {QUEUE: "q"}
    assert job_fields.aligned(manifest, live)["spec"] == live["spec"]


def test_a_pod_is_its_own_template() -> None:
    manifest = {**obj("v1", "Pod", PLAIN["spec"])}
    live = obj("v1", "Pod", ADMITTED["spec"])
    live["metadata"]["labels"]["kueue.x-k8s.io/managed"] = "true"
    assert job_fields.aligned(manifest, live) == live


def test_the_patch_of_the_queue_in_a_train_job_is_not_the_authors() -> None:
    mine = {"manager": "me", "trainingRuntimeSpec": {"a": 1}}
    queue = {"manager": "kueue.x-k8s.io/manager", "trainingRuntimeSpec": {"b": 1}}
    version = "trainer.kubeflow.org/v1alpha1"
    manifest = obj(version, "TrainJob", {"suspend": True, "runtimePatches": [mine]})
    live = obj(version, "TrainJob", {"suspend": False, "runtimePatches": [mine, queue]})
    assert job_fields.aligned(manifest, live) == live
    bare = obj(version, "TrainJob", {"suspend": False})
    only = obj(version, "TrainJob", {"suspend": True, "runtimePatches": [queue]})
    assert job_fields.aligned(bare, only) == only
    assert job_fields.aligned(only, bare) == bare


@pytest.mark.rule("jobs B.6.4")
def test_when_a_patch_of_a_train_job_came_is_not_the_authors() -> None:
    version = "trainer.kubeflow.org/v1alpha1"
    here, there = "2026-01-01T00:00:00Z", "2026-01-01T00:00:07Z"
    patch = {"manager": "me", "trainingRuntimeSpec": {"a": 1}}
    new = {"manager": "new", "time": here}
    manifest = {
        "apiVersion": version,
        "kind": "TrainJob",
        "metadata": {"name": "run"},
        "spec": {"runtimePatches": [{**patch, "time": here}, new]},
    }
    live = {**manifest, "spec": {"runtimePatches": [{**patch, "time": there}]}}
    assert job_fields.aligned(manifest, live)["spec"] == {
        "runtimePatches": [{**patch, "time": there}, new]
    }


def test_what_an_app_wrapper_is_told_of_its_pods_is_not_the_authors() -> None:
    version = "workload.codeflare.dev/v1beta2"
    component = {"template": {"kind": "Job"}}
    told = {**component, "podSetInfos": [{"nodeSelector": {"a": "b"}}]}
    manifest = obj(version, "AppWrapper", {"suspend": True, "components": [component]})
    live = obj(version, "AppWrapper", {"suspend": False, "components": [told]})
    assert job_fields.aligned(manifest, live) == live


def test_the_submitter_of_a_ray_job_may_be_made_by_the_queue() -> None:
    manifest, live = pair("RayJob")
    live["spec"]["submitterPodTemplate"] = ADMITTED
    assert job_fields.aligned(manifest, live) == live


@pytest.mark.parametrize(
    ("annotations", "expected"),
    [
        ({}, (4, 4)),
        ({"kueue.x-k8s.io/job-min-parallelism": "1"}, (2, 4)),
        (
            {
                "kueue.x-k8s.io/job-min-parallelism": "1",
                "kueue.x-k8s.io/job-completions-equal-parallelism": "true",
            },
            (2, 2),
        ),
    ],
)
def test_a_job_that_may_be_smaller_is_started_as_large_as_it_can_be(
    annotations: Json, expected: tuple[int, int]
) -> None:
    manifest, live = pair("Job")
    manifest["metadata"]["annotations"] = annotations
    manifest["spec"] |= {"parallelism": 4, "completions": 4}
    live["spec"] |= {"parallelism": 2, "completions": 2}
    spec = job_fields.aligned(manifest, live)["spec"]
    assert (spec["parallelism"], spec["completions"]) == expected


@pytest.mark.rule("KJ-2")
@pytest.mark.parametrize("selector", [{}, {"selector": {"matchLabels": {}}}])
def test_what_kubernetes_generates_in_a_job_is_nobodys_drift(selector: Json) -> None:
    names = {"batch.kubernetes.io/job-name": "j", "job-name": "j"}
    uids = {"batch.kubernetes.io/controller-uid": "u", "controller-uid": "u"}
    template = {"metadata": {"labels": {"app": "x", **names}}, "spec": {}}
    live_template = {"metadata": {"labels": {"app": "x", **names, **uids}}, "spec": {}}
    manifest = obj("batch/v1", "Job", {**selector, "template": template}, queue="")
    labels = {"batch.kubernetes.io/controller-uid": "u"}
    live = obj("batch/v1", "Job", {"selector": {"matchLabels": labels}, "template": live_template},
               queue="")  # fmt: skip
    assert job_fields.aligned(manifest, live) == live
    assert manifest["spec"] == {**selector, "template": template}, "the manifest was changed"
