"""The Jobs, the Service and the claims that a JobSet makes."""

import hashlib
from typing import Any

import pytest
from tests.support.job_sets import job_set, replicated

from fleetqueue.kube.resources import Object
from fleetqueue.runtime.operators import job_set_children as children

pytestmark = [pytest.mark.rule("jobs B.3.2"), pytest.mark.rule("jobs D.1")]

PREFIX = "jobset.sigs.k8s.io/"


def second_worker(**spec: Any) -> Object:
    """The second Job of the last of three replicated jobs, two of which form a group."""
    worker = replicated("worker", 3, groupName="others")
    first = replicated("first", groupName="others")
    parent = job_set(first, replicated("driver", 2), worker, **spec)
    return children.make_job(parent, worker, 1)


def test_a_job_and_its_pods_carry_their_place_as_labels_and_annotations() -> None:
    job = second_worker(status={"restarts": 4})
    expected = {
        "jobset-name": "train",
        "jobset-uid": "uid-1",
        "replicatedjob-name": "worker",
        "restart-attempt": "4",
        "replicatedjob-replicas": "3",
        "global-replicas": "6",
        "job-index": "1",
        "job-key": hashlib.sha1(b"default/train-worker-1").hexdigest(),
        "job-global-index": "4",
        "group-name": "others",
        "group-replicas": "4",
        "job-group-index": "2",
    }
    marks = {f"{PREFIX}{name}": value for name, value in expected.items()}
    assert job["metadata"]["name"] == "train-worker-1"
    for metadata in (job["metadata"], job["spec"]["template"]["metadata"]):
        assert metadata["labels"] == marks
        assert metadata["annotations"] == marks


def test_the_coordinator_is_told_to_everyone() -> None:
    chosen = {"replicatedJob": "driver", "jobIndex": 1, "podIndex": 2}
    job = second_worker(coordinator=chosen, network={"subdomain": "net"})
    for metadata in (job["metadata"], job["spec"]["template"]["metadata"]):
        for part in ("labels", "annotations"):
            assert metadata[part][f"{PREFIX}coordinator"] == "train-driver-1-2.net"


def test_what_the_template_says_is_kept() -> None:
    worker = replicated(
        "a",
        template={"metadata": {"labels": {"of": "job"}}},
        pod={"metadata": {"annotations": {"of": "pod"}}},
        job={"backoffLimit": 7},
    )
    job = children.make_job(job_set(worker), worker, 0)
    assert job["metadata"]["labels"]["of"] == "job"
    assert job["spec"]["template"]["metadata"]["annotations"]["of"] == "pod"
    assert job["spec"]["backoffLimit"] == 7
    assert "labels" not in worker["template"]["spec"]["template"]["metadata"]


@pytest.mark.parametrize(
    ("network", "subdomain"),
    [(None, "train"), ({"subdomain": "net"}, "net"), ({"enableDNSHostnames": False}, None)],
)
def test_pods_find_each_other_under_the_name_of_the_service(
    network: Object | None, subdomain: str | None
) -> None:
    worker = replicated("a")
    parent = job_set(worker, **({"network": network} if network else {}))
    job = children.make_job(parent, worker, 0)
    assert job["spec"]["template"]["spec"].get("subdomain") == subdomain
    service = children.make_service(parent)
    if subdomain is None:
        assert service is None
        return
    assert service is not None
    assert service["metadata"]["name"] == subdomain
    assert service["spec"] == {
        "clusterIP": "None",
        "selector": {f"{PREFIX}jobset-name": "train"},
        "publishNotReadyAddresses": True,
    }


def test_addresses_that_are_not_ready_may_be_kept_back() -> None:
    parent = job_set(replicated("a"), network={"publishNotReadyAddresses": False})
    service = children.make_service(parent)
    assert service is not None
    assert service["spec"]["publishNotReadyAddresses"] is False


def test_exclusive_placement_is_handed_down_and_keeps_pods_to_labelled_nodes() -> None:
    exclusive = {
        "alpha.jobset.sigs.k8s.io/exclusive-topology": "rack",
        "alpha.jobset.sigs.k8s.io/node-selector": "true",
    }
    job = second_worker(annotations={**exclusive, "other": "stays"})
    for metadata in (job["metadata"], job["spec"]["template"]["metadata"]):
        assert exclusive.items() <= metadata["annotations"].items()
        assert "other" not in metadata["annotations"]
        assert not exclusive.keys() & metadata["labels"].keys()
    pod = job["spec"]["template"]["spec"]
    assert pod["nodeSelector"] == {
        "alpha.jobset.sigs.k8s.io/namespaced-job": "default_train-worker-1"
    }
    assert pod["tolerations"] == [
        {
            "key": "alpha.jobset.sigs.k8s.io/no-schedule",
            "operator": "Exists",
            "effect": "NoSchedule",
        }
    ]


def test_exclusive_placement_of_one_replicated_job_goes_before_that_of_all() -> None:
    key = "alpha.jobset.sigs.k8s.io/exclusive-topology"
    own = replicated("a", template={"metadata": {"annotations": {key: "zone"}}})
    parent = job_set(own, annotations={key: "rack"})
    job = children.make_job(parent, own, 0)
    assert job["metadata"]["annotations"][key] == "zone"
    assert "nodeSelector" not in job["spec"]["template"]["spec"]


@pytest.mark.parametrize(
    ("retention", "is_owned"),
    [(None, True), ({"whenDeleted": "Delete"}, True), ({"whenDeleted": "Retain"}, False)],
)
def test_claims_are_volumes_of_every_pod_and_go_with_the_jobset_unless_retained(
    retention: Object | None, is_owned: bool
) -> None:
    claim = {"metadata": {"name": "data", "labels": {"a": "b"}}, "spec": {"accessModes": ["X"]}}
    policy: Object = {"templates": [claim]}
    if retention:
        policy["retentionPolicy"] = retention
    worker = replicated("a")
    mount = {"name": "data", "mountPath": "/data"}
    worker["template"]["spec"]["template"]["spec"]["containers"][0]["volumeMounts"] = [mount]
    parent = job_set(worker, replicated("b"), volumeClaimPolicies=[policy])
    [made] = children.make_claims(parent)
    assert made["metadata"]["name"] == "data-train"
    assert made["metadata"]["labels"] == {"a": "b", f"{PREFIX}jobset-name": "train"}
    assert made["spec"] == {"accessModes": ["X"]}
    assert ("ownerReferences" in made["metadata"]) is is_owned
    volume = {"name": "data", "persistentVolumeClaim": {"claimName": "data-train"}}
    pods = [
        children.make_job(parent, each, 0)["spec"]["template"]["spec"]
        for each in children.replicated_jobs(parent)
    ]
    assert [pod.get("volumes") for pod in pods] == [[volume], [volume]]
