"""Signing and verifying, and that nothing but a good token passes."""

import subprocess
import sys
from base64 import urlsafe_b64decode, urlsafe_b64encode
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from fleetqueue.apiserver.access.jwt import BadToken, SigningKey
from fleetqueue.base import codec
from fleetqueue.errors import InvalidInput

CLAIMS = {"sub": "someone", "iss": "us"}


def encode(value: object) -> str:
    data = value if isinstance(value, bytes) else codec.encode(value)
    return urlsafe_b64encode(data).rstrip(b"=").decode()


@pytest.fixture(scope="session")
def rsa_key() -> SigningKey:
    made = rsa.generate_private_key(65537, 2048)
    return SigningKey(lambda: made)


def test_a_signed_token_gives_its_claims_back(key: SigningKey, rsa_key: SigningKey) -> None:
    for one in (key, rsa_key):
        token = one.sign(CLAIMS)
        assert one.verify(token) == CLAIMS
        head = codec.decode(urlsafe_b64decode(token.split(".")[0] + "=="))
        assert head == {"alg": one.algorithm, "kid": one.key_id}
    assert (key.algorithm, rsa_key.algorithm) == ("ES256", "RS256")


def test_every_damaged_token_is_refused(key: SigningKey, rsa_key: SigningKey) -> None:
    token = key.sign(CLAIMS)
    head, payload, signature = token.split(".")
    other = encode({**CLAIMS, "sub": "admin"})
    damaged = [
        "",
        "a.b",
        "..",
        f"{head}.{payload}.",
        f"{head}.{payload}",
        f"{token}.x",
        f"{head}.{other}.{signature}",
        f"{head}.{payload}.{signature[:-4]}",
        f"{head}.{payload}.{'A' * len(signature)}",
        f"{head}.{payload}.{signature}=",
        f"{head}.{payload}.{signature[:10]} {signature[10:]}",
        f"{encode({'alg': 'none', 'kid': key.key_id})}.{payload}.",
        f"{encode({'alg': 'none'})}.{payload}.{signature}",
        f"{encode({'alg': 'HS256', 'kid': key.key_id})}.{payload}.{signature}",
        f"{encode({'alg': 'ES256', 'kid': 'other'})}.{payload}.{signature}",
        f"{encode({'alg': 'ES256', 'crit': ['x']})}.{payload}.{signature}",
        f"{encode([])}.{payload}.{signature}",
        f"{encode(bytes([0xFF, 0xFE]))}.{payload}.{signature}",
        f"{encode(b'[' * 100_000)}.{payload}.{signature}",
        "\udcff.\udcff.\udcff",
        rsa_key.sign(CLAIMS),
        SigningKey.generate().sign(CLAIMS),
    ]
    for text in damaged:
        with pytest.raises(BadToken) as caught:
            key.verify(text)
        assert payload not in str(caught.value)


def test_a_token_is_verified_anew_after_the_memory_is_full(
    key: SigningKey, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fleetqueue.apiserver.access.jwt._REMEMBERED_MAX", 2)
    fresh = SigningKey.from_pem(key.to_pem())
    tokens = [fresh.sign({"n": number}) for number in range(5)]
    assert [fresh.verify(token)["n"] for token in tokens + tokens] == [0, 1, 2, 3, 4] * 2
    assert len(fresh._verified) <= 2


def test_the_key_set_lets_others_verify(key: SigningKey, rsa_key: SigningKey) -> None:
    shown = key.jwk()
    assert set(shown) == {"use", "kty", "kid", "alg", "crv", "x", "y"}
    assert [len(urlsafe_b64decode(shown[part] + "=")) for part in "xy"] == [32, 32]
    assert set(rsa_key.jwk()) == {"use", "kty", "kid", "alg", "n", "e"}
    assert rsa_key.jwk()["e"] == "AQAB"


def test_the_key_file_is_made_once_and_private(tmp_path: Path) -> None:
    path = tmp_path / "pki" / "sa.key"
    made = SigningKey.load_or_create(path)
    assert path.stat().st_mode & 0o777 == 0o600
    path.chmod(0o644)
    assert SigningKey.load_or_create(path).key_id == made.key_id
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_damaged_key_file_is_found_at_once_though_its_key_is_loaded_late(tmp_path: Path) -> None:
    path = tmp_path / "keys" / "sa.key"
    SigningKey.load_or_create(path)
    SigningKey.load_or_create(path)
    path.write_bytes(b"garbage")
    with pytest.raises(ValueError, match="PEM"):
        SigningKey.load_or_create(path)


def test_a_key_of_another_curve_is_refused() -> None:
    odd = ec.generate_private_key(ec.SECP384R1())
    data = odd.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    with pytest.raises(InvalidInput, match="RSA or on the curve P-256"):
        SigningKey.from_pem(data)


def test_no_key_shows_itself(key: SigningKey) -> None:
    assert "PRIVATE" not in repr(key)
    assert repr(key).startswith("<")


def test_importing_the_package_does_not_import_cryptography() -> None:
    modules = "authentication certificates impersonation reviews token_reviews policy escalation"
    imports = "; ".join(f"import fleetqueue.apiserver.access.{name}" for name in modules.split())
    check = "import sys; assert not any(name.startswith('cryptography') for name in sys.modules)"
    subprocess.run([sys.executable, "-c", f"{imports}; {check}"], check=True)
