"""Rules on values that a schema describes: types, escaped names, old values, budgets."""

from typing import Any

import pytest

from fleetqueue.apiserver import cel
from fleetqueue.apiserver.schema.node import Node

TEXT = {"type": "string"}


def obj(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


NAMED = {
    "type": "array",
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["k"],
    "items": obj(k=TEXT, v=TEXT),
}
SET = {"type": "array", "x-kubernetes-list-type": "set", "items": TEXT}
TIME = {"type": "string", "format": "date-time"}

HOLDS: dict[str, tuple[str, dict[str, Any], Any, Any]] = {
    # name: (rule, schema, self, oldSelf)
    "a timestamp": ("self.getFullYear() == 2020", TIME, "2020-01-01T00:00:00Z", None),
    "a date": (
        "self < timestamp('2021-01-01T00:00:00Z')",
        {**TIME, "format": "date"},
        "2020-01-01",
        None,
    ),
    "a duration": (
        "self == duration('90m')",
        {"type": "string", "format": "duration"},
        "1h30m",
        None,
    ),
    "bytes": ("self == b'abc'", {"type": "string", "format": "byte"}, "YWJj", None),
    "a number is a double": ("self / 2.0 == 0.5", {"type": "number"}, 1, None),
    "an int or a string": (
        "type(self) == int ? self > 1 : self == 'x'",
        {"x-kubernetes-int-or-string": True},
        2,
        None,
    ),
    "times in a list": (
        "self.max() == timestamp('2021-01-01T00:00:00Z')",
        {"type": "array", "items": TIME},
        ["2020-01-01T00:00:00Z", "2021-01-01T00:00:00Z"],
        None,
    ),
    "numbers in a map": (
        "self.all(k, self[k] / 2.0 < 1.0)",
        {"type": "object", "additionalProperties": {"type": "number"}},
        {"a": 1},
        None,
    ),
    "a dash in a name": ("self.a__dash__b == 'x'", obj(**{"a-b": TEXT}), {"a-b": "x"}, None),
    "a keyword": (
        "self.namespace == self.__namespace__",
        obj(namespace=TEXT),
        {"namespace": "x"},
        None,
    ),
    "underscores": ("self.a__underscores__b == 'x'", obj(a__b=TEXT), {"a__b": "x"}, None),
    "sets are equal in any order": ("self == oldSelf", SET, ["a", "b"], ["b", "a"]),
    "lists are not": ("self != oldSelf", {"type": "array", "items": TEXT}, ["a", "b"], ["b", "a"]),
    "map lists are equal by key": (
        "self == oldSelf",
        obj(l=NAMED),
        {"l": [{"k": "1"}, {"k": "2"}]},
        {"l": [{"k": "2"}, {"k": "1"}]},
    ),
    "the sum of sets is a union": ("(self + ['b', 'c']).size() == 3", SET, ["a", "b"], None),
    "the sum of map lists is an overlay": (
        "(self + oldSelf)[0].v == 'new'",
        NAMED,
        [{"k": "1", "v": "old"}],
        [{"k": "1", "v": "new"}],
    ),
    "null in a nullable field is nothing": (
        "!has(self.a) && !self.?a.hasValue()",
        obj(a={**TEXT, "nullable": True}),
        {"a": None},
        None,
    ),
}


@pytest.mark.parametrize(("rule", "schema", "value", "old"), HOLDS.values(), ids=HOLDS.keys())
def test_a_rule_holds(rule: str, schema: dict[str, Any], value: Any, old: Any) -> None:
    program = cel.compile_rule(rule, Node(schema))
    assert program.evaluate(value, old) is True
    assert program.holds(value, old, cel.Budget()) is True


def test_the_root_has_a_name_but_no_labels() -> None:
    node = Node(obj(spec=obj(a=TEXT)))
    rule = cel.compile_rule("self.metadata.name == 'x'", node, is_root=True)
    assert rule.evaluate({"metadata": {"name": "x"}, "spec": {}}) is True
    with pytest.raises(cel.CompileError, match="undefined field 'labels'"):
        cel.compile_rule("has(self.metadata.labels)", node, is_root=True)


@pytest.mark.parametrize(
    ("rule", "uses"), [("self == 'a'", False), ("self == oldSelf", True), ("oldSelf != ''", True)]
)
def test_a_transition_rule_is_known_by_its_old_self(rule: str, uses: bool) -> None:
    assert cel.compile_rule(rule, Node(TEXT)).uses_old_self is uses


def test_an_optional_old_self_may_be_missing() -> None:
    rule = cel.compile_rule("oldSelf.orValue('z') == self", Node(TEXT), is_old_optional=True)
    assert rule.evaluate("z") is True
    assert rule.evaluate("a", "a") is True
    assert rule.evaluate("a", "b") is False


def test_a_rule_must_be_a_bool() -> None:
    with pytest.raises(ValueError, match="cel expression must evaluate to a bool"):
        cel.compile_rule("self", Node(TEXT))


def test_what_has_no_type_has_no_rules() -> None:
    with pytest.raises(ValueError, match="failed to convert to declType"):
        cel.compile_rule("true", Node({"x-kubernetes-preserve-unknown-fields": True}))


@pytest.mark.parametrize(
    "expression",
    [
        "self.all(x, self.all(y, self.all(z, x + y + z >= 0)))",
        "self.map(x, self.map(y, self.map(z, x))).size() > 0",
        "self.map(x, 'a').join('').replace('', 'bbbbbbbbbbbbbbbb').replace('', self.map(x, 'ccccccccccccccccccc').join('')).size() > 0",  # noqa: E501
    ],
)
def test_a_hostile_expression_is_stopped(expression: str) -> None:
    numbers = {"type": "array", "items": {"type": "integer"}}
    rule = cel.compile_rule(expression, Node(numbers))
    with pytest.raises(cel.CostExceeded, match="actual cost limit exceeded"):
        rule.evaluate(list(range(2000)))


def test_rules_share_a_budget() -> None:
    rule = cel.compile_rule(
        "self.all(x, x > 0)", Node({"type": "array", "items": {"type": "integer"}})
    )
    budget = cel.Budget(1000)
    assert rule.evaluate([1] * 100, budget=budget) is True
    assert budget.remaining < 600


def test_a_deep_expression_is_evaluated_without_generated_code() -> None:
    expression = "+".join(["1"] * 90)
    nested = "(" * 90 + expression + ")" * 90 + " == 90"
    assert cel.compile(nested, {}).evaluate({}) is True


@pytest.mark.parametrize("text", ["(" * 5000 + "1" + ")" * 5000, "+".join(["1"] * 5000)])
def test_an_expression_that_is_too_deep_is_refused(text: str) -> None:
    with pytest.raises(cel.CompileError, match="expression recursion limit exceeded"):
        cel.compile(text, {})
