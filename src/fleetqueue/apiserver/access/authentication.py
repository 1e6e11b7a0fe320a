"""Decides who a caller is, from its client certificate or its bearer token.

Whatever a header holds, the answer is a user, nobody (None: the caller is anonymous) or a 401.
"""

from base64 import urlsafe_b64decode
from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any

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
        self._certificates: dict[bytes, User | None] = {}

    @property
    def audiences(self) -> tuple[str, ...]:
        return self._issuer.audiences if self._issuer else (ISSUER,)

    def authenticate(
        self, headers: Mapping[str, str], peer_certificate: PeerCertificate = None
    ) -> User | None:
        """A certificate wins over a token; None means that the caller showed neither."""
        user = self._certificate_user(peer_certificate) if peer_certificate else None
        if user is not None:
            return user
        token = bearer_token(headers)
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

    def _certificate_user(self, certificate: bytes | Mapping[str, Any]) -> User | None:
        if not isinstance(certificate, bytes):
            return user_of_subject(_mapped_subject(certificate), "")
        if certificate not in self._certificates:
            if len(self._certificates) >= _CERTIFICATES_MAX:
                self._certificates.clear()
            digest = sha256(certificate).hexdigest()
            user = user_of_subject(_parsed_subject(certificate), f"X509SHA256={digest}")
            self._certificates[certificate] = user
        return self._certificates[certificate]


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


def _parsed_subject(certificate: bytes) -> list[tuple[str, str]]:
    from cryptography import x509
    from cryptography.x509.oid import NameOID

    words = {NameOID.COMMON_NAME: "commonName", NameOID.ORGANIZATION_NAME: "organizationName"}
    try:
        subject = x509.load_der_x509_certificate(certificate).subject
    except ValueError:
        return []
    return [(words.get(part.oid, part.oid.dotted_string), str(part.value)) for part in subject]


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
