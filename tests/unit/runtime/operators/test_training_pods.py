"""The pods and Services of every kind of training job."""

from typing import Any

import pytest
from tests.support import operators, training

from fleetqueue.kube.resources import Object
from fleetqueue.runtime.operators.pytorch_job import family_of
from fleetqueue.runtime.operators.training_kinds import Family, training_job

pytestmark = [
    pytest.mark.rule("jobs B.4"),
    pytest.mark.rule("jobs B.4.1"),
    pytest.mark.rule("jobs D.4"),
]

PREFIX = "training.kubeflow.org/"
LEADER = {"PyTorchJob": "Master", "TFJob": "Chief", "XGBoostJob": "Master", "PaddleJob": "Master"}


def made(family: Family, obj: Object, name: str, kind: str = "Pod") -> Object:
    plan = training.see(obj, family)
    found = {
        each["metadata"]["name"]: each for each in operators.created(plan) if each["kind"] == kind
    }
    return found[name]


@pytest.mark.rule("jobs B.10")
@pytest.mark.parametrize("family", training.FAMILIES, ids=lambda family: family.name)
def test_each_replica_gets_a_pod_and_a_headless_service_of_the_same_name(family: Family) -> None:
    obj = training.job(family, {"Worker": 2})
    plan = training.see(obj, family)
    names = ["mnist-worker-0", "mnist-worker-1"]
    assert operators.created_names(plan, "Pod") == names
    assert operators.created_names(plan, "Service") == names
    marks = {
        f"{PREFIX}operator-name": f"{family.name.lower()}-controller",
        f"{PREFIX}job-name": "mnist",
        f"{PREFIX}replica-type": "worker",
        f"{PREFIX}replica-index": "1",
    }
    service = made(family, obj, "mnist-worker-1", "Service")
    assert service["metadata"]["labels"] == marks
    assert service["spec"] == {
        "clusterIP": "None",
        "selector": marks,
        "ports": [{"name": family.port_name, "port": family.port}],
    }
    pod = made(family, obj, "mnist-worker-1")
    assert pod["metadata"]["labels"] == marks
    assert not {"hostname", "subdomain"} & pod["spec"].keys()
    assert pod["metadata"]["ownerReferences"][0]["controller"] is True


@pytest.mark.parametrize(
    ("family", "container", "port_name", "port", "policy"),
    [
        (training.PYTORCH, "pytorch", "pytorchjob-port", 23456, "OnFailure"),
        (training.TF, "tensorflow", "tfjob-port", 2222, "Never"),
        (training.XGBOOST, "xgboost", "xgboostjob-port", 9999, "Never"),
        (training.PADDLE, "paddle", "master", 36543, "OnFailure"),
        (training.JAX, "jax", "jaxjob-port", 6666, "Never"),
    ],
)
def test_the_defaults_of_the_kinds(
    family: Family, container: str, port_name: str, port: int, policy: str
) -> None:
    pod = made(family, training.job(family, {"Worker": {}}), "mnist-worker-0")
    assert pod["spec"]["restartPolicy"] == policy
    [only] = pod["spec"]["containers"]
    assert only["name"] == container
    assert only["ports"] == [{"name": port_name, "containerPort": port}]


@pytest.mark.parametrize("family", training.FAMILIES, ids=lambda family: family.name)
def test_roles_may_be_written_in_any_case(family: Family) -> None:
    plan = training.see(training.job(family, {"worker": 1}), family)
    assert operators.created_names(plan, "Pod") == ["mnist-worker-0"]
    assert list(operators.status(plan)["replicaStatuses"]) == ["Worker"]


@pytest.mark.parametrize("family", training.FAMILIES, ids=lambda family: family.name)
def test_a_leader_has_the_master_role_or_else_the_first_worker(family: Family) -> None:
    key = f"{PREFIX}job-role"
    alone = training.job(family, {"Worker": 2})
    assert made(family, alone, "mnist-worker-0")["metadata"]["labels"][key] == "master"
    assert key not in made(family, alone, "mnist-worker-1")["metadata"]["labels"]
    role = LEADER.get(family.name)
    if role is None:
        return
    led = training.job(family, {role: 1, "Worker": 1})
    leader = made(family, led, f"mnist-{role.lower()}-0")
    assert leader["metadata"]["labels"][key] == "master"
    assert key not in made(family, led, "mnist-worker-0")["metadata"]["labels"]


def test_a_port_of_the_user_and_his_other_named_ports_are_kept() -> None:
    ports = [
        {"name": "pytorchjob-port", "containerPort": 1},
        {"name": "metrics", "containerPort": 2},
        {"containerPort": 3},
    ]
    container = {"name": "pytorch", "image": "i", "ports": ports}
    obj = training.job(
        training.PYTORCH, {"Worker": {"template": {"spec": {"containers": [container]}}}}
    )
    pod = made(training.PYTORCH, obj, "mnist-worker-0")
    assert pod["spec"]["containers"][0]["ports"] == ports
    service = made(training.PYTORCH, obj, "mnist-worker-0", "Service")
    assert service["spec"]["ports"] == [
        {"name": "pytorchjob-port", "port": 1},
        {"name": "metrics", "port": 2},
    ]


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ("Always", "Always"),
        ("OnFailure", "OnFailure"),
        ("Never", "Never"),
        ("ExitCode", "Never"),
    ],
)
def test_the_policy_of_the_replica_is_that_of_the_pod(policy: str, expected: str) -> None:
    container = {"name": "pytorch", "image": "i"}
    template = {"spec": {"containers": [container], "restartPolicy": "Always"}}
    roles = {"Worker": {"restartPolicy": policy, "template": template}}
    plan = training.see(training.job(training.PYTORCH, roles), training.PYTORCH)
    [pod] = [obj for obj in operators.created(plan) if obj["kind"] == "Pod"]
    assert pod["spec"]["restartPolicy"] == expected
    assert operators.events(plan) == [
        (
            "Warning",
            "SetPodTemplateRestartPolicy",
            "Restart policy in pod template will be overwritten by restart policy in replica spec",
        )
    ]


def test_labels_and_annotations_of_the_template_are_the_pods() -> None:
    template = {
        "metadata": {"labels": {"a": "b"}, "annotations": {"c": "d"}},
        "spec": {"containers": [{"name": "jax", "image": "i"}], "nodeSelector": {"pool": "x"}},
    }
    obj = training.job(training.JAX, {"Worker": {"template": template}})
    pod = made(training.JAX, obj, "mnist-worker-0")
    assert pod["metadata"]["labels"]["a"] == "b"
    assert pod["metadata"]["annotations"] == {"c": "d"}
    assert pod["spec"]["nodeSelector"] == {"pool": "x"}


@pytest.mark.rule("jobs B.4.3")
@pytest.mark.parametrize(
    ("roles", "waits"), [({"Master": 1, "Worker": 1}, True), ({"Worker": 1}, False)]
)
def test_workers_wait_for_their_master_only_where_an_image_for_that_is_given(
    roles: dict[str, Any], waits: bool
) -> None:
    obj = training.job(training.PYTORCH, roles)
    assert "initContainers" not in made(training.PYTORCH, obj, "mnist-worker-0")["spec"]
    waiting = family_of(init_image="alpine:3.10", init_tries=7)
    pod = made(waiting, obj, "mnist-worker-0")
    assert ("initContainers" in pod["spec"]) is waits
    if waits:
        [container] = pod["spec"]["initContainers"]
        assert (container["name"], container["image"]) == ("init-pytorch", "alpine:3.10")
        assert "seq 7" in container["command"][2]
        assert "nslookup mnist-master-0" in container["command"][2]
        assert "initContainers" not in made(waiting, obj, "mnist-master-0")["spec"]


def test_a_job_is_not_changed_by_a_look_at_it() -> None:
    obj = training.job(training.PYTORCH, {"worker": 1})
    before = repr(obj)
    training.see(obj, training.PYTORCH)
    assert training_job(training.PYTORCH, obj).port("Worker") == 23456
    assert repr(obj) == before
