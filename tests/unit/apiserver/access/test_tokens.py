"""Service-account tokens: what they carry, and when they stop being good."""

from datetime import datetime, timedelta
from random import Random
from typing import Any

import pytest

from fleetqueue.apiserver.access import legacy_tokens
from fleetqueue.apiserver.access.jwt import BadToken, SigningKey
from fleetqueue.apiserver.access.tokens import ISSUER, Bound, Issuer

NOW = datetime.fromisoformat("2026-11-15T06:00:00+00:00")


def issue(issuer: Issuer, world: Any, bound: Bound | None = None, **more: Any) -> str:
    return issuer.issue(
        world.find("serviceaccounts", "default", "robot"),
        more.pop("seconds", 3600),
        NOW,
        bound=bound,
        **more,
    )


def bound_to(world: Any, kind: str) -> Bound:
    obj = {
        "Pod": world.find("pods", "default", "p"),
        "Secret": world.find("secrets", "default", "s"),
        "Node": world.find("nodes", "", "n1"),
    }[kind]
    return Bound(kind, obj, world.find("nodes", "", "n1") if kind == "Pod" else None)


def why_not(issuer: Issuer, token: str, now: datetime = NOW, **more: Any) -> str:
    with pytest.raises(BadToken) as caught:
        issuer.verify(token, now, **more)
    assert token not in str(caught.value)
    return str(caught.value)


def test_a_token_claims_what_kube_apiserver_claims(issuer: Issuer, world: Any) -> None:
    claims = issuer.key.verify(issue(issuer, world, bound_to(world, "Pod")))
    start = int(NOW.timestamp())
    assert list(claims) == ["aud", "exp", "iat", "iss", "jti", "kubernetes.io", "nbf", "sub"]
    assert {key: value for key, value in claims.items() if key != "jti"} == {
        "aud": [ISSUER],
        "exp": start + 3600,
        "iat": start,
        "iss": ISSUER,
        "kubernetes.io": {
            "namespace": "default",
            "node": {"name": "n1", "uid": "uid-node"},
            "pod": {"name": "p", "uid": "uid-pod"},
            "serviceaccount": {"name": "robot", "uid": "uid-robot"},
        },
        "nbf": start,
        "sub": "system:serviceaccount:default:robot",
    }


def test_a_token_stands_for_its_service_account(issuer: Issuer, world: Any) -> None:
    token = issue(issuer, world, bound_to(world, "Pod"))
    identity = issuer.verify(token, NOW)
    assert identity is not None
    jti = issuer.key.verify(token)["jti"]
    assert identity.user.name == "system:serviceaccount:default:robot"
    assert identity.user.uid == "uid-robot"
    assert identity.user.groups == ("system:serviceaccounts", "system:serviceaccounts:default")
    assert identity.user.extra == {
        "authentication.kubernetes.io/credential-id": (f"JTI={jti}",),
        "authentication.kubernetes.io/node-name": ("n1",),
        "authentication.kubernetes.io/node-uid": ("uid-node",),
        "authentication.kubernetes.io/pod-name": ("p",),
        "authentication.kubernetes.io/pod-uid": ("uid-pod",),
    }
    assert identity.audiences == (ISSUER,)


def test_time_ends_a_token_a_minute_late(issuer: Issuer, world: Any) -> None:
    token = issue(issuer, world)
    assert issuer.verify(token, NOW + timedelta(seconds=3660))
    late = NOW + timedelta(seconds=3661)
    assert why_not(issuer, token, late) == "service account token has expired"
    assert issuer.verify(token, NOW - timedelta(seconds=60))
    early = NOW - timedelta(seconds=61)
    assert why_not(issuer, token, early) == "service account token is not valid yet"


def test_a_pod_token_of_the_usual_life_warns_first_and_ends_late(
    issuer: Issuer, world: Any
) -> None:
    start = int(NOW.timestamp())
    claims = issuer.key.verify(issue(issuer, world, bound_to(world, "Pod"), seconds=3607))
    assert claims["exp"] == start + 365 * 24 * 3600
    assert claims["kubernetes.io"]["warnafter"] == start + 3607
    for bound, audiences in ((bound_to(world, "Secret"), ()), (bound_to(world, "Pod"), ("vault",))):
        other = issue(issuer, world, bound, seconds=3607, audiences=audiences)
        assert issuer.key.verify(other)["exp"] == start + 3607


def test_audiences_must_meet(issuer: Issuer, world: Any) -> None:
    token = issue(issuer, world, audiences=("a", "b"))
    found = issuer.verify(token, NOW, audiences=("b", "c"))
    assert found is not None
    assert found.audiences == ("b",)
    assert why_not(issuer, token) == (
        f'token audiences ["a" "b"] is invalid for the target audiences ["{ISSUER}"]'
    )


@pytest.mark.parametrize(("bound", "resource", "namespace", "name"), [
    ("Pod",    "pods",    "default", "p"),
    ("Secret", "secrets", "default", "s"),
    ("Node",   "nodes",   "",        "n1"),
])  # fmt: skip
def test_a_bound_token_ends_with_its_object(
    issuer: Issuer, world: Any, bound: str, resource: str, namespace: str, name: str
) -> None:
    token = issue(issuer, world, bound_to(world, bound))
    assert issuer.verify(token, NOW)
    obj = world.find(resource, namespace, name)
    obj["metadata"]["deletionTimestamp"] = "2026-11-15T05:59:30Z"
    assert issuer.verify(token, NOW)
    assert "invalidated" in why_not(issuer, token, NOW + timedelta(minutes=1))
    world.add(resource, name, "new", namespace)
    what = bound.lower()
    assert why_not(issuer, token) == (
        f"{what} UID (new) does not match service account {what} ref claim (uid-{what})"
    )
    del world.objects[resource, namespace, name]
    assert why_not(issuer, token) == "service account token has been invalidated"


def test_a_pod_token_outlives_its_node(issuer: Issuer, world: Any) -> None:
    token = issue(issuer, world, bound_to(world, "Pod"))
    del world.objects["nodes", "", "n1"]
    assert issuer.verify(token, NOW)


def test_a_token_ends_with_its_service_account(issuer: Issuer, world: Any) -> None:
    token = issue(issuer, world)
    world.add("serviceaccounts", "robot", "new", "default")
    text = "service account UID (new) does not match claim (uid-robot)"
    assert why_not(issuer, token) == text
    del world.objects["serviceaccounts", "default", "robot"]
    assert why_not(issuer, token) == 'serviceaccounts "robot" not found'


def test_strangers_are_no_business_of_the_issuer(issuer: Issuer, key: SigningKey) -> None:
    for token in ("", "abc", "a.b.c", "a.b", key.sign({"iss": "https://other"}), key.sign({})):
        assert issuer.verify(token, NOW) is None


@pytest.mark.parametrize("claims", [
    {}, {"kubernetes.io": 5}, {"kubernetes.io": {"serviceaccount": "x"}}, {"exp": "soon"},
    {"exp": True}, {"aud": 5}, {"aud": [5]}, {"kubernetes.io": {"namespace": []}},
])  # fmt: skip
def test_odd_claims_under_a_good_signature_are_refused(
    issuer: Issuer, claims: dict[str, Any]
) -> None:
    late = int(NOW.timestamp()) + 100
    why_not(issuer, issuer.key.sign({"iss": ISSUER, "exp": late, "aud": [ISSUER], **claims}))


def test_discovery_documents_name_the_issuer_and_its_keys(issuer: Issuer) -> None:
    assert issuer.openid_configuration("https://127.0.0.1:6443") == {
        "issuer": ISSUER,
        "jwks_uri": "https://127.0.0.1:6443/openid/v1/jwks",
        "response_types_supported": ["id_token"],
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": ["ES256"],
    }
    assert issuer.jwks() == {"keys": [issuer.key.jwk()]}


def test_each_token_has_an_identifier_of_its_own(issuer: Issuer, world: Any) -> None:
    seen = {issuer.key.verify(issue(issuer, world))["jti"] for _ in range(5)}
    assert len(seen) == 5
    again = Issuer(issuer.key, world.find, Random(1))
    assert issuer.key.verify(issue(again, world))["jti"] in seen


class TestLegacyTokens:
    def fill(self, issuer: Issuer, world: Any) -> str:
        account = world.find("serviceaccounts", "default", "robot")
        secret = world.add("secrets", "old", "uid-old", "default", type=legacy_tokens.SECRET_TYPE)
        filled = legacy_tokens.fill(secret, account, issuer.key, b"root")
        assert filled is not None
        world.objects["secrets", "default", "old"] = filled
        token: str = legacy_tokens._stored_token(filled).decode()
        return token

    def test_a_filled_secret_carries_a_token_that_works(self, issuer: Issuer, world: Any) -> None:
        token = self.fill(issuer, world)
        found = issuer.verify(token, NOW + timedelta(days=9999))
        assert found is not None
        assert found.user.name == "system:serviceaccount:default:robot"
        assert found.audiences == (ISSUER,)
        secret = world.find("secrets", "default", "old")
        account = world.find("serviceaccounts", "default", "robot")
        assert legacy_tokens.fill(secret, account, issuer.key, b"root") is None
        assert legacy_tokens.belongs_to(secret, account)
        renewed = legacy_tokens.fill(secret, account, issuer.key, b"new root")
        assert renewed is not None
        assert renewed["data"]["token"] == secret["data"]["token"]

    def test_a_legacy_token_ends_with_its_secret(self, issuer: Issuer, world: Any) -> None:
        token = self.fill(issuer, world)
        secret = world.find("secrets", "default", "old")
        secret["data"]["token"] = "eA=="
        assert why_not(issuer, token) == "Token does not match server's copy"
        del world.objects["secrets", "default", "old"]
        assert why_not(issuer, token) == "Token has been invalidated"

    def test_a_legacy_token_can_be_marked_invalid(self, issuer: Issuer, world: Any) -> None:
        token = self.fill(issuer, world)
        secret = world.find("secrets", "default", "old")
        secret["metadata"]["labels"] = {legacy_tokens.INVALID_SINCE: "2026-01-01"}
        assert "has been marked invalid" in why_not(issuer, token)

    def test_a_legacy_token_must_be_about_one_account(self, issuer: Issuer, world: Any) -> None:
        claims = issuer.key.verify(self.fill(issuer, world))
        other = issuer.key.sign({**claims, "sub": "system:serviceaccount:default:other"})
        assert why_not(issuer, other) == "sub claim is invalid"
        del claims["kubernetes.io/serviceaccount/secret.name"]
        assert why_not(issuer, issuer.key.sign(claims)) == "secretName claim is missing"
