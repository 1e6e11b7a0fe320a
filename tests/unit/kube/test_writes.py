"""Whether a write would change anything."""

from typing import Any

import pytest

from fleetqueue.kube import writes

# fmt: off
HOLDS: dict[str, tuple[Any, Any, bool]] = {  # present, wanted, holds
    "equal":                    ({"a": 1}, {"a": 1}, True),
    "more is there":            ({"a": 1, "b": 2}, {"a": 1}, True),
    "a field is missing":       ({"a": 1}, {"a": 1, "b": 2}, False),
    "a field differs":          ({"a": {"b": 1}}, {"a": {"b": 2}}, False),
    "true is not one":          ({"a": 1}, {"a": True}, False),
    "items by type":            ([{"type": "B", "x": 1}, {"type": "A"}], [{"type": "B"}], True),
    "an item is missing":       ([{"type": "A"}], [{"type": "B"}], False),
    "an item differs":          ([{"type": "A", "x": 1}], [{"type": "A", "x": 2}], False),
    "plain lists":              ([1, 2], [1, 2], True),
    "plain lists are ordered":  ([1, 2], [2, 1], False),
    "a longer plain list":      ([1, 2], [1], False),
    "an empty list":            ([{"type": "A"}], [], False),
}
MERGES: dict[str, tuple[Any, Any, bool]] = {  # present, patch, changes nothing
    "the same value":       ({"a": 1}, {"a": 1}, True),
    "another value":        ({"a": 1}, {"a": 2}, False),
    "a new field":          ({"a": 1}, {"b": 1}, False),
    "a removal":            ({"a": 1}, {"a": None}, False),
    "a removal of nothing": ({"a": 1}, {"b": None}, True),
    "deep and the same":    ({"a": {"b": 1, "c": 2}}, {"a": {"b": 1}}, True),
    "an empty object anew": ({}, {"a": {}}, False),
    "a list as a whole":    ({"a": [1, 2]}, {"a": [1]}, False),
}
# fmt: on


@pytest.mark.parametrize(("present", "wanted", "holds"), HOLDS.values(), ids=HOLDS.keys())
def test_holds(present: Any, wanted: Any, holds: bool) -> None:
    assert writes.holds(present, wanted) is holds


@pytest.mark.parametrize(("present", "patch", "nothing"), MERGES.values(), ids=MERGES.keys())
def test_merge_patches(present: Any, patch: Any, nothing: bool) -> None:
    assert writes.merge_changes_nothing(present, patch) is nothing


def test_which_patches_remove_something() -> None:
    assert writes.removes_something({"a": {"b": None}})
    assert not writes.removes_something({"a": {"b": 0}, "c": [None]})
