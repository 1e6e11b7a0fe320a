"""Checks the keywords of a CRD's schema: types, list and map kinds, and the rules in it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from fleetqueue.apiserver import field_errors as fields
from fleetqueue.apiserver.field_errors import FieldError
from fleetqueue.apiserver.schema.node import Node
from fleetqueue.apiserver.schema.rule_checks import RuleSite, check_expressions, check_fields
from fleetqueue.apiserver.schema.rule_costs import TotalCost, cardinality_below
from fleetqueue.apiserver.schema.structure import Schema

TYPES = ("array", "boolean", "integer", "number", "object", "string")
_UNSUPPORTED = (
    ("id", "id is not supported"),
    ("additionalItems", "additionalItems is not supported"),
    ("patternProperties", "patternProperties is not supported"),
    ("definitions", "definitions is not supported"),
    ("dependencies", "dependencies is not supported"),
    ("$ref", "$ref is not supported"),
)
_META = ("metadata", "kind", "apiVersion")


@dataclass(frozen=True, slots=True)
class Context:
    """What the surroundings of a schema allow."""

    compiles_rules: bool
    is_root: bool = True
    is_in_meta: bool = False
    no_defaults: str | None = None
    """Why there may be no default here; None if there may."""
    unpaired: str = ""
    """Below this path old and new values cannot be paired, so rules have no oldSelf."""
    cardinality: int | None = 1
    """How often such a value occurs in an object at most; None if nothing limits it."""
    tolerates_costs: bool = False
    """The schema is one that was stored before; then a single rule may cost any amount."""

    def below(self, **changes: Any) -> "Context":
        return replace(self, is_root=False, **changes)


def validate_keywords(schema: Schema, path: str, context: Context) -> list[FieldError]:
    """Errors about the schema, then those of its rules, then that of all rules together."""
    found = _Findings()
    _visit(schema, path, context, found)
    return [*found.errors, *found.rule_errors, *found.costs.errors(path)]


def has_unsupported(schema: Schema) -> bool:
    """Whether there is something that no structural schema can be made of."""
    if any(schema.get(name) not in (None, "", {}) for name, _ in _UNSUPPORTED):
        return True
    if isinstance(schema.get("items"), list):
        return True
    below = [*(schema.get("properties") or {}).values()]
    below += [schema.get("items"), schema.get("additionalProperties"), schema.get("not")]
    for word in ("allOf", "anyOf", "oneOf"):
        below += schema.get(word) or ()
    return any(has_unsupported(one) for one in below if isinstance(one, Mapping))


class _Findings:
    def __init__(self) -> None:
        self.errors: list[FieldError] = []
        self.rule_errors: list[FieldError] = []
        self.costs = TotalCost()


def _visit(schema: Schema, path: str, context: Context, found: _Findings) -> None:
    before = len(found.errors)
    found.errors += _standard(schema, path, context)
    found.errors += _additional(schema, path)
    for below, step, inner in _children(schema, path, context):
        _visit(below, f"{path}.{step}", inner, found)
    found.errors += _map_kind(schema, path)
    found.errors += _list_kind(schema, path)
    found.errors += _list_keys(schema, path)
    found.errors += _keys_are_set(schema, path)
    rules = schema.get("x-kubernetes-validations") or []
    for index, rule in enumerate(rules):
        found.errors += check_fields(rule, schema, f"{path}.x-kubernetes-validations[{index}]")
    if rules and len(found.errors) == before and context.compiles_rules:
        site = _rule_site(schema, f"{path}.x-kubernetes-validations", context)
        found.rule_errors += check_expressions(rules, site, found.costs)


def _rule_site(schema: Schema, path: str, context: Context) -> RuleSite:
    node = Node(schema)
    return RuleSite(
        node,
        path,
        is_root=context.is_root or node.is_embedded,
        unpaired=context.unpaired,
        cardinality=context.cardinality,
        tolerates_costs=context.tolerates_costs,
    )


def _children(schema: Schema, path: str, context: Context) -> Iterator[tuple[Schema, str, Context]]:
    values, items = schema.get("additionalProperties"), schema.get("items")
    context = replace(context, cardinality=cardinality_below(schema, context.cardinality))
    if isinstance(values, Mapping):
        inner = context.below()
        if context.is_in_meta:
            why = "inside additionalProperties applying to object metadata"
            inner = context.below(no_defaults=why)
        yield values, "additionalProperties", inner
    for name, below in (schema.get("properties") or {}).items():
        yield below, f"properties[{name}]", _property_context(schema, name, path, context)
    nested = context.below(compiles_rules=False)
    if schema.get("not") is not None:
        yield schema["not"], "not", nested
    for word in ("allOf", "oneOf", "anyOf"):
        for index, branch in enumerate(schema.get(word) or ()):
            yield branch, f"{word}[{index}]", nested
    if isinstance(items, Mapping):
        inner = context.below()
        if schema.get("x-kubernetes-list-type") != "map":
            inner = context.below(unpaired=context.unpaired or path)
        yield items, "items", inner


def _property_context(schema: Schema, name: str, path: str, context: Context) -> Context:
    inner = context.below()
    if schema.get("x-kubernetes-map-type") not in (None, "granular", "atomic"):
        inner = replace(inner, unpaired=inner.unpaired or path)
    is_resource = context.is_root or schema.get("x-kubernetes-embedded-resource")
    if is_resource and name in _META:
        inner = replace(inner, is_in_meta=True)
        if context.is_root:
            inner = replace(inner, no_defaults=f"in top-level {name}")
    return inner


def _standard(schema: Schema, path: str, context: Context) -> Iterator[FieldError]:
    kind = schema.get("type") or ""
    if kind and kind not in TYPES:
        yield fields.unsupported(f"{path}.type", kind, TYPES)
    if schema.get("default") is not None and context.no_defaults is not None:
        yield fields.forbidden(f"{path}.default", f"must not be set {context.no_defaults}")
    for name, why in _UNSUPPORTED:
        if schema.get(name) not in (None, "", {}):
            yield fields.forbidden(f"{path}.{name}", why)
    if kind == "null":
        why = "type cannot be set to null, use nullable as an alternative"
        yield fields.forbidden(f"{path}.type", why)
    if isinstance(schema.get("items"), list):
        yield fields.forbidden(f"{path}.items", "items must be a schema object and not an array")
    if context.is_in_meta and schema.get("x-kubernetes-embedded-resource"):
        where = f"{path}.x-kubernetes-embedded-resource"
        yield fields.forbidden(where, "must not be used inside of resource meta")


def _additional(schema: Schema, path: str) -> Iterator[FieldError]:
    if schema.get("uniqueItems"):
        why = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
        yield fields.forbidden(f"{path}.uniqueItems", why)
    values = schema.get("additionalProperties")
    if schema.get("properties") and values is not None and values is not True:
        why = "additionalProperties and properties are mutual exclusive"
        yield fields.forbidden(f"{path}.additionalProperties", why)
    if schema.get("x-kubernetes-preserve-unknown-fields") is False:
        where = f"{path}.x-kubernetes-preserve-unknown-fields"
        yield fields.wrong(where, False, "must be true or undefined")


def _needs_type(schema: Schema, path: str, kind: str, keyword: str) -> Iterator[FieldError]:
    why = f"must be {kind} if {keyword} is specified"
    given = schema.get("type") or ""
    if not given:
        yield fields.required(f"{path}.type", why)
    elif given != kind:
        yield fields.wrong(f"{path}.type", given, why)


def _map_kind(schema: Schema, path: str) -> Iterator[FieldError]:
    kind = schema.get("x-kubernetes-map-type")
    if kind is None:
        return
    yield from _needs_type(schema, path, "object", "x-kubernetes-map-type")
    if kind not in ("atomic", "granular"):
        yield fields.unsupported(f"{path}.x-kubernetes-map-type", kind, ("atomic", "granular"))


def _list_kind(schema: Schema, path: str) -> Iterator[FieldError]:
    kind, items = schema.get("x-kubernetes-list-type"), schema.get("items")
    if kind is None:
        return
    yield from _needs_type(schema, path, "array", "x-kubernetes-list-type")
    if schema.get("type") == "array" and kind == "set" and isinstance(items, Mapping):
        yield from _atomic_items(items, f"{path}.items")
    if kind not in ("atomic", "set", "map"):
        allowed = ("atomic", "set", "map")
        yield fields.unsupported(f"{path}.x-kubernetes-list-type", kind, allowed)


def _atomic_items(items: Schema, path: str) -> Iterator[FieldError]:
    why = "must be atomic as item of a list with x-kubernetes-list-type=set"
    list_kind, map_kind = items.get("x-kubernetes-list-type"), items.get("x-kubernetes-map-type")
    if items.get("type") == "array" and list_kind not in (None, "atomic"):
        yield fields.wrong(f"{path}.x-kubernetes-list-type", list_kind, why)
    if items.get("type") == "object" and map_kind != "atomic":
        yield fields.wrong(f"{path}.x-kubernetes-map-type", list_kind, why)


def _list_keys(schema: Schema, path: str) -> Iterator[FieldError]:
    kind, keys = schema.get("x-kubernetes-list-type"), schema.get("x-kubernetes-list-map-keys")
    where = f"{path}.x-kubernetes-list-type"
    if keys and kind != "map":
        why = "must be map if x-kubernetes-list-map-keys is non-empty"
        yield fields.required(where, why) if kind is None else fields.wrong(where, kind, why)
    if kind != "map":
        return
    if not keys:
        why = "must not be empty if x-kubernetes-list-type is map"
        yield fields.required(f"{path}.x-kubernetes-list-map-keys", why)
    items = schema.get("items")
    if items is None:
        why = "must have a schema if x-kubernetes-list-type is map"
        yield fields.required(f"{path}.items", why)
    elif not isinstance(items, Mapping):
        why = "must only have a single schema if x-kubernetes-list-type is map"
        yield fields.wrong(f"{path}.items", items, why)
    elif items.get("type") != "object":
        why = "must be object if parent array's x-kubernetes-list-type is map"
        yield fields.wrong(f"{path}.items.type", items.get("type") or "", why)
    else:
        yield from _key_properties(items, list(keys or ()), path)


def _key_properties(items: Schema, keys: list[str], path: str) -> Iterator[FieldError]:
    properties = items.get("properties") or {}
    where = f"{path}.x-kubernetes-list-map-keys"
    for index, key in enumerate(keys):
        if key not in properties:
            yield fields.wrong(where, keys, "entries must all be names of item properties")
        elif properties[key].get("type") in ("array", "object"):
            why = "must be a scalar type if parent array's x-kubernetes-list-type is map"
            yield fields.wrong(f"{path}.items.properties[{key}].type", "object", why)
        if key in keys[:index]:
            yield fields.wrong(where, keys, "must not contain duplicate entries")


def _keys_are_set(schema: Schema, path: str) -> Iterator[FieldError]:
    """Keys of map lists are required or have a default; neither they nor items may be null."""
    kind, items = schema.get("x-kubernetes-list-type"), schema.get("items")
    if kind not in ("set", "map") or not isinstance(items, Mapping):
        return
    if items.get("nullable"):
        why = f"cannot be nullable when x-kubernetes-list-type is {kind}"
        yield fields.forbidden(f"{path}.items.nullable", why)
    if kind == "set":
        return
    for key in schema.get("x-kubernetes-list-map-keys") or ():
        below = (items.get("properties") or {}).get(key)
        if below is None:
            continue
        where = f"{path}.items.properties[{key}]"
        if key not in (items.get("required") or ()) and below.get("default") is None:
            why = (
                "this property is in x-kubernetes-list-map-keys, "
                "so it must have a default or be a required property"
            )
            yield fields.required(f"{where}.default", why)
        if below.get("nullable"):
            why = "this property is in x-kubernetes-list-map-keys, so it cannot be nullable"
            yield fields.forbidden(f"{where}.nullable", why)
