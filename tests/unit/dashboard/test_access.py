"""Who is let in, from where, and with what."""

import base64

import pytest

from fleetqueue.dashboard.access import (
    TOKEN_PROTOCOL,
    Denied,
    Doorkeeper,
    check_exposure,
    is_loopback,
    token_of,
)
from fleetqueue.errors import UserError

pytestmark = pytest.mark.rule("kueue 11.5")


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("127.0.0.1", True),
        ("127.8.8.8", True),
        ("::1", True),
        ("localhost", True),
        ("me.localhost", True),
        ("0.0.0.0", False),
        ("::", False),
        ("10.0.0.1", False),
        ("example.com", False),
        ("", False),
    ],
)
def test_loopback(host: str, expected: bool) -> None:
    assert is_loopback(host) is expected


def test_without_login_nobody_outside_is_served() -> None:
    check_exposure("127.0.0.1", has_login=False)
    check_exposure("0.0.0.0", has_login=True)
    with pytest.raises(UserError, match=r"add --login, or listen on 127\.0\.0\.1"):
        check_exposure("0.0.0.0", has_login=False)


@pytest.mark.parametrize(
    ("listens", "headers", "is_allowed"),
    [
        ("127.0.0.1", {"Host": "127.0.0.1:8090"}, True),
        ("127.0.0.1", {"Host": "localhost:8090"}, True),
        ("127.0.0.1", {"Host": "[::1]:8090"}, True),
        ("127.0.0.1", {"Host": "evil.example:8090"}, False),
        ("127.0.0.1", {}, False),
        ("0.0.0.0", {"Host": "queues.example"}, True),
        ("127.0.0.1", {"Host": "localhost:1", "Origin": "http://localhost:1"}, True),
        ("127.0.0.1", {"Host": "localhost:1", "Origin": "http://localhost:2"}, False),
        ("127.0.0.1", {"Host": "localhost:1", "Origin": "https://evil.example"}, False),
        ("127.0.0.1", {"Host": "localhost:1", "Origin": "null"}, False),
        ("0.0.0.0", {"Host": "queues.example", "Origin": "https://queues.example"}, True),
    ],
)
def test_other_sites_may_not_read(listens: str, headers: dict[str, str], is_allowed: bool) -> None:
    keeper = Doorkeeper(None, listens)
    if is_allowed:
        keeper.check_origin(headers)
        return
    with pytest.raises(Denied) as denied:
        keeper.check_origin(headers)
    assert denied.value.status == 403


def test_tokens_come_in_a_header_or_as_a_protocol() -> None:
    encoded = base64.urlsafe_b64encode(b"t?>.x").decode().rstrip("=")
    proposed = f"v1.dashboard.fleetqueue.io, {TOKEN_PROTOCOL}{encoded}"
    assert token_of({"Authorization": "Bearer abc"}) == "abc"
    assert token_of({"Sec-WebSocket-Protocol": proposed}) == "t?>.x"
    assert token_of({"Sec-WebSocket-Protocol": f"{TOKEN_PROTOCOL}&&"}) == ""
    assert token_of({"Authorization": "Basic abc"}) == ""
    assert token_of({}) == ""
