"""Rules of CRDs that could become too expensive: each by itself, all together, and on updates."""

import copy
from typing import Any

import pytest

from fleetqueue.apiserver.builtin import definitions
from fleetqueue.apiserver.schema import structural
from fleetqueue.apiserver.schema.rule_costs import TotalCost, cardinality_below, excess

HINT = (
    "(try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, "
    "maps, and strings are declared)"
)
SPEC = "spec.validation.openAPIV3Schema.properties[spec]"
RULE = f"{SPEC}.x-kubernetes-validations[0].rule"
TOTAL = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema"
SHARE = (
    "Forbidden: contributed to estimated rule cost total exceeding cost limit "
    "for entire OpenAPIv3 schema"
)


def words(most: int | None, **rule: str) -> dict[str, Any]:
    """A list of strings; its rule costs some 630 thousand for each item."""
    rule = rule or {"rule": "self.all(a, a.matches('^[a-z]+$'))"}
    schema = {
        "type": "array",
        "items": {"type": "string"},
        "x-kubernetes-validations": [rule],
    }
    return schema if most is None else schema | {"maxItems": most}


def version(name: str, spec: dict[str, Any]) -> dict[str, Any]:
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}
    return {"name": name, "served": True, "storage": name == "v1", "schema": schema}


def definition(*specs: dict[str, Any]) -> dict[str, Any]:
    crd = {
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com",
            "names": {"plural": "widgets", "kind": "Widget"},
            "scope": "Namespaced",
            "versions": [version(f"v{n}", spec) for n, spec in enumerate(specs, 1)],
        },
    }
    definitions.default_definition(crd)
    definitions.prepare_definition(crd)
    return crd


def errors_of(crd: dict[str, Any], old: dict[str, Any] | None = None) -> list[str]:
    return [str(error) for error in structural.validate_crd(crd, old)]


def test_a_rule_within_the_limit_is_accepted() -> None:
    assert errors_of(definition(words(15))) == []


def test_a_rule_beyond_the_limit_is_refused() -> None:
    why = f"Forbidden: estimated rule cost exceeds budget by factor of 1.258300x {HINT}"
    assert errors_of(definition(words(20))) == [f"{RULE}: {why}"]


def test_a_rule_is_paid_for_as_often_as_it_runs() -> None:
    inner = words(2)
    assert errors_of(definition({"type": "array", "maxItems": 7, "items": inner})) == []
    (error,) = errors_of(definition({"type": "array", "maxItems": 8, "items": inner}))
    assert "by factor of 1.006642x" in error


def test_a_message_is_paid_for_once() -> None:
    long = {"rule": "true", "messageExpression": "self[0] + self[0]"}
    assert errors_of(definition({"type": "array", "items": words(None, **long)})) == []
    longer = {"rule": "true", "messageExpression": "'%s'.format(self).trim()"}
    error, *_ = errors_of(definition(words(1, **longer)))
    assert error.startswith(f"{SPEC}.x-kubernetes-validations[0].messageExpression: Forbidden: ")
    assert "estimated messageExpression cost exceeds budget by factor of more than 100x" in error


def test_an_unchanged_schema_keeps_its_expensive_rule() -> None:
    old = definition(words(20))
    labelled = copy.deepcopy(old)
    labelled["metadata"]["labels"] = {"a": "b"}
    assert errors_of(labelled, old) == []
    assert errors_of(definition(words(20), words(20)), old) == []


def test_a_schema_that_changes_elsewhere_does_not() -> None:
    old, new = definition(words(20)), definition(words(20) | {"description": "x"})
    assert len(errors_of(new, old)) == 1
    assert len(errors_of(definition(words(15), words(20)), definition(words(15)))) == 1


def test_all_rules_together_are_limited_even_if_nothing_changed() -> None:
    old = definition(words(2000))
    total = f"Forbidden: {TOTAL} exceeds budget by factor of 12.6x {HINT}"
    expected = [f"{RULE}: {SHARE}", f"spec.validation.openAPIV3Schema: {total}"]
    assert errors_of(copy.deepcopy(old), old) == expected


def test_the_four_dearest_rules_are_named() -> None:
    total = TotalCost()
    for name, millions in {"a": 30, "b": 50, "c": 10, "d": 40, "e": 20}.items():
        total.observe(name, millions * 1_000_000)
    *named, whole = total.errors("root")
    assert [error.path for error in named] == ["b", "d", "a", "e"]
    assert str(whole) == f"root: Forbidden: {TOTAL} exceeds budget by factor of 1.5x {HINT}"


def test_rules_that_hardly_count_are_not_named() -> None:
    total = TotalCost()
    for index in range(102):
        total.observe(f"rule {index}", 999_999)
    assert [error.path for error in total.errors("root")] == ["root"]


def test_costs_within_the_total_are_no_error() -> None:
    total = TotalCost()
    total.observe("a", 100_000_000)
    assert list(total.errors("root")) == []
    total.observe("b", 1)
    assert [error.path for error in total.errors("root")] == ["a", "root"]


@pytest.mark.parametrize(
    ("cost", "factor"),
    [
        (10_000_001, "1.000000x"),
        (14_999_990, "1.499999x"),
        (15_000_000, "1.5x"),
        (999_900_000, "100.0x"),
        (1_000_000_000, "100.0x"),
        (1_000_000_001, "more than 100x"),
        (2**64 - 1, "more than 100x"),
    ],
)
def test_how_much_too_much_is_shown(cost: int, factor: str) -> None:
    assert excess("it", cost, 10_000_000) == f"it exceeds budget by factor of {factor} {HINT}"


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"type": "object", "properties": {}}, 3),
        ({"type": "object", "additionalProperties": {}, "maxProperties": 5}, 15),
        ({"type": "object", "additionalProperties": {}}, None),
        ({"type": "array", "maxItems": 4}, 12),
        ({"type": "array", "maxItems": -1}, 0),
        ({"type": "array"}, None),
        ({"type": "string"}, 3),
    ],
)
def test_how_often_values_below_a_schema_occur(schema: dict[str, Any], expected: int) -> None:
    assert cardinality_below(schema, 3) == expected
    assert cardinality_below(schema, None) is None
