"""Service-account tokens: what they claim, and whether what they claim still holds.

`Issuer` makes them as TokenRequest does; a token is good while its signature, its time, its
audience, its service account and the object it is bound to are.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple
from uuid import UUID

from fleetqueue.api.times import parse_time
from fleetqueue.apiserver.access import legacy_tokens
from fleetqueue.apiserver.access.attributes import quote_all
from fleetqueue.apiserver.access.jwt import BadToken, Claims, SigningKey, decode_part
from fleetqueue.apiserver.access.seams import Lookup, Random
from fleetqueue.apiserver.access.users import (
    CREDENTIAL_ID,
    User,
    service_account_groups,
    service_account_name,
)

Object = Mapping[str, Any]

ISSUER = "https://kubernetes.default.svc.cluster.local"
JWKS_PATH = "/openid/v1/jwks"
INVALIDATED = "service account token has been invalidated"

_LEEWAY = timedelta(minutes=1)
_WARN_ONLY_SECONDS = 3607
"""The kubelet asks for this life for tokens in pods; such a token warns first and fails late."""
_EXTENDED_SECONDS = 365 * 24 * 3600


class Bound(NamedTuple):
    """The object whose end is the token's end: kind Pod, Secret or Node."""

    kind: str
    obj: Object
    node: Object | None = None
    """Of a pod that is on one; it may carry no uid where there is no such Node."""


class Identity(NamedTuple):
    """Whom a token stands for, and the audiences that were asked for and that it names."""

    user: User
    audiences: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Issuer:
    key: SigningKey
    lookup: Lookup
    random: Random
    url: str = ISSUER
    audiences: tuple[str, ...] = (ISSUER,)
    """Those of the API server itself."""

    def issue(
        self,
        account: Object,
        seconds: int,
        now: datetime,
        audiences: Sequence[str] = (),
        bound: Bound | None = None,
    ) -> str:
        claims = _claims(account, audiences or self.audiences, bound)
        life = seconds
        asks_us = set(audiences or self.audiences) <= set(self.audiences)
        if bound and bound.kind == "Pod" and seconds == _WARN_ONLY_SECONDS and asks_us:
            claims["kubernetes.io"]["warnafter"] = _seconds(now) + seconds
            life = _EXTENDED_SECONDS
        times = {"iat": _seconds(now), "nbf": _seconds(now), "exp": _seconds(now) + life}
        identifier = str(UUID(int=self.random.getrandbits(128), version=4))
        return self.key.sign({**claims, **times, "iss": self.url, "jti": identifier})

    def verify(self, token: str, now: datetime, audiences: Sequence[str] = ()) -> Identity | None:
        """None: not a token of this issuer. Raises BadToken for one that no longer holds."""
        claims = self.key.recall(token)
        if claims is None:
            if _issuer_of(token) not in (self.url, legacy_tokens.ISSUER):
                return None
            claims = self.key.verify(token)
        issuer = _text(claims, "iss")
        agreed = self._agreed_audiences(claims, audiences or self.audiences)
        if issuer == legacy_tokens.ISSUER:
            return Identity(legacy_tokens.check(token, claims, self.lookup), agreed)
        check_times(claims, now)
        return Identity(_check_objects(claims, self.lookup, now), agreed)

    def openid_configuration(self, server_url: str) -> dict[str, Any]:
        """`server_url` is where this server is reached: https://host:port."""
        return {
            "issuer": self.url,
            "jwks_uri": f"{server_url}{JWKS_PATH}",
            "response_types_supported": ["id_token"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": [self.key.algorithm],
        }

    def jwks(self) -> dict[str, Any]:
        return {"keys": [self.key.jwk()]}

    def _agreed_audiences(self, claims: Claims, asked: Sequence[str]) -> tuple[str, ...]:
        named = claims.get("aud") or list(self.audiences)
        named = [named] if isinstance(named, str) else named
        if not isinstance(named, list) or not all(isinstance(name, str) for name in named):
            raise BadToken("token audiences are invalid")
        wanted = set(asked)
        agreed = tuple(name for name in named if name in wanted)
        if not agreed:
            raise BadToken(
                f"token audiences {quote_all(tuple(named))} is invalid "
                f"for the target audiences {quote_all(tuple(asked))}"
            )
        return agreed


def check_times(claims: Claims, now: datetime) -> None:
    """A minute of grace on either side, for clocks that disagree."""
    moments = [claims.get(key, 0) for key in ("exp", "nbf", "iat")]
    if any(isinstance(moment, bool) or not isinstance(moment, int | float) for moment in moments):
        raise BadToken("service account token claims could not be validated")
    expires, not_before, issued = moments
    seconds, leeway = now.timestamp(), _LEEWAY.total_seconds()
    if seconds - leeway > expires:
        raise BadToken("service account token has expired")
    if seconds + leeway < not_before:
        raise BadToken("service account token is not valid yet")
    if seconds + leeway < issued:
        raise BadToken("service account token is issued in the future")


def _claims(account: Object, audiences: Sequence[str], bound: Bound | None) -> Claims:
    metadata = account["metadata"]
    private: dict[str, Any] = {"namespace": metadata["namespace"]}
    if bound and bound.node is not None:
        private["node"] = _reference(bound.node)
    if bound:
        private[bound.kind.lower()] = _reference(bound.obj)
    private["serviceaccount"] = _reference(account)
    subject = service_account_name(metadata["namespace"], metadata["name"])
    return {"sub": subject, "aud": list(audiences), "kubernetes.io": private}


def _reference(obj: Object) -> dict[str, str]:
    metadata = obj["metadata"]
    both = {"name": metadata.get("name"), "uid": metadata.get("uid")}
    return {key: value for key, value in both.items() if value}


def _check_objects(claims: Claims, lookup: Lookup, now: datetime) -> User:
    private = claims.get("kubernetes.io")
    if not isinstance(private, dict):
        raise BadToken(INVALIDATED)
    namespace = _text(private, "namespace")
    account = _referenced(private, "serviceaccount")
    if account is None:
        raise BadToken(INVALIDATED)
    name, uid = account
    _check_account(lookup, namespace, name, uid, now)
    secret, pod, node = (_referenced(private, key) for key in ("secret", "pod", "node"))
    if secret:
        _check_bound(lookup("secrets", namespace, secret[0]), "secret", secret[1], now)
    if pod:
        _check_bound(lookup("pods", namespace, pod[0]), "pod", pod[1], now)
    elif node:
        _check_bound(lookup("nodes", "", node[0]), "node", node[1], now)
    extra = _extra(_text(claims, "jti"), pod, node)
    groups = service_account_groups(namespace)
    return User(service_account_name(namespace, name), uid, groups, extra)


def _check_account(lookup: Lookup, namespace: str, name: str, uid: str, now: datetime) -> None:
    account = lookup("serviceaccounts", namespace, name)
    if account is None:
        raise BadToken(f'serviceaccounts "{name}" not found')
    if account["metadata"].get("uid") != uid:
        known = account["metadata"].get("uid")
        raise BadToken(f"service account UID ({known}) does not match claim ({uid})")
    if _gone(account, now):
        raise BadToken(f"service account {namespace}/{name} has been deleted")


def _check_bound(obj: Object | None, what: str, uid: str, now: datetime) -> None:
    if obj is None or _gone(obj, now):
        raise BadToken(INVALIDATED)
    known = obj["metadata"].get("uid")
    if known != uid:
        words = {"secret": "secret UID", "pod": "pod UID", "node": "node UID"}[what]
        claim = f"service account {what} ref claim ({uid})"
        raise BadToken(f"{words} ({known}) does not match {claim}")


def _gone(obj: Object, now: datetime) -> bool:
    deleted = obj["metadata"].get("deletionTimestamp")
    return bool(deleted) and parse_time(deleted) < now - _LEEWAY


def _extra(
    identifier: str, pod: tuple[str, str] | None, node: tuple[str, str] | None
) -> dict[str, tuple[str, ...]]:
    prefix = "authentication.kubernetes.io"
    extra: dict[str, tuple[str, ...]] = {}
    if identifier:
        extra[CREDENTIAL_ID] = (f"JTI={identifier}",)
    if node and node[0]:
        extra[f"{prefix}/node-name"] = (node[0],)
        if node[1]:
            extra[f"{prefix}/node-uid"] = (node[1],)
    if pod and all(pod):
        extra[f"{prefix}/pod-name"], extra[f"{prefix}/pod-uid"] = (pod[0],), (pod[1],)
    return extra


def _issuer_of(token: str) -> str:
    parts = token.split(".")
    if len(parts) != 3:
        return ""
    try:
        return _text(decode_part(parts[1]), "iss")
    except BadToken:
        return ""


def _referenced(private: Claims, key: str) -> tuple[str, str] | None:
    reference = private.get(key)
    if reference is None:
        return None
    if not isinstance(reference, dict):
        raise BadToken(INVALIDATED)
    return _text(reference, "name"), _text(reference, "uid")


def _text(claims: Claims, key: str) -> str:
    value = claims.get(key, "")
    return value if isinstance(value, str) else ""


def _seconds(moment: datetime) -> int:
    return int(moment.timestamp())
