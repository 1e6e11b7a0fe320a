"""JSONPath as printer columns use it."""

from typing import Any

import pytest

from fleetqueue.base import jsonpath
from fleetqueue.base.jsonpath import JsonPathError

OBJECT: dict[str, Any] = {
    "metadata": {"labels": {"a.b": "dotted"}, "name": "x"},
    "spec": {"replicas": 3, "x": [{"y": 1}, {"y": 2, "z": True}, {"y": 3}]},
    "status": {
        "conditions": [
            {"type": "Ready", "status": "True", "weight": 1},
            {"type": "Done", "status": "False", "weight": 2},
        ]
    },
}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (".metadata.name", ["x"]),
        ("{.metadata.name}", ["x"]),
        ("$.metadata.name", ["x"]),
        ('.status.conditions[?(@.type=="Ready")].status', ["True"]),
        (".status.conditions[?(@.type=='Done')].status", ["False"]),
        ('.status.conditions[?(@.type != "Ready")].type', ["Done"]),
        (".status.conditions[?(@.weight>1)].type", ["Done"]),
        (".status.conditions[?(@.weight<=1)].type", ["Ready"]),
        (".spec.x[?(@.z)].y", [2]),
        (".spec.x[?(@.z==true)].y", [2]),
        (".status.conditions[-1:].type", ["Done"]),
        (".status.conditions[0].type", ["Ready"]),
        (".status.conditions[-1].type", ["Done"]),
        (".spec.x[0:2].y", [1, 2]),
        (".spec.x[::2].y", [1, 3]),
        (".spec.x[0,2].y", [1, 3]),
        (".spec.x[*].y", [1, 2, 3]),
        (r".metadata.labels['a\.b']", ["dotted"]),
        (r".metadata.labels.a\.b", ["dotted"]),
        (".metadata['name','labels']", ["x", {"a.b": "dotted"}]),
        (".metadata.labels.*", ["dotted"]),
        ("..y", [1, 2, 3]),
        (".spec.missing.deeper", []),
        (".", [OBJECT]),
    ],
)
def test_a_path_finds(text: str, found: list[Any]) -> None:
    assert jsonpath.parse(text).find(OBJECT) == found


@pytest.mark.parametrize("text", [".a[", ".a[x]", ".a[?(x)]", ".a b", ".a[?(@.b==)]"])
def test_text_that_is_no_jsonpath_is_refused(text: str) -> None:
    with pytest.raises(JsonPathError):
        jsonpath.parse(text)


@pytest.mark.parametrize("text", [".spec.x[9].y", ".metadata.name[0]", ".spec.x[2:1]"])
def test_a_shape_that_does_not_fit_is_an_error_and_an_empty_cell(text: str) -> None:
    path = jsonpath.parse(text)
    with pytest.raises(JsonPathError):
        path.find(OBJECT)
    assert path.first(OBJECT) is None


@pytest.mark.parametrize(
    ("value", "text"),
    [("a", "a"), (1, "1"), (True, "true"), (None, "null"), ({"a": [1]}, '{"a":[1]}')],
)
def test_results_print_as_kubectl_prints_them(value: Any, text: str) -> None:
    assert jsonpath.show(value) == text
