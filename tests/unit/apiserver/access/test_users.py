"""Users, service accounts by name, and how Go quotes text."""

import pytest

from fleetqueue.apiserver.access.attributes import quote, quote_all
from fleetqueue.apiserver.access.users import (
    User,
    authenticated,
    from_spec,
    split_service_account,
    user_info,
)


@pytest.mark.parametrize(("name", "parts"), [
    ("system:serviceaccount:default:robot", ("default", "robot")),
    ("system:serviceaccount:default:a.b-c", ("default", "a.b-c")),
    ("system:serviceaccount:default", None),
    ("system:serviceaccount:a:b:c", None),
    ("system:serviceaccount:a.b:c", None),
    ("system:serviceaccount:A:b", None),
    ("system:serviceaccount::", None),
    ("alice", None),
])  # fmt: skip
def test_a_service_account_is_known_by_its_name(name: str, parts: tuple[str, str] | None) -> None:
    assert split_service_account(name) == parts


def test_users_are_told_apart_by_all_they_are() -> None:
    alice = User("alice", groups=("a",), extra={"k": ("v",)})
    assert hash(alice) == hash(User("alice", groups=("a",)))
    assert alice != User("alice", groups=("a",))
    assert authenticated(authenticated(alice)) == authenticated(alice)


def test_user_info_leaves_out_what_is_empty() -> None:
    assert user_info(User("")) == {}
    full = User("a", "1", ("g",), {"k": ("v",)})
    assert user_info(full) == {
        "username": "a",
        "uid": "1",
        "groups": ["g"],
        "extra": {"k": ["v"]},
    }
    spec = {"user": "a", "uid": "1", "groups": ["g"], "extra": {"k": ["v"]}}
    assert from_spec(spec) == full
    assert from_spec({"groups": None, "extra": None}) == User("")


@pytest.mark.parametrize(("text", "quoted"), [
    ("plain", '"plain"'),
    ('a"b\\', '"a\\"b\\\\"'),
    ("\n\t\x00\x7f", '"\\n\\t\\x00\\x7f"'),
    ("é\u2028\U000e0001", '"é\\u2028\\U000e0001"'),
])  # fmt: skip
def test_text_is_quoted_as_go_quotes_it(text: str, quoted: str) -> None:
    assert quote(text) == quoted
    assert quote_all((text, "x")) == f'[{quoted} "x"]'
