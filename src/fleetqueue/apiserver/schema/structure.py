"""Whether a CRD's schema is structural: every field has one type, stated outside of allOf and co.

Only then is it known what to prune and where to put defaults. The words are the API server's.
"""

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from fleetqueue.apiserver import field_errors as fields
from fleetqueue.apiserver.cel.regex import PatternError, compile_pattern
from fleetqueue.apiserver.field_errors import FieldError

Schema: TypeAlias = Mapping[str, Any]

_INT_OR_STRING = [{"type": "integer"}, {"type": "string"}]
_NO_TYPE = {
    "root": "must not be empty at the root",
    "item": "must not be empty for specified array items",
    "field": "must not be empty for specified object fields",
}
_FORBIDDEN = (
    ("type", "must be empty to be structural"),
    ("additionalProperties", "must be undefined to be structural"),
    ("default", "must be undefined to be structural"),
    ("title", "must be empty to be structural"),
    ("description", "must be empty to be structural"),
    ("nullable", "must be false to be structural"),
    ("x-kubernetes-preserve-unknown-fields", "must be false to be structural"),
    ("x-kubernetes-embedded-resource", "must be false to be structural"),
    ("x-kubernetes-int-or-string", "must be false to be structural"),
    ("x-kubernetes-list-map-keys", "must be empty to be structural"),
    ("x-kubernetes-list-type", "must be undefined to be structural"),
    ("x-kubernetes-map-type", "must be undefined to be structural"),
    ("x-kubernetes-validations", "must be empty to be structural"),
)
"""What may not stand inside of allOf, anyOf, oneOf and not."""


def validate_structure(schema: Schema, path: str) -> list[FieldError]:
    errors = [*_invariants(schema, "root", path), *_missing_in_values(schema, schema, path, path)]
    return sorted(errors, key=str)


def is_structural(schema: Schema) -> bool:
    return not validate_structure(schema, "")


def _invariants(schema: Schema, level: str, path: str) -> Iterator[FieldError]:
    kind = schema.get("type") or ""
    items, properties = schema.get("items"), schema.get("properties") or {}
    if kind == "array" and items is None:
        yield fields.required(f"{path}.items", "must be specified")
    if isinstance(items, Mapping):
        yield from _invariants(items, "item", f"{path}.items")
    for name, below in properties.items():
        yield from _invariants(below, "field", f"{path}.properties[{name}]")
    values = schema.get("additionalProperties")
    if values is not None:
        if level == "root":
            where = f"{path}.additionalProperties"
            yield fields.forbidden(where, "must not be used at the root")
        if isinstance(values, Mapping):
            yield from _invariants(values, "field", f"{path}.additionalProperties")
    yield from _extensions(schema, path)
    yield from _values(schema, path)
    yield from _type_invariants(schema, kind, level, path)
    yield from _meta_invariants(schema, level, path)


def _extensions(schema: Schema, path: str) -> Iterator[FieldError]:
    if not schema.get("x-kubernetes-int-or-string"):
        return
    for name in ("x-kubernetes-preserve-unknown-fields", "x-kubernetes-embedded-resource"):
        if schema.get(name):
            why = "must be false if x-kubernetes-int-or-string is true"
            yield fields.wrong(f"{path}.{name}", True, why)


def _type_invariants(schema: Schema, kind: str, level: str, path: str) -> Iterator[FieldError]:
    is_embedded = bool(schema.get("x-kubernetes-embedded-resource"))
    is_free = schema.get("x-kubernetes-int-or-string") or schema.get(
        "x-kubernetes-preserve-unknown-fields"
    )
    if is_embedded and kind != "object":
        why = "must be object if x-kubernetes-embedded-resource is true"
        yield (
            fields.wrong(f"{path}.type", kind, why)
            if kind
            else fields.required(f"{path}.type", why)
        )
    elif not kind and not is_free:
        yield fields.required(f"{path}.type", _NO_TYPE[level])
    if is_embedded and schema.get("additionalProperties") is not None:
        why = "must not be used if x-kubernetes-embedded-resource is set"
        yield fields.forbidden(f"{path}.additionalProperties", why)
    if level == "root" and kind and kind != "object":
        yield fields.wrong(f"{path}.type", kind, "must be object at the root")


def _meta_invariants(schema: Schema, level: str, path: str) -> Iterator[FieldError]:
    properties = schema.get("properties") or {}
    is_embedded = bool(schema.get("x-kubernetes-embedded-resource"))
    is_resource = level == "root" or is_embedded
    for name in ("kind", "apiVersion"):
        if is_resource and name in properties:
            kind = properties[name].get("type") or ""
            if kind != "string":
                yield fields.wrong(f"{path}.properties[{name}].type", kind, "must be string")
    if "metadata" in properties:
        where = f"{path}.properties[metadata]"
        yield from _metadata(properties["metadata"], is_resource, level == "root", where)
    if is_embedded and not schema.get("x-kubernetes-preserve-unknown-fields") and not properties:
        why = (
            "must not be empty if x-kubernetes-embedded-resource is true without "
            "x-kubernetes-preserve-unknown-fields"
        )
        yield fields.required(f"{path}.properties", why)


def _metadata(schema: Schema, is_resource: bool, is_root: bool, path: str) -> Iterator[FieldError]:
    kind = schema.get("type") or ""
    if is_resource and kind != "object":
        yield fields.wrong(f"{path}.type", kind, "must be object")
    if not is_root:
        return
    known = set(schema.get("properties") or {}) <= {"name", "generateName"}
    others = {key for key, value in schema.items() if value not in (None, "", False, [], {})}
    if not known or others - {"type", "default", "properties"}:
        why = (
            "must not specify anything other than name and generateName, "
            "but metadata is implicitly specified"
        )
        yield fields.forbidden(path, why)


def _values(schema: Schema, path: str, skips_any_of: bool | None = None) -> Iterator[FieldError]:
    """The value validations of a node: combinations of nested schemas, and the pattern."""
    any_of, all_of = schema.get("anyOf") or (), schema.get("allOf") or ()
    if skips_any_of is None:
        skips_any_of = any_of == _INT_OR_STRING
    if not skips_any_of:
        for index, branch in enumerate(any_of):
            yield from _nested(branch, f"{path}.anyOf[{index}]")
    for index, branch in enumerate(all_of):
        is_marker = index == 0 and branch.get("anyOf") == _INT_OR_STRING
        yield from _nested(branch, f"{path}.allOf[{index}]", is_marker)
    for index, branch in enumerate(schema.get("oneOf") or ()):
        yield from _nested(branch, f"{path}.oneOf[{index}]")
    if schema.get("not") is not None:
        yield from _nested(schema["not"], f"{path}.not")
    if pattern := schema.get("pattern"):
        try:
            compile_pattern(pattern)
        except PatternError as problem:
            why = f"must be a valid regular expression, but isn't: {problem}"
            yield fields.wrong(f"{path}.pattern", pattern, why)


def _nested(schema: Schema, path: str, skips_any_of: bool = False) -> Iterator[FieldError]:
    yield from _values(schema, path, skips_any_of)
    if isinstance(items := schema.get("items"), Mapping):
        yield from _nested(items, f"{path}.items")
    for name, below in (schema.get("properties") or {}).items():
        yield from _nested(below, f"{path}.properties[{name}]")
    for name, why in _FORBIDDEN:
        if schema.get(name) not in (None, "", False, []):
            yield fields.forbidden(f"{path}.{name}", why)
    if "metadata" in (schema.get("properties") or {}):
        where = f"{path}.properties[metadata]"
        yield fields.forbidden(where, "must not be specified in a nested context")


def _missing_in_values(
    nested: Schema, schema: Schema | None, path: str, nested_path: str
) -> Iterator[FieldError]:
    """Fields that value validations speak of must be specified in the structure as well."""
    for word in ("allOf", "anyOf", "oneOf"):
        for index, branch in enumerate(nested.get(word) or ()):
            yield from _missing(branch, schema, path, f"{nested_path}.{word}[{index}]")
    if nested.get("not") is not None:
        yield from _missing(nested["not"], schema, path, f"{nested_path}.not")


def _missing(
    nested: Schema, schema: Schema | None, path: str, nested_path: str
) -> Iterator[FieldError]:
    if schema is None:
        yield fields.required(path, f"because it is defined in {nested_path}")
        return
    yield from _missing_in_values(nested, schema, path, nested_path)
    if isinstance(items := nested.get("items"), Mapping):
        yield from _missing(items, schema.get("items"), f"{path}.items", f"{nested_path}.items")
    known = schema.get("properties") or {}
    for name, below in (nested.get("properties") or {}).items():
        step = f".properties[{name}]"
        yield from _missing(below, known.get(name), f"{path}{step}", f"{nested_path}{step}")
