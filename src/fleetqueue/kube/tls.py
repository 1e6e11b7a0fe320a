"""TLS contexts: for clients, rebuilt when a certificate or an authority changes; for servers, as
strict as they are told to be.
"""

import ssl
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from fleetqueue.base.clock import Clock
from fleetqueue.kube.errors import BadKubeconfig
from fleetqueue.kube.kubeconfig import Access

AUTHORITY_AGE_MAX = timedelta(minutes=1)


class ClientTls:
    """The context for the next connection; the same object as long as nothing changed."""

    def __init__(self, access: Access, clock: Clock) -> None:
        self._access = access
        self._clock = clock
        self._authority = b""
        self._authority_read_at: datetime | None = None
        self._made_from: tuple[bytes, bytes, bytes] | None = None
        self._context: ssl.SSLContext | None = None

    def context(self, certificate: bytes, key: bytes) -> ssl.SSLContext:
        made_from = (self._current_authority(), certificate, key)
        if self._context is None or made_from != self._made_from:
            self._context = client_context(*made_from, is_insecure=self._access.is_insecure)
            self._made_from = made_from
        return self._context

    def _current_authority(self) -> bytes:
        source = self._access.authority
        now = self._clock.now()
        read_at = self._authority_read_at
        if source and (read_at is None or (source.file and now - read_at >= AUTHORITY_AGE_MAX)):
            self._authority = source.read()
            self._authority_read_at = now
        return self._authority


def client_context(
    authority: bytes, certificate: bytes, key: bytes, *, is_insecure: bool = False
) -> ssl.SSLContext:
    """Trusts the authority given, or the system's; shows the certificate given, if any."""
    try:
        context = ssl.create_default_context(cadata=authority.decode("ascii") or None)
    except (ssl.SSLError, UnicodeDecodeError) as error:
        what = f"the certificate authority is not a PEM certificate: {error}"
        raise BadKubeconfig(what) from error
    # Newer Pythons ask more of an authority's extensions than Go does.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    if is_insecure:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if certificate:
        load_pair(context, certificate, key)
    return context


@dataclass(frozen=True, slots=True)
class ServerRules:
    """What a server demands of those who connect."""

    minimum: ssl.TLSVersion = ssl.TLSVersion.TLSv1_2
    suites: Sequence[str] = ()
    """Of TLS 1.2, as OpenSSL calls them; empty: its own choice. Those of 1.3 are always there."""
    curve: str = ""
    """The only one; "": OpenSSL's choice."""


ORDINARY = ServerRules()


def server_context(rules: ServerRules = ORDINARY) -> ssl.SSLContext:
    """Still without a certificate."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.minimum_version = rules.minimum
    if rules.suites:
        context.set_ciphers(":".join(rules.suites))
    if rules.curve:
        context.set_ecdh_curve(rules.curve)
    return context


def load_pair(context: ssl.SSLContext, certificate: bytes, key: bytes) -> None:
    """Gives a context its certificate. Python reads files only, so they live for a moment."""
    with tempfile.TemporaryDirectory(prefix="fleetqueue-") as folder:
        chain, secret = Path(folder, "tls.crt"), Path(folder, "tls.key")
        chain.write_bytes(certificate)
        secret.touch(mode=0o600)
        secret.write_bytes(key)
        try:
            context.load_cert_chain(chain, secret, password="")
        except (ssl.SSLError, OSError) as error:
            what = f"the certificate and its key cannot be used: {error}"
            raise BadKubeconfig(what) from error
