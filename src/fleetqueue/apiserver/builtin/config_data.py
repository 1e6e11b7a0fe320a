"""ConfigMaps and Secrets: keys, sizes, types, and the promise never to change."""

from base64 import b64encode
from collections.abc import Mapping
from typing import Any

from fleetqueue.api import names
from fleetqueue.apiserver import field_errors as fields
from fleetqueue.apiserver.builtin.checks import Errors, immutable, wrongs
from fleetqueue.apiserver.builtin.making import kind, text
from fleetqueue.apiserver.builtin.secret_types import (
    validate_secret_type,
    warn_of_secret,
)
from fleetqueue.apiserver.strategy import Object, Strategy

SIZE_MAX = 1024 * 1024
FROZEN = "field is immutable when `immutable` is set"


def validate_config_map(obj: Object, old: Object | None) -> Errors:
    data, binary = obj.get("data") or {}, obj.get("binaryData") or {}
    errors = _validate_frozen(obj, old, ("data", "binaryData"))
    for key in data:
        path = f"data[{key}]"
        errors += wrongs(path, key, names.config_map_key(key))
        if key in binary:
            errors.append(fields.wrong(path, key, "duplicate of key present in binaryData"))
    errors += _validate_keys(binary, "binaryData")
    size = sum(names.byte_length(value) for value in data.values()) + decoded_size(binary)
    if size > SIZE_MAX:
        errors.append(fields.too_long("[]", SIZE_MAX))
    return errors


def default_secret(obj: Object) -> None:
    _fill_bytes(obj, "data")
    plain = obj.pop("stringData", None)
    if plain:
        encoded = {key: b64encode(value.encode()).decode() for key, value in plain.items()}
        obj["data"] = {**(obj.get("data") or {}), **encoded}
    if not obj.get("type"):
        obj["type"] = "Opaque"


def validate_secret(obj: Object, old: Object | None) -> Errors:
    data = obj.get("data") or {}
    errors: Errors = []
    if old is not None:
        errors += immutable(obj.get("type", ""), old.get("type", ""), "type")
    errors += _validate_frozen(obj, old, ("data",))
    errors += _validate_keys(data, "data")
    if decoded_size(data) > SIZE_MAX:
        errors.append(fields.too_long("data", SIZE_MAX))
    return errors + validate_secret_type(obj)


def decoded_size(data: Mapping[str, str]) -> int:
    """How many bytes the base64 values stand for."""
    return sum(len(value) // 4 * 3 - value.count("=", -2) for value in data.values() if value)


def _fill_bytes(obj: Object, name: str) -> None:
    """A key whose value is null has no bytes, but is there."""
    for key, value in (obj.get(name) or {}).items():
        if value is None:
            obj[name][key] = ""


def _validate_keys(data: Mapping[str, Any], path: str) -> Errors:
    errors: Errors = []
    for key in data:
        errors += wrongs(f"{path}[{key}]", key, names.config_map_key(key))
    return errors


def _validate_frozen(obj: Object, old: Object | None, parts: tuple[str, ...]) -> Errors:
    if old is None or not old.get("immutable"):
        return []
    errors = [] if obj.get("immutable") else [fields.forbidden("immutable", FROZEN)]
    return errors + [
        fields.forbidden(name, FROZEN)
        for name in parts
        if (obj.get(name) or {}) != (old.get(name) or {})
    ]


STRATEGIES: dict[tuple[str, str], Strategy] = {
    ("", "ConfigMap"): kind(
        validate_config_map, default=lambda obj: _fill_bytes(obj, "binaryData"), has_status=False
    ),
    ("", "Secret"): kind(
        validate_secret,
        default=default_secret,
        has_status=False,
        warnings=warn_of_secret,
        fields={"type": text("type")},
    ),
}
