"""What pruning drops and what defaulting fills in."""

from typing import Any

import pytest

from fleetqueue.apiserver.schema.compiled import CompiledSchema
from fleetqueue.apiserver.schema.node import Node
from fleetqueue.apiserver.schema.pruning import unknown_field

TEXT = {"type": "string"}


def obj(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def compiled(**spec: Any) -> CompiledSchema:
    return CompiledSchema(Node(obj(spec=obj(**spec))))


PRUNED: dict[str, tuple[dict[str, Any], Any, Any, list[str]]] = {
    "unknown fields go": ({"x": TEXT}, {"x": "a", "y": 1}, {"x": "a"}, ["spec.y"]),
    "an unknown object is named once": ({"x": TEXT}, {"z": {"a": 1}}, {}, ["spec.z"]),
    "items of lists are searched": (
        {"x": {"type": "array", "items": obj(a=TEXT)}},
        {"x": [{"a": "1", "b": 2}, {"c": 3}]},
        {"x": [{"a": "1"}, {}]},
        ["spec.x[0].b", "spec.x[1].c"],
    ),
    "values of maps are searched": (
        {"x": {"type": "object", "additionalProperties": obj(a=TEXT)}},
        {"x": {"k": {"a": "1", "b": 2}}},
        {"x": {"k": {"a": "1"}}},
        ["spec.x.k.b"],
    ),
    "an open object keeps what it has": (
        {"x": {"x-kubernetes-preserve-unknown-fields": True}},
        {"x": {"a": [{"b": 1}]}},
        {"x": {"a": [{"b": 1}]}},
        [],
    ),
    "a known field of an open object is pruned": (
        {"x": {"x-kubernetes-preserve-unknown-fields": True, **obj(a=obj(b=TEXT))}},
        {"x": {"a": {"b": "1", "c": 2}, "z": {"q": 1}}},
        {"x": {"a": {"b": "1"}, "z": {"q": 1}}},
        ["spec.x.a.c"],
    ),
    "an object in place of a string loses its fields": (
        {"x": TEXT},
        {"x": {"a": 1}},
        {"x": {}},
        ["spec.x.a"],
    ),
    "metadata of an embedded resource takes its own shape": (
        {"x": {"x-kubernetes-embedded-resource": True, **obj(spec=obj(a=TEXT))}},
        {"x": {"apiVersion": "v1", "kind": "P", "metadata": {"name": "n", "odd": 1}, "spec": {}}},
        {"x": {"apiVersion": "v1", "kind": "P", "metadata": {"name": "n"}, "spec": {}}},
        ["spec.x.metadata.odd"],
    ),
}


@pytest.mark.parametrize(("schema", "given", "left", "dropped"), PRUNED.values(), ids=PRUNED.keys())
def test_pruning(schema: dict[str, Any], given: Any, left: Any, dropped: list[str]) -> None:
    value = {"kind": "K", "metadata": {"anything": 1}, "spec": given}
    assert compiled(**schema).prune(value) == dropped
    assert value == {"kind": "K", "metadata": {"anything": 1}, "spec": left}


def test_an_unknown_field_is_quoted() -> None:
    assert unknown_field("spec.foo") == 'unknown field "spec.foo"'


NUMBER = {"type": "integer", "default": 3}
DEFAULTED: dict[str, tuple[dict[str, Any], Any, Any]] = {
    "a missing field": ({"a": NUMBER}, {}, {"a": 3}),
    "a field that is there": ({"a": NUMBER}, {"a": 0}, {"a": 0}),
    "a field of a missing object is not made": ({"o": obj(a=NUMBER)}, {}, {}),
    "a field of an empty object": ({"o": obj(a=NUMBER)}, {"o": {}}, {"o": {"a": 3}}),
    "a default below a default": ({"o": {"default": {}, **obj(a=NUMBER)}}, {}, {"o": {"a": 3}}),
    "items": (
        {"l": {"type": "array", "items": obj(a=NUMBER)}},
        {"l": [{}, {"a": 1}]},
        {"l": [{"a": 3}, {"a": 1}]},
    ),
    "values of a map": (
        {"m": {"type": "object", "additionalProperties": obj(a=NUMBER)}},
        {"m": {"k": {}}},
        {"m": {"k": {"a": 3}}},
    ),
    "null means missing": ({"a": NUMBER, "b": TEXT}, {"a": None, "b": None}, {"a": 3}),
    "null stays where it is allowed": (
        {"a": {"nullable": True, **NUMBER}},
        {"a": None},
        {"a": None},
    ),
}


@pytest.mark.parametrize(("schema", "given", "filled"), DEFAULTED.values(), ids=DEFAULTED.keys())
def test_defaulting(schema: dict[str, Any], given: Any, filled: Any) -> None:
    value = {"spec": given}
    compiled(**schema).default(value)
    assert value == {"spec": filled}


def test_a_default_is_never_shared() -> None:
    schema = compiled(a={"type": "array", "items": TEXT, "default": ["x"]})
    first: dict[str, Any] = {"spec": {}}
    second: dict[str, Any] = {"spec": {}}
    schema.default(first)
    schema.default(second)
    first["spec"]["a"].append("y")
    assert second == {"spec": {"a": ["x"]}}
