"""The schemas that operations need: recorded ones for built-in kinds, the CRD's own for others."""

import re
from collections.abc import Iterable
from functools import cache
from typing import Any

from fleetqueue.api import kubernetes
from fleetqueue.apiserver.openapi import naming
from fleetqueue.apiserver.openapi.naming import META, meta, reference
from fleetqueue.apiserver.registry import Resource, Version
from fleetqueue.base import codec

Object = dict[str, Any]

_REFERENCE = re.compile(rb'"\$ref":"#/(?:components/schemas|definitions)/([^"]+)"')
DELETE_OPTIONS = f"{META}DeleteOptions"
UNKNOWN_TO_CUSTOM = frozenset(
    ("admission.k8s.io", "apiextensions.k8s.io", "apiregistration.k8s.io", "imagepolicy.k8s.io")
)
"""Groups whose delete options a document of custom resources leaves out."""


def needed_by(paths: Object, own: dict[str, Object]) -> dict[str, Object]:
    """Every schema that these paths name, directly or through others; `own` are not recorded."""
    known = kubernetes.definitions()
    found: dict[str, Object] = {}
    wanted = list(references(paths))
    while wanted:
        name = wanted.pop()
        if name not in found:
            found[name] = own[name] if name in own else known[name]
            wanted += references(own[name]) if name in own else _recorded_references(name)
    return dict(sorted(found.items()))


def references(value: Any) -> set[str]:
    """The names of all schemas that are referred to anywhere in it."""
    # Searching the encoded text is many times faster than walking the tree.
    return {name.decode() for name in _REFERENCE.findall(codec.encode(value))}


@cache
def _recorded_references(name: str) -> frozenset[str]:
    return frozenset(references(kubernetes.definitions()[name]))


def of_custom(served: Iterable[tuple[Resource, Version]]) -> dict[str, Object]:
    """The schemas of custom kinds and of their lists."""
    found: dict[str, Object] = {}
    for resource, version in served:
        if resource.is_custom:
            found |= _custom(resource, version)
    return found


def custom_delete_options() -> dict[str, Object]:
    """Delete options as documents of custom resources have them."""
    known: Object = dict(kubernetes.definitions()[DELETE_OPTIONS])
    kinds = known["x-kubernetes-group-version-kind"]
    known["x-kubernetes-group-version-kind"] = [
        kind for kind in kinds if kind["group"] not in UNKNOWN_TO_CUSTOM
    ]
    return {DELETE_OPTIONS: known}


def _custom(resource: Resource, version: Version) -> dict[str, Object]:
    schema = _completed(_raw_schema(resource, version))
    schema["properties"] = {**(schema.get("properties") or {}), **_type_fields(), **_metadata()}
    schema.setdefault("type", "object")
    name = naming.name_of(resource, version)
    listed: Object = {
        "type": "object",
        "required": ["items"],
        "properties": {
            **_type_fields(),
            "items": {"type": "array", "items": reference(name)},
            "metadata": {"allOf": [meta("ListMeta")]},
        },
    }
    kinds = ((schema, version.kind), (listed, resource.list_kind))
    for made, kind in kinds:
        made["x-kubernetes-group-version-kind"] = [naming.gvk(resource, version, kind)]
        if version.selectable:
            made["x-kubernetes-selectable-fields"] = [
                {"fieldPath": path.removeprefix(".")} for path in version.selectable
            ]
    return {name: schema, f"{name}List": listed}


def _type_fields() -> Object:
    return {"apiVersion": {"type": "string"}, "kind": {"type": "string"}}


def _metadata() -> Object:
    return {"metadata": {"allOf": [meta("ObjectMeta")]}}


def _raw_schema(resource: Resource, version: Version) -> Object:
    return (resource.definition and resource.definition.schema(version.name)) or {}


def _completed(schema: Object) -> Object:
    """The schema with what its extensions imply written out; changes it in place."""
    for below in _below(schema):
        _completed(below)
    if schema.get("x-kubernetes-int-or-string") and "anyOf" not in schema:
        schema["anyOf"] = [{"type": "integer"}, {"type": "string"}]
    if schema.get("x-kubernetes-embedded-resource"):
        own = schema.get("properties") or {}
        schema["properties"] = {**own, **_type_fields(), **_metadata()}
        required = schema.get("required") or []
        schema["required"] = required + [
            one for one in ("kind", "apiVersion") if one not in required
        ]
    return schema


def _below(schema: Object) -> list[Object]:
    found = list((schema.get("properties") or {}).values())
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            found.append(schema[key])
    return found
