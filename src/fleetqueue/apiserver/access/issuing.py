"""The server's own certificates: its authority, and those of servers and clients that it signs.

Only `certificates.py` loads this, and only when a certificate is to be made or is not known yet.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.x509.oid import NameOID

from fleetqueue.apiserver.access.key_pairs import About, KeyPair
from fleetqueue.base import certificates
from fleetqueue.base.certificates import Holder, Pem, Span

_BACKDATED = timedelta(minutes=5)


def make_authority(now: datetime, life: timedelta, name: str = "fleetqueue") -> KeyPair:
    """A certificate that signs itself and others."""
    return KeyPair(*certificates.make_authority(name, _span(now, life)))


def sign(
    authority: KeyPair,
    user: str,
    groups: Sequence[str],
    names: Sequence[str],
    now: datetime,
    life: timedelta,
) -> KeyPair:
    """A certificate for a server if it has names, or for a client."""
    signer = Pem(authority.certificate, authority.key)
    return KeyPair(*certificates.sign(signer, Holder(user, groups, names), _span(now, life)))


def inspect(pair: KeyPair, issuer: bytes | None = None) -> About | None:
    """What a pair is good for; None where a part is broken, of another pair, or not signed by
    `issuer`.
    """
    try:
        certificate = certificates.read(pair.certificate)
        if certificate.public_key() != certificates.read_key(pair.key).public_key():
            return None
        if issuer is not None:
            certificate.verify_directly_issued_by(certificates.read(issuer))
    except (ValueError, TypeError, InvalidSignature):
        return None
    return About(
        starts_at=certificate.not_valid_before_utc.timestamp(),
        ends_at=certificate.not_valid_after_utc.timestamp(),
        user="".join(_texts(certificate, NameOID.COMMON_NAME)[:1]),
        groups=tuple(_texts(certificate, NameOID.ORGANIZATION_NAME)),
        names=certificates.names_of(certificate),
    )


def _span(now: datetime, life: timedelta) -> Span:
    return Span(now - _BACKDATED, now + life)


def _texts(certificate: x509.Certificate, kind: x509.ObjectIdentifier) -> list[str]:
    return [str(part.value) for part in certificate.subject.get_attributes_for_oid(kind)]
