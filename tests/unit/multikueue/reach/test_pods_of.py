"""Where pods of a mirror are looked for, and how they are shown on the manager."""

from typing import Any

import pytest

from fleetqueue.api.selectors import parse_labels
from fleetqueue.jobs import registry
from fleetqueue.kube.resources import PODS, Resource
from fleetqueue.multikueue.reach import pods_of
from fleetqueue.multikueue.reach.pods_of import Reference

Object = dict[str, Any]

KINDS = {(kind.resource.group, kind.resource.kind): kind.resource for kind in registry.all_kinds()}
SELECTORS = [
    ("batch", "Job", {"spec": {"selector": {"matchLabels": {"u": "1"}}}}, ["u=1"]),
    ("apps", "StatefulSet", {"spec": {"selector": {"matchLabels": {"app": "a"}}}}, ["app=a"]),
    ("jobset.x-k8s.io", "JobSet", {}, ["jobset.sigs.k8s.io/jobset-name=x"]),
    ("trainer.kubeflow.org", "TrainJob", {}, ["jobset.sigs.k8s.io/jobset-name=x"]),
    ("kubeflow.org", "PyTorchJob", {}, ["training.kubeflow.org/job-name=x"]),
    ("kubeflow.org", "TFJob", {}, ["training.kubeflow.org/job-name=x"]),
    ("kubeflow.org", "XGBoostJob", {}, ["training.kubeflow.org/job-name=x"]),
    ("kubeflow.org", "PaddleJob", {}, ["training.kubeflow.org/job-name=x"]),
    ("kubeflow.org", "JAXJob", {}, ["training.kubeflow.org/job-name=x"]),
    ("kubeflow.org", "MPIJob", {}, ["training.kubeflow.org/job-name=x"]),
    ("ray.io", "RayCluster", {}, ["ray.io/cluster=x"]),
    (
        "ray.io",
        "RayJob",
        {"status": {"rayClusterName": "x-1"}},
        [
            "ray.io/originated-from-cr-name=x",
            "ray.io/cluster=x-1",
            "batch.kubernetes.io/job-name=x",
        ],
    ),
    (
        "ray.io",
        "RayService",
        {
            "status": {
                "activeServiceStatus": {"rayClusterName": "x-1"},
                "pendingServiceStatus": {"rayClusterName": "x-2"},
            }
        },
        ["ray.io/originated-from-cr-name=x", "ray.io/cluster=x-1", "ray.io/cluster=x-2"],
    ),
    (
        "leaderworkerset.x-k8s.io",
        "LeaderWorkerSet",
        {},
        ["leaderworkerset.sigs.k8s.io/name=x"],
    ),
    ("workload.codeflare.dev", "AppWrapper", {}, ["workload.codeflare.dev/appwrapper=x"]),
]


@pytest.mark.parametrize(("group", "kind", "more", "expected"), SELECTORS)
def test_pods_of_each_kind_are_looked_for_by_its_labels(
    group: str, kind: str, more: Object, expected: list[str]
) -> None:
    mirror = {"metadata": {"name": "x"}, "spec": {}, **more}
    assert pods_of.selectors_of(KINDS[group, kind], mirror) == expected


def test_every_kind_with_pods_of_its_own_has_labels() -> None:
    themselves = {("", "Pod"), ("apps", "Deployment")}
    known = {(group, kind) for group, kind, _, _ in SELECTORS}
    assert set(KINDS) - themselves == known


def test_pods_of_an_unknown_kind_may_be_anywhere_in_the_namespace() -> None:
    foreign = Resource("example.com", "v1", "things", "Thing")
    assert pods_of.selectors_of(foreign, {"metadata": {"name": "x"}, "spec": {}}) == [""]
    assert not pods_of.is_itself(foreign)
    assert pods_of.is_itself(PODS)


def reference(kind: str, uid: str, **more: Any) -> Object:
    return {"apiVersion": "batch/v1", "kind": kind, "name": kind.lower(), "uid": uid, **more}


@pytest.mark.parametrize(
    ("references", "expected"),
    [
        ([], None),
        ([reference("Job", "1")], "1"),
        ([reference("Job", "1"), reference("Job", "2", controller=True)], "2"),
    ],
)
def test_the_owner_that_counts_is_the_one_that_controls(
    references: list[Object], expected: str | None
) -> None:
    found = pods_of.owner_of({"metadata": {"ownerReferences": references}})
    assert (None if found is None else found.uid) == expected


def test_a_pod_names_its_wrapper_by_a_label() -> None:
    labels = {"workload.codeflare.dev/appwrapper": "w"}
    found = pods_of.wrapper_of({"metadata": {"labels": labels}})
    assert found == Reference("workload.codeflare.dev", "AppWrapper", "w", "")
    assert pods_of.wrapper_of({"metadata": {}}) is None


def test_a_pod_is_shown_with_the_uid_of_the_local_job() -> None:
    pod: Object = {
        "metadata": {
            "name": "x-1",
            "resourceVersion": "7",
            "managedFields": [],
            "labels": {"controller-uid": "there", "job-name": "x"},
            "ownerReferences": [reference("Job", "there")],
        },
        "spec": {},
    }
    shown = pods_of.shown(pod, {"there": "here"})
    assert shown["metadata"] == {
        "name": "x-1",
        "labels": {"controller-uid": "here", "job-name": "x"},
        "ownerReferences": [reference("Job", "here")],
    }
    assert (shown["kind"], shown["apiVersion"]) == ("Pod", "v1")
    assert pod["metadata"]["labels"]["controller-uid"] == "there"


def test_a_worker_is_asked_with_the_uid_that_its_mirror_has() -> None:
    wanted = parse_labels("controller-uid=here,job-name in (x, y),!done")
    asked = pods_of.asked_there(wanted, {"here": "there"})
    assert parse_labels(asked) == parse_labels("controller-uid=there,job-name in (x,y),!done")
    assert sorted(pods_of.values_of(wanted)) == ["here", "x", "y"]
    assert pods_of.values_of(parse_labels("a!=b,c notin (d)")) == []
