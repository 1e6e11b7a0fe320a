"""A caller, as authentication found it and as authorization, audit and webhooks see it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from fleetqueue.api import names

ANONYMOUS_NAME = "system:anonymous"
UNAUTHENTICATED = "system:unauthenticated"
AUTHENTICATED = "system:authenticated"
MASTERS = "system:masters"
SERVICE_ACCOUNTS = "system:serviceaccounts"
CREDENTIAL_ID = "authentication.kubernetes.io/credential-id"

_SERVICE_ACCOUNT = "system:serviceaccount:"


@dataclass(frozen=True, slots=True)
class User:
    """Never holds a credential, so it may be printed and logged."""

    name: str
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: Mapping[str, tuple[str, ...]] = field(default_factory=dict, hash=False)

    @property
    def is_master(self) -> bool:
        return MASTERS in self.groups


ANONYMOUS = User(ANONYMOUS_NAME, groups=(UNAUTHENTICATED,))


def authenticated(user: User) -> User:
    """The user with the group that every authenticated caller has."""
    groups = user.groups
    if AUTHENTICATED in groups or UNAUTHENTICATED in groups or user.name == ANONYMOUS_NAME:
        return user
    return User(user.name, user.uid, (*groups, AUTHENTICATED), user.extra)


def service_account_name(namespace: str, name: str) -> str:
    return f"{_SERVICE_ACCOUNT}{namespace}:{name}"


def service_account_groups(namespace: str) -> tuple[str, str]:
    return SERVICE_ACCOUNTS, f"{SERVICE_ACCOUNTS}:{namespace}"


def split_service_account(user_name: str) -> tuple[str, str] | None:
    """(namespace, name) where the user name is that of a possible service account."""
    if not user_name.startswith(_SERVICE_ACCOUNT):
        return None
    parts = user_name.removeprefix(_SERVICE_ACCOUNT).split(":")
    if len(parts) != 2 or names.dns1123_label(parts[0]) or names.dns1123_subdomain(parts[1]):
        return None
    return parts[0], parts[1]


def user_info(user: User) -> dict[str, Any]:
    """`authentication.k8s.io/v1 UserInfo`; what is empty is left out."""
    info: dict[str, Any] = {"username": user.name, "uid": user.uid, "groups": list(user.groups)}
    info["extra"] = {key: list(values) for key, values in user.extra.items()}
    return {key: value for key, value in info.items() if value}


def from_spec(spec: Mapping[str, Any]) -> User:
    """The subject that a SubjectAccessReview asks about."""
    extra = {key: tuple(values or ()) for key, values in (spec.get("extra") or {}).items()}
    groups: Iterable[str] = spec.get("groups") or ()
    return User(spec.get("user") or "", spec.get("uid") or "", tuple(groups), extra)
