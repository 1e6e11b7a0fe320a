"""Columns that a CRD declares."""

from typing import Any

import pytest

from fleetqueue.apiserver.printing import custom
from fleetqueue.apiserver.registry import Column
from support.rows import AN_HOUR_AGO, NOW

# fmt: off
VALUES: list[tuple[str, Any, Any]] = [
    ("string", "x", "x"),
    ("string", 7, "7"),
    ("string", 1.5, "1.5"),
    ("string", True, "true"),
    ("string", None, "<no value>"),
    ("string", {"z": 1, "a": ["<&>"]}, '{"a":["\\u003c\\u0026\\u003e"],"z":1}'),
    ("integer", 3, 3),
    ("integer", 3.7, 3),
    ("integer", "3", None),
    ("integer", True, None),
    ("number", 2, 2),
    ("number", 0.5, 0.5),
    ("number", "x", None),
    ("boolean", False, False),
    ("boolean", "no", None),
    ("date", AN_HOUR_AGO, "60m"),
    ("date", "never", "<invalid>"),
    ("date", "", "<unknown>"),
    ("date", 3, None),
]
# fmt: on


@pytest.mark.parametrize(("kind", "value", "shown"), VALUES)
def test_a_value_is_shown_by_its_columns_type(kind: str, value: Any, shown: Any) -> None:
    layout = custom.layout([Column("C", kind, ".spec.value")])
    obj = {"metadata": {"name": "a"}, "spec": {"value": value}}
    assert layout.cells(obj, NOW) == ["a", shown]


def test_what_is_missing_is_an_empty_cell() -> None:
    paths = (".spec.nothing", ".spec.list[5]", '.spec.list[?(@.type=="x")].name')
    layout = custom.layout([Column("C", "string", path) for path in paths])
    assert layout.cells({"metadata": {"name": "a"}, "spec": {"list": []}}, NOW)[1:] == [None] * 3


def test_a_version_without_columns_shows_the_age() -> None:
    layout = custom.layout([])
    metadata = {"name": "a", "creationTimestamp": AN_HOUR_AGO}
    assert [column["name"] for column in layout.definitions()] == ["Name", "Age"]
    assert layout.cells({"metadata": metadata}, NOW) == ["a", "60m"]


def test_columns_keep_what_the_crd_says_of_them() -> None:
    declared = Column("Size", "integer", ".spec.size", "int32", "How large", 1)
    assert custom.layout([declared]).definitions()[1] == {
        "name": "Size",
        "type": "integer",
        "format": "int32",
        "description": "How large",
        "priority": 1,
    }
