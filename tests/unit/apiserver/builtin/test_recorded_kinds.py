"""What kube-apiserver 1.34.4 answered when these objects were created, and what we answer."""

import json
from pathlib import Path
from typing import Any

import pytest

from fleetqueue.api import kubernetes
from fleetqueue.apiserver.builtin import strategies
from fleetqueue.apiserver.shapes import BuiltinShape

Object = dict[str, Any]

RECORDED = Path(__file__).parent / "recorded"
TIMES = ("lastPhaseTransitionTime", "lastTransitionTime")


def cases(name: str) -> list[Any]:
    rows = json.loads((RECORDED / f"{name}.json").read_text())
    return [
        pytest.param(row, id=f"{row['kind'][1]}-{row['obj']['metadata']['name']}") for row in rows
    ]


def prepared(case: Object) -> tuple[Object, BuiltinShape]:
    group, kind = case["kind"]
    version = case["obj"]["apiVersion"].rpartition("/")[2]
    shape = BuiltinShape(kubernetes.definition_names()[group, version, kind], kind, version)
    obj, _ = shape.clean(case["obj"])
    strategy = strategies()[group, kind]
    strategy.default(obj)
    obj = shape.normalise(obj)
    obj["metadata"]["creationTimestamp"] = "2026-01-01T00:00:00Z"
    strategy.prepare_create(obj)
    return obj, shape


@pytest.mark.parametrize("case", cases("refusals"))
def test_an_object_is_refused_for_the_same_reasons(case: Object) -> None:
    obj, _ = prepared(case)
    found = strategies()[tuple(case["kind"])].validate_create(obj)
    assert [str(error) for error in found] == case["errors"]


@pytest.mark.parametrize("case", cases("completions"))
def test_an_object_is_completed_in_the_same_way(case: Object) -> None:
    obj, shape = prepared(case)
    assert strategies()[tuple(case["kind"])].validate_create(obj) == []
    obj = without_times(shape.normalise(obj))
    del obj["metadata"]
    assert obj == case["stored"]


def without_times(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: without_times(item) for name, item in value.items() if name not in TIMES}
    return [without_times(item) for item in value] if isinstance(value, list) else value
