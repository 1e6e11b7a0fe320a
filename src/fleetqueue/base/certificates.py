"""Makes X.509 certificates: authorities on keys of the curve P-256, and what they sign."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from ipaddress import ip_address
from typing import NamedTuple, TypeAlias, cast

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

PrivateKey: TypeAlias = EllipticCurvePrivateKey | RSAPrivateKey
RSA_BITS = 2048


class KeyKind(Enum):
    """How the holder of a certificate proves that it is his."""

    CURVE = "curve"
    RSA = "rsa"


class Pem(NamedTuple):
    """A certificate and its key."""

    certificate: bytes
    key: bytes


@dataclass(frozen=True, slots=True)
class Holder:
    """Whom a certificate is for: a server if it has names, or a client."""

    common_name: str
    organizations: Sequence[str] = ()
    names: Sequence[str] = ()


class Span(NamedTuple):
    """When a certificate is valid."""

    begin: datetime
    end: datetime


def make_authority(name: str, span: Span, path_length: int | None = None) -> Pem:
    """A certificate that signs itself and others; `path_length`: how many may stand between."""
    key, subject = ec.generate_private_key(ec.SECP256R1()), _subject(Holder(name))
    builder = _builder(key, subject, span).issuer_name(subject)
    limits = x509.BasicConstraints(ca=True, path_length=path_length)
    builder = builder.add_extension(limits, critical=True)
    builder = builder.add_extension(_key_usage(is_authority=True), critical=True)
    return _encode(builder.sign(key, hashes.SHA256()), key)


def sign(authority: Pem, holder: Holder, span: Span, key_kind: KeyKind = KeyKind.CURVE) -> Pem:
    issuer, signing_key = read(authority.certificate), read_key(authority.key)
    key = _new_key(key_kind)
    usage = ExtendedKeyUsageOID.SERVER_AUTH if holder.names else ExtendedKeyUsageOID.CLIENT_AUTH
    identifier = x509.AuthorityKeyIdentifier.from_issuer_public_key(signing_key.public_key())
    builder = (
        _builder(key, _subject(holder), span)
        .issuer_name(issuer.subject)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_key_usage(encrypts_keys=key_kind is KeyKind.RSA), critical=True)
        .add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
        .add_extension(identifier, critical=False)
    )
    if holder.names:
        names = x509.SubjectAlternativeName([_general_name(name) for name in holder.names])
        builder = builder.add_extension(names, critical=False)
    return _encode(builder.sign(signing_key, hashes.SHA256()), key)


def names_of(certificate: x509.Certificate) -> tuple[str, ...]:
    """Those that a server answers to: addresses, then names."""
    try:
        found = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return ()
    addresses = [str(address) for address in found.get_values_for_type(x509.IPAddress)]
    return (*addresses, *found.get_values_for_type(x509.DNSName))


def key_kind_of(certificate: x509.Certificate) -> KeyKind:
    is_rsa = isinstance(certificate.public_key(), rsa.RSAPublicKey)
    return KeyKind.RSA if is_rsa else KeyKind.CURVE


def read(certificate: bytes) -> x509.Certificate:
    return x509.load_pem_x509_certificate(certificate)


def read_key(key: bytes) -> EllipticCurvePrivateKey:
    return cast(EllipticCurvePrivateKey, serialization.load_pem_private_key(key, password=None))


def _builder(key: PrivateKey, subject: x509.Name, span: Span) -> x509.CertificateBuilder:
    identifier = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(span.begin)
        .not_valid_after(span.end)
        .add_extension(identifier, critical=False)
    )


def _subject(holder: Holder) -> x509.Name:
    kind = NameOID.ORGANIZATION_NAME
    parts = [x509.NameAttribute(kind, text) for text in holder.organizations]
    return x509.Name([*parts, x509.NameAttribute(NameOID.COMMON_NAME, holder.common_name)])


def _general_name(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _key_usage(*, is_authority: bool = False, encrypts_keys: bool = False) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=encrypts_keys,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=is_authority,
        crl_sign=is_authority,
        encipher_only=False,
        decipher_only=False,
    )


def _new_key(kind: KeyKind) -> PrivateKey:
    if kind is KeyKind.RSA:
        return rsa.generate_private_key(public_exponent=65537, key_size=RSA_BITS)
    return ec.generate_private_key(ec.SECP256R1())


def _encode(certificate: x509.Certificate, key: PrivateKey) -> Pem:
    return Pem(
        certificate.public_bytes(serialization.Encoding.PEM),
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        ),
    )
