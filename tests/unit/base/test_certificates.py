"""Certificates that are made here hold what was asked for, and clients believe them."""

from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from fleetqueue.base import certificates
from fleetqueue.base.certificates import Holder, Span

NOW = datetime(2026, 1, 1, tzinfo=UTC)
SPAN = Span(NOW, NOW + timedelta(days=1))


def usages(certificate: x509.Certificate) -> list[x509.ObjectIdentifier]:
    return list(certificate.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value)


@pytest.mark.parametrize("path_length", [None, 0])
def test_an_authority_signs_itself(path_length: int | None) -> None:
    made = certificates.make_authority("ours", SPAN, path_length)
    found = certificates.read(made.certificate)
    found.verify_directly_issued_by(found)
    limits = found.extensions.get_extension_for_class(x509.BasicConstraints)
    assert (limits.critical, limits.value.ca, limits.value.path_length) == (True, True, path_length)
    assert (found.not_valid_before_utc, found.not_valid_after_utc) == SPAN
    assert found.public_key() == certificates.read_key(made.key).public_key()


def test_a_server_has_the_names_it_answers_to() -> None:
    authority = certificates.make_authority("ours", SPAN)
    holder = Holder("server", names=("example.com", "127.0.0.1", "::1"))
    found = certificates.read(certificates.sign(authority, holder, SPAN).certificate)
    found.verify_directly_issued_by(certificates.read(authority.certificate))
    assert certificates.names_of(found) == ("127.0.0.1", "::1", "example.com")
    assert usages(found) == [ExtendedKeyUsageOID.SERVER_AUTH]
    assert not found.extensions.get_extension_for_class(x509.BasicConstraints).value.ca


def test_a_client_is_a_user_of_groups() -> None:
    authority = certificates.make_authority("ours", SPAN)
    made = certificates.sign(authority, Holder("alice", ("a", "b")), SPAN)
    found = certificates.read(made.certificate)
    groups = found.subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)
    assert [group.value for group in groups] == ["a", "b"]
    (user,) = found.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
    assert user.value == "alice"
    assert usages(found) == [ExtendedKeyUsageOID.CLIENT_AUTH]
    assert certificates.names_of(found) == ()


def test_another_authority_of_the_same_name_did_not_sign() -> None:
    first, second = (certificates.make_authority("ours", SPAN) for _ in range(2))
    found = certificates.read(certificates.sign(first, Holder("a"), SPAN).certificate)
    with pytest.raises(InvalidSignature):
        found.verify_directly_issued_by(certificates.read(second.certificate))
