"""CRDs from types: what each marker and each sort of type becomes in the schema."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any, Literal

import pytest

from fleetqueue.api.crd import crd, declared_crds, root_schema
from fleetqueue.api.kinds import AGE, Column, ConversionWebhook, Kind, Resource, Scale
from fleetqueue.api.markers import Core, Doc, Rule, Schema, schema
from fleetqueue.api.meta import LabelSelector
from fleetqueue.api.model import Model, sent
from fleetqueue.api.scalars import (
    QUANTITY,
    Double,
    EmbeddedResource,
    Int32,
    Int64,
    IntOrString,
    Json,
    PodTemplate,
    Quantity,
    Time,
)
from fleetqueue.api.structural import object_schema, schema_of


class Colour(StrEnum):
    RED = "Red"
    BLUE = "Blue"


class Part(Model):
    """A part."""

    name: str


INT_OR_STRING = {
    "anyOf": [{"type": "integer"}, {"type": "string"}],
    "x-kubernetes-int-or-string": True,
}
PART = {
    "type": "object",
    "description": "A part.",
    "properties": {"name": {"type": "string"}},
    "required": ["name"],
}
STRING = {"type": "string"}

# fmt: off
TYPES: dict[str, tuple[Any, dict[str, Any]]] = {
    "text":               (str, STRING),
    "a whole number":     (int, {"type": "integer"}),
    "a truth value":      (bool, {"type": "boolean"}),
    "a number":           (float, {"type": "number"}),
    "a moment":           (datetime, {"type": "string", "format": "date-time"}),
    "int32":              (Int32, {"type": "integer", "format": "int32"}),
    "int64":              (Int64, {"type": "integer", "format": "int64"}),
    "double":             (Double, {"type": "number", "format": "double"}),
    "time":               (Time, {"type": "string", "format": "date-time"}),
    "a quantity":         (Quantity, INT_OR_STRING | {"pattern": QUANTITY}),
    "int-or-string":      (IntOrString, INT_OR_STRING),
    "an enum":            (Colour, {"type": "string", "enum": ["Red", "Blue"]}),
    "a literal":          (Literal["a", "b"], {"type": "string", "enum": ["a", "b"]}),
    "a list":             (list[str], {"type": "array", "items": STRING}),
    "a map":              (dict[str, Int32],
                           {"type": "object",
                            "additionalProperties": {"type": "integer", "format": "int32"}}),
    "a struct":           (Part, PART),
    "what may be absent": (Int32 | None, {"type": "integer", "format": "int32"}),
    "any object":         (Json, {"type": "object", "x-kubernetes-preserve-unknown-fields": True}),
    "a whole object":     (EmbeddedResource,
                           {"type": "object", "x-kubernetes-preserve-unknown-fields": True,
                            "x-kubernetes-embedded-resource": True}),
    "anything":           (Annotated[Any, Schema(preserve_unknown=True)],
                           {"x-kubernetes-preserve-unknown-fields": True}),
    "nested markers":     (list[Annotated[str, Schema(max_length=3)]],
                           {"type": "array", "items": {"type": "string", "maxLength": 3}}),
}

MARKERS: dict[str, tuple[Any, dict[str, Any]]] = {
    "default":         (Schema(default=Colour.RED), {"default": "Red"}),
    "default object":  (Schema(default=Part(name="a")), {"default": {"name": "a"}}),
    "default null":    (Schema(default=None), {"default": None}),
    "enum":            (Schema(enum=("a", "")), {"enum": ["a", ""]}),
    "pattern":         (Schema(pattern="^a$"), {"pattern": "^a$"}),
    "format":          (Schema(format="byte"), {"format": "byte"}),
    "minimum":         (Schema(minimum=0), {"minimum": 0}),
    "maximum":         (Schema(maximum=9), {"maximum": 9}),
    "min length":      (Schema(min_length=1), {"minLength": 1}),
    "max length":      (Schema(max_length=2), {"maxLength": 2}),
    "min items":       (Schema(min_items=1), {"minItems": 1}),
    "max items":       (Schema(max_items=2), {"maxItems": 2}),
    "min properties":  (Schema(min_properties=1), {"minProperties": 1}),
    "max properties":  (Schema(max_properties=2), {"maxProperties": 2}),
    "nullable":        (Schema(nullable=True), {"nullable": True}),
    "list type":       (Schema(list_type="set"), {"x-kubernetes-list-type": "set"}),
    "list keys":       (Schema(list_type="map", list_keys=("a", "b")),
                        {"x-kubernetes-list-type": "map",
                         "x-kubernetes-list-map-keys": ["a", "b"]}),
    "map type":        (Schema(map_type="atomic"), {"x-kubernetes-map-type": "atomic"}),
    "other keywords":  (Schema(also={"exclusiveMinimum": True}), {"exclusiveMinimum": True}),
    "description":     (Doc("What it is."), {"description": "What it is."}),
    "a rule":          (Rule("self > 0", "small"),
                        {"x-kubernetes-validations": [{"rule": "self > 0", "message": "small"}]}),
    "a full rule":     (Rule("a", "b", ".c", "FieldValueRequired", "'d'", True),
                        {"x-kubernetes-validations": [{
                            "rule": "a", "message": "b", "fieldPath": ".c", "optionalOldSelf": True,
                            "reason": "FieldValueRequired", "messageExpression": "'d'"}]}),
}
# fmt: on


@pytest.mark.parametrize(("declared", "expected"), TYPES.values(), ids=TYPES.keys())
def test_a_type_has_a_schema(declared: Any, expected: dict[str, Any]) -> None:
    assert schema_of(declared) == expected


@pytest.mark.parametrize(("marker", "expected"), MARKERS.values(), ids=MARKERS.keys())
def test_a_marker_adds_its_keyword(marker: Any, expected: dict[str, Any]) -> None:
    assert schema_of(Annotated[str, marker]) == STRING | expected


def test_outer_markers_win_and_rules_add_up() -> None:
    inner = Annotated[str, Schema(max_length=5, pattern="x"), Rule("first")]
    outer = schema_of(Annotated[inner | None, Schema(max_length=3), Rule("second")])
    assert outer == {
        "type": "string",
        "maxLength": 3,
        "pattern": "x",
        "x-kubernetes-validations": [{"rule": "first"}, {"rule": "second"}],
    }


def test_a_type_without_a_schema_is_refused() -> None:
    with pytest.raises(TypeError, match="no schema"):
        schema_of(set[str])


class Various(Model):
    must: str
    may: str = ""
    must_with_default: Annotated[str, Schema(required=True)] = ""
    may_be_zero: Annotated[Int32, Schema(required=False)] = sent(default_factory=int)


def test_a_field_is_required_unless_it_has_a_default_or_says_otherwise() -> None:
    assert object_schema(Various)["required"] == ["must", "mustWithDefault"]


@schema(Rule("on the type"), Schema(map_type="atomic"))
class Ruled(Model):
    name: str = ""


def test_the_rules_of_a_type_come_before_those_of_its_place() -> None:
    found = schema_of(Annotated[Ruled, Rule("on the place")])
    assert [rule["rule"] for rule in found["x-kubernetes-validations"]] == [
        "on the type",
        "on the place",
    ]
    assert found["x-kubernetes-map-type"] == "atomic"


def test_markers_of_a_type_are_not_inherited() -> None:
    class Child(Ruled):
        pass

    assert "x-kubernetes-validations" not in object_schema(Child)


class WidgetSpec(Model):
    template: PodTemplate
    selector: LabelSelector | None = None


WIDGET = Kind(
    "example.com",
    "v1",
    "widgets",
    scope="Cluster",
    short_names=("w",),
    categories=("all",),
    storage=True,
    status=True,
    scale=Scale(".spec.replicas", ".status.replicas", ".status.selector"),
    columns=(Column("Wide", ".spec.wide", "integer", "How wide", "int32", 1), AGE),
    selectable=(".spec.colour",),
    conversion=ConversionWebhook("converter", "system"),
    annotations=(("api-approved.kubernetes.io", "unapproved"),),
)


class Widget(Resource, kind=WIDGET):
    """A thing."""

    spec: WidgetSpec


class WidgetAlpha(
    Resource,
    kind=Kind(
        "example.com",
        "v1alpha1",
        "widgets",
        name="Widget",
        scope="Cluster",
        served=False,
        deprecated=True,
        deprecation_warning="Use v1.",
    ),
):
    """A thing."""


def test_a_crd_says_what_the_kind_declares() -> None:
    made = crd([WidgetAlpha, Widget])
    assert made["metadata"] == {
        "name": "widgets.example.com",
        "annotations": {"api-approved.kubernetes.io": "unapproved"},
    }
    spec = made["spec"]
    assert spec["scope"] == "Cluster"
    assert spec["names"] == {
        "kind": "Widget",
        "listKind": "WidgetList",
        "plural": "widgets",
        "singular": "widget",
        "shortNames": ["w"],
        "categories": ["all"],
    }
    assert spec["conversion"]["strategy"] == "Webhook"
    assert spec["conversion"]["webhook"]["conversionReviewVersions"] == ["v1"]
    old, new = spec["versions"]
    old.pop("schema"), new.pop("schema")
    assert old == {
        "name": "v1alpha1",
        "served": False,
        "storage": False,
        "deprecated": True,
        "deprecationWarning": "Use v1.",
    }
    assert new == {
        "name": "v1",
        "served": True,
        "storage": True,
        "subresources": {
            "status": {},
            "scale": {
                "specReplicasPath": ".spec.replicas",
                "statusReplicasPath": ".status.replicas",
                "labelSelectorPath": ".status.selector",
            },
        },
        "additionalPrinterColumns": [
            {
                "name": "Wide",
                "type": "integer",
                "jsonPath": ".spec.wide",
                "description": "How wide",
                "format": "int32",
                "priority": 1,
            },
            {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
        ],
        "selectableFields": [{"jsonPath": ".spec.colour"}],
    }


def test_a_kind_needs_exactly_one_stored_version() -> None:
    with pytest.raises(ValueError, match="stored"):
        crd([WidgetAlpha])


def test_the_root_leaves_metadata_to_the_server() -> None:
    made = root_schema(Widget)
    assert made["properties"]["metadata"] == {"type": "object"}
    assert made["properties"]["apiVersion"] == {"type": "string"}
    assert made["required"] == ["spec"]


def test_a_pod_template_is_inlined_as_a_structural_schema() -> None:
    template = root_schema(Widget)["properties"]["spec"]["properties"]["template"]
    pod = template["properties"]["spec"]["properties"]
    container = pod["containers"]["items"]["properties"]
    assert pod["containers"]["x-kubernetes-list-map-keys"] == ["name"]
    assert container["ports"]["items"]["properties"]["protocol"]["default"] == "TCP"
    assert container["resources"]["properties"]["limits"]["additionalProperties"] == (
        INT_OR_STRING | {"pattern": QUANTITY}
    )
    assert "enum" not in container["imagePullPolicy"]
    assert "default" not in container["name"]
    assert set(template["properties"]["metadata"]["properties"]) == {
        "annotations",
        "finalizers",
        "labels",
        "name",
        "namespace",
    }


def test_parts_of_a_core_definition_can_be_left_out() -> None:
    name = "io.k8s.api.core.v1.Container"
    whole = schema_of(Annotated[dict[str, Any], Core(name)])
    part = schema_of(Annotated[dict[str, Any], Core(name, without=("name",))])
    assert whole["required"] == ["name"]
    assert "required" not in part
    assert set(whole["properties"]) - set(part["properties"]) == {"name"}


STRUCTURAL = {
    "type",
    "format",
    "title",
    "description",
    "default",
    "enum",
    "pattern",
    "minimum",
    "maximum",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "minProperties",
    "maxProperties",
    "nullable",
    "required",
    "properties",
    "items",
    "additionalProperties",
    "anyOf",
    "x-kubernetes-int-or-string",
    "x-kubernetes-preserve-unknown-fields",
    "x-kubernetes-embedded-resource",
    "x-kubernetes-list-type",
    "x-kubernetes-list-map-keys",
    "x-kubernetes-map-type",
    "x-kubernetes-validations",
}


def faults(node: dict[str, Any], path: str) -> list[str]:
    """What a kube-apiserver would refuse in a schema."""
    found = [f"{path}: {keyword}" for keyword in node.keys() - STRUCTURAL]
    exempt = node.keys() & {"x-kubernetes-int-or-string", "x-kubernetes-preserve-unknown-fields"}
    if "type" not in node and not exempt:
        found.append(f"{path}: no type")
    if node.get("x-kubernetes-list-type") == "map":
        item = node["items"]
        for key in node["x-kubernetes-list-map-keys"]:
            if key not in item.get("required", ()) and "default" not in item["properties"][key]:
                found.append(f"{path}: key {key} is neither required nor defaulted")
    for name, child in node.get("properties", {}).items():
        found += faults(child, f"{path}.{name}")
    for keyword in ("items", "additionalProperties"):
        if keyword in node:
            found += faults(node[keyword], f"{path}.{keyword}")
    return found


@pytest.mark.parametrize("made", declared_crds(), ids=lambda made: made["metadata"]["name"])
def test_every_declared_crd_is_structural(made: dict[str, Any]) -> None:
    for version in made["spec"]["versions"]:
        assert faults(version["schema"]["openAPIV3Schema"], version["name"]) == []


def test_a_group_selects_its_crds() -> None:
    found = [made["spec"]["group"] for made in declared_crds("kueue.x-k8s.io")]
    assert found == ["kueue.x-k8s.io"] * 11
