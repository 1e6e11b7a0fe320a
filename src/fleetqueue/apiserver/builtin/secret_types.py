"""What each type of Secret must hold."""

from base64 import b64decode
from collections.abc import Mapping
from typing import Any

from fleetqueue.apiserver import field_errors as fields
from fleetqueue.apiserver.builtin.checks import Errors
from fleetqueue.base import codec, go_json

Object = Mapping[str, Any]

ACCOUNT_NAME = "kubernetes.io/service-account.name"
REDACTED = "<secret contents redacted>"

_DOCKER = {
    "kubernetes.io/dockercfg": ".dockercfg",
    "kubernetes.io/dockerconfigjson": ".dockerconfigjson",
}


def validate_secret_type(obj: Object) -> Errors:
    kind, data = obj.get("type", ""), obj.get("data") or {}
    match kind:
        case "kubernetes.io/service-account-token":
            named = (obj["metadata"].get("annotations") or {}).get(ACCOUNT_NAME)
            path = f"metadata.annotations[{ACCOUNT_NAME}]"
            return [] if named else [fields.required(path)]
        case "kubernetes.io/dockercfg" | "kubernetes.io/dockerconfigjson":
            return _validate_docker(data, _DOCKER[kind])
        case "kubernetes.io/basic-auth":
            wanted = ("username", "password")
            return [] if data.keys() & set(wanted) else _missing(wanted)
        case "kubernetes.io/ssh-auth":
            return [] if data.get("ssh-privatekey") else _missing(("ssh-privatekey",))
        case "kubernetes.io/tls":
            return _missing(tuple(key for key in ("tls.crt", "tls.key") if key not in data))
        case _:
            return []


def warn_of_secret(obj: Object, old: Object | None) -> list[str]:
    """A pair of certificate and key that cannot be used is stored all the same."""
    if obj.get("type") != "kubernetes.io/tls":
        return []
    data = obj.get("data") or {}
    certificate, key = (b64decode(data.get(name) or "") for name in ("tls.crt", "tls.key"))
    if b"-----BEGIN CERTIFICATE-----" not in certificate:
        return ["tls: failed to find any PEM data in certificate input"]
    if b"-----BEGIN " not in key:
        return ["tls: failed to find any PEM data in key input"]
    try:
        matches = _is_pair(certificate, key)
    except (ValueError, TypeError):
        return ["tls: failed to parse private key"]
    return [] if matches else ["tls: private key does not match public key"]


def _is_pair(certificate: bytes, key: bytes) -> bool:
    # Slow to load, and most servers never see such a Secret.
    from cryptography import x509
    from cryptography.hazmat.primitives import serialization

    der, form = serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
    public = x509.load_pem_x509_certificate(certificate).public_key()
    private = serialization.load_pem_private_key(key, None)
    return private.public_key().public_bytes(der, form) == public.public_bytes(der, form)


def _validate_docker(data: Object, key: str) -> Errors:
    if key not in data:
        return _missing((key,))
    text = b64decode(data[key])
    try:
        decoded = codec.decode(text)
    except codec.DecodeError:
        return [fields.wrong(f"data[{key}]", REDACTED, go_json.syntax_error(text))]
    if isinstance(decoded, dict) or decoded is None:
        return []
    why = "json: cannot unmarshal {} into Go value of type map[string]interface {{}}"
    return [fields.wrong(f"data[{key}]", REDACTED, why.format(_go_kind(decoded)))]


def _go_kind(value: Any) -> str:
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int | float):
        return "number"
    return "array" if isinstance(value, list) else "string"


def _missing(keys: tuple[str, ...]) -> Errors:
    return [fields.required(f"data[{key}]") for key in keys]
