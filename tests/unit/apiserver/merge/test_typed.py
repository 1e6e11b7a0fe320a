"""Values with their shapes: owned fields, comparison, removal, merge and complaints."""

from typing import Any

import pytest

from fleetqueue.apiserver.merge import field_sets, shapes, typed, typed_check, typed_merge
from fleetqueue.apiserver.merge.field_sets import FieldSet
from fleetqueue.apiserver.merge.shapes import Shape
from fleetqueue.apiserver.merge.typed_compare import compare
from fleetqueue.apiserver.schema.node import Node

Value = dict[str, Any]

GO = "&value.valueUnstructured"
PORT_9 = 'k:{"port":9,"proto":"TCP"}'
NAMED_A = 'k:{"name":"a"}'
ITEM_A, ITEM_B = {"name": "a"}, {"name": "b"}


@pytest.fixture(scope="module")
def spec(widget: Node) -> Shape:
    return shapes.of(widget).fields["spec"]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({}, {}),
        ({"n": 1, "s": "x"}, {"f:n": {}, "f:s": {}}),
        ({"set": ["b", "a"]}, {"f:set": {'v:"a"': {}, 'v:"b"': {}}}),
        ({"set": []}, {}),
        ({"set": None}, {"f:set": {}}),
        ({"atomic": ["a"], "amap": {"x": "y"}}, {"f:amap": {}, "f:atomic": {}}),
        ({"mm": {"one": {"p": "x"}}}, {"f:mm": {"f:one": {".": {}, "f:p": {}}}}),
        ({"mm": {}}, {"f:mm": {}}),
        ({"items": [{"name": "a"}]}, {"f:items": {'k:{"name":"a"}': {".": {}, "f:name": {}}}}),
        ({"items": [{"name": "a"}, {"name": "a", "v": "x"}]}, {"f:items": {'k:{"name":"a"}': {}}}),
        ({"ports": [{"port": 9}]}, {"f:ports": {PORT_9: {".": {}, "f:port": {}}}}),
        ({"any": {"k": [1], "l": {"m": 1}}}, {"f:any": {"f:k": {}, "f:l": {".": {}, "f:m": {}}}}),
        ({"open": {"u": 1, "y": {"z": "a"}}}, {"f:open": {"f:u": {}, "f:y": {"f:z": {}}}}),
    ],
)
def test_who_applies_a_value_owns_its_fields(spec: Shape, value: Value, expected: FieldSet) -> None:
    assert str(typed.field_set(value, spec)) == str(expected)


@pytest.mark.parametrize(
    ("before", "after", "added", "modified", "removed"),
    [
        ({"n": 1}, {"n": 1}, {}, {}, {}),
        ({}, {"n": 1}, {"f:n": {}}, {}, {}),
        ({"n": 1}, {"n": 2}, {}, {"f:n": {}}, {}),
        ({"n": 1}, {}, {}, {}, {"f:n": {}}),
        ({}, {"set": ["a"]}, {"f:set": {".": {}, 'v:"a"': {}}}, {}, {}),
        ({"set": ["a"]}, {"set": ["b"]}, {"f:set": {'v:"b"': {}}}, {}, {"f:set": {'v:"a"': {}}}),
        ({"set": ["a"]}, {"set": []}, {}, {}, {"f:set": {'v:"a"': {}}}),
        ({"set": None}, {"set": []}, {}, {"f:set": {}}, {}),
        ({"atomic": ["a"]}, {"atomic": ["b"]}, {}, {"f:atomic": {}}, {}),
        ({"amap": {"x": "a"}}, {"amap": {"x": "b"}}, {}, {"f:amap": {}}, {}),
        ({"mm": None}, {"mm": {"o": {}}}, {"f:mm": {"f:o": {}}}, {}, {}),
        ({"any": {"k": 1}}, {"any": "x"}, {}, {"f:any": {}}, {"f:any": {"f:k": {}}}),
        ({"any": "x"}, {"any": {"k": 1}}, {"f:any": {"f:k": {}}}, {"f:any": {}}, {}),
        (
            {"items": [{"name": "a", "v": "x"}]},
            {"items": [{"name": "b"}, {"name": "a", "v": "y"}]},
            {"f:items": {'k:{"name":"b"}': {".": {}, "f:name": {}}}},
            {"f:items": {'k:{"name":"a"}': {"f:v": {}}}},
            {},
        ),
        (
            {"items": [{"name": "a"}]},
            {"items": [{"name": "a"}, {"name": "a"}]},
            {"f:items": {'k:{"name":"a"}': {}}},
            {},
            {"f:items": {'k:{"name":"a"}': {".": {}, "f:name": {}}}},
        ),
        (
            {"set": ["a", "a"]},
            {"set": ["a"]},
            {"f:set": {'v:"a"': {}}},
            {},
            {"f:set": {'v:"a"': {}}},
        ),
    ],
)
def test_a_comparison_tells_what_came_changed_and_went(
    spec: Shape, before: Value, after: Value, added: FieldSet, modified: FieldSet, removed: FieldSet
) -> None:
    assert compare(before, after, spec) == (added, modified, removed)


def test_what_go_always_writes_out_is_never_new(pod: Node) -> None:
    shape = shapes.of(pod)
    found = compare({}, {"spec": {"containers": [{"name": "a"}]}}, shape)
    container = {".": {}, "f:name": {}}
    assert found.added == {"f:spec": {"f:containers": {'k:{"name":"a"}': container}}}
    assert compare({"spec": {"nodeName": "n"}}, {"spec": {}, "status": {}}, shape).removed == {
        "f:spec": {"f:nodeName": {}}
    }
    assert compare({}, {"spec": {"containers": None}}, shape) == ({}, {}, {})


def test_a_comparison_of_items_without_a_key_is_refused(spec: Shape) -> None:
    with pytest.raises(typed.TypedError, match="element 1: associative list with keys"):
        compare({"items": []}, {"items": [{"name": "a"}, {}]}, spec)


@pytest.mark.parametrize(
    ("value", "gone", "expected"),
    [
        ({"n": 1, "s": "x"}, [("n",)], {"s": "x"}),
        ({"set": ["a", "b"]}, [("set", 'v:"a"')], {"set": ["b"]}),
        ({"set": ["a"]}, [("set", 'v:"a"')], {"set": None}),
        (
            {"items": [{"name": "a"}, {"name": "b"}]},
            [("items", NAMED_A)],
            {"items": [{"name": "b"}]},
        ),
        (
            {"items": [{"name": "a", "v": "x"}]},
            [("items", NAMED_A, "v")],
            {"items": [{"name": "a"}]},
        ),
        ({"mm": {"o": {"p": "x", "q": "y"}}}, [("mm", "o", "p")], {"mm": {"o": {"q": "y"}}}),
        ({"s": None}, [("s",)], {}),
    ],
)
def test_items_can_be_removed_by_their_paths(
    spec: Shape, value: Value, gone: list[field_sets.Path], expected: Value
) -> None:
    assert typed.remove_items(value, field_sets.of(*gone), spec) == expected


def test_removal_shares_what_stays(spec: Shape) -> None:
    value: Value = {"n": 1, "mm": {"o": {"p": "x"}}}
    assert typed.remove_items(value, field_sets.of(("n",)), spec)["mm"] is value["mm"]
    assert typed.remove_items(value, field_sets.of(("s",)), spec) is value


def test_named_fields_become_members_but_keys_of_maps_do_not(spec: Shape) -> None:
    fields = field_sets.of(("mm", "o", "p"), ("items", 'k:{"name":"a"}', "sub", "a"))
    assert typed.with_named_fields(fields, spec) == {
        "f:items": {".": {}, 'k:{"name":"a"}': {"f:sub": {".": {}, "f:a": {}}}},
        "f:mm": {".": {}, "f:o": {"f:p": {}}},
    }


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"f:amap": {"f:x": {}}, "f:n": {}}, {"f:amap": {}, "f:n": {}}),
        ({"f:atomic": {".": {}, 'v:"a"': {}}}, {"f:atomic": {}}),
        ({"f:set": {'v:"a"': {}}}, {"f:set": {'v:"a"': {}}}),
        ({"f:any": {"f:x": {"f:y": {}}}}, {"f:any": {"f:x": {"f:y": {}}}}),
        ({"f:set": {}}, {"f:set": {}}),
    ],
)
def test_ownership_follows_a_type_that_became_atomic(
    spec: Shape, before: FieldSet, after: FieldSet
) -> None:
    assert typed.reconciled(before, spec) == after
    assert typed.reconciled(before, spec) == after, "the second time from what is remembered"


@pytest.mark.parametrize(
    ("live", "applied", "expected"),
    [
        ("abc", "b", "abc"),
        ("abc", "ca", "bca"),
        ("abcd", "dx", "abcdx"),
        ("abcde", "db", "acdeb"),
        ("", "ba", "ba"),
        ("ab", "xb", "axb"),
        ("ab", "", "ab"),
        ("abcba", "b", "abca"),
    ],
)
def test_a_merged_list_takes_the_order_that_is_applied(
    spec: Shape, live: str, applied: str, expected: str
) -> None:
    merged = typed_merge.merge({"set": list(live)}, {"set": list(applied)}, spec)
    assert "".join(merged["set"]) == expected


@pytest.mark.parametrize(
    ("live", "applied", "expected"),
    [
        ({"n": 1}, {"s": "x"}, {"n": 1, "s": "x"}),
        ({"amap": {"x": "a"}}, {"amap": {"y": "b"}}, {"amap": {"y": "b"}}),
        ({"atomic": ["a"]}, {"atomic": ["b"]}, {"atomic": ["b"]}),
        ({"mm": {"o": {"p": "x"}}}, {"mm": None}, {"mm": {"o": {"p": "x"}}}),
        ({"set": ["a"]}, {"set": None}, {"set": ["a"]}),
        ({"n": 1}, {"n": None}, {"n": None}),
        ({"amap": {"x": "a"}}, {"amap": None}, {"amap": None}),
        ({"any": {"k": 1}}, {"any": "x"}, {"any": "x"}),
        ({"any": {"k": 1}}, {"any": {"l": 2}}, {"any": {"k": 1, "l": 2}}),
        ({"any": True}, {"any": 1}, {"any": 1}),
        (
            {"items": [{"name": "a", "v": "x"}]},
            {"items": [{"name": "a", "sub": {"a": 1}}]},
            {"items": [{"name": "a", "v": "x", "sub": {"a": 1}}]},
        ),
        (
            {"items": [{"name": "a", "v": "x"}, {"name": "a", "v": "y"}]},
            {"items": [{"name": "a"}]},
            {"items": [{"name": "a"}]},
        ),
    ],
)
def test_an_applied_value_is_laid_over_the_live_one(
    spec: Shape, live: Value, applied: Value, expected: Value
) -> None:
    merged = typed_merge.merge(live, applied, spec)
    assert merged == expected
    assert str(merged) == str(expected), "1 is not true"


def test_a_merge_that_changes_nothing_returns_the_live_object(spec: Shape) -> None:
    live = {"n": 1, "set": ["a", "b"], "amap": {"x": "y", "z": "w"}, "items": [{"name": "a"}]}
    applied = {"set": ["b"], "amap": {"z": "w", "x": "y"}, "items": [{"name": "a"}], "n": 1}
    assert typed_merge.merge(live, applied, spec) is live


@pytest.mark.parametrize(
    ("value", "complaint"),
    [
        (
            {"mm": {"k": {"n": 1}}},
            ".spec.mm.k.n: field not declared in schema (it belongs at .spec.n)",
        ),
        ({"mm": {"k": {"nope": 1}}}, ".spec.mm.k.nope: field not declared in schema"),
        ({"kind": "Widget"}, ".spec.kind: field not declared in schema"),
    ],
)
def test_a_field_in_the_wrong_place_is_told_the_right_one(
    widget: Node, value: Any, complaint: str
) -> None:
    assert typed_check.complaints({"spec": value}, shapes.of(widget)) == complaint


@pytest.mark.parametrize(
    ("value", "complaint"),
    [
        ({"n": 1.5, "s": "x", "b": True, "ios": "1"}, ""),
        ({"s": None, "items": None, "mm": None}, ""),
        ({"nope": 1}, ".nope: field not declared in schema"),
        ({"n": "1"}, ".n: expected numeric (int or float), got string"),
        ({"n": True}, ".n: expected numeric (int or float), got bool"),
        ({"s": 1}, ".s: expected string, got &value.valueUnstructured{Value:1}"),
        ({"b": "yes"}, ".b: expected boolean, got &{yes}"),
        (
            {"s": ["a"]},
            '.s: expected string, got &value.valueUnstructured{Value:[]interface {}{"a"}}',
        ),
        ({"mm": "x"}, ".mm: expected map, got &{x}"),
        ({"set": {"a": 1}}, ".set: expected list, got &{map[a:1]}"),
        ({"ios": {"a": [None, True]}}, ".ios: expected any scalar, got &{map[a:[<nil> true]]}"),
        ({"items": [{"name": "a"}, {"name": "a"}]}, '.items: duplicate entries for key [name="a"]'),
        ({"set": ["a", "a"]}, '.set: duplicate entries for key [="a"]'),
        (
            {"ports": [{"port": 1}, {"port": 1, "proto": "TCP"}]},
            '.ports: duplicate entries for key [port=1,proto="TCP"]',
        ),
        (
            {"items": [{}]},
            ".items: element 0: associative list with keys has an element that omits all key fields"
            ' ["name"] (and doesn\'t have default values for any key fields)',
        ),
        (
            {"items": [{"name": "a", "v": 1}], "atomic": ["a", 2]},
            "errors:\n"
            '  .items[name="a"].v: expected string, got &value.valueUnstructured{Value:1}\n'
            "  .atomic[1]: expected string, got &value.valueUnstructured{Value:2}",
        ),
    ],
)
def test_complaints_are_worded_as_upstream_words_them(
    spec: Shape, value: Value, complaint: str
) -> None:
    assert typed_check.complaints(value, spec) == complaint
