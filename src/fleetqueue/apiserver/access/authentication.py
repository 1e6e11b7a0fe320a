"""Decides who a caller is, from its client certificate or its bearer token.

Whatever a header holds, the answer is a user, nobody (None: the caller is anonymous) or a 401.
"""

from base64 import urlsafe_b64decode
from collections.abc import Mapping, Sequence
from datetime import datetime
from hashlib import sha256
from typing import Any, NamedTuple

from fleetqueue.apiserver import problems
from fleetqueue.apiserver.access.jwt import BadToken
from fleetqueue.apiserver.access.static_tokens import StaticTokens
from fleetqueue.apiserver.access.tokens import ISSUER, Identity, Issuer
from fleetqueue.apiserver.access.users import CREDENTIAL_ID, User, authenticated
from fleetqueue.base.clock import Clock

PeerCertificate = bytes | Mapping[str, Any] | None
"""DER, or what `ssl.SSLSocket.getpeercert` returns; TLS has verified it against the authority."""

INVALID = "invalid bearer token"

_CERTIFICATES_MAX = 1024
_UID_OID = "1.3.6.1.4.1.57683.2"
_SOCKET_PREFIX = "base64url.bearer.authorization.k8s.io."


class Authenticator:
    def __init__(
        self, clock: Clock, static: StaticTokens | None = None, issuer: Issuer | None = None
    ) -> None:
        self._clock = clock
        self._static = static or StaticTokens()
        self._issuer = issuer
        self._certificates: dict[bytes, _Certified] = {}

    @property
    def audiences(self) -> tuple[str, ...]:
        return self._issuer.audiences if self._issuer else (ISSUER,)

    def authenticate(
        self, headers: Mapping[str, str], peer_certificate: PeerCertificate = None
    ) -> User | None:
        """A certificate wins over a token; None means that the caller showed neither."""
        certified = self._certified(peer_certificate) if peer_certificate else _NOBODY
        is_over = certified.until is not None and certified.until < self._clock.now()
        if certified.user is not None and not is_over:
            return certified.user
        token = bearer_token(headers)
        if token is None and is_over:
            raise problems.unauthorized()
        if token is None:
            return None
        try:
            identity = self.identify(token)
        except BadToken:
            identity = None
        if identity is None:
            raise problems.unauthorized()
        return identity.user

    def identify(self, token: str, audiences: Sequence[str] = ()) -> Identity | None:
        """Whom the token stands for; None: unknown here. BadToken says what is wrong with it."""
        asked = tuple(audiences) or self.audiences
        user = self._static.find(token)
        if user is not None:
            agreed = tuple([name for name in asked if name in self.audiences])
            if agreed:
                return Identity(authenticated(user), agreed)
        if self._issuer is None:
            return None
        identity = self._issuer.verify(token, self._clock.now(), asked)
        return identity and identity._replace(user=authenticated(identity.user))

    def _certified(self, certificate: bytes | Mapping[str, Any]) -> "_Certified":
        if not isinstance(certificate, bytes):
            return _Certified(user_of_subject(_mapped_subject(certificate), ""), None)
        found = self._certificates.get(certificate)
        if found is None:
            if len(self._certificates) >= _CERTIFICATES_MAX:
                self._certificates.clear()
            digest = sha256(certificate).hexdigest()
            subject, until = _parsed(certificate)
            found = _Certified(user_of_subject(subject, f"X509SHA256={digest}"), until)
            self._certificates[certificate] = found
        return found


class _Certified(NamedTuple):
    """Whom a certificate names, and until when: a connection may stay open for longer."""

    user: User | None
    until: datetime | None


_NOBODY = _Certified(None, None)


def bearer_token(headers: Mapping[str, str]) -> str | None:
    """The token of the Authorization header, or of a WebSocket's list of protocols."""
    parts = (_header(headers, "authorization") or "").strip().split(" ", 2)
    if len(parts) >= 2 and parts[0].lower() == "bearer" and parts[1]:
        return parts[1]
    return _socket_token(_header(headers, "sec-websocket-protocol") or "")


def user_of_subject(subject: Sequence[tuple[str, str]], credential: str) -> User | None:
    """Common name -> user, organizations -> groups; None for a certificate without a name."""
    values = {key: [text for kind, text in subject if kind == key] for key, _ in subject}
    names, uids = values.get("commonName"), values.get(_UID_OID, [])
    if not names or not names[-1] or len(uids) > 1 or uids == [""]:
        return None
    extra = {CREDENTIAL_ID: (credential,)} if credential else {}
    groups = tuple(values.get("organizationName", ()))
    return authenticated(User(names[-1], uids[0] if uids else "", groups, extra))


def _mapped_subject(certificate: Mapping[str, Any]) -> list[tuple[str, str]]:
    return [(kind, text) for part in certificate.get("subject", ()) for kind, text in part]


def _parsed(certificate: bytes) -> tuple[list[tuple[str, str]], datetime | None]:
    from cryptography import x509
    from cryptography.x509.oid import NameOID

    words = {NameOID.COMMON_NAME: "commonName", NameOID.ORGANIZATION_NAME: "organizationName"}
    try:
        read = x509.load_der_x509_certificate(certificate)
    except ValueError:
        return [], None
    subject = [
        (words.get(part.oid, part.oid.dotted_string), str(part.value)) for part in read.subject
    ]
    return subject, read.not_valid_after_utc


def _socket_token(protocols: str) -> str | None:
    """Browsers cannot set Authorization, so they hide the token among the protocols they offer."""
    offered = [protocol.strip() for protocol in protocols.split(",")]
    tokens = [text for text in offered if text.startswith(_SOCKET_PREFIX)]
    if not tokens:
        return None
    # Without another protocol there would be none to agree on: the request is refused.
    if len(tokens) > 1 or len(offered) == 1:
        raise problems.unauthorized()
    text = tokens[0].removeprefix(_SOCKET_PREFIX)
    try:
        return urlsafe_b64decode(text + "=" * (-len(text) % 4)).decode() or None
    except ValueError:
        raise problems.unauthorized() from None


def _header(headers: Mapping[str, str], name: str) -> str | None:
    """By its lower-case name, as the server's requests carry it, or as HTTP writes it."""
    return headers.get(name) or headers.get(name.title())
