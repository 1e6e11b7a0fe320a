"""Regular expressions: RE2's meaning, and no way to make them run for ever."""

import pytest

from fleetqueue.apiserver.cel.regex import PatternError, TooExpensive, compile_pattern
from fleetqueue.apiserver.cel.regex.automaton import Automaton
from fleetqueue.apiserver.cel.regex.safety import degree

DNS = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"

FOUND: list[tuple[str, str, tuple[int, int] | None]] = [
    (r"^a.c$", "abc", (0, 3)),
    (r"a$", "a\n", None),
    (r"(?m)a$", "a\nb", (0, 1)),
    (r"(?m)^b", "a\nb", (2, 3)),
    (r"(?i)foo|bar", "xFOO", (1, 4)),
    (r"x(?i)y", "xY", (0, 2)),
    (r"(?s)a.b", "a\nb", (0, 3)),
    (r"a.b", "a\nb", None),
    (r"\bx\b", "a x", (2, 3)),
    (r"\Bx", "ax", (1, 2)),
    (r"[[:alpha:]]+\d{2,4}", "-ab123", (1, 6)),
    (r"[^[:digit:]]", "1a", (1, 2)),
    (r"\pL+", "1é", (1, 2)),
    (r"\P{L}", "é1", (1, 2)),
    (r"\Q.*\E", "a.*", (1, 3)),
    (r"\x41\x{e9}", "Aé", (0, 2)),
    (r"a|ab", "ab", (0, 1)),
    (r"a*?b", "aab", (0, 3)),
    (r"(a+)+$", "aaa", (0, 3)),
    (r"(?P<n>a)(?:b)", "ab", (0, 2)),
    (r"\Aab\z", "ab", (0, 2)),
    (r"a{2}", "aaa", (0, 2)),
    (r"a{,2}", "a{,2}", (0, 5)),
    (r"[]a]+", "]a", (0, 2)),
    (r"[a\-z]+", "-", (0, 1)),
    ("", "x", (0, 0)),
    (DNS, "a-b.c", (0, 5)),
    (DNS, "a-.c", None),
]


@pytest.mark.parametrize(("source", "text", "span"), FOUND)
def test_both_engines_find_the_same(source: str, text: str, span: tuple[int, int] | None) -> None:
    pattern = compile_pattern(source)
    assert pattern.find(text) == span
    assert Automaton(pattern.tree).find(text) == span
    assert pattern.matches(text) is (span is not None)


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        ("(", "missing closing ): `(`"),
        (")", "unexpected ): `)`"),
        ("[a", "missing closing ]: `[a`"),
        ("*a", "missing argument to repetition operator: `*`"),
        ("a**", "invalid nested repetition operator: `**`"),
        ("a{1001}", "invalid repeat count: `{1001}`"),
        ("[z-a]", "invalid character class range: `z-a`"),
        ("(?=a)", "invalid or unsupported Perl syntax: `(?=`"),
        (r"\8", r"invalid escape sequence: `\8`"),
        (r"\p{Nope}", r"invalid character class range: `\p{Nope}`"),
        ("a\\", "trailing backslash at end of expression: ``"),
    ],
)
def test_what_is_not_re2_is_refused(source: str, problem: str) -> None:
    with pytest.raises(PatternError) as refusal:
        compile_pattern(source)
    assert str(refusal.value) == f"error parsing regexp: {problem}"


@pytest.mark.parametrize("source", [r"^(a+)+$", r"^(a|a)*$", r"^(a?a?)*$", r"^(a{0,60})*$"])
def test_patterns_that_explode_are_recognised(source: str) -> None:
    pattern = compile_pattern(source)
    assert degree(pattern.tree) is None
    assert not pattern.matches("a" * 400 + "!")


@pytest.mark.parametrize("source", [DNS, r"^[^/]+/.+$", r"^[a-z]+$", r"(\.[a-z]+)*"])
def test_usual_patterns_stay_fast(source: str) -> None:
    assert degree(compile_pattern(source).tree) is not None


def test_a_long_text_does_not_make_a_harmless_pattern_slow() -> None:
    assert not compile_pattern(".*.*.*=").matches("x" * 1000)


def test_too_much_work_is_refused() -> None:
    with pytest.raises(TooExpensive):
        compile_pattern("(a|b|c|d|e|f)*(a|b|c|d|e|f)*z").matches("abcdef" * 10_000)


@pytest.mark.parametrize(
    ("source", "text", "found"),
    [
        ("[0-9]+", "1 a 23", ["1", "23"]),
        ("x*", "abc", ["", "", "", ""]),
        ("a*", "baac", ["", "aa", ""]),
    ],
)
def test_all_matches_are_found_as_go_finds_them(source: str, text: str, found: list[str]) -> None:
    assert compile_pattern(source).find_all(text) == found
