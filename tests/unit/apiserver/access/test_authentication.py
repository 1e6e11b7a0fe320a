"""Certificates, tokens and nonsense: a user, nobody, or a 401, and never anything else."""

import ssl
from pathlib import Path
from random import Random
from typing import Any

import pytest

from fleetqueue.apiserver.access.authentication import Authenticator
from fleetqueue.apiserver.access.certificates import Authority
from fleetqueue.apiserver.access.static_tokens import (
    StaticTokens,
    load_or_create_admin_token,
    parse_token_file,
)
from fleetqueue.apiserver.access.tokens import ISSUER, Issuer
from fleetqueue.apiserver.access.users import User
from fleetqueue.apiserver.problems import ApiError
from fleetqueue.errors import InvalidInput

TOKENS = StaticTokens([("secret-of-alice", User("alice", "2", ("dev",)))])


def bearer(token: str) -> dict[str, str]:
    return {"authorization": f"Bearer {token}"}


@pytest.fixture
def authenticator(clock: Any, issuer: Issuer) -> Authenticator:
    return Authenticator(clock, TOKENS, issuer)


def test_a_static_token_names_its_user(authenticator: Authenticator) -> None:
    alice = User("alice", "2", ("dev", "system:authenticated"))
    assert authenticator.authenticate(bearer("secret-of-alice")) == alice
    assert authenticator.authenticate({"Authorization": "bearer secret-of-alice"}) == alice
    assert authenticator.authenticate({"authorization": "  Bearer secret-of-alice x"}) == alice


def test_a_service_account_token_names_its_account(
    authenticator: Authenticator, issuer: Issuer, world: Any, clock: Any
) -> None:
    account = world.find("serviceaccounts", "default", "robot")
    headers = bearer(issuer.issue(account, 600, clock.now()))
    user = authenticator.authenticate(headers)
    assert user is not None
    assert user.name == "system:serviceaccount:default:robot"
    assert user.groups[-1] == "system:authenticated"
    clock.passes(minutes=12)
    with pytest.raises(ApiError, match="Unauthorized"):
        authenticator.authenticate(headers)


@pytest.mark.parametrize("header", [
    "", " ", "Bearer", "Bearer ", "Bearer  x", "Basic YTpi", "bearer", "secret-of-alice", "\x00",
])  # fmt: skip
def test_without_a_bearer_token_the_caller_is_nobody(
    authenticator: Authenticator, header: str
) -> None:
    assert authenticator.authenticate({"authorization": header}) is None
    assert authenticator.authenticate({}) is None


@pytest.mark.parametrize("token", [
    "x", "secret-of-alic", "secret-of-alice2", "a.b.c", "..", "e30.e30.e30", "\udcff", "é" * 9000,
    "eyJhbGciOiJub25lIn0.eyJpc3MiOiJodHRwczovL2t1YmVybmV0ZXMuZGVmYXVsdC5zdmMuY2x1c3Rlci5sb2NhbCJ9.",
])  # fmt: skip
def test_a_wrong_token_is_unauthorized_even_where_nobody_would_do(
    authenticator: Authenticator, token: str
) -> None:
    with pytest.raises(ApiError) as caught:
        authenticator.authenticate(bearer(token))
    assert (caught.value.code, caught.value.message) == (401, "Unauthorized")


def test_a_websocket_may_carry_its_token_among_the_protocols(authenticator: Authenticator) -> None:
    token = "base64url.bearer.authorization.k8s.io.c2VjcmV0LW9mLWFsaWNl"
    user = authenticator.authenticate({"sec-websocket-protocol": f"v4.channel.k8s.io, {token}"})
    assert user is not None
    assert user.name == "alice"
    for protocols in (
        token,
        f"{token}, {token}, v4",
        "v4, base64url.bearer.authorization.k8s.io.é",
    ):
        with pytest.raises(ApiError, match="Unauthorized"):
            authenticator.authenticate({"sec-websocket-protocol": protocols})


def test_a_certificate_names_user_and_groups_and_wins(
    authenticator: Authenticator, tmp_path: Path, clock: Any
) -> None:
    pair = Authority.load_or_create(tmp_path, clock).sign("carol", ["ops", "dev"])
    der = ssl.PEM_cert_to_DER_cert(pair.certificate.decode())
    user = authenticator.authenticate(bearer("nonsense"), der)
    assert user is not None
    assert (user.name, user.groups) == ("carol", ("ops", "dev", "system:authenticated"))
    credential = user.extra["authentication.kubernetes.io/credential-id"]
    assert credential[0].startswith("X509SHA256=")
    assert authenticator.authenticate({}, der) is user


def test_a_certificate_counts_until_it_is_over_however_long_its_connection_lasts(
    authenticator: Authenticator, tmp_path: Path, clock: Any
) -> None:
    pair = Authority.load_or_create(tmp_path, clock).sign("carol", [])
    der = ssl.PEM_cert_to_DER_cert(pair.certificate.decode())
    assert authenticator.authenticate({}, der) is not None

    clock.passes(days=10_000)
    with pytest.raises(ApiError, match="Unauthorized"):
        authenticator.authenticate({}, der)
    user = authenticator.authenticate(bearer("secret-of-alice"), der)
    assert user is not None
    assert user.name == "alice"


def test_a_certificate_may_come_as_python_shows_it(authenticator: Authenticator) -> None:
    subject = (
        (("organizationName", "ops"),),
        (("1.3.6.1.4.1.57683.2", "uid-1"),),
        (("commonName", "carol"),),
    )
    user = authenticator.authenticate({}, {"subject": subject})
    assert user == User("carol", "uid-1", ("ops", "system:authenticated"))


@pytest.mark.parametrize("certificate", [b"garbage", {"subject": ()}, {}, b""])
def test_a_certificate_without_a_name_counts_as_none(
    authenticator: Authenticator, certificate: Any
) -> None:
    assert authenticator.authenticate({}, certificate) is None


def test_the_groups_of_the_system_are_not_added_twice() -> None:
    assert TOKENS.find("secret-of-alice") == User("alice", "2", ("dev",))
    anonymous = StaticTokens([("t", User("x", groups=("system:unauthenticated",)))])
    found = Authenticator(None, anonymous).authenticate(bearer("t"))  # type: ignore[arg-type]
    assert found == User("x", groups=("system:unauthenticated",))


def test_static_tokens_answer_for_the_audiences_of_the_server(authenticator: Authenticator) -> None:
    found = authenticator.identify("secret-of-alice", (ISSUER, "other"))
    assert found is not None
    assert found.audiences == (ISSUER,)
    assert authenticator.identify("secret-of-alice", ("other",)) is None


def test_the_token_file_is_that_of_kube_apiserver() -> None:
    text = 'a,alice,1,"dev,ops"\n\nb,bob,2\n,nobody,3\n'
    assert parse_token_file(text) == [
        ("a", User("alice", "1", ("dev", "ops"))),
        ("b", User("bob", "2")),
    ]
    with pytest.raises(InvalidInput, match="must have at least 3 columns"):
        parse_token_file("a,alice\n")


def test_the_admin_token_is_made_once_and_private(tmp_path: Path) -> None:
    path = tmp_path / "new" / "admin.token"
    token = load_or_create_admin_token(path, Random(1))
    assert len(token) == 64
    assert path.stat().st_mode & 0o777 == 0o600
    assert load_or_create_admin_token(path, Random(2)) == token


def test_nothing_prints_a_token(authenticator: Authenticator, issuer: Issuer) -> None:
    found = authenticator.identify("secret-of-alice")
    for thing in (TOKENS, vars(TOKENS), authenticator, vars(authenticator), found, issuer):
        assert "secret-of-alice" not in repr(thing)
