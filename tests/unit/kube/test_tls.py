"""What servers demand of those who connect, shown by handshakes in memory."""

import ssl
from datetime import UTC, datetime

import pytest

from fleetqueue.base.certificates import KeyKind
from fleetqueue.kube import certificates
from fleetqueue.kube.certificates import Bundle
from fleetqueue.kube.tls import ServerRules, load_pair, server_context

pytestmark = pytest.mark.rule("kueue 10.1")
OLD, NEW = ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3
NOW = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture(scope="module")
def curve() -> Bundle:
    return certificates.make_bundle(["server"], NOW)


@pytest.fixture(scope="module")
def rsa() -> Bundle:
    return certificates.make_bundle(["server"], NOW, KeyKind.RSA)


def client(version: ssl.TLSVersion = OLD, suites: str = "", curve: str = "") -> ssl.SSLContext:
    """Speaks that version alone."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.minimum_version = context.maximum_version = version
    if suites:
        context.set_ciphers(suites)
    if curve:
        context.set_ecdh_curve(curve)
    return context


def agreed(rules: ServerRules, bundle: Bundle, caller: ssl.SSLContext) -> tuple[str, str] | None:
    """Version and suite of a handshake; None where it fails."""
    server = server_context(rules)
    load_pair(server, bundle.serving.certificate, bundle.serving.key)
    there, back = ssl.MemoryBIO(), ssl.MemoryBIO()
    asks = caller.wrap_bio(back, there)
    answers = server.wrap_bio(there, back, server_side=True)
    try:
        for _ in range(4):
            for side in (asks, answers):
                try:
                    side.do_handshake()
                except ssl.SSLWantReadError:
                    continue
    except ssl.SSLError:
        return None
    suite = asks.cipher()
    assert suite is not None
    return suite[1], suite[0]


def test_whoever_says_nothing_lets_both_versions_in(curve: Bundle) -> None:
    for version, name in ((OLD, "TLSv1.2"), (NEW, "TLSv1.3")):
        found = agreed(ServerRules(), curve, client(version))
        assert found is not None
        assert found[0] == name


def test_a_minimum_keeps_older_versions_out(curve: Bundle) -> None:
    rules = ServerRules(NEW)

    assert agreed(rules, curve, client(OLD)) is None
    assert agreed(rules, curve, client(NEW)) is not None


def test_only_the_suites_that_are_named_are_spoken(curve: Bundle) -> None:
    wanted, other = "ECDHE-ECDSA-AES256-GCM-SHA384", "ECDHE-ECDSA-AES128-GCM-SHA256"
    rules = ServerRules(suites=[wanted])

    assert agreed(rules, curve, client(suites=f"{other}:{wanted}")) == ("TLSv1.2", wanted)
    assert agreed(rules, curve, client(suites=other)) is None
    assert agreed(rules, curve, client(NEW)) is not None


def test_the_key_has_to_fit_the_suites(curve: Bundle, rsa: Bundle) -> None:
    suite = "ECDHE-RSA-AES128-GCM-SHA256"
    rules = ServerRules(suites=[suite])

    assert agreed(rules, curve, client()) is None
    assert agreed(rules, rsa, client()) == ("TLSv1.2", suite)


def test_one_curve_can_be_demanded(curve: Bundle) -> None:
    rules = ServerRules(curve="secp384r1")

    assert agreed(rules, curve, client(NEW, curve="secp384r1")) is not None
    assert agreed(rules, curve, client(NEW, curve="X25519")) is None
