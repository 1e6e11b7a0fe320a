"""Answers the kinds of authentication.k8s.io: whose token is this, who am I, give me a token."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from fleetqueue.api.times import format_time
from fleetqueue.apiserver import field_errors as fields
from fleetqueue.apiserver import problems
from fleetqueue.apiserver.access.authentication import INVALID, Authenticator
from fleetqueue.apiserver.access.jwt import BadToken
from fleetqueue.apiserver.access.tokens import Bound, Issuer
from fleetqueue.apiserver.access.users import User, user_info

Object = dict[str, Any]

GROUP = "authentication.k8s.io"
DEFAULT_SECONDS = 3600
_SECONDS_MIN = 600
_SECONDS_MAX = 1 << 32
_BOUND = {"Pod": "pods", "Secret": "secrets", "Node": "nodes"}


class Account(NamedTuple):
    """The service account that a TokenRequest is about, by its URL."""

    namespace: str
    name: str


def token_review(obj: Object, authenticator: Authenticator) -> Object:
    spec = obj.get("spec") or {}
    token = spec.get("token")
    if not token:
        raise problems.bad_request("token is required for TokenReview in authentication")
    try:
        identity = authenticator.identify(token, tuple(spec.get("audiences") or ()))
    except BadToken as error:
        return {**obj, "status": {"user": {}, "error": f"[{INVALID}, {error}]"}}
    if identity is None:
        return {**obj, "status": {"user": {}, "error": INVALID}}
    status = {
        "authenticated": True,
        "user": user_info(identity.user),
        "audiences": list(identity.audiences),
    }
    return {**obj, "status": status}


def self_subject_review(user: User, now: datetime, version: str = "v1") -> Object:
    return {
        "kind": "SelfSubjectReview",
        "apiVersion": f"{GROUP}/{version}",
        "metadata": {"creationTimestamp": format_time(now)},
        "status": {"userInfo": user_info(user)},
    }


def default_token_request(obj: Object) -> None:
    """Before the write path looks at it, as any defaulting."""
    spec = obj.setdefault("spec", {})
    if spec.get("expirationSeconds") is None:
        spec["expirationSeconds"] = DEFAULT_SECONDS


def token_request(obj: Object, url: Account, issuer: Issuer, now: datetime) -> Object:
    """The TokenRequest with its token; refuses what kube-apiserver refuses, in its order."""
    default_token_request(obj)
    metadata, spec = dict(obj.get("metadata") or {}), dict(obj["spec"])
    _check_metadata(metadata, url)
    account = issuer.lookup("serviceaccounts", url.namespace, url.name)
    if account is None:
        raise problems.not_found("", "serviceaccounts", url.name)
    _check_uid(metadata.get("uid"), account, url)
    _check_seconds(spec["expirationSeconds"])
    spec["audiences"] = spec.get("audiences") or list(issuer.audiences)
    spec["boundObjectRef"] = reference = spec.get("boundObjectRef")
    bound = None if reference is None else _bound(reference, url, issuer)
    seconds = spec["expirationSeconds"]
    token = issuer.issue(account, seconds, now, spec["audiences"], bound)
    ends = format_time(now + timedelta(seconds=seconds))
    metadata |= {"name": url.name, "namespace": url.namespace}
    metadata |= {"uid": account["metadata"]["uid"], "creationTimestamp": format_time(now)}
    status = {"token": token, "expirationTimestamp": ends}
    return {**obj, "metadata": metadata, "spec": spec, "status": status}


def _check_metadata(metadata: Mapping[str, Any], url: Account) -> None:
    for key, wanted in (("name", url.name), ("namespace", url.namespace)):
        given = metadata.get(key)
        if given and given != wanted:
            text = f"must match the service account {key} if specified"
            error = fields.wrong(f"metadata.{key}", given, text)
            raise problems.invalid(GROUP, "TokenRequest", url.name, [error])


def _check_uid(given: str | None, account: Mapping[str, Any], url: Account) -> None:
    known = account["metadata"]["uid"]
    if given and given != known:
        why = (
            f"the UID in the token request ({given}) does not match "
            f"the UID of the service account ({known})"
        )
        raise problems.conflict(GROUP, "TokenRequest", url.name, why)


def _check_seconds(seconds: int) -> None:
    if _SECONDS_MIN <= seconds <= _SECONDS_MAX:
        return
    if seconds < _SECONDS_MIN:
        text = "may not specify a duration less than 10 minutes"
    else:
        text = "may not specify a duration larger than 2^32 seconds"
    error = fields.wrong("spec.expirationSeconds", seconds, text)
    raise problems.invalid(GROUP, "TokenRequest", "", [error])


def _bound(reference: Mapping[str, Any], url: Account, issuer: Issuer) -> Bound:
    kind, name = reference.get("kind") or "", reference.get("name") or ""
    group, _, version = (reference.get("apiVersion") or "").rpartition("/")
    if group or kind not in _BOUND:
        full = f"{group}/{version}, Kind={kind}"
        raise problems.bad_request(f"cannot bind token to object of type {full}")
    if not name:
        raise problems.bad_request("Name parameter required.")
    namespace = "" if kind == "Node" else url.namespace
    obj = issuer.lookup(_BOUND[kind], namespace, name)
    if obj is None:
        raise problems.not_found("", _BOUND[kind], name)
    _check_pod_account(kind, obj, url.name)
    given = reference.get("uid")
    if given and given != obj["metadata"].get("uid"):
        why = (
            f"the UID in the bound object reference ({given}) does not match the UID in record. "
            "The object might have been deleted and then recreated"
        )
        raise problems.conflict("", kind, name, why)
    return Bound(kind, obj, _node_of(obj, issuer) if kind == "Pod" else None)


def _check_pod_account(kind: str, obj: Mapping[str, Any], account: str) -> None:
    if kind == "Pod" and (obj.get("spec") or {}).get("serviceAccountName") != account:
        raise problems.bad_request(
            f'cannot bind token for serviceaccount "{account}" '
            "to pod running with different serviceaccount name."
        )


def _node_of(pod: Mapping[str, Any], issuer: Issuer) -> Mapping[str, Any] | None:
    name = (pod.get("spec") or {}).get("nodeName")
    if not name:
        return None
    return issuer.lookup("nodes", "", name) or {"metadata": {"name": name}}
