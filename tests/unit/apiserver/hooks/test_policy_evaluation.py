"""What a policy says of a write, without a server."""

from typing import Any

import pytest

from fleetqueue.apiserver.hooks import policy_evaluation
from fleetqueue.apiserver.hooks.policy_evaluation import OUT_OF_BUDGET, Denial, denials

Object = dict[str, Any]
SMALL = {"expression": "object.size <= 3", "message": "too large"}


def said(*validations: Object, obj: Object | None = None, **spec: Any) -> list[Denial]:
    values = {"object": obj or {"size": 5}, "oldObject": None, "request": {"operation": "CREATE"}}
    return denials({"validations": list(validations), **spec}, {**values, "params": None})


def test_each_validation_that_does_not_hold_denies() -> None:
    other = {"expression": "object.size != 5", "reason": "Forbidden"}
    assert said(SMALL, {"expression": "true"}, other) == [
        Denial("too large", "Invalid"),
        Denial("failed expression: object.size != 5", "Forbidden"),
    ]
    assert said(SMALL, obj={"size": 3}) == []


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        ("'size is ' + string(object.size) + ' '", "size is 5"),
        ("'two\\nlines'", "too large"),
        ("' '", "too large"),
        ("string(object.nosuch)", "too large"),
    ],
)
def test_a_computed_message_goes_first_where_it_is_one(expression: str, text: str) -> None:
    assert said({**SMALL, "messageExpression": expression}) == [Denial(text, "Invalid")]


def test_a_variable_is_made_of_others_and_matters_only_to_who_reads_it() -> None:
    variables = [
        {"name": "twice", "expression": "variables.size + variables.size"},
        {"name": "size", "expression": "object.size"},
        {"name": "missing", "expression": "object.nosuch"},
        {"name": "itself", "expression": "variables.itself"},
    ]
    holds = {"expression": "variables.twice == 10 || variables.missing == 1"}
    assert said(holds, variables=variables) == []
    failed = "expression 'variables.missing == 1' resulted in error: composited variable"
    assert said({"expression": "variables.missing == 1"}, variables=variables) == [
        Denial(f'{failed} "missing" fails to evaluate: no such key: nosuch', "")
    ]
    (denial,) = said({"expression": "variables.itself == 1"}, variables=variables)
    assert "itself" in denial.message


def test_errors_count_as_the_failure_policy_says() -> None:
    broken = {"expression": "object.nosuch == 1"}
    text = "expression 'object.nosuch == 1' resulted in error: no such key: nosuch"
    assert said(broken) == [Denial(text, "")]
    assert said(broken, SMALL, failurePolicy="Ignore") == [Denial("too large", "Invalid")]


def test_conditions_are_looked_at_first() -> None:
    def when(*expressions: str, **spec: Any) -> list[Denial]:
        conditions = [{"name": "a", "expression": each} for each in expressions]
        return said(SMALL, matchConditions=conditions, **spec)

    assert when("object.size == 4") == []
    assert when("object.nosuch == 1", "object.size == 4") == []
    text = "expression 'object.nosuch == 1' resulted in error: no such key: nosuch"
    assert when("object.nosuch == 1") == [Denial(text, "")]
    assert when("object.nosuch == 1", failurePolicy="Ignore") == []


def test_a_policy_that_takes_too_long_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(policy_evaluation, "BUDGET", 1000)
    long = {"expression": "object.items.all(a, object.items.all(b, a + b >= 0))"}
    found = said(long, SMALL, obj={"items": list(range(90)), "size": 5})
    assert found == [Denial(OUT_OF_BUDGET, "")]
    assert said(long, obj={"items": [1, 2]}) == []
