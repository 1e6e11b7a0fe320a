"""Cases answered by apimachinery 0.34.4 (managedfields, strategicpatch) and asked again here."""

import json
from typing import Any

from fleetqueue.apiserver.merge.apply import apply
from fleetqueue.apiserver.merge.conflicts import Conflicts
from fleetqueue.apiserver.merge.managed import track_update
from fleetqueue.apiserver.merge.strategic import strategic_merge
from fleetqueue.apiserver.problems import ApiError
from fleetqueue.apiserver.schema.node import Node

NOW = "2040-01-01T00:00:00Z"

Object = dict[str, Any]


def test_apply_and_update_answer_as_upstream_does(
    recorded_apply: Object, deployment: Node, widget: Node
) -> None:
    node = deployment if recorded_apply["kind"] == "deployment" else widget
    before = json.dumps(recorded_apply)

    answer = ask(recorded_apply, node)

    assert json.dumps(recorded_apply) == before, "what was handed in changed"
    expected = recorded_apply["answer"]
    if "object" in expected:
        assert entries(answer["object"]) == entries(expected["object"])
        # Go writes out zeros and nulls that our objects leave out.
        is_typed = recorded_apply["kind"] == "deployment"
        assert bare(answer["object"], is_typed) == bare(expected["object"], is_typed)
    else:
        assert answer == expected


def test_strategic_merge_answers_as_upstream_does(
    recorded_strategic: Object, deployment: Node
) -> None:
    before = json.dumps(recorded_strategic)

    try:
        merged = strategic_merge(
            recorded_strategic["current"], recorded_strategic["patch"], deployment
        )
        answer: Object = {"object": merged}
    except ApiError as error:
        answer = {"error": error.message}

    assert json.dumps(recorded_strategic) == before, "what was handed in changed"
    assert answer == recorded_strategic["answer"]


def ask(case: Object, node: Node) -> Object:
    live, obj = case["live"], case["object"]
    shared = {key: case[key] for key in ("manager", "subresource", "reset")} | {"now": NOW}
    if case["op"] == "update":
        fields = track_update(live, obj, node, api_version=obj["apiVersion"], **shared)
        return {"object": {**obj, "metadata": {**obj["metadata"], "managedFields": fields}}}
    try:
        return {"object": apply(live, obj, node, force=case["force"], **shared)}
    except (Conflicts, ApiError) as error:
        return {"error": str(error)}


def entries(obj: Object) -> list[Object]:
    return obj["metadata"].get("managedFields") or []


def bare(value: Any, is_typed: bool) -> Any:
    if isinstance(value, dict):
        below = {k: bare(v, is_typed) for k, v in value.items() if k != "managedFields"}
        zeros: tuple[Any, ...] = (None, {}, [], "", 0, False) if is_typed else ()
        return {key: child for key, child in below.items() if child not in zeros}
    return [bare(item, is_typed) for item in value] if isinstance(value, list) else value
