"""Continue tokens, and what is said of those that a client made up."""

import base64
from typing import Any

import pytest

from fleetqueue.apiserver import continuing
from fleetqueue.apiserver.problems import ApiError
from fleetqueue.base import codec

STRUCT = "json: cannot unmarshal {} into Go struct field continueToken.{} of type {}"


def token(body: Any) -> str:
    return base64.urlsafe_b64encode(codec.encode(body)).decode().rstrip("=")


def test_a_token_leads_on_from_its_key() -> None:
    assert continuing.read(continuing.write("default/a", 7)) == ("default/a", 7)
    assert continuing.read(token({"V": continuing.VERSION, "RV": -1, "Start": "a"})) == ("a", -1)


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"rv": "abc"}, STRUCT.format("string", "rv", "int64")),
        ({"rv": 1.5}, STRUCT.format("number 1.5", "rv", "int64")),
        ({"rv": 2**63}, STRUCT.format(f"number {2**63}", "rv", "int64")),
        ({"rv": True}, STRUCT.format("bool", "rv", "int64")),
        ({"rv": None}, "incorrect encoded start resourceVersion (version meta.k8s.io/v1)"),
        ({"start": 5}, STRUCT.format("number", "start", "string")),
        ({"start": None}, "encoded start key empty (version meta.k8s.io/v1)"),
        ({"start": "../x"}, "../x"),
        ({"start": "a//b"}, "a//b"),
        ({"v": "v2"}, "server does not recognize this encoded version v2"),
    ],
)
def test_a_token_that_was_made_up_is_refused(changes: dict[str, Any], why: str) -> None:
    body = {"v": continuing.VERSION, "rv": 7, "start": "a\0", **changes}
    with pytest.raises(ApiError) as error:
        continuing.read(token(body))
    expected = f"invalid continue token: continue key is not valid: {why}"
    assert (error.value.code, error.value.message) == (400, expected)


def test_a_token_that_is_no_object_is_refused() -> None:
    with pytest.raises(ApiError, match="cannot unmarshal array into Go value"):
        continuing.read(token([1]))
