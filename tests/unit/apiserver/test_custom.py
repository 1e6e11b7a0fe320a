"""What definitions of custom kinds are turned into."""

from typing import Any

import pytest

from fleetqueue.apiserver import outlines
from fleetqueue.apiserver.custom import build_resource
from fleetqueue.apiserver.registry import Shape
from fleetqueue.apiserver.schema.stray_fields import RETIRED_KEY
from fleetqueue.base import codec

Object = dict[str, Any]


def shape_of(
    properties: Object, annotations: Object | None = None, kind: str = "Thing", **spec: Any
) -> Shape:
    schema = {"openAPIV3Schema": {"type": "object", "properties": properties}}
    version = {"name": "v1", "served": True, "storage": True, "schema": schema}
    whole = {"group": "g.io", "names": {"plural": "things", "kind": kind}, "scope": "Cluster"}
    metadata = {"name": "things.g.io", "uid": "1", "annotations": annotations or {}}
    made = {"metadata": metadata, "spec": whole | {"versions": [version]} | spec}
    outline, definition = outlines.read(codec.encode(made))
    return build_resource(outline, definition, lambda crd: {}).versions["v1"].shape


A: Object = {"a": {"type": "string"}}


def test_definitions_that_say_the_same_share_what_is_compiled() -> None:
    first = shape_of(A)
    assert shape_of(A) is first
    assert shape_of(A, {"note": "other"}) is first


@pytest.mark.parametrize(
    ("properties", "more"),
    [
        ({"a": {"type": "integer"}}, {}),
        (A, {"kind": "Other"}),
        (A, {"preserveUnknownFields": True}),
        (A, {"annotations": {RETIRED_KEY: '{"a": "b"}'}}),
    ],
    ids=["schema", "kind", "open", "retired"],
)
def test_whoever_says_something_else_does_not(properties: Object, more: Any) -> None:
    first = shape_of(A)
    assert shape_of(properties, **more) is not first
