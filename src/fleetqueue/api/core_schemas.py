"""Inlines definitions of the Kubernetes API into CRDs, in the form that controller-gen gives them.

The published OpenAPI and a CRD differ: a CRD has no references, no enums and no zero defaults of
core types, and it limits an embedded object's metadata to the five fields that a template can use.
Results are shared and must not be changed.
"""

from functools import cache
from typing import Any

from fleetqueue.api.kubernetes import definitions
from fleetqueue.api.scalars import QUALIFIED_NAME, QUANTITY

JsonSchema = dict[str, Any]

_META = "io.k8s.apimachinery.pkg.apis.meta.v1."
_INT_OR_STRING: JsonSchema = {
    "anyOf": [{"type": "integer"}, {"type": "string"}],
    "x-kubernetes-int-or-string": True,
}
_STRINGS: JsonSchema = {"type": "object", "additionalProperties": {"type": "string"}}

_SPECIAL: dict[str, JsonSchema] = {
    "io.k8s.apimachinery.pkg.api.resource.Quantity": _INT_OR_STRING | {"pattern": QUANTITY},
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": _INT_OR_STRING,
    _META + "ObjectMeta": {
        "type": "object",
        "properties": {
            "annotations": _STRINGS,
            "finalizers": {"type": "array", "items": {"type": "string"}},
            "labels": _STRINGS,
            "name": {"type": "string"},
            "namespace": {"type": "string"},
        },
    },
    _META + "FieldsV1": {"type": "object"},
    "io.k8s.apimachinery.pkg.runtime.RawExtension": {
        "type": "object",
        "x-kubernetes-preserve-unknown-fields": True,
    },
}

_CORE = "io.k8s.api.core.v1."
_ATOMIC: JsonSchema = {"x-kubernetes-map-type": "atomic"}
_AMENDED: dict[str, JsonSchema] = {
    _CORE + "ConfigMapEnvSource": _ATOMIC,
    _CORE + "ConfigMapProjection": _ATOMIC,
    _CORE + "ConfigMapVolumeSource": _ATOMIC,
    _CORE + "SecretEnvSource": _ATOMIC,
    _CORE + "SecretProjection": _ATOMIC,
    _CORE + "PortStatus": {"required": ["error", "port", "protocol"]},
    "io.k8s.api.batch.v1.PodFailurePolicyOnPodConditionsPattern": {"required": ["type"]},
}
"""Where a CRD and the published OpenAPI differ about a type as a whole."""

_CONDITION_TYPE: JsonSchema = {"maxLength": 316, "pattern": QUALIFIED_NAME}
_LIMITS: dict[str, dict[str, JsonSchema]] = {
    _META + "Condition": {
        "type": _CONDITION_TYPE,
        "status": {"enum": ["True", "False", "Unknown"]},
        "observedGeneration": {"minimum": 0},
        "reason": {
            "minLength": 1,
            "maxLength": 1024,
            "pattern": "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$",
        },
        "message": {"maxLength": 32768},
    },
    _CORE + "PortStatus": {"error": _CONDITION_TYPE},
}
"""What a CRD says of fields and the published OpenAPI leaves to the server's own checks."""

_KEPT = (
    "type",
    "format",
    "required",
    "nullable",
    "x-kubernetes-list-type",
    "x-kubernetes-list-map-keys",
    "x-kubernetes-map-type",
    "x-kubernetes-preserve-unknown-fields",
)


def inlined(name: str, without: tuple[str, ...] = ()) -> JsonSchema:
    """The whole schema of a definition such as "io.k8s.api.core.v1.PodSpec"."""
    whole = _inlined(name)
    if not without:
        return dict(whole)
    kept = {key: value for key, value in whole["properties"].items() if key not in without}
    required = [key for key in whole.get("required", ()) if key not in without]
    rest = {key: value for key, value in whole.items() if key != "required"}
    return rest | {"properties": kept} | ({"required": required} if required else {})


@cache
def _inlined(name: str) -> JsonSchema:
    if name in _SPECIAL:
        return _SPECIAL[name]
    schema = _structural(definitions()[name]) | _AMENDED.get(name, {})
    for field, limits in _LIMITS.get(name, {}).items():
        schema["properties"][field] = schema["properties"][field] | limits
    return schema


def _structural(raw: JsonSchema) -> JsonSchema:
    reference = raw.get("$ref") or (raw["allOf"][0].get("$ref") if "allOf" in raw else None)
    if reference:
        return _inlined(reference.rsplit("/", 1)[-1])
    schema: JsonSchema = {key: raw[key] for key in _KEPT if key in raw}
    if "items" in raw:
        schema["items"] = _structural(raw["items"])
    if isinstance(raw.get("additionalProperties"), dict):
        schema["additionalProperties"] = _structural(raw["additionalProperties"])
    if "properties" in raw:
        required = raw.get("required", ())
        schema["properties"] = {
            name: _structural(child) | _default(child, name in required)
            for name, child in sorted(raw["properties"].items())
        }
    return schema


def _default(raw: JsonSchema, is_required: bool) -> JsonSchema:
    """A default that somebody chose: the zero of a required field and `{}` come from Go alone."""
    default = raw.get("default")
    if default is None or isinstance(default, dict) or (is_required and not default):
        return {}
    return {"default": default}
