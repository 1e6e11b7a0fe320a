"""Fields that are not where a schema has them."""

from typing import Any

import pytest

from fleetqueue.apiserver.schema import stray_fields

SCHEMA = {
    "properties": {
        "kind": {},
        "spec": {
            "properties": {
                "size": {},
                "policy": {"properties": {"who": {}}},
                "items": {"items": {"properties": {"name": {}, "inner": {"properties": {}}}}},
            }
        },
    }
}


@pytest.mark.rule("S001-7")
@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("spec.policy.size", ' (it belongs at "spec.size")'),
        ("spec.items[0].inner.name", ' (it belongs at "spec.items[0].name")'),
        ("spec.items[0].inner.size", ' (it belongs at "spec.size")'),
        ("spec.policy.other", ""),
        ("spec.policy.kind", ""),
        ("spec.gone.deeper.still", ""),
        ("size", ""),
    ],
)
def test_a_field_that_belongs_further_up_is_told_so(path: str, told: str) -> None:
    assert stray_fields.hint(SCHEMA, path) == told


@pytest.mark.parametrize("text", [None, "", "{", "3", '["a"]'])
def test_a_definition_that_says_nothing_of_retired_fields_has_none(text: str | None) -> None:
    annotations = None if text is None else {stray_fields.RETIRED_KEY: text}
    assert stray_fields.retired(annotations) == {}


@pytest.mark.rule("S002-12")
@pytest.mark.parametrize(
    ("spec", "left"),
    [
        ({"torch": {"count": "auto"}}, {"torch": {}}),
        ({"torch": {"count": 3}}, {"torch": {"count": 3}}),
        ({"torch": {}}, {"torch": {}}),
        ({"torch": 4}, {"torch": 4}),
        ({}, {}),
    ],
)
def test_a_retired_field_is_dropped_where_it_says_what_happens_anyway(
    spec: dict[str, Any], left: dict[str, Any]
) -> None:
    fields = stray_fields.retired({stray_fields.RETIRED_KEY: '{"spec.torch.count": "auto"}'})
    obj = {"spec": spec}
    stray_fields.drop_retired(obj, fields)
    assert obj == {"spec": left}
