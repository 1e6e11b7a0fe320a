"""Checks whole Kubernetes objects that a custom resource carries inside (embedded resources).

Their metadata takes the form of ObjectMeta: unknown fields are dropped; apiVersion and kind must be
there and well-formed, names and labels valid.
"""

from collections.abc import Callable
from typing import Any, TypeAlias

from fleetqueue.api import names
from fleetqueue.apiserver import field_errors as fields
from fleetqueue.apiserver.builtin import objectmeta
from fleetqueue.apiserver.field_errors import FieldError
from fleetqueue.apiserver.schema import decoding
from fleetqueue.apiserver.schema.node import Node

Visitor: TypeAlias = Callable[[Any, str], None]
"""(value, path): called for each embedded resource of an object."""
Coercer: TypeAlias = Callable[[Any, str], list[str]]
"""(value, path) -> paths of the metadata fields it dropped."""
Validator: TypeAlias = Callable[[Any, str, list[FieldError]], None]

_OBJECT_META = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
_UNNAMED = "fakename"
"""A name is optional here, but the check of metadata wants one."""


class Unreadable(ValueError):
    """The metadata of an embedded resource is none; the sentence says where and why."""


def build_coercer(node: Node) -> Coercer | None:
    """Brings the metadata of embedded resources into shape; None if the schema has none."""
    walk = _walker(node)
    if walk is None:
        return None

    def coerce(value: Any, path: str) -> list[str]:
        dropped: list[str] = []
        walk(value, path, lambda resource, at: _coerce(resource, at, dropped))
        return dropped

    return coerce


def build_validator(node: Node) -> Validator | None:
    walk = _walker(node)
    if walk is None:
        return None

    def validate(value: Any, path: str, errors: list[FieldError]) -> None:
        walk(value, path, lambda resource, at: errors.extend(_validate(resource, at)))

    return validate


def _walker(
    node: Node, seen: frozenset[int] = frozenset()
) -> Callable[[Any, str, Visitor], None] | None:
    if id(node.raw) in seen:
        return None
    seen = seen | {id(node.raw)}
    below = {
        name: walker
        for name, child in node.properties.items()
        if (walker := _walker(child, seen)) is not None
    }
    values = _walker(node.values, seen) if node.values is not None else None
    items = _walker(node.items, seen) if node.items is not None else None
    if not (node.is_embedded or below or values or items):
        return None

    def walk(value: Any, path: str, visit: Visitor) -> None:
        if isinstance(value, dict):
            if node.is_embedded:
                visit(value, path)
            for name, child in value.items():
                if name in below:
                    below[name](child, f"{path}.{name}" if path else name, visit)
                elif values is not None and name not in node.properties:
                    values(child, f"{path}[{name}]", visit)
        elif isinstance(value, list) and items is not None:
            for index, child in enumerate(value):
                items(child, f"{path}[{index}]", visit)

    return walk


def _coerce(resource: dict[str, Any], path: str, dropped: list[str]) -> None:
    metadata = resource.get("metadata")
    if not isinstance(metadata, dict):
        return
    decoded = decoding.decode(metadata, decoding.node_of(_OBJECT_META))
    if decoded.error:
        shown = dict(sorted(metadata.items()))
        raise Unreadable(str(fields.wrong(f"{path}.metadata", shown, decoded.error)))
    resource["metadata"] = decoded.value
    dropped += [f"{path}.metadata.{name}" for name in decoded.unknown]


def _validate(resource: dict[str, Any], path: str) -> list[FieldError]:
    errors = [
        fields.required(f"{path}.{name}") for name in ("apiVersion", "kind") if name not in resource
    ]
    for name, check in (("apiVersion", _group_version), ("kind", _kind)):
        if name in resource:
            value = resource[name]
            errors += [fields.wrong(f"{path}.{name}", value, why) for why in _text(value, check)]
    if "metadata" in resource:
        errors += _metadata(resource["metadata"], f"{path}.metadata")
    return errors


def _text(value: Any, check: Callable[[str], list[str]]) -> list[str]:
    if not isinstance(value, str):
        return ["must be a string"]
    return check(value) if value else ["must not be empty"]


def _group_version(value: str) -> list[str]:
    return [f"unexpected GroupVersion string: {value}"] if value.count("/") > 1 else []


def _kind(value: str) -> list[str]:
    problems = names.dns1035_label(value.lower())
    if not problems:
        return []
    return [f"may have mixed case, but should otherwise match: {','.join(problems)}"]


def _metadata(value: Any, path: str) -> list[FieldError]:
    decoded = decoding.decode(value, decoding.node_of(_OBJECT_META))
    if decoded.error:
        return [fields.wrong(path, value, decoded.error)]
    meta = {"name": _UNNAMED, **decoded.value}
    return objectmeta.validate_object_meta(meta, bool(meta.get("namespace")), _path_segment, path)


def _path_segment(name: str, is_prefix: bool) -> list[str]:
    """Such a name is only required to be usable in a URL."""
    if not is_prefix and name in (".", ".."):
        return [f"may not be '{name}'"]
    return [f"may not contain '{char}'" for char in "/%" if char in name]
