"""Which keys a JSON text names twice."""

import pytest

from fleetqueue.base import codec

TEXTS: dict[str, tuple[bytes, list[str]]] = {
    "none at all": (b'{"a": {"b": "c"}, "d": ["e", {"a": null}]}', []),
    "the same key in two objects": (b'{"a": {"a": 1}, "b": [{"a": 1}, {"a": 2}]}', []),
    "at the top": (b'{"a": 1, "a": 1}', ["a"]),
    "below": (b'{"a": {"b": 1, "c": 2, "b": 3}}', ["a.b"]),
    "in an item": (b'{"a": [{"b": 1}, {"b": 1, "b": 2}]}', ["a[1].b"]),
    "thrice is told once": (b'{"a": 1, "a": 2, "a": 3}', ["a"]),
    "below a key that is lost itself": (b'{"a": {"b": 1, "b": 2}, "a": 1}', ["a.b", "a"]),
    "spelled in two ways": (b'{"a": 1, "\\u0061": 2}', ["a"]),
    "quotes in a text do not hide it": (b'{"a": "\\"", "a": "\\"\\""}', ["a"]),
    "escaped quotes do not make up for it": (b'{"a": 1, "a": 2, "b": "\\u0022\\u0022"}', ["a"]),
    "no object": (b"[1, 2]", []),
}


@pytest.mark.parametrize(("data", "paths"), TEXTS.values(), ids=TEXTS.keys())
def test_keys_that_come_twice(data: bytes, paths: list[str]) -> None:
    assert codec.duplicate_keys(data, codec.decode(data)) == paths
