"""Turns a type and its markers into a structural schema, as controller-gen does for Go types."""

import inspect
import types
from collections.abc import Iterable
from datetime import datetime
from enum import Enum
from functools import cache
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import msgspec

from fleetqueue.api import core_schemas
from fleetqueue.api.markers import (
    MISSING,
    Core,
    Doc,
    Marker,
    Rule,
    Schema,
    markers_of,
    values_of,
)

JsonSchema = dict[str, Any]

_SCALARS: dict[Any, JsonSchema] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    bool: {"type": "boolean"},
    float: {"type": "number"},
    datetime: {"type": "string", "format": "date-time"},
}

_KEYWORDS = {
    "enum": "enum",
    "pattern": "pattern",
    "format": "format",
    "minimum": "minimum",
    "maximum": "maximum",
    "min_length": "minLength",
    "max_length": "maxLength",
    "min_items": "minItems",
    "max_items": "maxItems",
    "min_properties": "minProperties",
    "max_properties": "maxProperties",
    "nullable": "nullable",
    "list_type": "x-kubernetes-list-type",
    "list_keys": "x-kubernetes-list-map-keys",
    "map_type": "x-kubernetes-map-type",
    "preserve_unknown": "x-kubernetes-preserve-unknown-fields",
    "embedded": "x-kubernetes-embedded-resource",
}


def schema_of(declared: Any) -> JsonSchema:
    """The schema of a type as it stands in an annotation."""
    bare, markers = _unwrap(declared)
    schema = _bare_schema(bare, markers)
    for marker in markers:
        _apply(schema, marker)
    return schema


def object_schema(cls: type[msgspec.Struct]) -> JsonSchema:
    """The schema of a struct, without the markers that the place of its use adds."""
    schema: JsonSchema = {"type": "object"}
    if text := _docstring(cls):
        schema["description"] = text
    if properties := _properties(cls):
        schema["properties"] = properties
    if required := [field.encode_name for field in _fields(cls) if _is_required(cls, field)]:
        schema["required"] = sorted(required)
    for marker in markers_of(cls):
        _apply(schema, marker)
    return schema


def _bare_schema(bare: Any, markers: Iterable[Marker]) -> JsonSchema:
    """What the type alone says; a core definition or an int-or-string stands in for any type."""
    for marker in markers:
        if isinstance(marker, Core):
            return core_schemas.inlined(marker.name, marker.without)
        if isinstance(marker, Schema) and marker.int_or_string:
            return {
                "anyOf": [{"type": "integer"}, {"type": "string"}],
                "x-kubernetes-int-or-string": True,
            }
    if bare is Any:
        return {}
    if bare in _SCALARS:
        return dict(_SCALARS[bare])
    if isinstance(bare, type) and issubclass(bare, Enum):
        return {"type": "string", "enum": values_of(bare)}
    if isinstance(bare, type) and issubclass(bare, msgspec.Struct):
        return object_schema(bare)
    return _generic_schema(bare)


def _generic_schema(bare: Any) -> JsonSchema:
    arguments = get_args(bare)
    match get_origin(bare):
        case origin if origin is list:
            return {"type": "array", "items": schema_of(arguments[0])}
        case origin if origin is dict:
            values = schema_of(arguments[1])
            return {"type": "object"} | ({"additionalProperties": values} if values else {})
        case origin if origin is Literal:
            return {"type": "string", "enum": list(arguments)}
    raise TypeError(f"no schema for {bare!r}")


def _unwrap(declared: Any) -> tuple[Any, list[Marker]]:
    """The type without Annotated and without None, and its markers from the inside out."""
    if get_origin(declared) is Annotated:
        inner, *extras = get_args(declared)
        bare, markers = _unwrap(inner)
        return bare, markers + [each for each in extras if isinstance(each, Marker)]
    if get_origin(declared) in (Union, types.UnionType):
        present = [each for each in get_args(declared) if each not in _ABSENT]
        if len(present) == 1:
            return _unwrap(present[0])
    return declared, []


_ABSENT = (type(None), msgspec.UnsetType)


def _apply(schema: JsonSchema, marker: Marker) -> None:
    match marker:
        case Doc(text):
            schema["description"] = text
        case Rule():
            schema.setdefault("x-kubernetes-validations", []).append(_rule(marker))
        case Schema():
            schema |= _keywords(marker)


def _keywords(marker: Schema) -> JsonSchema:
    given = {
        keyword: list(value) if isinstance(value, tuple) else value
        for name, keyword in _KEYWORDS.items()
        if (value := getattr(marker, name)) is not None
    }
    if marker.default is not MISSING:
        given["default"] = msgspec.to_builtins(marker.default)
    return given | dict(marker.also or {})


def _rule(marker: Rule) -> JsonSchema:
    keywords = {
        "rule": marker.rule,
        "message": marker.message,
        "messageExpression": marker.message_expression,
        "reason": marker.reason,
        "fieldPath": marker.field_path,
        "optionalOldSelf": marker.optional_old_self,
    }
    return {name: value for name, value in keywords.items() if value not in ("", None)}


def _properties(cls: type[msgspec.Struct]) -> JsonSchema:
    hints = _hints(cls)
    return {field.encode_name: schema_of(hints[field.name]) for field in _fields(cls)}


def _is_required(cls: type[msgspec.Struct], field: msgspec.structs.FieldInfo) -> bool:
    _, markers = _unwrap(_hints(cls)[field.name])
    said = [m.required for m in markers if isinstance(m, Schema) and m.required is not None]
    return said[-1] if said else field.required


def _fields(cls: type[msgspec.Struct]) -> tuple[msgspec.structs.FieldInfo, ...]:
    return msgspec.structs.fields(cls)


@cache
def _hints(cls: type[msgspec.Struct]) -> dict[str, Any]:
    return get_type_hints(cls, include_extras=True)


def _docstring(cls: type[msgspec.Struct]) -> str:
    """The class's own docstring; a base's would describe something else."""
    return inspect.cleandoc(cls.__dict__.get("__doc__") or "")
