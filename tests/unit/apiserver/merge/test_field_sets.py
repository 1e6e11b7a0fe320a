from typing import Any

import pytest

from fleetqueue.apiserver.merge import field_sets
from fleetqueue.apiserver.merge.field_sets import FieldSet, MalformedSet

A: FieldSet = {"f:a": {}}
B: FieldSet = {"f:b": {}}
INNER: FieldSet = {"f:a": {"f:b": {}}}
WITH_SELF: FieldSet = {"f:a": {".": {}, "f:b": {}}}


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ({}, A, A),
        (A, {}, A),
        (B, A, {"f:a": {}, "f:b": {}}),
        (A, INNER, WITH_SELF),
        (INNER, A, WITH_SELF),
        (WITH_SELF, INNER, WITH_SELF),
        (INNER, {"f:a": {"f:a": {}}}, {"f:a": {"f:a": {}, "f:b": {}}}),
    ],
)
def test_a_union_has_the_paths_of_both(one: FieldSet, other: FieldSet, expected: FieldSet) -> None:
    assert exactly(field_sets.union(one, other)) == exactly(expected)


@pytest.mark.parametrize(
    ("fields", "gone", "expected"),
    [
        (A, A, {}),
        (A, B, A),
        (A, INNER, A),
        (INNER, A, INNER),
        (WITH_SELF, A, INNER),
        (WITH_SELF, INNER, A),
        (WITH_SELF, WITH_SELF, {}),
        (INNER, WITH_SELF, {}),
    ],
)
def test_a_difference_leaves_what_lies_below(
    fields: FieldSet, gone: FieldSet, expected: FieldSet
) -> None:
    assert exactly(field_sets.difference(fields, gone)) == exactly(expected)


@pytest.mark.parametrize(
    ("fields", "gone", "expected"),
    [
        (INNER, A, {}),
        (WITH_SELF, A, {}),
        (WITH_SELF, INNER, A),
        (INNER, INNER, {}),
        ({"f:a": {}, "f:b": {"f:c": {}}}, A, {"f:b": {"f:c": {}}}),
    ],
)
def test_a_recursive_difference_takes_what_lies_below(
    fields: FieldSet, gone: FieldSet, expected: FieldSet
) -> None:
    assert exactly(field_sets.recursive_difference(fields, gone)) == exactly(expected)


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        (A, A, A),
        (A, B, {}),
        (A, INNER, {}),
        (A, WITH_SELF, A),
        (INNER, WITH_SELF, INNER),
        (WITH_SELF, WITH_SELF, WITH_SELF),
    ],
)
def test_an_intersection_has_only_common_paths(
    one: FieldSet, other: FieldSet, expected: FieldSet
) -> None:
    assert exactly(field_sets.intersection(one, other)) == exactly(expected)


def test_leaves_have_nothing_below_them() -> None:
    assert field_sets.leaves({"f:a": {".": {}, "f:b": {}}, "f:c": {}}) == {
        "f:a": {"f:b": {}},
        "f:c": {},
    }


def test_elements_sort_fields_first_and_numbers_as_numbers() -> None:
    raw: Any = {
        "i:10": {},
        "i:9": {},
        'v:"b"': {},
        "v:10": {},
        "v:9": {},
        'k:{"port":443}': {},
        'k:{"port":80}': {},
        "f:z": {},
        "f:a": {},
    }
    assert list(field_sets.canonical(raw)) == [
        "f:a",
        "f:z",
        'k:{"port":80}',
        'k:{"port":443}',
        "v:9",
        "v:10",
        'v:"b"',
        "i:9",
        "i:10",
    ]


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (None, {}),
        ({'k:{ "b": 1, "a": 2 }': {}}, {'k:{"a":2,"b":1}': {}}),
        ({"f:a": {".": {}}}, {"f:a": {}}),
        ({"f:a": {"x:unknown": {}}}, {"f:a": {}}),
        ({"f:a": {".": {}, "f:b": None}}, {"f:a": {".": {}, "f:b": {}}}),
    ],
)
def test_a_set_from_a_client_gets_its_one_spelling(raw: Any, expected: FieldSet) -> None:
    assert field_sets.canonical(raw) == expected


@pytest.mark.parametrize("raw", ["f:a", {"f": {}}, {"spec": {}}, {"f:a": 1}, {"k:no": {}}])
def test_a_malformed_set_is_refused(raw: Any) -> None:
    with pytest.raises(MalformedSet):
        field_sets.canonical(raw)


def test_paths_name_members_before_what_lies_below_them() -> None:
    fields = field_sets.canonical(
        {"f:a": {"f:x": {}}, "f:b": {}, 'k:{"n":"m"}': {".": {}, "v:1": {}}}
    )
    assert [field_sets.path_text(path) for path in field_sets.paths(fields)] == [
        ".b",
        '[n="m"]',
        ".a.x",
        '[n="m"][=1]',
    ]


def test_a_path_is_in_the_set_only_as_a_member() -> None:
    assert field_sets.has(WITH_SELF, ("f:a",))
    assert not field_sets.has(INNER, ("f:a",))
    assert field_sets.has(INNER, ("f:a", "f:b"))
    assert not field_sets.has(A, ("f:a", "f:b"))


def test_keys_escape_what_go_escapes() -> None:
    assert field_sets.value_element("a<b&c") == 'v:"a\\u003cb\\u0026c"'
    assert field_sets.key_element(("on",), True) == 'k:{"on":true}'
    assert field_sets.key_element(("on",), 1) == 'k:{"on":1}'


def test_a_filter_keeps_only_what_its_patterns_match() -> None:
    keep = field_sets.only(("spec", "containers", "*", "resources"), ("status",))
    fields = field_sets.canonical(
        {
            "f:spec": {
                "f:containers": {
                    'k:{"name":"a"}': {".": {}, "f:image": {}, "f:resources": {"f:limits": {}}}
                },
                "f:nodeName": {},
            },
            "f:status": {"f:phase": {}},
        }
    )
    assert keep(fields) == {
        "f:spec": {"f:containers": {'k:{"name":"a"}': {".": {}, "f:resources": {"f:limits": {}}}}},
        "f:status": {"f:phase": {}},
    }


def exactly(fields: FieldSet) -> str:
    """With its order, which is part of what goes to clients."""
    return str(fields)
