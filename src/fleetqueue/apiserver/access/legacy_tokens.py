"""Tokens that live in a Secret of type kubernetes.io/service-account-token and never expire."""

from base64 import b64decode, b64encode
from collections.abc import Mapping
from hmac import compare_digest
from typing import Any

from fleetqueue.apiserver.access.jwt import BadToken, Claims, SigningKey
from fleetqueue.apiserver.access.seams import Lookup
from fleetqueue.apiserver.access.users import (
    User,
    service_account_groups,
    service_account_name,
    split_service_account,
)

Object = Mapping[str, Any]

ISSUER = "kubernetes/serviceaccount"
SECRET_TYPE = "kubernetes.io/service-account-token"
NAME_ANNOTATION = "kubernetes.io/service-account.name"
UID_ANNOTATION = "kubernetes.io/service-account.uid"
INVALID_SINCE = "kubernetes.io/legacy-token-invalid-since"

_CLAIM = "kubernetes.io/serviceaccount/"


def fill(secret: Object, account: Object, key: SigningKey, root: bytes) -> dict[str, Any] | None:
    """The Secret with token, namespace and ca.crt as they should be; None: nothing is missing.

    `root` is the certificate of the authority. The caller has found the service account that the
    annotation of the Secret names.
    """
    data = dict(secret.get("data") or {})
    wanted = {"ca.crt": _encode(root)}
    if not data.get("namespace"):
        wanted["namespace"] = _encode(secret["metadata"]["namespace"].encode())
    if not data.get("token"):
        wanted["token"] = _encode(key.sign(_claims(secret, account)).encode())
    if wanted.items() <= data.items():
        return None
    annotations = {
        **(secret["metadata"].get("annotations") or {}),
        NAME_ANNOTATION: account["metadata"]["name"],
        UID_ANNOTATION: account["metadata"]["uid"],
    }
    metadata = {**secret["metadata"], "annotations": annotations}
    return {**secret, "metadata": metadata, "data": {**data, **wanted}}


def belongs_to(secret: Object, account: Object) -> bool:
    """Whether the Secret is a token of exactly this service account."""
    annotations = secret["metadata"].get("annotations") or {}
    uid = annotations.get(UID_ANNOTATION)
    return (
        secret.get("type") == SECRET_TYPE
        and annotations.get(NAME_ANNOTATION) == account["metadata"]["name"]
        and (not uid or uid == account["metadata"]["uid"])
    )


def check(token: str, claims: Claims, lookup: Lookup) -> User:
    """The service account of a token whose signature is good; BadToken where it is revoked."""
    namespace, secret_name, name, uid = (_claim(claims, key) for key in _CLAIMS)
    if split_service_account(str(claims.get("sub", ""))) != (namespace, name):
        raise BadToken("sub claim is invalid")
    secret = lookup("secrets", namespace, secret_name)
    if secret is None or secret["metadata"].get("deletionTimestamp"):
        raise BadToken("Token has been invalidated")
    if not compare_digest(_stored_token(secret), token.encode()):
        raise BadToken("Token does not match server's copy")
    _check_account(lookup("serviceaccounts", namespace, name), namespace, name, uid)
    if (secret["metadata"].get("labels") or {}).get(INVALID_SINCE):
        raise BadToken(
            f"the token in secret {namespace}/{secret_name} for service account "
            f"{namespace}/{name} has been marked invalid. Use tokens from the TokenRequest API or "
            f"manually created secret-based tokens, or remove the '{INVALID_SINCE}' label from the "
            "secret to temporarily allow use of this token"
        )
    return User(service_account_name(namespace, name), uid, service_account_groups(namespace))


_CLAIMS = {
    "namespace": "namespace",
    "secret.name": "secretName",
    "service-account.name": "serviceAccountName",
    "service-account.uid": "serviceAccountUID",
}


def _claim(claims: Claims, key: str) -> str:
    value = claims.get(_CLAIM + key)
    if not value or not isinstance(value, str):
        raise BadToken(f"{_CLAIMS[key]} claim is missing")
    return value


def _claims(secret: Object, account: Object) -> Claims:
    metadata = account["metadata"]
    return {
        "iss": ISSUER,
        "sub": service_account_name(metadata["namespace"], metadata["name"]),
        f"{_CLAIM}namespace": metadata["namespace"],
        f"{_CLAIM}secret.name": secret["metadata"]["name"],
        f"{_CLAIM}service-account.name": metadata["name"],
        f"{_CLAIM}service-account.uid": metadata["uid"],
    }


def _check_account(account: Object | None, namespace: str, name: str, uid: str) -> None:
    if account is None:
        raise BadToken(f'serviceaccounts "{name}" not found')
    known = account["metadata"].get("uid")
    if account["metadata"].get("deletionTimestamp"):
        raise BadToken(f"ServiceAccount {namespace}/{name} has been deleted")
    if known != uid:
        raise BadToken(f"ServiceAccount UID ({known}) does not match claim ({uid})")


def _stored_token(secret: Object) -> bytes:
    try:
        return b64decode((secret.get("data") or {}).get("token") or "")
    except ValueError:
        return b""


def _encode(data: bytes) -> str:
    return b64encode(data).decode()
