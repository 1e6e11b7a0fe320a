"""Definitions read without their schemas."""

from typing import Any

import pytest

from fleetqueue.api import crds
from fleetqueue.apiserver import outlines
from fleetqueue.base import codec

Object = dict[str, Any]


def definition(**spec: Any) -> bytes:
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": {"type": "object"}}}}
    version = {"name": "v1", "served": True, "storage": True, "schema": schema}
    whole = {"group": "g.io", "names": {"plural": "things", "kind": "Thing"}, "scope": "Cluster"}
    return codec.encode(
        {"metadata": {"name": "things.g.io"}, "spec": whole | {"versions": [version]} | spec}
    )


@pytest.mark.parametrize("crd", crds.all_crds(), ids=lambda crd: crd["metadata"]["name"])
def test_an_outline_has_all_of_a_definition_but_its_schemas(crd: Object) -> None:
    outline, found = outlines.read(codec.encode(crd))
    schemas = {v["name"]: v.pop("schema")["openAPIV3Schema"] for v in crd["spec"]["versions"]}
    assert codec.decode(codec.encode(outline)) == {n: crd[n] for n in ("metadata", "spec")}
    assert {name: found.schema(name) for name in schemas} == schemas


def test_a_status_is_part_of_the_outline() -> None:
    data = codec.encode(codec.decode(definition()) | {"status": {"storedVersions": ["v1"]}})
    assert outlines.read(data)[0]["status"] == {"storedVersions": ["v1"]}


@pytest.mark.parametrize(
    "version",
    [{}, {"schema": None}, {"schema": {}}, {"schema": {"openAPIV3Schema": None}}],
    ids=str,
)
def test_a_version_may_have_no_schema(version: Object) -> None:
    _, found = outlines.read(definition(versions=[{"name": "v1", "storage": True} | version]))
    assert found.schema("v1") is None
    assert found.schema("v2") is None


def test_definitions_are_alike_in_whichever_order_they_say_the_same() -> None:
    _, one = outlines.read(definition())
    turned = codec.decode(definition())
    turned["spec"] = dict(reversed(turned["spec"].items()))
    assert one.is_like(outlines.read(codec.encode(turned))[1])
    assert not one.is_like(outlines.read(definition(scope="Namespaced"))[1])
    assert not one.is_like(None)


def test_a_schema_belongs_to_whoever_asks_for_it() -> None:
    _, found = outlines.read(definition())
    asked = found.schema("v1")
    assert asked is not None
    asked.clear()
    assert found.schema("v1")


def test_schemas_that_are_the_same_have_the_same_digest() -> None:
    _, one = outlines.read(definition())
    _, same = outlines.read(definition(scope="Namespaced"))
    _, none = outlines.read(definition(versions=[{"name": "v1", "storage": True}]))
    assert one.schema_digest("v1") == same.schema_digest("v1")
    assert none.schema_digest("v1") != one.schema_digest("v1")
