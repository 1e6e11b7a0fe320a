"""Certificates: signed by our own authority, renewed in time, never without a trusted one."""

from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509

from fleetqueue.base.certificates import KeyKind, key_kind_of
from fleetqueue.kube import certificates
from fleetqueue.kube.certificates import Bundle

NOW = datetime(2026, 1, 1, tzinfo=UTC)
NAMES = ["webhook.system.svc", "127.0.0.1"]


@pytest.fixture(scope="module")
def bundle() -> Bundle:
    return certificates.make_bundle(NAMES, NOW)


def test_the_serving_certificate_is_signed_by_the_authority(bundle: Bundle) -> None:
    serving, authority = bundle.serving.parsed(), bundle.authority.parsed()

    serving.verify_directly_issued_by(authority)
    assert certificates.names_of(bundle.serving) == set(NAMES)
    constraints = authority.extensions.get_extension_for_class(x509.BasicConstraints)
    assert constraints.value.ca


def test_a_bundle_that_is_good_stays(bundle: Bundle) -> None:
    assert certificates.renewed(bundle, NAMES, NOW + timedelta(days=200)) is bundle


def test_a_serving_certificate_is_replaced_when_two_thirds_of_its_life_have_passed(
    bundle: Bundle,
) -> None:
    later = certificates.renewed(bundle, NAMES, NOW + timedelta(days=244))

    assert later.authority == bundle.authority
    assert later.serving != bundle.serving
    assert later.trusted == bundle.trusted


def test_a_missing_name_asks_for_a_new_certificate(bundle: Bundle) -> None:
    later = certificates.renewed(bundle, [*NAMES, "other"], NOW)

    assert certificates.names_of(later.serving) == {*NAMES, "other"}


def test_a_key_that_nobody_accepts_is_replaced_and_any_other_stays(bundle: Bundle) -> None:
    later = certificates.renewed(bundle, NAMES, NOW, KeyKind.RSA)

    assert later.authority == bundle.authority
    assert key_kind_of(later.serving.parsed()) is KeyKind.RSA
    later.serving.parsed().verify_directly_issued_by(bundle.authority.parsed())
    for kind in (None, KeyKind.RSA):
        assert certificates.renewed(later, NAMES, NOW, kind) is later
    for kind in (None, KeyKind.CURVE):
        assert certificates.renewed(bundle, NAMES, NOW, kind) is bundle


def test_while_a_new_authority_spreads_the_former_is_trusted_too(bundle: Bundle) -> None:
    later = certificates.renewed(bundle, NAMES, NOW + timedelta(days=2500))

    assert later.authority != bundle.authority
    assert bundle.authority.certificate in later.trusted
    assert later.authority.certificate in later.trusted


def test_a_certificate_from_the_future_is_not_used(bundle: Bundle) -> None:
    assert certificates.is_due(bundle.serving, NOW - timedelta(days=1))
