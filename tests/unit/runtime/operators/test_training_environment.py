"""The variables by which the pods of a training job find each other."""

import json
from typing import Any

import pytest
from tests.support import operators, training

from fleetqueue.kube.resources import Object
from fleetqueue.runtime.operators import tf_job
from fleetqueue.runtime.operators.training_kinds import Family

pytestmark = pytest.mark.rule("jobs B.4.3")


def variables(family: Family, obj: Object, name: str) -> dict[str, Any]:
    plan = training.see(obj, family)
    created = [each for each in operators.created(plan) if each["kind"] == "Pod"]
    pods = {each["metadata"]["name"]: each for each in created}
    return training.environment(pods[name])


def test_pytorch_with_a_master() -> None:
    obj = training.job(training.PYTORCH, {"Master": 1, "Worker": 2}, nprocPerNode="4")
    common = {
        "PYTHONUNBUFFERED": "1",
        "MASTER_PORT": "23456",
        "PET_MASTER_PORT": "23456",
        "MASTER_ADDR": "mnist-master-0",
        "PET_MASTER_ADDR": "mnist-master-0",
        "WORLD_SIZE": "12",
        "PET_NPROC_PER_NODE": "4",
        "PET_NNODES": "3",
    }
    for name, rank in (("master-0", "0"), ("worker-0", "1"), ("worker-1", "2")):
        found = variables(training.PYTORCH, obj, f"mnist-{name}")
        assert found == {**common, "RANK": rank, "PET_NODE_RANK": rank}


@pytest.mark.parametrize(("given", "world"), [("auto", "2"), ("gpu", "2"), ("8", "16")])
def test_pytorch_counts_only_numbers_of_processes(given: str, world: str) -> None:
    obj = training.job(training.PYTORCH, {"Master": 1, "Worker": 1}, nprocPerNode=given)
    found = variables(training.PYTORCH, obj, "mnist-master-0")
    assert (found["WORLD_SIZE"], found["PET_NPROC_PER_NODE"]) == (world, given)


def test_pytorch_without_a_master() -> None:
    obj = training.job(training.PYTORCH, {"Worker": 2})
    assert variables(training.PYTORCH, obj, "mnist-worker-1") == {
        "PYTHONUNBUFFERED": "1",
        "PET_NPROC_PER_NODE": "auto",
        "PET_NNODES": "2",
    }


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        (
            {},
            {
                "PET_RDZV_ENDPOINT": "mnist-worker-0:23456",
                "PET_RDZV_BACKEND": "c10d",
                "PET_NNODES": "3",
                "PET_NPROC_PER_NODE": "auto",
            },
        ),
        (
            {"minReplicas": 1, "maxReplicas": 4, "maxRestarts": 0, "nProcPerNode": 2},
            {
                "PET_RDZV_ENDPOINT": "mnist-worker-0:23456",
                "PET_RDZV_BACKEND": "c10d",
                "PET_NNODES": "1:4",
                "PET_MAX_RESTARTS": "0",
                "PET_NPROC_PER_NODE": "2",
            },
        ),
        (
            {
                "maxReplicas": 4,
                "rdzvBackend": "etcd",
                "rdzvHost": "etcd",
                "rdzvPort": 2379,
                "rdzvId": "one",
                "rdzvConf": [{"key": "a", "value": "b"}, {"key": "c", "value": "d"}],
                "standalone": True,
            },
            {
                "PET_RDZV_ENDPOINT": "etcd:2379",
                "PET_RDZV_BACKEND": "etcd",
                "PET_NNODES": "4:4",
                "PET_NPROC_PER_NODE": "auto",
                "PET_RDZV_ID": "one",
                "PET_RDZV_CONF": "a=b,c=d",
                "PET_STANDALONE": "",
            },
        ),
    ],
)
def test_pytorch_elastic(policy: Object, expected: dict[str, str]) -> None:
    obj = training.job(training.PYTORCH, {"Worker": 3}, elasticPolicy=policy)
    found = variables(training.PYTORCH, obj, "mnist-worker-2")
    assert found == {"PYTHONUNBUFFERED": "1", **expected}


def test_tensorflow_describes_the_cluster_without_evaluators() -> None:
    roles = {"Chief": 1, "PS": 1, "Worker": 2, "Evaluator": 1}
    obj = training.job(training.TF, roles)
    text = variables(training.TF, obj, "mnist-worker-1")["TF_CONFIG"]
    assert text == (
        '{"cluster":{"chief":["mnist-chief-0.default.svc:2222"],'
        '"ps":["mnist-ps-0.default.svc:2222"],'
        '"worker":["mnist-worker-0.default.svc:2222","mnist-worker-1.default.svc:2222"]},'
        '"task":{"type":"worker","index":1},"environment":"cloud"}'
    )
    evaluator = json.loads(variables(training.TF, obj, "mnist-evaluator-0")["TF_CONFIG"])
    assert evaluator["task"] == {"type": "evaluator", "index": 0}


def test_tensorflow_tells_a_single_replica_nothing() -> None:
    obj = training.job(training.TF, {"Worker": 1})
    assert variables(training.TF, obj, "mnist-worker-0") == {}


def test_tensorflow_hosts_may_end_in_a_cluster_domain() -> None:
    family = tf_job.family_of(cluster_domain="cluster.local")
    obj = training.job(family, {"Worker": 2})
    config = json.loads(variables(family, obj, "mnist-worker-0")["TF_CONFIG"])
    assert config["cluster"]["worker"][1] == "mnist-worker-1.default.svc.cluster.local:2222"


@pytest.mark.parametrize(
    ("name", "cluster"),
    [
        (
            "mnist-worker-1",
            {
                "worker": {"1": "mnist-worker-1.default.svc:2222"},
                "ps": ["mnist-ps-0.default.svc:2222", "mnist-ps-1.default.svc:2222"],
            },
        ),
        ("mnist-ps-1", {"worker": {}, "ps": ["mnist-ps-1.default.svc:2222"]}),
    ],
)
def test_a_dynamic_worker_knows_itself_and_the_servers(name: str, cluster: Object) -> None:
    obj = training.job(training.TF, {"PS": 2, "Worker": 2}, enableDynamicWorker=True)
    config = json.loads(variables(training.TF, obj, name)["TF_CONFIG"])
    assert config["cluster"] == cluster
    assert "environment" not in config


def test_only_the_container_of_tensorflow_is_told() -> None:
    containers = [{"name": "side", "image": "i"}, {"name": "tensorflow", "image": "i"}]
    roles = {"Worker": {"replicas": 2, "template": {"spec": {"containers": containers}}}}
    plan = training.see(training.job(training.TF, roles), training.TF)
    pod = next(obj for obj in operators.created(plan) if obj["kind"] == "Pod")
    assert training.environment(pod, 0) == {}
    assert list(training.environment(pod, 1)) == ["TF_CONFIG"]


def test_xgboost_ranks_the_workers_after_the_master() -> None:
    obj = training.job(training.XGBOOST, {"Master": 1, "Worker": 2})
    assert variables(training.XGBOOST, obj, "mnist-worker-1") == {
        "MASTER_PORT": "9999",
        "MASTER_ADDR": "mnist-master-0",
        "WORLD_SIZE": "3",
        "RANK": "2",
        "PYTHONUNBUFFERED": "1",
        "WORKER_PORT": "9999",
        "WORKER_ADDRS": "mnist-worker-0,mnist-worker-1",
    }
    assert variables(training.XGBOOST, obj, "mnist-master-0")["RANK"] == "0"
    alone = training.job(training.XGBOOST, {"Master": 1})
    assert "WORKER_PORT" not in variables(training.XGBOOST, alone, "mnist-master-0")


@pytest.mark.parametrize(
    ("roles", "name", "expected"),
    [
        ({"Worker": 2}, "mnist-worker-0", {"PADDLE_MASTER": "$(POD_IP_DUMMY):36543"}),
        ({"Worker": 2}, "mnist-worker-1", {"PADDLE_MASTER": "mnist-worker-0:36543"}),
        (
            {"Master": 1, "Worker": 1},
            "mnist-master-0",
            {"PADDLE_MASTER": "$(POD_IP_DUMMY):36543", "PADDLE_SERVER_NUM": "1"},
        ),
        (
            {"Master": 1, "Worker": 1},
            "mnist-worker-0",
            {"PADDLE_MASTER": "mnist-master-0:36543", "PADDLE_TRAINER_NUM": "1"},
        ),
    ],
)
def test_paddle_meets_at_the_master_or_the_first_worker(
    roles: dict[str, int], name: str, expected: dict[str, Any]
) -> None:
    found = variables(training.PADDLE, training.job(training.PADDLE, roles), name)
    common = {
        "PYTHONUNBUFFERED": "1",
        "PADDLE_JOB_ID": "mnist",
        "PADDLE_NNODES": "2",
        "POD_IP_DUMMY": {"fieldRef": {"fieldPath": "status.podIP"}},
    }
    assert found == {**common, **expected}


def test_jax_meets_at_the_first_worker() -> None:
    obj = training.job(training.JAX, {"Worker": 3})
    assert variables(training.JAX, obj, "mnist-worker-2") == {
        "PYTHONUNBUFFERED": "1",
        "COORDINATOR_PORT": "6666",
        "COORDINATOR_ADDRESS": "mnist-worker-0",
        "NUM_PROCESSES": "3",
        "PROCESS_ID": "2",
    }


@pytest.mark.parametrize("family", [training.PYTORCH, training.JAX], ids=lambda each: each.name)
def test_what_the_user_says_comes_first_so_that_ours_wins(family: Family) -> None:
    env = [{"name": "PYTHONUNBUFFERED", "value": "0"}]
    containers = [
        {"name": family.container, "image": "i", "env": env},
        {"name": "side", "image": "i"},
    ]
    roles = {"Worker": {"template": {"spec": {"containers": containers}}}}
    plan = training.see(training.job(family, roles), family)
    pod = next(obj for obj in operators.created(plan) if obj["kind"] == "Pod")
    first, *rest = pod["spec"]["containers"][0]["env"]
    assert first == env[0]
    assert {"name": "PYTHONUNBUFFERED", "value": "1"} in rest
    assert training.environment(pod, 1)["PYTHONUNBUFFERED"] == "1"
