"""YAML and JSON mean what they mean to kubectl."""

from typing import Any

import pytest

from fleetqueue.base import documents
from fleetqueue.base.documents import DocumentError


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("yes", True),
        ("On", True),
        ("n", False),
        ("off", False),
        ("'yes'", "yes"),
        ("yesterday", "yesterday"),
        ("~", None),
        ("", None),
        ("Null", None),
        ("010", 8),
        ("08", 8),
        ("0x1F", 31),
        ("0b11", 3),
        ("0o7", 7),
        ("1_000", 1000),
        ("+1", 1),
        ("1e3", 1000),
        ("1.50", 1.5),
        (".5", 0.5),
        ("1e400", "1e400"),
        ("18446744073709551615", 18446744073709551615),
        ("1:30", "1:30"),
        ("12:30:45", "12:30:45"),
        ("2026-01-01", "2026-01-01"),
        ("2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z"),
        ("1.2.3", "1.2.3"),
        ("!!str 1", "1"),
        ("!!float 1", 1),
        ("=", "="),
    ],
)
def test_a_plain_scalar_means(text: str, value: Any) -> None:
    found = documents.load(f"k: {text}\n")["k"]
    assert found == value
    assert type(found) is type(value)


def test_keys_become_text() -> None:
    assert documents.load("1: a\n1.5: b\nyes: c\n") == {"1": "a", "1.5": "b", "true": "c"}


def test_merge_keys_fill_in_and_own_keys_win() -> None:
    text = "base: &b {x: 1, y: 2}\nother: &o {x: 5, z: 6}\nk:\n  <<: [*b, *o]\n  'y': 3\n"
    assert documents.load(text)["k"] == {"x": 1, "true": 2, "z": 6, "y": 3}


def test_a_stream_has_many_documents_and_empty_ones_do_not_count() -> None:
    assert documents.load_all("---\na: 1\n---\n---\nb: 2\n...\n") == [{"a": 1}, {"b": 2}]
    assert documents.load_all('{"a": 1}\n{"b": 2.0}') == [{"a": 1}, {"b": 2}]
    assert documents.load_all("") == []
    assert documents.load(b"\xef\xbb\xbfa: 1") == {"a": 1}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: 1\nb: 2\na: 3\n", 'line 3: the key "a" is already set in this map'),
        ('{"a": 1,\n "a": 2}', 'line 2: the key "a" is already set in this map'),
        ("a: 1\n b: 2\n", "line 2: mapping values are not allowed in this context"),
        ("a:\n- 'x\n", "line 3: found unexpected end of stream"),
        ("a: .inf\n", "line 1: .inf is no number that JSON can hold"),
        ("a: *nobody\n", 'line 1: the alias "nobody" names no anchor'),
        ("? [a]\n: 1\n", "line 1: a key must be a plain value, not a list or a map"),
        ("a: &x [*x]\n", "line 1: an anchor contains itself"),
        ("a: !!int x\n", "line 1: cannot read 'x' as int"),
        ("~: 1\n", "line 1: a key must not be null"),
        ("k:\n  <<: 1\n", "line 2: map merge requires map or sequence of maps as the value"),
    ],
)
def test_an_error_names_the_line(text: str, message: str) -> None:
    with pytest.raises(DocumentError) as caught:
        documents.load(text)
    assert str(caught.value) == message


def test_bytes_that_are_not_utf8_are_refused() -> None:
    with pytest.raises(DocumentError, match="line 2: the text is not UTF-8"):
        documents.load(b"a: 1\nb: \xff\n")


def test_two_documents_where_one_is_expected_are_refused() -> None:
    with pytest.raises(DocumentError, match="expected one document, found 2"):
        documents.load("a: 1\n---\nb: 1\n")


def test_deep_nesting_is_refused_and_does_not_crash() -> None:
    for text in ("[" * 100_000, "{a: " * 5_000, "- " * 5_000, '{"a":' * 100_000, "[" * 400):
        with pytest.raises(DocumentError):
            documents.load(text)


def test_aliases_that_unfold_without_end_are_refused() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 9)]
    with pytest.raises(DocumentError, match="excessive aliasing"):
        documents.load("\n".join(lines))


def test_dumped_text_is_what_kubectl_would_print() -> None:
    value = {
        "b": ["x", {"c": 1, "d": None}],
        "a": {"yes": "no", "n": 1.5, "t": True, "e": {}, "l": []},
        "when": "2026-01-01T00:00:00Z",
        "number": "1",
        "text": "two\nlines\n",
        "colon": "a: b",
        "sixty": "1:30",
    }
    assert documents.dump(value) == (
        'a:\n  e: {}\n  l: []\n  "n": 1.5\n  t: true\n  "yes": "no"\n'
        "b:\n- x\n- c: 1\n  d: null\n"
        "colon: 'a: b'\n"
        'number: "1"\n'
        'sixty: "1:30"\n'
        "text: |\n  two\n  lines\n"
        'when: "2026-01-01T00:00:00Z"\n'
    )


def test_repeated_parts_are_written_out() -> None:
    shared = {"x": 1}
    assert "&" not in documents.dump({"a": shared, "b": shared})


def test_a_stream_is_dumped_with_separators() -> None:
    assert documents.dump_all([{"a": 1}, {"b": 2}]) == "a: 1\n---\nb: 2\n"
