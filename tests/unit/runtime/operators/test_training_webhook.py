"""What is put right of a training job, and why one is refused."""

import copy
from typing import Any

import pytest
from tests.support import operators, training
from tests.support.training import JAX, PADDLE, PYTORCH, TF, XGBOOST

from fleetqueue.kube.resources import Object
from fleetqueue.runtime.operators import pytorch_job
from fleetqueue.runtime.operators.training_kinds import Family
from fleetqueue.runtime.operators.training_webhook import default, validate, webhook_of

pytestmark = [pytest.mark.rule("jobs B.4.4"), pytest.mark.rule("jobs D.4")]

NO_CONTAINERS: Object = {"template": {"spec": {}}}


def check(family: Family, obj: Object, old: Object | None = None) -> list[str]:
    return operators.texts(validate(family, operators.asked(obj, old)))


@pytest.mark.parametrize(
    ("family", "roles"),
    [
        (PYTORCH, {"Master": 1, "Worker": 3}),
        (PYTORCH, {"Worker": {}}),
        (TF, {"Chief": 1, "PS": 2, "Worker": 2, "Evaluator": 1}),
        (TF, {"worker": 1}),
        (XGBOOST, {"Master": 1}),
        (PADDLE, {"Master": 2, "Worker": 2}),
        (JAX, {"Worker": 4}),
    ],
)
def test_proper_jobs_are_welcome(family: Family, roles: dict[str, Any]) -> None:
    assert check(family, training.job(family, roles)) == []


@pytest.mark.parametrize("family", training.FAMILIES, ids=lambda family: family.name)
def test_the_webhook_is_named_after_the_kind(family: Family) -> None:
    kind = family.name.lower()
    webhook = webhook_of(family)
    assert webhook.name == f"validator.{kind}.training-operator.kubeflow.org"


@pytest.mark.rule("jobs B.4.1")
def test_roles_are_stored_as_they_are_spelled_properly() -> None:
    obj = training.job(TF, {"ps": 1, "WORKER": 2})
    default(TF, operators.asked(obj))
    assert {role: spec["replicas"] for role, spec in obj["spec"][TF.specs].items()} == {
        "PS": 1,
        "Worker": 2,
    }
    changed = training.job(TF, {"worker": 3, "PS": 1, "Worker": 2, "Foreman": 1})
    default(TF, operators.asked(changed, obj))
    assert {role: spec["replicas"] for role, spec in changed["spec"][TF.specs].items()} == {
        "PS": 1,
        "Worker": 3,
        "Foreman": 1,
    }


@pytest.mark.parametrize("family", [PYTORCH, TF, PADDLE, JAX], ids=lambda family: family.name)
def test_what_is_refused_of_every_kind(family: Family) -> None:
    path = f"spec.{family.specs}"
    obj = training.job(family, {"Worker": 1})
    del obj["spec"][family.specs]
    assert check(family, obj) == [f"{path}: Required value: must be specified"]

    containers = f"{path}[Worker].template.spec.containers"
    named = f"must have at least one container with name {family.container}"
    assert check(family, training.job(family, {"Worker": NO_CONTAINERS})) == [
        f"{containers}: Required value: must be specified",
        f"{containers}: Required value: {named}",
    ]
    other = {"template": {"spec": {"containers": [{"name": "other"}]}}}
    assert check(family, training.job(family, {"Worker": other})) == [
        f"{containers}[0].image: Required value: must be required",
        f"{containers}: Required value: {named}",
    ]
    roles = ", ".join(f'"{role}"' for role in family.roles)
    assert check(family, training.job(family, {"Worker": 1, "Foreman": 1})) == [
        f'{path}[Foreman]: Unsupported value: "Foreman": supported values: {roles}'
    ]


def test_a_name_must_do_for_services() -> None:
    pattern = "[a-z]([-a-z0-9]*[a-z0-9])?"
    assert check(JAX, training.job(JAX, {"Worker": 1}, name="1st")) == [
        f'metadata.name: Invalid value: "1st": should match: {pattern}'
    ]
    long = "a" * 64
    assert check(JAX, training.job(JAX, {"Worker": 1}, name=long)) == [
        f'metadata.name: Invalid value: "{long}": must be no more than 63 characters'
    ]


@pytest.mark.parametrize(
    ("family", "roles", "expected"),
    [
        (PYTORCH, {"Master": 2}, ["[Master].replicas: Forbidden: must be 1"]),
        (PYTORCH, {"Master": {}}, ["[Master].replicas: Forbidden: must be 1"]),
        (PYTORCH, {"Master": 0}, ["[Master].replicas: Forbidden: must be 1"]),
        *(
            (family, {"Worker": 0}, ["[Worker].replicas: Forbidden: must be at least 1"])
            for family in (PYTORCH, TF, PADDLE, JAX)
        ),
        (TF, {"PS": 0, "worker": 1}, ["[PS].replicas: Forbidden: must be at least 1"]),
        (
            XGBOOST,
            {"Master": 1, "Worker": 0},
            ["[Worker].replicas: Forbidden: must be at least 1"],
        ),
        (XGBOOST, {"Master": 2}, ["[Master].replicas: Forbidden: must be 1"]),
        (XGBOOST, {"Master": {}}, ["[Master].replicas: Forbidden: must be 1"]),
        (XGBOOST, {"Worker": 1}, ["[Master]: Required value: must be present"]),
        (
            TF,
            {"Chief": 1, "Master": 1},
            [": Forbidden: must not have more than 1 Chief or Master role"],
        ),
    ],
)
def test_numbers_that_a_kind_does_not_allow(
    family: Family, roles: dict[str, Any], expected: list[str]
) -> None:
    path = f"spec.{family.specs}"
    assert check(family, training.job(family, roles)) == [f"{path}{text}" for text in expected]


@pytest.mark.rule("KF-2")
@pytest.mark.rule("S000-13")
@pytest.mark.parametrize("family", training.FAMILIES, ids=lambda family: family.name)
def test_only_known_managers_and_those_for_good(family: Family) -> None:
    roles = {"Master": 1} if family is XGBOOST else {"Worker": 1}
    obj = training.job(family, roles, runPolicy={"managedBy": "example.com/me"})
    path = "spec.runPolicy.managedBy"
    known = '"kubeflow.org/training-operator", "kueue.x-k8s.io/multikueue"'
    assert check(family, obj) == [
        f'{path}: Unsupported value: "example.com/me": supported values: {known}'
    ]
    old = copy.deepcopy(obj)
    old["spec"]["runPolicy"]["managedBy"] = "kubeflow.org/training-operator"
    obj["spec"]["runPolicy"]["managedBy"] = "kueue.x-k8s.io/multikueue"
    assert check(family, obj, old) == [
        f'{path}: Invalid value: "kueue.x-k8s.io/multikueue": field is immutable'
    ]
    assert check(family, obj, copy.deepcopy(obj)) == []


def test_an_elastic_job_needs_workers_and_one_number_of_processes() -> None:
    elastic = {"nProcPerNode": 2}
    obj = training.job(PYTORCH, {"Master": 1}, elasticPolicy=elastic, nprocPerNode="2")
    asked = operators.asked(obj)
    assert operators.texts(validate(pytorch_job.FAMILY, asked)) == [
        "spec.pytorchReplicaSpecs[Worker]: Required value: must be configured if elastic policy "
        "is used",
        "spec.elasticPolicy.nProcPerNode: Forbidden: must not be used with spec.nprocPerNode",
    ]
    assert asked.warnings == [
        "spec.elasticPolicy.nProcPerNode is deprecated, use spec.nprocPerNode instead"
    ]
