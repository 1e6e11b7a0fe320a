"""Checks the versions of a CustomResourceDefinition: schemas, subresources, columns, selectors.

What is the same in all versions counts as one thing, named directly under `spec`.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from fleetqueue.api import names
from fleetqueue.apiserver import field_errors as fields
from fleetqueue.apiserver.field_errors import FieldError
from fleetqueue.apiserver.schema.field_paths import PathError, resolve
from fleetqueue.apiserver.schema.keywords import Context, has_unsupported, validate_keywords
from fleetqueue.apiserver.schema.node import Node
from fleetqueue.apiserver.schema.schema_defaults import validate_defaults
from fleetqueue.apiserver.schema.structure import is_structural, validate_structure

Object: TypeAlias = Mapping[str, Any]

SELECTABLE_FIELDS_MAX = 8
COLUMN_TYPES = ("boolean", "date", "integer", "number", "string")
COLUMN_FORMATS = (
    "byte",
    "date",
    "date-time",
    "double",
    "float",
    "int32",
    "int64",
    "password",
)
_ROOT_FIELDS = {
    "description": "Description",
    "type": "Type",
    "format": "Format",
    "title": "Title",
    "maximum": "Maximum",
    "exclusiveMaximum": "ExclusiveMaximum",
    "minimum": "Minimum",
    "exclusiveMinimum": "ExclusiveMinimum",
    "maxLength": "MaxLength",
    "minLength": "MinLength",
    "pattern": "Pattern",
    "maxItems": "MaxItems",
    "minItems": "MinItems",
    "uniqueItems": "UniqueItems",
    "multipleOf": "MultipleOf",
    "required": "Required",
    "items": "Items",
    "properties": "Properties",
    "externalDocs": "ExternalDocs",
    "example": "Example",
    "x-kubernetes-preserve-unknown-fields": "XPreserveUnknownFields",
    "x-kubernetes-validations": "XValidations",
}
"""What the root of a schema may have beside a status subresource, with Go's names for it."""
_SHARED = ("schema", "subresources", "additionalPrinterColumns", "selectableFields")


@dataclass(frozen=True, slots=True)
class _Terms:
    """What a schema is measured by."""

    before: Object
    """The spec that this one replaces, or nothing."""
    has_status: bool
    is_unchanged: bool
    """The version had this very schema before."""


def validate_versions(spec: Object, before: Object) -> Iterator[FieldError]:
    versions = spec.get("versions") or ()
    shared = _shared(versions)
    has_schema = bool(_schema_of(shared))
    for index, version in enumerate(versions):
        own = {key: version.get(key) for key in _SHARED if key not in shared}
        if not has_schema and _schema_of(version) is None:
            yield fields.required(f"spec.versions[{index}].schema.openAPIV3Schema")
        path = f"spec.versions[{index}]"
        if problems := names.dns1035_label(version.get("name") or ""):
            yield fields.wrong(f"{path}.name", version.get("name") or "", ",".join(problems))
        yield from _deprecation(version, f"{path}.deprecationWarning")
        terms = _Terms(before, _has_status(version), _is_unchanged(version, before))
        yield from _parts(own, path, "schema", terms)
    yield from _version_set(versions, shared)
    # The first name is also checked as the single version that definitions once had.
    first = (versions[0].get("name") or "") if versions else ""
    if first and (problems := names.dns1035_label(first)):
        yield fields.wrong("spec.version", first, ",".join(problems))


def validate_shared(spec: Object, before: Object) -> Iterator[FieldError]:
    """What all versions have in common."""
    versions = spec.get("versions") or ()
    is_unchanged = any(_is_unchanged(version, before) for version in versions[:1])
    terms = _Terms(before, any(map(_has_status, versions)), is_unchanged)
    yield from _parts(_shared(versions), "spec", "validation", terms)


def _shared(versions: Sequence[Object]) -> dict[str, Any]:
    if not versions:
        return {}
    return {
        key: versions[0].get(key)
        for key in _SHARED
        if all(_same(version.get(key), versions[0].get(key)) for version in versions)
    }


def _same(first: Any, second: Any) -> bool:
    """Empty and missing are the same."""
    return bool((first or None) == (second or None))


def _schema_of(version: Object) -> Any:
    return (version.get("schema") or {}).get("openAPIV3Schema")


def _has_status(version: Object) -> bool:
    return (version.get("subresources") or {}).get("status") is not None


def _version_set(versions: Sequence[Object], shared: Object) -> Iterator[FieldError]:
    given = [version.get("name") for version in versions]
    shown = [_internal_version(version, shared) for version in versions]
    if len(set(given)) != len(given):
        yield fields.wrong("spec.versions", shown, "must contain unique version names")
    if sum(1 for version in versions if version.get("storage")) != 1:
        why = "must have exactly one version marked as storage version"
        yield fields.wrong("spec.versions", shown, why)


def _internal_version(version: Object, shared: Object) -> dict[str, Any]:
    """A version as the server's own type prints it: all fields, with Go's names."""
    return {
        "Name": version.get("name") or "",
        "Served": bool(version.get("served")),
        "Storage": bool(version.get("storage")),
        "Deprecated": bool(version.get("deprecated")),
        "DeprecationWarning": version.get("deprecationWarning"),
        "Schema": None if "schema" in shared else version.get("schema"),
        "Subresources": None if "subresources" in shared else version.get("subresources"),
        "AdditionalPrinterColumns": None,
        "SelectableFields": None,
    }


def _is_unchanged(version: Object, before: Object) -> bool:
    for old in before.get("versions") or ():
        if old.get("name") == version.get("name"):
            return _same(_schema_of(version), _schema_of(old))
    return False


def _parts(parts: Object, path: str, schema_name: str, terms: _Terms) -> Iterator[FieldError]:
    schema = _schema_of(parts)
    if schema is not None:
        yield from _schema(schema, f"{path}.{schema_name}", terms)
    yield from _scale((parts.get("subresources") or {}).get("scale"), f"{path}.subresources.scale")
    for index, column in enumerate(parts.get("additionalPrinterColumns") or ()):
        yield from _column(column, f"{path}.additionalPrinterColumns[{index}]")
    if selectable := parts.get("selectableFields"):
        yield from _selectable(selectable, schema or {}, f"{path}.selectableFields")


def _schema(schema: Object, path: str, terms: _Terms) -> list[FieldError]:
    where = f"{path}.openAPIV3Schema"
    errors: list[FieldError] = []
    if terms.has_status:
        errors += _root_fields(schema, where)
    if schema.get("nullable"):
        errors.append(fields.forbidden(f"{where}.nullable", "nullable cannot be true at the root"))
    problems: list[FieldError] = []
    is_convertible = not has_unsupported(schema) and not _was_unstructured(terms.before)
    if is_convertible:
        problems = validate_structure(schema, where) or validate_defaults(schema, where)
    errors += problems
    compiles_rules = is_convertible and not problems
    context = Context(compiles_rules, tolerates_costs=terms.is_unchanged)
    errors += validate_keywords(schema, where, context)
    return errors


def _was_unstructured(before: Object) -> bool:
    """A definition that was accepted long ago with a loose schema may keep it."""
    schemas = [_schema_of(version) for version in before.get("versions") or ()]
    return bool(before.get("preserveUnknownFields")) and any(
        schema is not None and not is_structural(schema) for schema in schemas
    )


def _root_fields(schema: Object, path: str) -> Iterator[FieldError]:
    if (schema.get("type") or "object") != "object":
        why = (
            'only "object" is allowed as the type at the root of the schema '
            "if the status subresource is enabled"
        )
        yield fields.wrong(f"{path}.type", schema["type"], why)
    elif any(key not in _ROOT_FIELDS for key, value in schema.items() if value is not None):
        known = " ".join(_ROOT_FIELDS.values())
        why = (
            f"only [{known}] fields are allowed at the root of the schema "
            "if the status subresource is enabled"
        )
        yield fields.wrong(path, schema, why)


def _deprecation(version: Object, path: str) -> Iterator[FieldError]:
    warning = version.get("deprecationWarning")
    if warning is None:
        return
    if not version.get("deprecated"):
        yield fields.wrong(path, warning, "can only be set for deprecated versions")
        return
    if len(warning.encode()) > 256:
        yield fields.wrong(path, warning, "must be <= 256 characters long")
    if not warning:
        yield fields.wrong(path, warning, "must not be an empty string")
    offset = 0
    for char in warning:
        if not char.isprintable():
            why = "must only contain printable UTF-8 characters; non-printable character"
            yield fields.wrong(path, warning, f"{why} found at index {offset}")
            break
        offset += len(char.encode())


def _scale(scale: Object | None, path: str) -> Iterator[FieldError]:
    if scale is None:
        return
    for name, root in (("specReplicasPath", ".spec."), ("statusReplicasPath", ".status.")):
        text = scale.get(name) or ""
        if not text:
            yield fields.required(f"{path}.{name}")
        elif problems := _simple_path(text, f"{path}.{name}"):
            yield from problems
        elif not text.startswith(root):
            why = f"should be a json path under {root[:-1]}"
            yield fields.wrong(f"{path}.{name}", text, why)
    if text := scale.get("labelSelectorPath"):
        where = f"{path}.labelSelectorPath"
        if problems := _simple_path(text, where):
            yield from problems
        elif not text.startswith((".spec.", ".status.")):
            why = "should be a json path under either .spec or .status"
            yield fields.wrong(where, text, why)


def _simple_path(text: str, path: str) -> list[FieldError]:
    if text.startswith("."):
        return []
    return [fields.wrong(path, text, "must be a simple json path starting with .")]


def _column(column: Object, path: str) -> Iterator[FieldError]:
    if not column.get("name"):
        yield fields.required(f"{path}.name")
    kind, form = column.get("type") or "", column.get("format") or ""
    why = f"must be one of {','.join(COLUMN_TYPES)}"
    if not kind:
        yield fields.required(f"{path}.type", why)
    elif kind not in COLUMN_TYPES:
        yield fields.wrong(f"{path}.type", kind, why)
    if form and form not in COLUMN_FORMATS:
        yield fields.wrong(f"{path}.format", form, f"must be one of {','.join(COLUMN_FORMATS)}")
    text = column.get("jsonPath") or ""
    if not text:
        yield fields.required(f"{path}.JSONPath")
    else:
        yield from _simple_path(text, f"{path}.JSONPath")


def _selectable(selectable: Sequence[Object], schema: Object, path: str) -> Iterator[FieldError]:
    seen: set[str] = set()
    node = Node(schema)
    for index, entry in enumerate(selectable):
        where, text = f"{path}[{index}].jsonPath", entry.get("jsonPath") or ""
        if not text:
            yield fields.required(where)
            continue
        try:
            shown, target = resolve(text, node, allows_brackets=False)
        except PathError as problem:
            yield fields.wrong(where, text, f"is an invalid path: {problem}")
            continue
        if shown.split(".")[0] == "metadata":
            yield fields.wrong(where, text, "must not point to fields in metadata")
        if target.type not in ("string", "boolean", "integer"):
            why = (
                "must point to a field of type string, boolean or integer. "
                "Enum string fields and strings with formats are allowed."
            )
            yield fields.wrong(where, text, why)
        if shown in seen:
            yield fields.duplicate(where, text)
        seen.add(shown)
    if len(seen) > SELECTABLE_FIELDS_MAX:
        yield fields.too_many(path, len(seen), SELECTABLE_FIELDS_MAX)
