"""OpenAPI documents: every reference leads somewhere, every path has what clients look for."""

from functools import cache
from typing import Any

import pytest

from fleetqueue.apiserver import builtins
from fleetqueue.apiserver.openapi import naming, parameters, schemas, v2, v3
from fleetqueue.apiserver.registry import Registry


@cache
def registry() -> Registry:
    made = Registry()
    builtins.register(made)
    return made


@cache
def document(name: str) -> dict[str, Any]:
    made = v3.document(registry(), name)
    assert made is not None
    return made


def test_every_reference_leads_to_a_schema() -> None:
    for name in v3.documents(registry()):
        made = document(name)
        known = made["components"].get("schemas", {})
        assert set(schemas.references(made)) <= set(known), name


def test_nothing_is_described_that_nobody_refers_to() -> None:
    made = document("apis/apps/v1")
    assert set(made["components"]["schemas"]) == set(schemas.references(made))


def test_an_unknown_document_is_none() -> None:
    assert v3.document(registry(), "apis/none.example/v1") is None


def test_parameters_of_all_operations_are_said_once() -> None:
    item = document("apis/apps/v1")["paths"]["/apis/apps/v1/namespaces/{namespace}/deployments"]
    assert [one["name"] for one in item["parameters"]] == ["namespace", "pretty"]
    assert "parameters" in item["post"]
    common = {"a": {"parameters": parameters.queries(["x", "y"])}, "b": {"parameters": []}}
    assert parameters.shared(common)["a"]["parameters"] == parameters.queries(["x", "y"])


def test_an_operation_names_its_kind() -> None:
    pods = document("api/v1")["paths"]["/api/v1/namespaces/{namespace}/pods/{name}"]
    kind = {"group": "", "kind": "Pod", "version": "v1"}
    assert pods["patch"]["x-kubernetes-group-version-kind"] == kind
    assert pods["patch"]["operationId"] == "patchCoreV1NamespacedPod"


@pytest.mark.parametrize(
    ("group", "version", "tag"),
    [
        ("", "v1", "core_v1"),
        ("apps", "v1", "apps_v1"),
        ("rbac.authorization.k8s.io", "v1", "rbacAuthorization_v1"),
        ("kueue.x-k8s.io", "v1beta1", "kueueXK8sIo_v1beta1"),
    ],
)
def test_a_tag_is_made_of_group_and_version(group: str, version: str, tag: str) -> None:
    assert naming.tag(group, version) == tag


def test_version_2_has_no_alternatives_and_refers_to_its_definitions() -> None:
    made = v2.document(registry())
    definitions = made["definitions"]
    quantity = definitions["io.k8s.apimachinery.pkg.api.resource.Quantity"]
    assert quantity == {"type": "string"}
    assert set(schemas.references(made)) <= set(definitions)
