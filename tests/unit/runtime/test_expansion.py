"""`$(NAME)` in commands and values."""

import pytest

from fleetqueue.runtime.expansion import expand, missing_values

# fmt: off
CASES = {
    "a known name":            ("x$(A)y",    "x1y"),
    "an escaped reference":    ("$$(A)",     "$(A)"),
    "an unknown name":         ("$(B)",      "$(B)"),
    "a shell variable":        ("$A",        "$A"),
    "a braced variable":       ("${A}",      "${A}"),
    "no end":                  ("$(A",       "$(A"),
    "a dollar at the end":     ("a$",        "a$"),
    "a dollar and a name":     ("$$$(A)",    "$1"),
    "two names":               ("$(A)$(A)",  "11"),
    "what a value says stays": ("$(C)",      "$(A)"),
    "no nesting":              ("$($(A))",   "$($(A))"),
    "an empty name":           ("$()",       "$()"),
    "two dollars":             ("$$",        "$"),
    "three dollars":           ("$$$",       "$$"),
}
# fmt: on


@pytest.mark.rule("jobs C.3")
@pytest.mark.parametrize(("text", "expected"), CASES.values(), ids=CASES.keys())
def test_expansion(text: str, expected: str) -> None:
    assert expand(text, {"A": "1", "C": "$(A)"}) == expected


def test_missing_values_are_named_in_order() -> None:
    assert missing_values("$(Z)/$(A)/$(B)/$$(C)", {"A": "1", "B": ""}) == ["B", "Z"]
