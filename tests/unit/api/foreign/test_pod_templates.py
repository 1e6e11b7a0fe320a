"""Pod templates inside foreign kinds: what survives, what is filled in, what merges by key."""

import pytest

from fleetqueue.base import codec

TEMPLATES = [
    ("jobset.x-k8s.io/v1alpha2", "JobSet", "spec.replicatedJobs.[].template.spec.template"),
    ("kubeflow.org/v1", "PyTorchJob", "spec.pytorchReplicaSpecs.Worker.template"),
    ("kubeflow.org/v1", "TFJob", "spec.tfReplicaSpecs.Chief.template"),
    ("kubeflow.org/v2beta1", "MPIJob", "spec.mpiReplicaSpecs.Launcher.template"),
    ("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", "spec.leaderWorkerTemplate.workerTemplate"),
    ("ray.io/v1", "RayCluster", "spec.headGroupSpec.template"),
    ("ray.io/v1alpha1", "RayCluster", "spec.workerGroupSpecs.[].template"),
    ("ray.io/v1", "RayJob", "spec.submitterPodTemplate"),
    ("ray.io/v1", "RayService", "spec.rayClusterConfig.headGroupSpec.template"),
    (
        "trainer.kubeflow.org/v1alpha1",
        "ClusterTrainingRuntime",
        "spec.template.spec.replicatedJobs.[].template.spec.template",
    ),
]

# fmt: off
LISTS = {
    "containers":                        ("map", ("name",)),
    "initContainers":                    ("map", ("name",)),
    "containers.[].env":                 ("map", ("name",)),
    "containers.[].ports":               ("map", ("containerPort", "protocol")),
    "containers.[].volumeMounts":        ("map", ("mountPath",)),
    "containers.[].args":                ("atomic", ()),
    "volumes":                           ("map", ("name",)),
    "tolerations":                       ("atomic", ()),
    "schedulingGates":                   ("map", ("name",)),
    "topologySpreadConstraints":         ("map", ("topologyKey", "whenUnsatisfiable")),
    "imagePullSecrets":                  ("map", ("name",)),
    "hostAliases":                       ("map", ("ip",)),
}
# fmt: on


@pytest.mark.rule("jobs D.0")
@pytest.mark.parametrize(("api_version", "kind", "path"), TEMPLATES)
def test_lists_merge_by_the_keys_of_the_core_types(server, api_version, kind, path):
    pod = server.schema(api_version, kind).at(*path.split("."), "spec")
    found = {name: pod.at(*name.split(".")) for name in LISTS}
    assert {name: (node.list_type, node.list_keys) for name, node in found.items()} == LISTS


def training_job(template):
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "metadata": {"name": "train"},
        "spec": {"pytorchReplicaSpecs": {"Worker": {"template": template}}},
    }


def written(server, template):
    result = server.write(training_job(template))
    assert result.errors == []
    return result.obj["spec"]["pytorchReplicaSpecs"]["Worker"]["template"], result.dropped


@pytest.mark.rule("jobs D.0")
def test_labels_of_a_template_survive_and_its_other_metadata_does_not(server):
    metadata = {
        "name": "n",
        "namespace": "d",
        "labels": {"a": "b"},
        "annotations": {"c": "d"},
        "finalizers": ["e/f"],
    }
    given = {
        "metadata": {**metadata, "creationTimestamp": None, "generateName": "x"},
        "spec": {"containers": [{"name": "main"}]},
    }
    template, dropped = written(server, given)
    assert template["metadata"] == metadata
    at = "spec.pytorchReplicaSpecs.Worker.template.metadata"
    assert dropped == [f"{at}.creationTimestamp", f"{at}.generateName"]


@pytest.mark.rule("jobs D.0")
@pytest.mark.parametrize("amount", [2, "2", "500m", codec.decode("2.0"), "1e3", "1.5Gi"])
def test_amounts_may_be_numbers_or_text(server, amount):
    container = {"name": "main", "resources": {"limits": {"cpu": amount}}}
    template, _ = written(server, {"spec": {"containers": [container]}})
    assert template["spec"]["containers"] == [container]


@pytest.mark.parametrize("amount", ["two", "2 Gi", 2.5, True, ""])
def test_what_is_no_amount_is_refused(server, amount):
    container = {"name": "main", "resources": {"limits": {"cpu": amount}}}
    assert server.write(training_job({"spec": {"containers": [container]}})).errors


def test_a_port_is_tcp_unless_it_says_otherwise(server):
    ports = [{"containerPort": 1}, {"containerPort": 1, "protocol": "UDP"}]
    template, _ = written(server, {"spec": {"containers": [{"name": "main", "ports": ports}]}})
    shown = [port["protocol"] for port in template["spec"]["containers"][0]["ports"]]
    assert shown == ["TCP", "UDP"]


REFUSED = {
    "no containers": {},
    "a container without a name": {"containers": [{"image": "i"}]},
    "two containers of one name": {"containers": [{"name": "a"}, {"name": "a"}]},
    "one port twice": {
        "containers": [
            {"name": "a", "ports": [{"containerPort": 1}, {"containerPort": 1, "protocol": "TCP"}]}
        ]
    },
    "a number as text": {"containers": [{"name": "a"}], "activeDeadlineSeconds": "5"},
    "a variable without a name": {"containers": [{"name": "a", "env": [{"value": "x"}]}]},
}


@pytest.mark.parametrize("wrong", REFUSED)
def test_a_template_that_no_pod_could_have_is_refused(server, wrong):
    assert server.write(training_job({"spec": REFUSED[wrong]})).errors


def test_words_that_only_the_pod_itself_is_checked_for_pass(server):
    spec = {"containers": [{"name": "a", "imagePullPolicy": "Sometimes"}], "restartPolicy": "Maybe"}
    template, _ = written(server, {"spec": spec})
    assert template["spec"] == spec


def test_unknown_fields_of_a_pod_are_dropped(server):
    _, dropped = written(server, {"spec": {"containers": [{"name": "a", "colour": "red"}]}})
    assert dropped == ["spec.pytorchReplicaSpecs.Worker.template.spec.containers[0].colour"]
