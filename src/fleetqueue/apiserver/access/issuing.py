"""Makes and reads X.509 certificates on keys of the curve P-256.

Only `certificates.py` loads this, and only when a certificate is to be made or is not known yet.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from ipaddress import ip_address
from typing import cast

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from fleetqueue.apiserver.access.key_pairs import About, KeyPair

_BACKDATED = timedelta(minutes=5)
_AUTHORITY_NAME = "fleetqueue"


def make_authority(now: datetime, life: timedelta) -> KeyPair:
    """A certificate that signs itself and others."""
    key, subject = _new_key(), _name(_AUTHORITY_NAME, ())
    builder = _builder(key, subject, now, life).issuer_name(subject)
    builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
    builder = builder.add_extension(_key_usage(is_authority=True), critical=True)
    identifier = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
    builder = builder.add_extension(identifier, critical=False)
    return _encode(builder.sign(key, hashes.SHA256()), key)


def sign(
    authority: KeyPair,
    user: str,
    groups: Sequence[str],
    names: Sequence[str],
    now: datetime,
    life: timedelta,
) -> KeyPair:
    """A certificate for a server if it has names, or for a client."""
    usage = ExtendedKeyUsageOID.SERVER_AUTH if names else ExtendedKeyUsageOID.CLIENT_AUTH
    key = _new_key()
    builder = _builder(key, _name(user, groups), now, life)
    builder = _for_leaf(builder, _read(authority.certificate), usage)
    if names:
        builder = _for_names(builder, names)
    return _encode(builder.sign(_read_key(authority), hashes.SHA256()), key)


def inspect(pair: KeyPair, issuer: bytes | None = None) -> About | None:
    """What a pair is good for; None where a part is broken, of another pair, or not signed by
    `issuer`.
    """
    try:
        certificate = _read(pair.certificate)
        if certificate.public_key() != _read_key(pair).public_key():
            return None
        if issuer is not None:
            certificate.verify_directly_issued_by(_read(issuer))
    except (ValueError, TypeError, InvalidSignature):
        return None
    return About(
        starts_at=certificate.not_valid_before_utc.timestamp(),
        ends_at=certificate.not_valid_after_utc.timestamp(),
        user="".join(_texts(certificate, NameOID.COMMON_NAME)[:1]),
        groups=tuple(_texts(certificate, NameOID.ORGANIZATION_NAME)),
        names=_alternative_names(certificate),
    )


def _builder(
    key: EllipticCurvePrivateKey, subject: x509.Name, now: datetime, life: timedelta
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _BACKDATED)
        .not_valid_after(now + life)
    )


def _for_leaf(
    builder: x509.CertificateBuilder,
    issuer: x509.Certificate,
    usage: x509.ObjectIdentifier,
) -> x509.CertificateBuilder:
    known = issuer.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value
    authority = x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(known)
    return (
        builder.issuer_name(issuer.subject)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_key_usage(is_authority=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
        .add_extension(authority, critical=False)
    )


def _for_names(builder: x509.CertificateBuilder, names: Sequence[str]) -> x509.CertificateBuilder:
    entries: list[x509.GeneralName] = []
    for name in names:
        try:
            entries.append(x509.IPAddress(ip_address(name)))
        except ValueError:
            entries.append(x509.DNSName(name))
    return builder.add_extension(x509.SubjectAlternativeName(entries), critical=False)


def _key_usage(*, is_authority: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=is_authority,
        crl_sign=is_authority,
        encipher_only=False,
        decipher_only=False,
    )


def _name(common_name: str, organizations: Sequence[str]) -> x509.Name:
    parts = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, text) for text in organizations]
    return x509.Name([*parts, x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def _new_key() -> EllipticCurvePrivateKey:
    return ec.generate_private_key(ec.SECP256R1())


def _encode(certificate: x509.Certificate, key: EllipticCurvePrivateKey) -> KeyPair:
    return KeyPair(
        certificate.public_bytes(serialization.Encoding.PEM),
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        ),
    )


def _read(certificate: bytes) -> x509.Certificate:
    return x509.load_pem_x509_certificate(certificate)


def _read_key(pair: KeyPair) -> EllipticCurvePrivateKey:
    key = serialization.load_pem_private_key(pair.key, password=None)
    return cast(EllipticCurvePrivateKey, key)


def _texts(certificate: x509.Certificate, kind: x509.ObjectIdentifier) -> list[str]:
    return [str(part.value) for part in certificate.subject.get_attributes_for_oid(kind)]


def _alternative_names(certificate: x509.Certificate) -> tuple[str, ...]:
    try:
        found = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return ()
    addresses = [str(address) for address in found.get_values_for_type(x509.IPAddress)]
    return (*addresses, *found.get_values_for_type(x509.DNSName))
