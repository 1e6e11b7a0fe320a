"""What the pods of a job name, read from its Workload."""

from typing import Any

import pytest

from fleetqueue.multikueue.preflight import Needed
from fleetqueue.multikueue.references import device_classes_of, references_of
from support.offered import workload

pytestmark = pytest.mark.rule("LIM-2")
LABEL = "kueue.x-k8s.io/priority-class"


def made(*pods: dict[str, Any], label: str = "") -> dict[str, Any]:
    """A workload with pods like these."""
    found = workload()
    found["spec"]["podSets"] = [
        {"name": f"pods-{number}", "count": 1, "template": {"spec": pod}}
        for number, pod in enumerate(pods)
    ]
    if label:
        found["metadata"]["labels"] = {LABEL: label}
    return found


def told(found: list[Needed]) -> list[str]:
    return [f"{each.kind.kind} {each.key}" for each in found]


def volume(**source: Any) -> dict[str, Any]:
    return {"volumes": [{"name": "v", **source}]}


def projected(**source: Any) -> dict[str, Any]:
    return volume(projected={"sources": [{"downwardAPI": {}}, source]})


def container(**more: Any) -> dict[str, Any]:
    return {"containers": [{"name": "c", **more}]}


def variable(**source: Any) -> dict[str, Any]:
    plain = {"name": "PLAIN", "value": "x"}
    return container(env=[plain, {"name": "V", "valueFrom": source}])


# fmt: off
PODS: dict[str, tuple[dict[str, Any], str]] = {
    "a volume of a ConfigMap": (volume(configMap={"name": "a"}), "ConfigMap team/a"),
    "a volume of a Secret": (volume(secret={"secretName": "a"}), "Secret team/a"),
    "a projected ConfigMap": (projected(configMap={"name": "a"}), "ConfigMap team/a"),
    "a projected Secret": (projected(secret={"name": "a"}), "Secret team/a"),
    "a volume claim": (
        volume(persistentVolumeClaim={"claimName": "a"}), "PersistentVolumeClaim team/a"),
    "the password of a volume": (
        volume(cephfs={"monitors": ["m"], "secretRef": {"name": "a"}}), "Secret team/a"),
    "the password of a CSI volume": (
        volume(csi={"driver": "d", "nodePublishSecretRef": {"name": "a"}}), "Secret team/a"),
    "the password of an Azure volume": (
        volume(azureFile={"secretName": "a", "shareName": "s"}), "Secret team/a"),
    "all variables of a ConfigMap": (
        container(envFrom=[{"prefix": "P", "configMapRef": {"name": "a"}}]), "ConfigMap team/a"),
    "all variables of a Secret": (
        container(envFrom=[{"secretRef": {"name": "a"}}]), "Secret team/a"),
    "a variable from a ConfigMap": (
        variable(configMapKeyRef={"name": "a", "key": "k"}), "ConfigMap team/a"),
    "a variable from a Secret": (
        variable(secretKeyRef={"name": "a", "key": "k"}), "Secret team/a"),
    "a pull secret": ({"imagePullSecrets": [{"name": "a"}]}, "Secret team/a"),
    "a service account": ({"serviceAccountName": "a"}, "ServiceAccount team/a"),
    "a priority class": ({"priorityClassName": "a"}, "PriorityClass a"),
    "a device claim": (
        {"resourceClaims": [{"name": "c", "resourceClaimName": "a"}]}, "ResourceClaim team/a"),
    "a template of device claims": (
        {"resourceClaims": [{"name": "c", "resourceClaimTemplateName": "a"}]},
        "ResourceClaimTemplate team/a"),
}

NOTHING: dict[str, dict[str, Any]] = {
    "no pod spec": {},
    "empty parts": {"volumes": None, "containers": [{"name": "c", "env": None}]},
    "the account of every namespace": {"serviceAccountName": "default"},
    "the authority of every namespace": projected(configMap={"name": "kube-root-ca.crt"}),
    "variables of their own": container(env=[{"name": "A", "value": "b"}]),
    "other volumes": volume(emptyDir={}),
    "empty references": volume(configMap=None),
    "an optional ConfigMap": volume(configMap={"name": "a", "optional": True}),
    "an optional Secret": volume(secret={"secretName": "a", "optional": True}),
    "an optional projection": projected(secret={"name": "a", "optional": True}),
    "optional variables": container(envFrom=[{"secretRef": {"name": "a", "optional": True}}]),
    "an optional variable": variable(configMapKeyRef={"name": "a", "key": "k", "optional": True}),
}
# fmt: on


@pytest.mark.parametrize(("pod", "expected"), PODS.values(), ids=PODS.keys())
def test_every_reference_is_found(pod: dict[str, Any], expected: str) -> None:
    assert told(references_of(made(pod))) == [expected]


@pytest.mark.parametrize("pod", NOTHING.values(), ids=NOTHING.keys())
def test_what_no_pod_needs_is_left_out(pod: dict[str, Any]) -> None:
    assert references_of(made(pod)) == []


def test_containers_that_run_first_count_too() -> None:
    refers = variable(secretKeyRef={"name": "a", "key": "k"})["containers"]
    everything = [{"name": "i", "envFrom": [{"configMapRef": {"name": "b"}}]}]

    found = references_of(made({"initContainers": [*refers, *everything]}))

    assert told(found) == ["ConfigMap team/b", "Secret team/a"]


def test_each_is_told_once_kind_by_kind() -> None:
    first = {"serviceAccountName": "a", **volume(secret={"secretName": "b"})}
    second = {
        "serviceAccountName": "a",
        "imagePullSecrets": [{"name": "a"}, {"name": "b"}],
        **volume(configMap={"name": "a"}),
    }

    assert told(references_of(made(first, second, first))) == [
        "ConfigMap team/a",
        "Secret team/b",
        "Secret team/a",
        "ServiceAccount team/a",
    ]


def test_one_that_some_pod_needs_counts_though_others_can_do_without() -> None:
    may = volume(configMap={"name": "a", "optional": True})

    assert told(references_of(made(may, volume(configMap={"name": "a"})))) == ["ConfigMap team/a"]


def test_the_class_in_the_queue_is_named_by_a_label() -> None:
    job = {"kind": "Job", "metadata": {"name": "j", "labels": {LABEL: "high"}}}

    assert told(references_of(made(), job)) == ["WorkloadPriorityClass high"]
    assert told(references_of(made(label="high"), job)) == ["WorkloadPriorityClass high"]
    assert told(references_of(made(label="low"))) == ["WorkloadPriorityClass low"]


def test_what_the_trainer_makes_is_left_out() -> None:
    pod = {
        "volumes": [
            {"name": "a", "secret": {"secretName": "train-mpi-ssh-auth"}},
            {"name": "b", "configMap": {"name": "train-mpi-hostfile"}},
            {"name": "c", "configMap": {"name": "mine"}},
        ]
    }
    job = {"kind": "TrainJob", "metadata": {"name": "train", "namespace": "team"}}

    assert told(references_of(made(pod), job)) == ["ConfigMap team/mine"]


def test_what_is_wrapped_with_a_job_is_left_out() -> None:
    pod = {"serviceAccountName": "a", **volume(configMap={"name": "a"})}
    parts = [{"template": {"kind": "ConfigMap", "metadata": {"name": "a"}}}]
    job = {"kind": "AppWrapper", "metadata": {"name": "w"}, "spec": {"components": parts}}

    assert told(references_of(made(pod), job)) == ["ServiceAccount team/a"]


def test_device_classes_are_those_of_claims_and_of_templates() -> None:
    exact = {"name": "r", "exactly": {"deviceClassName": "gpu"}}
    older = {"name": "r", "deviceClassName": "nic"}
    either = {"name": "r", "firstAvailable": [{"name": "s", "deviceClassName": "tpu"}]}
    claim = {"spec": {"devices": {"requests": [exact, either]}}}
    template = {"spec": {"spec": {"devices": {"requests": [older, exact]}}}}

    found = device_classes_of([claim, template, {"spec": {}}])

    assert told(found) == ["DeviceClass gpu", "DeviceClass nic"]
