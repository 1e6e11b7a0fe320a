"""Decides whom a request acts as when it carries Impersonate headers, and whether it may.

Each part of the identity that is asked for is a permission of its own: verb `impersonate` on
users, groups, serviceaccounts, uids and userextras.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple
from urllib.parse import unquote

from fleetqueue.apiserver.access.attributes import Attributes, Decision, quote, refusal
from fleetqueue.apiserver.access.users import (
    ANONYMOUS_NAME,
    AUTHENTICATED,
    UNAUTHENTICATED,
    User,
    service_account_groups,
    split_service_account,
)
from fleetqueue.apiserver.problems import ApiError

Authorize = Callable[[Attributes], Decision]
Headers = Mapping[str, str] | Mapping[str, list[str]]

_AUTHENTICATION = "authentication.k8s.io"
_USER, _GROUP, _UID = "impersonate-user", "impersonate-group", "impersonate-uid"
_EXTRA = "impersonate-extra-"


class _Wish(NamedTuple):
    """One part of the identity; the first three fields as an ObjectReference would hold them."""

    kind: str
    namespace: str
    name: str
    key: str = ""

    def __str__(self) -> str:
        version = f"{_AUTHENTICATION}/v1" if self.kind in ("UserExtra", "UID") else ""
        return f"{{{self.kind} {self.namespace} {self.name}  {version}  {self.key}}}"

    def attributes(self, user: User) -> Attributes:
        resource = {"User": "users", "Group": "groups", "ServiceAccount": "serviceaccounts"}
        if self.kind in resource:
            return Attributes(
                user,
                "impersonate",
                resource=resource[self.kind],
                namespace=self.namespace,
                name=self.name,
            )
        other = "userextras" if self.kind == "UserExtra" else "uids"
        return Attributes(
            user, "impersonate", _AUTHENTICATION, "v1", other, self.key, name=self.name
        )


def resolve(headers: Headers, user: User, authorize: Authorize, uri: str = "") -> User:
    """The user that the request acts as: itself where it asks for nobody else."""
    wishes = _wishes(headers)
    if not wishes:
        return user
    if wishes[0].kind not in ("User", "ServiceAccount"):
        listed = " ".join(str(wish) for wish in wishes)
        raise no_user(uri, f"requested [{listed}] without impersonating a user")
    for wish in wishes:
        attributes = wish.attributes(user)
        decision = authorize(attributes)
        if not decision.allowed:
            raise refusal(attributes, decision.reason)
    return _assemble(_first(headers, _USER), wishes)


def no_user(uri: str, why: str) -> ApiError:
    """kube-apiserver sends this one as plain text; `headers` tell the door to do the same."""
    text = f"Internal Server Error: {quote(uri)}: {why}\n"
    for character, entity in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;")):
        text = text.replace(character, entity)
    headers = {"Content-Type": "text/plain; charset=utf-8", "X-Content-Type-Options": "nosniff"}
    return ApiError(500, "InternalError", text, headers=headers)


def _assemble(name: str, wishes: list[_Wish]) -> User:
    groups = [wish.name for wish in wishes if wish.kind == "Group"]
    if not groups and wishes[0].kind == "ServiceAccount":
        groups = list(service_account_groups(wishes[0].namespace))
    if name == ANONYMOUS_NAME:
        groups += [] if UNAUTHENTICATED in groups else [UNAUTHENTICATED]
    elif not {AUTHENTICATED, UNAUTHENTICATED} & set(groups):
        groups.append(AUTHENTICATED)
    uid = next((wish.name for wish in wishes if wish.kind == "UID"), "")
    extra: dict[str, tuple[str, ...]] = {}
    for wish in wishes:
        if wish.kind == "UserExtra":
            extra[wish.key] = (*extra.get(wish.key, ()), wish.name)
    return User(name, uid, tuple(groups), extra)


def _wishes(headers: Headers) -> list[_Wish]:
    wishes: list[_Wish] = []
    name = _first(headers, _USER)
    if name:
        account = split_service_account(name)
        wishes.append(_Wish("ServiceAccount", *account) if account else _Wish("User", "", name))
    wishes += [_Wish("Group", "", group) for group in _values(headers, _GROUP)]
    for key, value in _pairs(headers):
        if key.startswith(_EXTRA):
            wishes.append(_Wish("UserExtra", "", value, unquote(key.removeprefix(_EXTRA))))
    uid = _first(headers, _UID)
    return [*wishes, _Wish("UID", "", uid)] if uid else wishes


def _first(headers: Headers, name: str) -> str:
    return next(_values(headers, name), "")


def _values(headers: Headers, name: str) -> Iterator[str]:
    return (value for key, value in _pairs(headers) if key == name)


def _pairs(headers: Headers) -> Iterator[tuple[str, str]]:
    """A header may come more than once: as repeated items or as a list of values."""
    for key, value in headers.items():
        name = key.lower()
        if name.startswith("impersonate-"):
            for one in [value] if isinstance(value, str) else value:
                yield name, one
