"""A small certificate authority: the server's own certificate and those that clients log in with.

`cryptography` is imported only where a certificate is made or read; a start that finds everything
in place still reads them, but a process that never serves pays nothing.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, cast

from fleetqueue.apiserver.access import key_files
from fleetqueue.base.clock import Clock

if TYPE_CHECKING:
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey

SERVING_NAMES = (
    "localhost",
    "127.0.0.1",
    "::1",
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
)

AUTHORITY_LIFE = timedelta(days=3650)
LEAF_LIFE = timedelta(days=365)
_BACKDATED = timedelta(minutes=5)
_AUTHORITY_NAME = "fleetqueue"


@dataclass(frozen=True, slots=True)
class KeyPair:
    """A certificate and its private key, as PEM."""

    certificate: bytes
    key: bytes = field(repr=False)


class Authority:
    """Signs with the key in `directory`; what it makes for a name is kept there and reused."""

    def __init__(self, pair: KeyPair, directory: Path, clock: Clock) -> None:
        self._pair = pair
        self._directory = directory
        self._clock = clock

    @classmethod
    def load_or_create(cls, directory: Path, clock: Clock) -> "Authority":
        pair = _load(directory, "ca")
        if pair is None or not _is_fresh(_read(pair), clock.now()):
            pair = _make_authority(clock.now())
            _save(directory, "ca", pair)
        return cls(pair, directory, clock)

    @property
    def certificate(self) -> bytes:
        """PEM, for kubeconfig files and the kube-root-ca.crt ConfigMap."""
        return self._pair.certificate

    @property
    def certificate_path(self) -> Path:
        return self._directory / "ca.crt"

    def serving(self, extra_names: Iterable[str] = ()) -> KeyPair:
        """The server's certificate; made again when it nears its end or lacks a name."""
        names = tuple(dict.fromkeys((*SERVING_NAMES, *extra_names)))
        pair = _load(self._directory, "serving")
        if pair is not None and self._is_good(pair) and set(names) <= _alternative_names(pair):
            return pair
        return self._keep("serving", self.sign("kube-apiserver", names=names))

    def client(self, name: str, user: str, groups: Sequence[str] = ()) -> KeyPair:
        """A client certificate kept as `name`.crt and `name`.key."""
        pair = _load(self._directory, name)
        if pair is not None and self._is_good(pair) and _identity(pair) == (user, list(groups)):
            return pair
        return self._keep(name, self.sign(user, groups))

    def sign(
        self,
        user: str,
        groups: Sequence[str] = (),
        names: Sequence[str] = (),
        life: timedelta = LEAF_LIFE,
    ) -> KeyPair:
        """A new certificate that is written nowhere: for a server if it has names, or a client."""
        from cryptography.x509.oid import ExtendedKeyUsageOID as Usage

        usage = Usage.SERVER_AUTH if names else Usage.CLIENT_AUTH
        key = _new_key()
        builder = _builder(key, _name(user, groups), self._clock.now(), life)
        builder = _for_leaf(builder, _read(self._pair), usage)
        if names:
            builder = _for_names(builder, names)
        signed = builder.sign(_read_key(self._pair), _digest())
        return _encode(signed, key)

    def needs_renewal(self, pair: KeyPair) -> bool:
        """Whether a long-running server should ask for its certificate again."""
        return not self._is_good(pair)

    def _is_good(self, pair: KeyPair) -> bool:
        from cryptography.exceptions import InvalidSignature

        certificate = _read(pair)
        try:
            certificate.verify_directly_issued_by(_read(self._pair))
        except (ValueError, TypeError, InvalidSignature):
            return False
        return _is_fresh(certificate, self._clock.now())

    def _keep(self, name: str, pair: KeyPair) -> KeyPair:
        _save(self._directory, name, pair)
        return pair


def _make_authority(now: datetime) -> KeyPair:
    from cryptography import x509

    key, subject = _new_key(), _name(_AUTHORITY_NAME, ())
    builder = _builder(key, subject, now, AUTHORITY_LIFE).issuer_name(subject)
    builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
    builder = builder.add_extension(_key_usage(is_authority=True), critical=True)
    identifier = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
    builder = builder.add_extension(identifier, critical=False)
    return _encode(builder.sign(key, _digest()), key)


def _builder(
    key: "EllipticCurvePrivateKey", subject: "x509.Name", now: datetime, life: timedelta
) -> "x509.CertificateBuilder":
    from cryptography import x509

    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _BACKDATED)
        .not_valid_after(now + life)
    )


def _for_leaf(
    builder: "x509.CertificateBuilder",
    issuer: "x509.Certificate",
    usage: "x509.ObjectIdentifier",
) -> "x509.CertificateBuilder":
    from cryptography import x509

    known = issuer.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value
    authority = x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(known)
    return (
        builder.issuer_name(issuer.subject)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_key_usage(is_authority=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
        .add_extension(authority, critical=False)
    )


def _for_names(
    builder: "x509.CertificateBuilder", names: Sequence[str]
) -> "x509.CertificateBuilder":
    from cryptography import x509

    entries: list[x509.GeneralName] = []
    for name in names:
        try:
            entries.append(x509.IPAddress(ip_address(name)))
        except ValueError:
            entries.append(x509.DNSName(name))
    return builder.add_extension(x509.SubjectAlternativeName(entries), critical=False)


def _key_usage(*, is_authority: bool) -> "x509.KeyUsage":
    from cryptography import x509

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


def _name(common_name: str, organizations: Sequence[str]) -> "x509.Name":
    from cryptography import x509
    from cryptography.x509.oid import NameOID

    parts = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, text) for text in organizations]
    return x509.Name([*parts, x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def _new_key() -> "EllipticCurvePrivateKey":
    from cryptography.hazmat.primitives.asymmetric import ec

    return ec.generate_private_key(ec.SECP256R1())


def _digest() -> "hashes.SHA256":
    from cryptography.hazmat.primitives import hashes

    return hashes.SHA256()


def _encode(certificate: "x509.Certificate", key: "EllipticCurvePrivateKey") -> KeyPair:
    from cryptography.hazmat.primitives import serialization

    return KeyPair(
        certificate.public_bytes(serialization.Encoding.PEM),
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        ),
    )


def _read(pair: KeyPair) -> "x509.Certificate":
    from cryptography import x509

    return x509.load_pem_x509_certificate(pair.certificate)


def _read_key(pair: KeyPair) -> "EllipticCurvePrivateKey":
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    return cast("EllipticCurvePrivateKey", load_pem_private_key(pair.key, password=None))


def _is_fresh(certificate: "x509.Certificate", now: datetime) -> bool:
    """Valid now, and with a fifth of its life still to go."""
    start, end = certificate.not_valid_before_utc, certificate.not_valid_after_utc
    return start <= now < end - (end - start) / 5


def _alternative_names(pair: KeyPair) -> set[str]:
    from cryptography import x509

    found = _read(pair).extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    addresses = {str(address) for address in found.get_values_for_type(x509.IPAddress)}
    return addresses | set(found.get_values_for_type(x509.DNSName))


def _identity(pair: KeyPair) -> tuple[str, list[str]]:
    from cryptography.x509.oid import NameOID

    subject = _read(pair).subject
    organizations = subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)
    common_names = subject.get_attributes_for_oid(NameOID.COMMON_NAME)
    return str(common_names[0].value), [str(part.value) for part in organizations]


def _save(directory: Path, name: str, pair: KeyPair) -> None:
    key_files.write(directory / f"{name}.key", pair.key)
    key_files.write(directory / f"{name}.crt", pair.certificate, key_files.PUBLIC)


def _load(directory: Path, name: str) -> KeyPair | None:
    """The pair on disk; None where a part is missing, broken, or of another pair."""
    key = key_files.read_private(directory / f"{name}.key")
    certificate = key_files.read(directory / f"{name}.crt")
    if key is None or certificate is None:
        return None
    pair = KeyPair(certificate, key)
    try:
        matches = _read(pair).public_key() == _read_key(pair).public_key()
    except (ValueError, TypeError):
        return None
    return pair if matches else None
