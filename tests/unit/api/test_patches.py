"""JSON patch and merge patch, with the quirks and words of kube-apiserver's library."""

from typing import Any

import pytest

from fleetqueue.api import patches
from fleetqueue.api.patches import MalformedPatch, PatchFailed, PatchTooLarge

DOCUMENT: dict[str, Any] = {"a": {"b": [1, 2, 3]}, "n": None, "x/y": 1, "m~n": 2}


def op(kind: str, path: str, **more: Any) -> dict[str, Any]:
    return {
        "op": kind,
        "path": path,
        **({"from": more.pop("source")} if "source" in more else {}),
    } | more


@pytest.mark.parametrize(
    ("operations", "result"),
    [
        ([op("add", "/c", value=1)], DOCUMENT | {"c": 1}),
        ([op("add", "/a/b/1", value=9)], DOCUMENT | {"a": {"b": [1, 9, 2, 3]}}),
        ([op("add", "/a/b/-", value=9)], DOCUMENT | {"a": {"b": [1, 2, 3, 9]}}),
        ([op("add", "/a/b/-1", value=9)], DOCUMENT | {"a": {"b": [1, 2, 3, 9]}}),
        ([op("add", "/c")], DOCUMENT | {"c": None}),
        ([op("remove", "/a/b/0")], DOCUMENT | {"a": {"b": [2, 3]}}),
        ([op("remove", "/a/b/-1")], DOCUMENT | {"a": {"b": [1, 2]}}),
        ([op("replace", "/a/b/2", value=9)], DOCUMENT | {"a": {"b": [1, 2, 9]}}),
        ([op("replace", "/new", value=9)], DOCUMENT | {"new": 9}),
        ([op("replace", "", value={"z": 1})], {"z": 1}),
        ([op("replace", "", value=3)], DOCUMENT),
        ([op("move", "/b", source="/a/b")], DOCUMENT | {"a": {}, "b": [1, 2, 3]}),
        ([op("copy", "/c", source="/a/b/0")], DOCUMENT | {"c": 1}),
        ([op("test", "/x~1y", value=1), op("test", "/m~0n", value=2)], DOCUMENT),
        ([op("test", "/n", value=None), op("test", "/missing", value=None)], DOCUMENT),
        ([op("test", "", value=DOCUMENT)], DOCUMENT),
        ([], DOCUMENT),
    ],
)
def test_operations_apply(operations: list[Any], result: Any) -> None:
    assert patches.apply_json_patch(DOCUMENT, operations) == result


@pytest.mark.parametrize(
    ("operation", "message"),
    [
        (
            op("add", "/q/w", value=1),
            'add operation does not apply: doc is missing path: "/q/w": missing value',
        ),
        (
            op("add", "", value=1),
            'add operation does not apply: doc is missing path: "": missing value',
        ),
        (
            op("add", "/a/b/9", value=1),
            "error in add for path: '/a/b/9': Unable to access invalid index: 9: "
            "invalid index referenced",
        ),
        (
            op("add", "/a/b/z", value=1),
            "error in add for path: '/a/b/z': value was not a proper array index: 'z': "
            'strconv.Atoi: parsing "z": invalid syntax',
        ),
        ({"op": "add", "value": 1}, "add operation failed to decode path: missing value"),
        (
            op("remove", "/q"),
            "error in remove for path: '/q': Unable to remove nonexistent key: q: missing value",
        ),
        (
            op("replace", "/a/b/9", value=1),
            "replace operation does not apply: doc is missing key: /a/b/9: missing value",
        ),
        (
            op("replace", "/q/w", value=1),
            "replace operation does not apply: doc is missing path: /q/w: missing value",
        ),
        (
            {"op": "replace"},
            "replace operation failed to decode path: operation missing path field: missing value",
        ),
        (
            op("move", "/c", source="/q"),
            "error in move for path: 'q': Unable to remove nonexistent key: q: missing value",
        ),
        (
            {"op": "move", "path": "/c"},
            "move operation failed to decode from: operation, missing from field: missing value",
        ),
        (
            op("copy", "/q/w", source="/a"),
            "copy operation does not apply: doc is missing destination path: /q/w: missing value",
        ),
        (op("test", "/a/b/0", value=2), "testing value /a/b/0 failed: test failed"),
        (op("test", "/a/b/0", value=True), "testing value /a/b/0 failed: test failed"),
        (
            op("test", "/q/w", value=2),
            "test operation does not apply: is missing path: /q/w: missing value",
        ),
        (op("spin", "/a"), "Unexpected kind: spin"),
        ({"op": 1}, "Unexpected kind: unknown"),
        (None, "Unexpected kind: unknown"),
    ],
)
def test_operations_that_do_not_fit_are_refused(operation: Any, message: str) -> None:
    with pytest.raises(PatchFailed) as caught:
        patches.apply_json_patch(DOCUMENT, [operation])
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("patch", "message"),
    [
        ({}, "json: cannot unmarshal object into Go value of type jsonpatch.Patch"),
        ("x", "json: cannot unmarshal string into Go value of type jsonpatch.Patch"),
        ([1], "json: cannot unmarshal number into Go value of type jsonpatch.Operation"),
    ],
)
def test_what_is_no_patch_is_malformed(patch: Any, message: str) -> None:
    with pytest.raises(MalformedPatch) as caught:
        patches.apply_json_patch(DOCUMENT, patch)
    assert str(caught.value) == message


def test_ten_thousand_operations_are_the_limit() -> None:
    many = [op("test", "/x~1y", value=1)] * 10_000
    assert patches.apply_json_patch(DOCUMENT, many) == DOCUMENT
    with pytest.raises(PatchTooLarge) as caught:
        patches.apply_json_patch(DOCUMENT, [*many, many[0]])
    assert str(caught.value) == (
        "The allowed maximum operations in a JSON patch is 10000, got 10001"
    )


def test_copies_may_not_blow_up() -> None:
    patch = [op("copy", "/list/-", source="/list")] * 30
    with pytest.raises(PatchFailed, match="Unable to complete the copy, the accumulated size"):
        patches.apply_json_patch({"list": ["x" * 100]}, patch)


def test_a_patch_shares_what_it_does_not_touch_and_changes_no_input() -> None:
    document: dict[str, Any] = {"spec": {"a": 1}, "meta": {"labels": {}}}
    value: dict[str, Any] = {"deep": {}}
    patch = [op("add", "/spec/v", value=value), op("add", "/spec/v/deep/x", value=1)]
    result = patches.apply_json_patch(document, patch)
    assert result == {"spec": {"a": 1, "v": {"deep": {"x": 1}}}, "meta": {"labels": {}}}
    assert result["meta"] is document["meta"]
    assert (document, value) == ({"spec": {"a": 1}, "meta": {"labels": {}}}, {"deep": {}})


@pytest.mark.parametrize(
    ("document", "patch", "result"),
    [
        ({"a": 1}, {"b": 2}, {"a": 1, "b": 2}),
        ({"a": 1}, {"a": None, "z": None}, {}),
        ({"a": {"b": 1}}, {"a": {"c": 2}}, {"a": {"b": 1, "c": 2}}),
        ({"a": [1]}, {"a": [2, {"x": None}]}, {"a": [2, {}]}),
        ({}, {"a": {"b": None, "c": {"d": None}}}, {"a": {"c": {}}}),
        ({"a": {"b": 1}}, {"a": [{"x": None}]}, {"a": [{"x": None}]}),
        ({"a": 1}, {"a": {"b": None}}, {"a": {}}),
        ({"a": 1}, [None, {"x": None}], [None, {}]),
    ],
)
def test_a_merge_patch_merges(document: Any, patch: Any, result: Any) -> None:
    before = repr(document)
    assert patches.apply_merge_patch(document, patch) == result
    assert repr(document) == before


@pytest.mark.parametrize("patch", [None, 1, "x", True])
def test_a_merge_patch_must_be_an_object(patch: Any) -> None:
    with pytest.raises(MalformedPatch, match="Invalid JSON Patch"):
        patches.apply_merge_patch({}, patch)


def test_a_made_merge_patch_holds_only_the_difference() -> None:
    old = {"a": 1, "b": {"c": 1, "d": 2}, "e": True}
    new = {"b": {"c": 1, "d": 3}, "e": 1, "f": []}
    assert patches.create_merge_patch(old, new) == {"a": None, "b": {"d": 3}, "e": 1, "f": []}
