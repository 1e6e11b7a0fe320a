"""Who asks a server beside the API server, and whether they may."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

from fleetqueue.apiserver.access import issuing
from fleetqueue.kube.delegated_access import (
    DelegatedAccess,
    Person,
    Trust,
    by_certificate,
    trust_of,
)

pytestmark = pytest.mark.rule("kueue 11.1")
NOW = datetime(2026, 1, 1, tzinfo=UTC)
HEADERS = [
    ("x-remote-user", "ada"),
    ("x-remote-group", "team"),
    ("x-remote-group", "system:authenticated"),
    ("x-remote-extra-scopes", "all"),
]


class Reviewer:
    """An API server that knows one token and allows one path."""

    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []

    async def create(self, body: dict[str, Any], resource: Any) -> dict[str, Any]:
        self.asked.append(body["spec"])
        if body["kind"] == "TokenReview":
            is_known = body["spec"]["token"] == "good"
            user = {"username": "bob", "groups": ["team"], "extra": {"a": ["b"]}}
            return {"status": {"authenticated": is_known, "user": user}}
        path = body["spec"]["nonResourceAttributes"]["path"]
        return {"status": {"allowed": path == "/metrics", "reason": "because"}}


class Now:
    def __init__(self) -> None:
        self.at = NOW

    def now(self) -> datetime:
        return self.at


def access() -> tuple[DelegatedAccess, Reviewer, Now]:
    reviewer, clock = Reviewer(), Now()
    return DelegatedAccess(reviewer, clock), reviewer, clock  # type: ignore[arg-type]


async def test_a_token_is_reviewed_and_the_answer_kept_for_a_while() -> None:
    asking, reviewer, clock = access()
    headers = [("authorization", "Bearer good")]
    bob = Person("bob", ("team",), extra=(("a", ("b",)),))

    assert await asking.who(headers, None) == bob
    assert await asking.who(headers, None) == bob
    assert len(reviewer.asked) == 1
    clock.at += timedelta(seconds=11)
    assert await asking.who(headers, None) == bob
    assert len(reviewer.asked) == 2


@pytest.mark.parametrize("told", ["", "Bearer bad", "Basic good", "Bearer "])
async def test_who_shows_nothing_good_is_nobody(told: str) -> None:
    asking, _, _ = access()

    assert await asking.who([("authorization", told)] if told else [], None) is None


async def test_headers_alone_are_not_believed() -> None:
    asking, _, _ = access()

    assert await asking.who(HEADERS, None) is None


async def test_the_api_server_says_who_may() -> None:
    asking, reviewer, _ = access()
    bob = Person("bob", ("team",), "1", (("a", ("b",)),))

    def path(name: str) -> dict[str, Any]:
        return {"nonResourceAttributes": {"path": name, "verb": "get"}}

    assert await asking.may(bob, path("/metrics")) == (True, "because")
    assert await asking.may(bob, path("/metrics")) == (True, "because")
    assert await asking.may(bob, path("/other")) == (False, "because")
    assert reviewer.asked == [
        {"user": "bob", "groups": ["team"], "uid": "1", "extra": {"a": ["b"]}, **path(name)}
        for name in ("/metrics", "/other")
    ]
    master = Person("root", ("system:masters",))
    assert await asking.may(master, path("/other")) == (True, "")


def test_what_the_cluster_tells_its_extensions() -> None:
    told = trust_of(
        {
            "client-ca-file": "A",
            "requestheader-client-ca-file": "B",
            "requestheader-allowed-names": '["front-proxy"]',
            "requestheader-username-headers": '["X-Remote-User"]',
            "requestheader-group-headers": '["X-Remote-Group"]',
            "requestheader-extra-headers-prefix": '["X-Remote-Extra-"]',
        }
    )

    assert told == Trust(
        b"A", b"B", ("front-proxy",), ("x-remote-user",), ("x-remote-group",), ("x-remote-extra-",)
    )
    assert trust_of({}) == Trust()


class Shown:
    """Two authorities, and what they sign."""

    def __init__(self) -> None:
        self.proxies = issuing.make_authority(NOW, timedelta(days=1))
        self.clients = issuing.make_authority(NOW, timedelta(days=1))

    def trust(self, *names: str) -> Trust:
        told = (("x-remote-user",), ("x-remote-group",), ("x-remote-extra-",))
        return Trust(self.clients.certificate, self.proxies.certificate, names, *told)


def signed(authority: Any, user: str, groups: tuple[str, ...] = ()) -> bytes:
    pair = issuing.sign(authority, user, groups, (), NOW, timedelta(hours=1))
    return x509.load_pem_x509_certificate(pair.certificate).public_bytes(Encoding.DER)


def test_a_proxy_of_the_api_server_speaks_for_others() -> None:
    shown = Shown()
    proxy = signed(shown.proxies, "front-proxy")

    ada = by_certificate(shown.trust("front-proxy"), HEADERS, proxy)
    assert ada == Person("ada", ("team", "system:authenticated"), extra=(("scopes", ("all",)),))
    assert by_certificate(shown.trust(), HEADERS, proxy) == ada
    assert by_certificate(shown.trust("somebody-else"), HEADERS, proxy) is None
    assert by_certificate(shown.trust("front-proxy"), [], proxy) is None


def test_a_client_speaks_for_itself() -> None:
    shown = Shown()
    client = signed(shown.clients, "eve", ("team",))

    found = by_certificate(shown.trust("front-proxy"), HEADERS, client)

    assert found == Person("eve", ("team", "system:authenticated"))


def test_a_stranger_s_certificate_is_nobody_s() -> None:
    other = Shown()

    assert by_certificate(Shown().trust(), HEADERS, signed(other.proxies, "front-proxy")) is None
