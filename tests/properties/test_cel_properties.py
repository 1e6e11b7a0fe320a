"""Properties of expressions and patterns: both ways to evaluate agree, arithmetic is 64-bit."""

import re
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from fleetqueue.apiserver import cel
from fleetqueue.apiserver.cel.interpreter import interpret
from fleetqueue.apiserver.cel.regex import compile_pattern
from fleetqueue.apiserver.cel.regex.automaton import Automaton

VARIABLES = {"a": cel.DYN, "b": cel.DYN, "c": cel.DYN}
INT_MAX = 2**63 - 1

numbers = st.one_of(
    st.integers(-5, 5).map(str), st.sampled_from(["a", "b", "9223372036854775807", "1/0", "a.x"])
)


def arithmetic(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    operators = st.sampled_from(["+", "-", "*", "/", "%"])
    return st.tuples(inner, operators, inner).map(lambda p: f"({p[0]} {p[1]} {p[2]})")


def logic(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.tuples(inner, st.sampled_from(["&&", "||"]), inner).map(lambda p: f"({' '.join(p)})"),
        inner.map(lambda p: f"!{p}"),
        st.tuples(inner, inner, inner).map(lambda p: f"({p[0]} ? {p[1]} : {p[2]})"),
        st.tuples(st.sampled_from(["all", "exists", "exists_one"]), inner).map(
            lambda p: f"c.{p[0]}(a, {p[1]})"
        ),
    )


sums = st.recursive(numbers, arithmetic, max_leaves=4)
comparisons = st.tuples(sums, st.sampled_from(["<", "<=", "==", "!=", ">"]), sums).map(
    lambda p: f"({p[0]} {p[1]} {p[2]})"
)
conditions = st.recursive(
    st.one_of(comparisons, st.sampled_from(["true", "false", "(a in c)", "has(b.x)"])),
    logic,
    max_leaves=6,
)
values = st.fixed_dictionaries(
    {
        "a": st.one_of(st.integers(-3, 3), st.text("xy", max_size=2)),
        "b": st.one_of(st.integers(-3, 3), st.just({"x": 1})),
        "c": st.lists(st.integers(-2, 2), max_size=3),
    }
)


def outcome(evaluate: Any) -> Any:
    try:
        return evaluate()
    except cel.CelError as problem:
        return f"error: {problem}"


@settings(max_examples=100, deadline=None)
@given(conditions, values)
def test_generated_code_agrees_with_the_interpreter(text: str, given_values: Any) -> None:
    program = cel.compile(text, VARIABLES)
    fast = outcome(lambda: program.evaluate(given_values))
    slow = outcome(lambda: interpret(program.tree, given_values, cel.Budget()))
    assert fast == slow


@settings(max_examples=100, deadline=None)
@given(
    st.integers(-(2**63), INT_MAX), st.integers(-(2**63), INT_MAX), st.sampled_from(["+", "-", "*"])
)
def test_arithmetic_is_exact_or_an_overflow(left: int, right: int, sign: str) -> None:
    program = cel.compile(f"x {sign} y", {"x": cel.Type("int"), "y": cel.Type("int")})
    exact = {"+": left + right, "-": left - right, "*": left * right}[sign]
    expected = exact if -(2**63) <= exact <= INT_MAX else "error: integer overflow"
    assert outcome(lambda: program.evaluate({"x": left, "y": right})) == expected


@settings(max_examples=100, deadline=None)
@given(st.integers(-(2**63), INT_MAX), st.integers(-(2**63), INT_MAX).filter(bool))
def test_division_and_remainder_belong_together(left: int, right: int) -> None:
    kinds = {"x": cel.Type("int"), "y": cel.Type("int")}
    whole = outcome(lambda: cel.compile("x / y", kinds).evaluate({"x": left, "y": right}))
    rest = outcome(lambda: cel.compile("x % y", kinds).evaluate({"x": left, "y": right}))
    if isinstance(whole, int):
        assert whole * right + rest == left
        assert abs(rest) < abs(right)
    else:
        assert (left, right) == (-(2**63), -1)


atoms = st.sampled_from(["a", "b", ".", "[ab]", "[^a]", r"\w", "^", "$", "(?:ab)"])
patterns = st.recursive(
    atoms,
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=3).map("".join),
        st.tuples(inner, inner).map(lambda p: f"(?:{p[0]}|{p[1]})"),
        st.tuples(inner, st.sampled_from(["*", "+", "?", "{1,2}", "*?"])).map(
            lambda p: f"(?:{p[0]}){p[1]}"
        ),
    ),
    max_leaves=6,
)


@settings(max_examples=100, deadline=None)
@given(patterns, st.text("ab-", max_size=8))
def test_the_automaton_finds_what_backtracking_finds(source: str, text: str) -> None:
    pattern = compile_pattern(source)
    found = re.compile(source.replace("$", r"\Z")).search(text)
    assert Automaton(pattern.tree).find(text) == (found.span() if found else None)
    assert pattern.matches(text) is (found is not None)
