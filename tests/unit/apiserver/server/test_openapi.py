"""OpenAPI as it is served: documents follow the CRDs, and clients may keep what did not change."""

from typing import Any

from fleetqueue.base import codec

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
SCHEMA = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "properties": {
                "port": {"x-kubernetes-int-or-string": True},
                "inner": {
                    "type": "object",
                    "x-kubernetes-embedded-resource": True,
                    "x-kubernetes-preserve-unknown-fields": True,
                },
            },
        }
    },
}
CRD = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "gadgets.example.com"},
    "spec": {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"plural": "gadgets", "kind": "Gadget"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": SCHEMA},
            }
        ],
    },
}
DOCUMENT = "apis/example.com/v1"


async def index(api: Any) -> dict[str, str]:
    paths = (await api.get("/openapi/v3"))["paths"]
    return {name: path["serverRelativeURL"] for name, path in paths.items()}


async def test_a_crd_has_its_document_and_changes_no_other(api: Any) -> None:
    before = await index(api)
    await api.post(CRDS, CRD)
    assert api.status == 201
    await api.settle()
    after = await index(api)
    assert DOCUMENT not in before
    assert {name: after[name] for name in before} == before
    found = await api.get(f"/openapi/v3/{DOCUMENT}")
    spec = found["components"]["schemas"]["com.example.v1.Gadget"]["properties"]["spec"]
    assert spec["properties"]["port"]["anyOf"] == [{"type": "integer"}, {"type": "string"}]
    assert spec["properties"]["inner"]["required"] == ["kind", "apiVersion"]


async def test_an_address_with_a_hash_may_be_kept_for_ever(api: Any) -> None:
    response = await api.send("GET", (await index(api))["apis/apps/v1"])
    assert response.headers["Cache-Control"] == "public, immutable"
    again = await api.send(
        "GET", "/openapi/v3/apis/apps/v1", if_none_match=response.headers["ETag"]
    )
    assert again.status == 304


async def test_version_2_is_one_document_with_everything(api: Any) -> None:
    found = codec.decode((await api.send("GET", "/openapi/v2")).encoded())
    assert found["swagger"] == "2.0"
    assert "/apis/apps/v1/namespaces/{namespace}/deployments/{name}" in found["paths"]
