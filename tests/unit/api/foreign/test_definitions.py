"""The foreign CRDs: what is served under which names, and that a server takes the schemas."""

import pytest

from fleetqueue.api import foreign
from fleetqueue.api.foreign.job_set import JOB_SET

NS = "Namespaced"

# fmt: off
KINDS = {
    # name of the CRD: short name, scope, versions, subresources
    "appwrappers.workload.codeflare.dev":           ("aw", NS, "v1beta2", "status"),
    "clusterprofiles.multicluster.x-k8s.io":        ("", NS, "v1alpha1", "status"),
    "clustertrainingruntimes.trainer.kubeflow.org": ("", "Cluster", "v1alpha1", ""),
    "jaxjobs.kubeflow.org":                         ("", NS, "v1", "scale status"),
    "jobsets.jobset.x-k8s.io":                      ("", NS, "v1alpha2", "status"),
    "leaderworkersets.leaderworkerset.x-k8s.io":    ("lws", NS, "v1", "scale status"),
    "mpijobs.kubeflow.org":                         ("", NS, "v2beta1", "status"),
    "paddlejobs.kubeflow.org":                      ("", NS, "v1", "scale status"),
    "pytorchjobs.kubeflow.org":                     ("", NS, "v1", "scale status"),
    "rayclusters.ray.io":                           ("", NS, "v1 v1alpha1", "status"),
    "rayjobs.ray.io":                               ("", NS, "v1 v1alpha1", "status"),
    "rayservices.ray.io":                           ("", NS, "v1 v1alpha1", "status"),
    "tfjobs.kubeflow.org":                          ("", NS, "v1", "status"),
    "trainingruntimes.trainer.kubeflow.org":        ("", NS, "v1alpha1", ""),
    "trainjobs.trainer.kubeflow.org":               ("", NS, "v1alpha1", "status"),
    "xgboostjobs.kubeflow.org":                     ("", NS, "v1", "status"),
}

# fmt: on

COLUMNS = {
    "appwrappers.workload.codeflare.dev": (
        "Status, Quota Reserved, Resources Deployed, Unhealthy, Age"
    ),
    "jobsets.jobset.x-k8s.io": "TerminalState, Restarts, Completed, Suspended, Age",
    "trainjobs.trainer.kubeflow.org": "State, Age",
    "pytorchjobs.kubeflow.org": "State, Age",
    "mpijobs.kubeflow.org": "",
    "leaderworkersets.leaderworkerset.x-k8s.io": "Ready, Desired, Up-to-date, Age",
    "rayjobs.ray.io": (
        "job status, deployment status, ray cluster name, start time, end time, age"
    ),
}


@pytest.fixture(scope="module")
def crds():
    return {one["metadata"]["name"]: one for one in foreign.crds()}


def test_every_foreign_kind_is_there_and_no_other(crds):
    assert list(crds) == sorted(KINDS)


@pytest.mark.parametrize("name", KINDS)
def test_a_kind_is_served_as_its_project_serves_it(name, crds):
    short, scope, versions, subresources = KINDS[name]
    spec = crds[name]["spec"]
    assert spec["names"].get("shortNames", []) == short.split()
    assert spec["names"]["singular"] == spec["names"]["kind"].lower()
    assert spec["names"]["listKind"] == f"{spec['names']['kind']}List"
    assert spec["scope"] == scope
    assert [one["name"] for one in spec["versions"]] == versions.split()
    assert [one["storage"] for one in spec["versions"]] == [True, False][: len(spec["versions"])]
    for version in spec["versions"]:
        assert sorted(version.get("subresources", {})) == subresources.split()


@pytest.mark.parametrize("name", KINDS)
def test_every_schema_is_structural(name, crds, structural_faults):
    for version in crds[name]["spec"]["versions"]:
        assert structural_faults(version["schema"]["openAPIV3Schema"]) == []


@pytest.mark.parametrize("name", COLUMNS)
def test_columns_are_those_that_people_know(name, crds):
    columns = crds[name]["spec"]["versions"][0].get("additionalPrinterColumns", [])
    assert ", ".join(column["name"] for column in columns) == COLUMNS[name]


def test_training_jobs_scale_by_their_workers(crds):
    scale = crds["pytorchjobs.kubeflow.org"]["spec"]["versions"][0]["subresources"]["scale"]
    assert scale == {
        "specReplicasPath": ".spec.pytorchReplicaSpecs.Worker.replicas",
        "statusReplicasPath": ".status.replicaStatuses.Worker.active",
        "labelSelectorPath": ".status.replicaStatuses.Worker.selector",
    }


def test_the_older_version_of_ray_warns(crds):
    old = crds["rayclusters.ray.io"]["spec"]["versions"][1]
    assert old["deprecated"]
    assert "use ray.io/v1 RayCluster" in old["deprecationWarning"]
    assert crds["rayclusters.ray.io"]["spec"]["names"]["categories"] == ["all"]


def test_a_caller_may_change_what_it_gets(crds):
    schema = crds["jobsets.jobset.x-k8s.io"]["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    assert schema["properties"]["spec"] == JOB_SET.spec
    assert schema["properties"]["spec"] is not JOB_SET.spec
