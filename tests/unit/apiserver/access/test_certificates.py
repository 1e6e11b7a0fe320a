"""The authority keeps what it made, and makes it again in time."""

import ssl
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.x509.oid import ExtendedKeyUsageOID

from fleetqueue.apiserver.access.certificates import SERVING_NAMES, Authority
from fleetqueue.apiserver.access.key_pairs import KeyPair


@pytest.fixture
def authority(tmp_path: Path, clock: Any) -> Authority:
    return Authority.load_or_create(tmp_path, clock)


def names_of(pair: KeyPair) -> set[str]:
    certificate = x509.load_pem_x509_certificate(pair.certificate)
    found = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    addresses = {str(address) for address in found.get_values_for_type(x509.IPAddress)}
    return addresses | set(found.get_values_for_type(x509.DNSName))


def usage_of(pair: KeyPair) -> list[Any]:
    certificate = x509.load_pem_x509_certificate(pair.certificate)
    return list(certificate.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value)


def test_the_authority_is_made_once(authority: Authority, tmp_path: Path, clock: Any) -> None:
    again = Authority.load_or_create(tmp_path, clock)
    assert again.certificate == authority.certificate
    clock.passes(days=3650 * 0.85)
    renewed = Authority.load_or_create(tmp_path, clock)
    assert renewed.certificate != authority.certificate


def test_keys_are_readable_by_their_owner_alone(authority: Authority, tmp_path: Path) -> None:
    authority.serving()
    authority.client("admin", "admin")
    keys = sorted(tmp_path.glob("*.key"))
    assert [key.name for key in keys] == ["admin.key", "ca.key", "serving.key"]
    assert {key.stat().st_mode & 0o777 for key in keys} == {0o600}
    keys[0].chmod(0o640)
    authority.client("admin", "admin")
    assert keys[0].stat().st_mode & 0o777 == 0o600
    assert not list(tmp_path.glob(".*"))


def test_the_serving_certificate_answers_to_all_names(authority: Authority) -> None:
    pair = authority.serving(["example.test", "192.0.2.1"])
    assert names_of(pair) == {*SERVING_NAMES, "example.test", "192.0.2.1"}
    assert usage_of(pair) == [ExtendedKeyUsageOID.SERVER_AUTH]
    assert authority.serving() == pair
    assert authority.serving(["new.test"]) != pair


def test_certificates_are_renewed_before_they_end(authority: Authority, clock: Any) -> None:
    serving, client = authority.serving(), authority.client("admin", "admin", ["ops"])
    clock.passes(days=280)
    assert (authority.serving(), authority.client("admin", "admin", ["ops"])) == (serving, client)
    clock.passes(days=20)
    assert authority.serving() != serving
    assert authority.client("admin", "admin", ["ops"]) != client


def test_a_client_certificate_says_who_it_is_for(authority: Authority) -> None:
    pair = authority.client("admin", "admin", ["system:masters", "ops"])
    subject = x509.load_pem_x509_certificate(pair.certificate).subject.rfc4514_string()
    assert subject == "CN=admin,O=ops,O=system:masters"
    assert usage_of(pair) == [ExtendedKeyUsageOID.CLIENT_AUTH]
    assert authority.client("admin", "admin", ["ops"]) != pair


@pytest.mark.parametrize("damage", ["delete", "garbage", "swap"])
def test_a_damaged_pair_is_made_again(authority: Authority, tmp_path: Path, damage: str) -> None:
    pair = authority.serving()
    path = tmp_path / "serving.key"
    if damage == "delete":
        path.unlink()
    elif damage == "garbage":
        path.write_bytes(b"garbage")
    else:
        path.write_bytes(authority.sign("other").key)
    made = authority.serving()
    assert made.certificate != pair.certificate
    assert authority.serving() == made


@pytest.mark.parametrize("notes", [None, b"", b"garbage", b'{"ca": {}}', b'"\xff"'])
def test_without_notes_the_files_themselves_are_read(
    authority: Authority, tmp_path: Path, clock: Any, notes: bytes | None
) -> None:
    pairs = authority.serving(), authority.client("admin", "admin")
    path = tmp_path / "checked.json"
    before = path.read_bytes()
    if notes is None:
        path.unlink()
    else:
        path.write_bytes(notes)
    again = Authority.load_or_create(tmp_path, clock)
    assert (again.serving(), again.client("admin", "admin")) == pairs
    assert path.read_bytes() == before


def test_notes_about_one_authority_are_not_believed_of_another(
    authority: Authority, tmp_path: Path, clock: Any
) -> None:
    stranger = Authority.load_or_create(tmp_path / "elsewhere", clock)
    pair = authority.serving()
    for suffix in ("crt", "key"):
        (tmp_path / f"ca.{suffix}").write_bytes(
            (tmp_path / "elsewhere" / f"ca.{suffix}").read_bytes()
        )
    other = Authority.load_or_create(tmp_path, clock)
    assert other.certificate == stranger.certificate
    assert other.serving() != pair


def test_certificates_of_a_lost_authority_are_made_again(
    authority: Authority, tmp_path: Path, clock: Any
) -> None:
    pair = authority.serving()
    (tmp_path / "ca.key").unlink()
    other = Authority.load_or_create(tmp_path, clock)
    assert other.certificate != authority.certificate
    assert other.serving() != pair


def test_both_ends_of_tls_accept_each_other(authority: Authority, tmp_path: Path) -> None:
    """In memory: no socket is opened."""
    serving, client = authority.serving(), authority.client("admin", "admin")
    del serving, client
    server_side = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server_side.load_cert_chain(tmp_path / "serving.crt", tmp_path / "serving.key")
    server_side.load_verify_locations(authority.certificate_path)
    server_side.verify_mode = ssl.CERT_REQUIRED
    client_side = ssl.create_default_context(cafile=str(authority.certificate_path))
    client_side.load_cert_chain(tmp_path / "admin.crt", tmp_path / "admin.key")
    peer = shake_hands(server_side, client_side, "localhost")
    assert peer["subject"] == ((("commonName", "admin"),),)


def shake_hands(server: ssl.SSLContext, client: ssl.SSLContext, name: str) -> Any:
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    near = client.wrap_bio(to_client, to_server, server_hostname=name)
    far = server.wrap_bio(to_server, to_client, server_side=True)
    for end in (near, far, near, far, near):
        try:
            end.do_handshake()
        except ssl.SSLWantReadError:
            continue
    return far.getpeercert()


def test_a_pair_hides_its_key(authority: Authority) -> None:
    pair = authority.sign("someone")
    assert "PRIVATE KEY" not in repr(pair)
    assert b"PRIVATE KEY" in pair.key
