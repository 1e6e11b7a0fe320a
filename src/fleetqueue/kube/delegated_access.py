"""Who asks a server of ours beside the API server, and whether they may: the API server is asked.

Requests come through its proxy, which tells the user in headers, or directly with a token or a
client certificate.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Generic, TypeVar

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.x509.oid import NameOID

from fleetqueue.base import codec
from fleetqueue.base.clock import Clock
from fleetqueue.kube.client import Client
from fleetqueue.kube.errors import NotFound
from fleetqueue.kube.resources import CONFIG_MAPS, Object, Resource

TOKEN_REVIEWS = Resource(
    "authentication.k8s.io", "v1", "tokenreviews", "TokenReview", namespaced=False
)
ACCESS_REVIEWS = Resource(
    "authorization.k8s.io", "v1", "subjectaccessreviews", "SubjectAccessReview", namespaced=False
)
AUTHENTICATION = ("extension-apiserver-authentication", "kube-system")
MASTERS = "system:masters"
KEPT = timedelta(seconds=10)
KEPT_MAX = 1000
Key = TypeVar("Key")
Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class Person:
    """Who asks."""

    name: str
    groups: tuple[str, ...] = ()
    uid: str = ""
    extra: tuple[tuple[str, tuple[str, ...]], ...] = ()


ANONYMOUS = Person("system:anonymous", ("system:unauthenticated",))


@dataclass(frozen=True, slots=True)
class Trust:
    """Whom the cluster's API server believes, as it tells its extensions."""

    client_authorities: bytes = b""
    proxy_authorities: bytes = b""
    proxy_names: tuple[str, ...] = ()
    """The names that a proxy's certificate may have; empty: any."""
    name_headers: tuple[str, ...] = ()
    group_headers: tuple[str, ...] = ()
    extra_prefixes: tuple[str, ...] = ()

    @property
    def authorities(self) -> bytes:
        return self.client_authorities + b"\n" + self.proxy_authorities


async def read_trust(client: Client) -> Trust:
    """Where the cluster does not tell, nobody is believed but who has a token."""
    try:
        found = await client.get(CONFIG_MAPS, *AUTHENTICATION)
    except NotFound:
        return Trust()
    return trust_of(found.get("data") or {})


def trust_of(data: Mapping[str, str]) -> Trust:
    def names(key: str) -> tuple[str, ...]:
        return tuple(codec.decode((data.get(f"requestheader-{key}") or "[]").encode()))

    return Trust(
        (data.get("client-ca-file") or "").encode(),
        (data.get("requestheader-client-ca-file") or "").encode(),
        names("allowed-names"),
        tuple(name.lower() for name in names("username-headers")),
        tuple(name.lower() for name in names("group-headers")),
        tuple(name.lower() for name in names("extra-headers-prefix")),
    )


class DelegatedAccess:
    """Asks the API server about tokens and permissions; its answers are kept for seconds."""

    def __init__(self, client: Client, clock: Clock) -> None:
        self.trust = Trust()
        self._client = client
        self._people: _Kept[str, Person | None] = _Kept(clock.now)
        self._verdicts: _Kept[Any, tuple[bool, str]] = _Kept(clock.now)

    async def refresh(self) -> Trust:
        self.trust = await read_trust(self._client)
        return self.trust

    async def who(
        self, headers: Iterable[tuple[str, str]], certificate: bytes | None
    ) -> Person | None:
        """None: nobody that is known. Headers may repeat; their names are in lower case."""
        headers = list(headers)
        if certificate is not None:
            return by_certificate(self.trust, headers, certificate)
        scheme, _, token = next(
            (value for name, value in headers if name == "authorization"), ""
        ).partition(" ")
        if scheme.lower() != "bearer" or not token:
            return None
        found, is_known = self._people.get(token)
        if not is_known:
            found = await self._review_token(token.strip())
            self._people.put(token, found)
        return found

    async def may(self, person: Person, wanted: Mapping[str, Any]) -> tuple[bool, str]:
        """`wanted` is the part of a SubjectAccessReview that says what; the reason comes along."""
        if MASTERS in person.groups:
            return True, ""
        key = (person, repr(sorted(wanted.items())))
        found, is_known = self._verdicts.get(key)
        if not is_known or found is None:
            found = await self._review_access(person, wanted)
            self._verdicts.put(key, found)
        return found

    async def _review_token(self, token: str) -> Person | None:
        body = _review(TOKEN_REVIEWS, {"token": token})
        answer: Object = await self._client.create(body, resource=TOKEN_REVIEWS)
        status = answer.get("status") or {}
        if not status.get("authenticated"):
            return None
        user = status.get("user") or {}
        extra = tuple(
            sorted((name, tuple(all_)) for name, all_ in (user.get("extra") or {}).items())
        )
        groups = tuple(user.get("groups") or ())
        return Person(user.get("username") or "", groups, user.get("uid") or "", extra)

    async def _review_access(self, person: Person, wanted: Mapping[str, Any]) -> tuple[bool, str]:
        spec: Object = {"user": person.name, "groups": list(person.groups), **wanted}
        if person.uid:
            spec["uid"] = person.uid
        if person.extra:
            spec["extra"] = {name: list(values) for name, values in person.extra}
        body = _review(ACCESS_REVIEWS, spec)
        answer: Object = await self._client.create(body, resource=ACCESS_REVIEWS)
        status = answer.get("status") or {}
        return bool(status.get("allowed")), str(status.get("reason") or "")


def by_certificate(
    trust: Trust, headers: list[tuple[str, str]], certificate: bytes
) -> Person | None:
    """A proxy of the API server tells in headers for whom it asks; others ask for themselves."""
    shown = x509.load_der_x509_certificate(certificate)
    name = _texts(shown, NameOID.COMMON_NAME)[:1]
    is_proxy = not trust.proxy_names or bool(set(name) & set(trust.proxy_names))
    if is_proxy and _is_issued_by(shown, trust.proxy_authorities):
        told = _told(trust, headers)
        if told is not None:
            return told
    if name and _is_issued_by(shown, trust.client_authorities):
        groups = (*_texts(shown, NameOID.ORGANIZATION_NAME), "system:authenticated")
        return Person(name[0], groups)
    return None


def _told(trust: Trust, headers: list[tuple[str, str]]) -> Person | None:
    names = [value for name, value in headers if name in trust.name_headers and value]
    if not names:
        return None
    extra: dict[str, list[str]] = {}
    for name, value in headers:
        for prefix in trust.extra_prefixes:
            if name.startswith(prefix):
                extra.setdefault(name.removeprefix(prefix), []).append(value)
    return Person(
        names[0],
        tuple(value for name, value in headers if name in trust.group_headers),
        extra=tuple(sorted((name, tuple(values)) for name, values in extra.items())),
    )


def _is_issued_by(certificate: x509.Certificate, authorities: bytes) -> bool:
    for authority in x509.load_pem_x509_certificates(authorities) if authorities.strip() else ():
        try:
            certificate.verify_directly_issued_by(authority)
        except (ValueError, TypeError, InvalidSignature):
            continue
        return True
    return False


def _texts(certificate: x509.Certificate, oid: x509.ObjectIdentifier) -> list[str]:
    return [str(each.value) for each in certificate.subject.get_attributes_for_oid(oid)]


def _review(kind: Resource, spec: Object) -> Object:
    return {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": {}, "spec": spec}


class _Kept(Generic[Key, Value]):
    """Answers, for as long as they hold."""

    def __init__(self, now: Callable[[], datetime]) -> None:
        self._now = now
        self._held: dict[Key, tuple[datetime, Value]] = {}

    def get(self, key: Key) -> tuple[Value | None, bool]:
        """The answer, and whether there is one."""
        found = self._held.get(key)
        if found is None or found[0] + KEPT < self._now():
            return None, False
        return found[1], True

    def put(self, key: Key, value: Value) -> None:
        if len(self._held) >= KEPT_MAX:
            self._held.clear()
        self._held[key] = (self._now(), value)
