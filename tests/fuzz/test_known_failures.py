"""The list of failures that are none is true, and no longer than it must be."""

import re
from collections.abc import Iterator
from typing import Any

import pytest

from conformance import recorded
from fuzz import known_failures


def _failures(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        if value.get("kind") == "Status" and value.get("code", 0) >= 500:
            yield value
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from _failures(item)


MESSAGES = [found.get("message", "") for found in _failures(list(recorded.load().values()))]


@pytest.mark.parametrize("pattern", known_failures.GIVEN_BY_KUBE_APISERVER)
def test_kube_apiserver_was_seen_to_fail_so(pattern: str) -> None:
    assert any(re.match(pattern, message, re.DOTALL) for message in MESSAGES)


@pytest.mark.parametrize(
    ("code", "message"),
    [
        (500, "Internal error occurred: KeyError: 'spec'"),
        (500, "something went wrong"),
        (503, "the server is currently unable to handle the request"),
        (504, "request did not complete within the allotted timeout"),
    ],
)
def test_any_other_failure_is_one(code: int, message: str) -> None:
    assert not known_failures.is_known({"code": code, "message": message, "reason": "Timeout"})
