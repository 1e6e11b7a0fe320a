"""Label and field selectors, with kube-apiserver's words for what it refuses."""

from typing import Any

import pytest

from fleetqueue.api import selectors
from fleetqueue.api.selectors import NOTHING, LabelSelector, SelectorError

LABELS = {"app": "web", "tier": "a", "weight": "5", "empty": "", "in": "x"}

NAME = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end "
    "with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for "
    "validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
VALUE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', "
    "and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or "
    "'12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)


@pytest.mark.parametrize(
    ("text", "printed", "matches"),
    [
        ("", "", True),
        ("app=web", "app=web", True),
        ("app==web", "app==web", True),
        ("app!=web", "app!=web", False),
        ("missing!=web", "missing!=web", True),
        ("tier in (b, a)", "tier in (a,b)", True),
        ("tier notin (a)", "tier notin (a)", False),
        ("missing notin (a)", "missing notin (a)", True),
        ("missing in (a)", "missing in (a)", False),
        ("app", "app", True),
        ("!app", "!app", False),
        ("! missing", "!missing", True),
        ("weight>4", "weight>4", True),
        ("weight<5", "weight<5", False),
        ("app>4", "app>4", False),
        ("empty=", "empty=", True),
        ("empty in ()", "empty in ()", True),
        ("empty in (,x)", "empty in (,x)", True),
        ("in in (x)", "in in (x)", True),
        ("tier=a, app=web", "app=web,tier=a", True),
        ("tier=a,app=no", "app=no,tier=a", False),
    ],
)
def test_a_label_selector_reads_prints_and_matches(text: str, printed: str, matches: bool) -> None:
    selector = selectors.parse_labels(text)
    assert str(selector) == printed
    assert selector.matches(LABELS) is matches
    assert selectors.parse_labels(str(selector)) == selector


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("=", "found '=', expected: !, identifier, or 'end of string'"),
        ("a,", "found '', expected: identifier after ','"),
        ("a b", "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"),
        ("a=b c", "found 'c', expected: ',' or 'end of string'"),
        ("a in x", "unable to parse requirement: found 'x' expected: '('"),
        ("a in (x", "unable to parse requirement: found '', expected: ',' or ')'"),
        ("a in (!)", "unable to parse requirement: found '!', expected: ',', ')' or identifier"),
        ("a in (x,=)", "unable to parse requirement: found '=', expected: ',', or identifier"),
        ("a==!", "unable to parse requirement: found '!', expected: identifier"),
        ("!", "unable to parse requirement: found '', expected: identifier"),
        ("!a=b", "found '=', expected: ',' or 'end of string'"),
        ("-a", f'unable to parse requirement: <nil>: Invalid value: "-a": {NAME}'),
        ("a=-", f'unable to parse requirement: values[0][a]: Invalid value: "-": {VALUE}'),
        (
            "a>x",
            'unable to parse requirement: values[0]: Invalid value: "x": '
            "for 'Gt', 'Lt' operators, the value must be an integer",
        ),
    ],
)
def test_a_label_selector_that_cannot_be_read_is_refused(text: str, message: str) -> None:
    with pytest.raises(SelectorError) as caught:
        selectors.parse_labels(text)
    assert str(caught.value) == message


def test_a_selector_object_matches_labels_and_expressions() -> None:
    selector = selectors.labels_from_object(
        {
            "matchLabels": {"app": "web"},
            "matchExpressions": [
                {"key": "tier", "operator": "In", "values": ["a", "b"]},
                {"key": "missing", "operator": "DoesNotExist"},
                {"key": "weight", "operator": "Exists"},
                {"key": "in", "operator": "NotIn", "values": ["y"]},
            ],
        }
    )
    assert str(selector) == "app=web,in notin (y),!missing,tier in (a,b),weight"
    assert selector.matches(LABELS)
    assert not selector.matches({})


def test_no_selector_matches_nothing_and_an_empty_one_everything() -> None:
    assert selectors.labels_from_object(None) is NOTHING
    assert not NOTHING.matches({"a": "b"})
    assert selectors.labels_from_object({}).matches(None)
    assert LabelSelector().is_empty()
    assert not NOTHING.is_empty()


def test_a_selector_object_with_an_unknown_operator_is_refused() -> None:
    with pytest.raises(SelectorError, match='"Near" is not a valid label selector operator'):
        selectors.labels_from_object({"matchExpressions": [{"key": "a", "operator": "Near"}]})


@pytest.mark.parametrize(
    ("selector", "faults"),
    [
        (None, []),
        ({"matchLabels": {"a": "b"}}, []),
        (
            {"matchLabels": {"-": "b"}},
            [("FieldValueInvalid", "s.matchLabels", '"-"', NAME)],
        ),
        (
            {"matchExpressions": [{"key": "a", "operator": "In"}]},
            [
                (
                    "FieldValueRequired",
                    "s.matchExpressions[0].values",
                    "",
                    "must be specified when `operator` is 'In' or 'NotIn'",
                )
            ],
        ),
        (
            {"matchExpressions": [{"key": "a", "operator": "Exists", "values": ["x"]}]},
            [
                (
                    "FieldValueForbidden",
                    "s.matchExpressions[0].values",
                    "",
                    "may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
                )
            ],
        ),
        (
            {"matchExpressions": [{"key": "a", "operator": "Near", "values": ["-"]}]},
            [
                (
                    "FieldValueInvalid",
                    "s.matchExpressions[0].operator",
                    '"Near"',
                    "not a valid selector operator",
                ),
                ("FieldValueInvalid", "s.matchExpressions[0].values[0]", '"-"', VALUE),
            ],
        ),
    ],
)
def test_a_stored_selector_is_validated(selector: Any, faults: list[tuple[str, ...]]) -> None:
    assert selectors.validate_object(selector, "s") == faults


def test_the_exact_value_is_known_where_there_is_one() -> None:
    selector = selectors.parse_labels("a=1,b in (2),c in (3,4)")
    assert [selector.exact_value(key) for key in "abcd"] == ["1", "2", None, None]
    assert str(selectors.labels_from_set({"b": "2", "a": "1"})) == "a=1,b=2"


@pytest.mark.parametrize(
    ("text", "printed", "matches"),
    [
        ("", "", True),
        ("metadata.name=x", "metadata.name=x", True),
        ("metadata.name==x", "metadata.name=x", True),
        ("metadata.name!=x", "metadata.name!=x", False),
        ("status.phase=", "status.phase=", True),
        (r"note=a\,b\=c\\", r"note=a\,b\=c\\", True),
        ("status.phase!=Running,metadata.name=x", "metadata.name=x,status.phase!=Running", True),
        (",,metadata.name=x,", "metadata.name=x", True),
    ],
)
def test_a_field_selector_reads_prints_and_matches(text: str, printed: str, matches: bool) -> None:
    selector = selectors.parse_fields(text)
    assert str(selector) == printed
    assert selector.matches({"metadata.name": "x", "note": "a,b=c\\"}) is matches


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("abc", "invalid selector: 'abc'; can't understand 'abc'"),
        (r"a=\x", r"invalid field selector: invalid escape sequence: \x"),
        ("a=b\\", "invalid field selector: invalid escape sequence: \\"),
        ("a=b=c", "invalid field selector: unescaped character in value: 61"),
    ],
)
def test_a_field_selector_that_cannot_be_read_is_refused(text: str, message: str) -> None:
    with pytest.raises(SelectorError) as caught:
        selectors.parse_fields(text)
    assert str(caught.value) == message


def test_a_field_selector_knows_its_exact_value() -> None:
    selector = selectors.parse_fields("a=1,b!=2")
    assert (selector.exact_value("a"), selector.exact_value("b")) == ("1", None)
    assert not selector.is_empty()
