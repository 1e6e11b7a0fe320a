"""Signs and verifies JSON Web Tokens with one key: ES256, or RS256 for an RSA key that was given.

Only what service-account tokens need: compact form, one algorithm per key, no extensions.
"""

import binascii
import re
from base64 import b64decode, urlsafe_b64encode
from collections.abc import Callable
from functools import cached_property, partial
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fleetqueue.apiserver.access import key_files
from fleetqueue.apiserver.access.key_pairs import Notes
from fleetqueue.base import codec
from fleetqueue.errors import InvalidInput

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric import ec, rsa

    PrivateKey = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey

Claims = dict[str, Any]

_REMEMBERED_MAX = 1024
_HALF = 32  # bytes of each of the two numbers of a P-256 signature
_PART = re.compile(r"[A-Za-z0-9_-]+")
BAD_SIGNATURE = "go-jose/go-jose: error in cryptographic primitive"


class BadToken(Exception):
    """The token is refused; the text says why and never holds the token."""


class SigningKey:
    """The key of the service-account issuer."""

    def __init__(self, make: Callable[[], "PrivateKey"]) -> None:
        """`make` is called when the key is first used, which in many processes is never."""
        self._make = make
        self._verified: dict[bytes, Claims] = {}

    @classmethod
    def generate(cls) -> "SigningKey":
        return cls(_generate)

    @classmethod
    def from_pem(cls, data: bytes) -> "SigningKey":
        key = _parse(data)
        return cls(lambda: key)

    @classmethod
    def load_or_create(cls, path: Path) -> "SigningKey":
        data = key_files.read_private(path)
        notes = Notes(path.parent)
        if data is not None and notes.recall(path.name, data) is not None:
            return cls(partial(_parse, data))
        made = cls.generate() if data is None else cls.from_pem(data)
        if data is None:
            data = made.to_pem()
            key_files.write(path, data)
        notes.keep(path.name, None, data)
        return made

    @cached_property
    def algorithm(self) -> str:
        from cryptography.hazmat.primitives.asymmetric import rsa

        return "RS256" if isinstance(self._key, rsa.RSAPrivateKey) else "ES256"

    @cached_property
    def key_id(self) -> str:
        return _encode(sha256(_der(self._key)).digest())

    @cached_property
    def _key(self) -> "PrivateKey":
        return self._make()

    def to_pem(self) -> bytes:
        from cryptography.hazmat.primitives import serialization as forms

        return self._key.private_bytes(
            forms.Encoding.PEM, forms.PrivateFormat.PKCS8, forms.NoEncryption()
        )

    def sign(self, claims: Claims) -> str:
        header = {"alg": self.algorithm, "kid": self.key_id}
        ordered = dict(sorted(claims.items()))
        text = f"{_encode(codec.encode(header))}.{_encode(codec.encode(ordered))}"
        return f"{text}.{_encode(self._signature(text.encode()))}"

    def verify(self, token: str) -> Claims:
        """The claims of a token that this key signed; whether they hold is for others to say."""
        claims = self.recall(token)
        if claims is None:
            claims = self._verify(token)
            if len(self._verified) >= _REMEMBERED_MAX:
                self._verified.clear()
            self._verified[_digest(token)] = claims
        return claims

    def recall(self, token: str) -> Claims | None:
        """The claims of a token that was verified before."""
        return self._verified.get(_digest(token))

    def jwk(self) -> dict[str, str]:
        """The public half, for /openid/v1/jwks."""
        from cryptography.hazmat.primitives.asymmetric import ec

        about = {"kid": self.key_id, "alg": self.algorithm}
        if isinstance(self._key, ec.EllipticCurvePrivateKey):
            point = self._key.public_key().public_numbers()
            x, y = (_encode(number.to_bytes(_HALF, "big")) for number in (point.x, point.y))
            return {"use": "sig", "kty": "EC", **about, "crv": "P-256", "x": x, "y": y}
        numbers = self._key.public_key().public_numbers()
        n, e = _encode(_minimal(numbers.n)), _encode(_minimal(numbers.e))
        return {"use": "sig", "kty": "RSA", **about, "n": n, "e": e}

    def _verify(self, token: str) -> Claims:
        parts = token.split(".")
        if len(parts) != 3:
            raise BadToken("go-jose/go-jose: compact JWS format must have three parts")
        header, claims = decode_part(parts[0]), decode_part(parts[1])
        if header.get("kid", self.key_id) != self.key_id:
            raise BadToken("invalid signature, no keys found")
        if header.get("alg") != self.algorithm or "crit" in header:
            raise BadToken(BAD_SIGNATURE)
        self._check(_decode(parts[2]), f"{parts[0]}.{parts[1]}".encode())
        return claims

    def _signature(self, data: bytes) -> bytes:
        from cryptography.hazmat.primitives import hashes
        from cryptography.hazmat.primitives.asymmetric import ec, padding
        from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

        if isinstance(self._key, ec.EllipticCurvePrivateKey):
            signed = self._key.sign(data, ec.ECDSA(hashes.SHA256()))
            return b"".join(part.to_bytes(_HALF, "big") for part in decode_dss_signature(signed))
        return self._key.sign(data, padding.PKCS1v15(), hashes.SHA256())

    def _check(self, signature: bytes, data: bytes) -> None:
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives import hashes
        from cryptography.hazmat.primitives.asymmetric import ec, padding
        from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature

        try:
            if not isinstance(self._key, ec.EllipticCurvePrivateKey):
                public = self._key.public_key()
                public.verify(signature, data, padding.PKCS1v15(), hashes.SHA256())
                return
            if len(signature) != 2 * _HALF:
                raise BadToken(BAD_SIGNATURE)
            halves = (signature[:_HALF], signature[_HALF:])
            numbers = (int.from_bytes(half, "big") for half in halves)
            form = ec.ECDSA(hashes.SHA256())
            self._key.public_key().verify(encode_dss_signature(*numbers), data, form)
        except InvalidSignature:
            raise BadToken(BAD_SIGNATURE) from None


def _digest(token: str) -> bytes:
    return sha256(token.encode("utf-8", "surrogatepass")).digest()


def _generate() -> "PrivateKey":
    from cryptography.hazmat.primitives.asymmetric import ec

    return ec.generate_private_key(ec.SECP256R1())


def _parse(data: bytes) -> "PrivateKey":
    from cryptography.hazmat.primitives.asymmetric import ec, rsa
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    key = load_pem_private_key(data, password=None)
    if isinstance(key, rsa.RSAPrivateKey):
        return key
    if isinstance(key, ec.EllipticCurvePrivateKey) and key.curve.name == "secp256r1":
        return key
    raise InvalidInput("a service-account signing key must be RSA or on the curve P-256")


def decode_part(part: str) -> Claims:
    """A header or payload, unverified."""
    try:
        decoded = codec.decode(_decode(part))
    except (codec.DecodeError, UnicodeDecodeError, RecursionError):
        raise BadToken("invalid JSON") from None
    if not isinstance(decoded, dict):
        raise BadToken("not an object")
    return decoded


def _encode(data: bytes) -> str:
    return urlsafe_b64encode(data).rstrip(b"=").decode()


def _decode(text: str) -> bytes:
    """Strict, where Python's own decoder would skip what it does not know."""
    if not _PART.fullmatch(text):
        raise BadToken("illegal base64 data")
    try:
        return b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except binascii.Error:
        raise BadToken("illegal base64 data") from None


def _minimal(number: int) -> bytes:
    return number.to_bytes((number.bit_length() + 7) // 8, "big")


def _der(key: "PrivateKey") -> bytes:
    from cryptography.hazmat.primitives import serialization as forms

    public = key.public_key()
    return public.public_bytes(forms.Encoding.DER, forms.PublicFormat.SubjectPublicKeyInfo)
