"""What is wrong with expressions that do not compile. Recorded from cel-go."""

import pytest

from fleetqueue.apiserver import cel

ISSUES: list[tuple[str, list[tuple[int, str]]]] = [
    ("1 == 1.0", [(2, "found no matching overload for '_==_' applied to '(int, double)'")]),
    ("1 == 1u", [(2, "found no matching overload for '_==_' applied to '(int, uint)'")]),
    (
        "1.0 in [1,2]",
        [(4, "found no matching overload for '@in' applied to '(double, list(int))'")],
    ),
    (
        "[1,2,3].existsOne(x, x > 1)",
        [
            (17, "undeclared reference to 'existsOne' (in container '')"),
            (18, "undeclared reference to 'x' (in container '')"),
            (21, "undeclared reference to 'x' (in container '')"),
        ],
    ),
    ("duration('x')", [(9, "invalid duration argument")]),
    ("timestamp('2020-02-30T00:00:00Z')", [(10, "invalid timestamp argument")]),
    ("'abc'.matches('(')", [(14, "invalid matches argument")]),
    (
        "'%d'.format(['x'])",
        [
            (
                13,
                "error during formatting: decimal clause can only be used on integers, "
                "was given string",
            )
        ],
    ),
    ("'%s %s'.format(['a'])", [(14, "index 1 out of range")]),
    (
        "'%q'.format(['a'])",
        [(11, 'could not parse formatting clause: unrecognized formatting clause "q"')],
    ),
    ("['a'].sum()", [(9, "found no matching overload for 'sum' applied to 'list(string).()'")]),
    (
        "quantity('-1').sign()",
        [(19, "found no matching overload for 'sign' applied to 'kubernetes.Quantity.()'")],
    ),
    ("dyn([1,'a'])[0]", [(7, "expected type 'int' but found 'string'")]),
    ("[1,'a']", [(3, "expected type 'int' but found 'string'")]),
    ("[1, dyn('a')]", [(7, "expected type 'int' but found 'dyn'")]),
    ("{'a':1, 'b':'c'}", [(12, "expected type 'int' but found 'string'")]),
    ("{1:1, 'b':1}", [(6, "expected type 'int' but found 'string'")]),
    (
        "'%s %s'.format(['a','b','c'])",
        [(14, "too many arguments supplied to string.format (expected 2, got 3)")],
    ),
    ("[[1],['a']]", [(5, "expected type 'list(int)' but found 'list(string)'")]),
    ("1 + 'a'", [(2, "found no matching overload for '_+_' applied to '(int, string)'")]),
    ("1 + self.x + 'a'", [(11, "found no matching overload for '_+_' applied to '(int, string)'")]),
    ("foo", [(0, "undeclared reference to 'foo' (in container '')")]),
    ("foo(1)", [(3, "undeclared reference to 'foo' (in container '')")]),
    ("self.foo(1)", [(8, "undeclared reference to 'foo' (in container '')")]),
    ("1.foo()", [(5, "undeclared reference to 'foo' (in container '')")]),
    ("'a'.b", [(3, "type 'string' does not support field selection")]),
    ("'a'.b()", [(5, "undeclared reference to 'b' (in container '')")]),
    ("has(1)", [(4, "invalid argument to has() macro")]),
    ("has(self)", [(4, "invalid argument to has() macro")]),
    ("[1].map(1, 2)", [(8, "argument is not an identifier")]),
    ("[1].all(x, 1)", [(11, "expected type 'bool' but found 'int'")]),
    ("[1].exists(x, 'a')", [(14, "expected type 'bool' but found 'string'")]),
    (
        "[1].filter(x, 1)",
        [(10, "found no matching overload for '_?_:_' applied to '(int, list(int), list(int))'")],
    ),
    (
        "[1].map(x, 1, x)",
        [(7, "found no matching overload for '_?_:_' applied to '(int, list(int), list(int))'")],
    ),
    (
        "[1].exists_one(x, 1)",
        [(14, "found no matching overload for '_?_:_' applied to '(int, int, int)'")],
    ),
    ("true && 1", [(8, "expected type 'bool' but found 'int'")]),
    ("1 || true", [(0, "expected type 'bool' but found 'int'")]),
    ("1 ? 2 : 3", [(2, "found no matching overload for '_?_:_' applied to '(int, int, int)'")]),
    (
        "true ? 1 : 'a'",
        [(5, "found no matching overload for '_?_:_' applied to '(bool, int, string)'")],
    ),
    ("!1", [(0, "found no matching overload for '!_' applied to '(int)'")]),
    ("-'a'", [(0, "found no matching overload for '-_' applied to '(string)'")]),
    ("[1][true]", [(3, "found no matching overload for '_[_]' applied to '(list(int), bool)'")]),
    (
        "{'a':1}[1]",
        [(7, "found no matching overload for '_[_]' applied to '(map(string, int), int)'")],
    ),
    ("1 in 'abc'", [(2, "found no matching overload for '@in' applied to '(int, string)'")]),
    ("'a' in ['b', 1]", [(13, "expected type 'string' but found 'int'")]),
    ("1 == 'a'", [(2, "found no matching overload for '_==_' applied to '(int, string)'")]),
    ("1 < 'a'", [(2, "found no matching overload for '_<_' applied to '(int, string)'")]),
    (
        "[1] == ['a']",
        [(4, "found no matching overload for '_==_' applied to '(list(int), list(string))'")],
    ),
    ("null == 1", [(5, "found no matching overload for '_==_' applied to '(null, int)'")]),
    ("null == 'a'", [(5, "found no matching overload for '_==_' applied to '(null, string)'")]),
    ("[1] == null", [(4, "found no matching overload for '_==_' applied to '(list(int), null)'")]),
    ("(1", [(2, "Syntax error: missing ')' at '<EOF>'")]),
    ("[1", [(2, "Syntax error: mismatched input '<EOF>' expecting {']', ','}")]),
    ("{'a'", [(4, "Syntax error: mismatched input '<EOF>' expecting ':'")]),
    ("a b", [(2, "Syntax error: extraneous input 'b' expecting <EOF>")]),
    ("1 1", [(2, "Syntax error: extraneous input '1' expecting <EOF>")]),
    ("self.", [(5, "Syntax error: no viable alternative at input '.'")]),
    ("self.1", [(4, "Syntax error: extraneous input '.1' expecting <EOF>")]),
    (".", [(1, "Syntax error: no viable alternative at input '.'")]),
    ("for", [(0, "reserved identifier: for")]),
    ("a.b.c", [(0, "undeclared reference to 'a' (in container '')")]),
    ("1 &", [(2, "Syntax error: token recognition error at: '&'")]),
    ("if", [(0, "reserved identifier: if")]),
    ("true.a", [(4, "type 'bool' does not support field selection")]),
    ("99999999999999999999", [(0, "invalid int literal")]),
    ("99999999999999999999u", [(0, "invalid uint literal")]),
    ("1..2", [(2, "Syntax error: no viable alternative at input '..2'")]),
    ("1.", [(2, "Syntax error: no viable alternative at input '.'")]),
    ("a ? b", [(5, "Syntax error: mismatched input '<EOF>' expecting ':'")]),
    ("google.protobuf.Foo", [(0, "undeclared reference to 'google' (in container '')")]),
    ("Foo{a: 1}", [(3, "undeclared reference to 'Foo' (in container '')")]),
    ("[1,2,3].transformList(i, i, 1)", [(25, "duplicate variable name: i")]),
    ("[1,2,3].all(x, x, true)", [(15, "duplicate variable name: x")]),
    ("[1].map(x.y, 1)", [(9, "argument is not an identifier")]),
    (
        "optional.of(1) == 1",
        [(15, "found no matching overload for '_==_' applied to '(optional_type(int), int)'")],
    ),
    (
        "optional.of(1) + 1",
        [(15, "found no matching overload for '_+_' applied to '(optional_type(int), int)'")],
    ),
    (
        "duration('1s') * 2",
        [(15, "found no matching overload for '_*_' applied to '(duration, int)'")],
    ),
    (
        "url('http://x').getHost() + 1",
        [(26, "found no matching overload for '_+_' applied to '(string, int)'")],
    ),
    ("'a' 'b'", [(4, "Syntax error: extraneous input ''b'' expecting <EOF>")]),
]


@pytest.mark.parametrize(("expression", "issues"), ISSUES)
def test_a_wrong_expression_is_refused(expression: str, issues: list[tuple[int, str]]) -> None:
    with pytest.raises(cel.CompileError) as failure:
        cel.compile(expression, {"self": cel.DYN, "oldSelf": cel.DYN})
    assert [(issue.position, issue.message) for issue in failure.value.issues] == issues


def test_a_syntax_error_lists_what_was_expected() -> None:
    with pytest.raises(cel.CompileError) as failure:
        cel.compile("1 + ", {})
    assert failure.value.issues[0].message == (
        "Syntax error: mismatched input '<EOF>' expecting {'[', '{', '(', '.', '-', '!', 'true', "
        "'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}"
    )


def test_an_error_shows_the_line_and_a_caret() -> None:
    with pytest.raises(cel.CompileError) as failure:
        cel.compile("true &&\n  missing", {})
    assert str(failure.value) == (
        "ERROR: <input>:2:3: undeclared reference to 'missing' (in container '')\n"
        " |   missing\n"
        " | ..^"
    )
