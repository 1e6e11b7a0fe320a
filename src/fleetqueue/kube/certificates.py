"""Makes certificates: an authority of our own, and serving certificates that it signs."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from ipaddress import ip_address

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

AUTHORITY_LIFE = timedelta(days=3650)
SERVING_LIFE = timedelta(days=365)
CLOCKS_DIFFER_BY = timedelta(hours=1)
RENEW_AT_SHARE = 2 / 3
"""Of a certificate's life: a new one is made when so much of it has passed."""


@dataclass(frozen=True)
class Pair:
    """A certificate and its key, both PEM."""

    certificate: bytes
    key: bytes

    def parsed(self) -> x509.Certificate:
        return x509.load_pem_x509_certificate(self.certificate)


@dataclass(frozen=True)
class Bundle:
    """What a server needs, and what its clients must trust."""

    authority: Pair
    serving: Pair
    former: bytes = b""
    """The authority before this one: while a new one spreads, both are trusted."""

    @property
    def trusted(self) -> bytes:
        return self.authority.certificate + self.former


def make_bundle(names: Sequence[str], now: datetime) -> Bundle:
    authority = make_authority("fleetqueue webhooks", now)
    return Bundle(authority, make_serving(authority, names, now))


def renewed(bundle: Bundle, names: Sequence[str], now: datetime) -> Bundle:
    """The same bundle where it is still good; else with what is old, or misses a name, replaced."""
    if is_due(bundle.authority, now):
        return replace(make_bundle(names, now), former=bundle.authority.certificate)
    if is_due(bundle.serving, now) or not set(names) <= names_of(bundle.serving):
        return replace(bundle, serving=make_serving(bundle.authority, names, now))
    return bundle


def is_due(pair: Pair, now: datetime) -> bool:
    """Whether it is time for another one; also for one that is not valid yet."""
    certificate = pair.parsed()
    begin, end = certificate.not_valid_before_utc, certificate.not_valid_after_utc
    return now < begin or now >= begin + (end - begin) * RENEW_AT_SHARE


def names_of(pair: Pair) -> set[str]:
    extension = pair.parsed().extensions.get_extension_for_class(x509.SubjectAlternativeName)
    names = extension.value
    found: set[str] = set(names.get_values_for_type(x509.DNSName))
    return found | {str(address) for address in names.get_values_for_type(x509.IPAddress)}


def make_authority(name: str, now: datetime) -> Pair:
    key = ec.generate_private_key(ec.SECP256R1())
    subject = _subject(name)
    builder = _builder(subject, subject, key.public_key(), now, AUTHORITY_LIFE)
    usage = _key_usage(digital_signature=True, key_cert_sign=True, crl_sign=True)
    signed = (
        builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(usage, critical=True)
        .sign(key, hashes.SHA256())
    )
    return _pair(signed, key)


def make_serving(authority: Pair, names: Sequence[str], now: datetime) -> Pair:
    signer = authority.parsed()
    signing_key = serialization.load_pem_private_key(authority.key, password=None)
    assert isinstance(signing_key, ec.EllipticCurvePrivateKey)
    key = ec.generate_private_key(ec.SECP256R1())
    builder = _builder(_subject(names[0]), signer.subject, key.public_key(), now, SERVING_LIFE)
    usage = _key_usage(digital_signature=True, key_cert_sign=False, crl_sign=False)
    signed = (
        builder.add_extension(x509.SubjectAlternativeName([_name(n) for n in names]), False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(usage, critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(signing_key.public_key()), False
        )
        .sign(signing_key, hashes.SHA256())
    )
    return _pair(signed, key)


def _builder(
    subject: x509.Name,
    issuer: x509.Name,
    public_key: ec.EllipticCurvePublicKey,
    now: datetime,
    life: timedelta,
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(public_key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - CLOCKS_DIFFER_BY)
        .not_valid_after(now + life)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(public_key), critical=False)
    )


def _subject(name: str) -> x509.Name:
    # A common name has at most 64 characters; the names that count are the alternative ones.
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name[:64])])


def _name(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _key_usage(*, digital_signature: bool, key_cert_sign: bool, crl_sign: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=digital_signature,
        key_cert_sign=key_cert_sign,
        crl_sign=crl_sign,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _pair(certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey) -> Pair:
    return Pair(
        certificate.public_bytes(serialization.Encoding.PEM),
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        ),
    )
