"""A small language for structural schemas, in which the kinds of other projects are declared.

Every function gives one schema as plain JSON, so pieces can be shared by name. A field whose name
ends in "!" is required; `limits` are JSON schema words in Python spelling (`min_length=1`).
"""

from collections.abc import Mapping
from typing import Any

from fleetqueue.api.scalars import QUANTITY

Schema = dict[str, Any]

_WORDS = {
    "default": "default",
    "format": "format",
    "pattern": "pattern",
    "nullable": "nullable",
    "minimum": "minimum",
    "maximum": "maximum",
    "min_length": "minLength",
    "max_length": "maxLength",
    "min_items": "minItems",
    "max_items": "maxItems",
    "min_properties": "minProperties",
    "max_properties": "maxProperties",
    "rules": "x-kubernetes-validations",
    "map_type": "x-kubernetes-map-type",
}


def obj(fields: Mapping[str, Schema], about: str = "", **limits: Any) -> Schema:
    """An object with these fields and no others."""
    schema = _schema("object", about, limits)
    if fields:
        schema["properties"] = {name.removesuffix("!"): field for name, field in fields.items()}
    required = sorted(name[:-1] for name in fields if name.endswith("!"))
    return schema | ({"required": required} if required else {})


def without(schema: Schema, *names: str) -> Schema:
    """The same object with fewer fields, as an older version of a kind has it."""
    fields = {name: field for name, field in schema["properties"].items() if name not in names}
    required = [name for name in schema.get("required", ()) if name not in names]
    kept = {key: value for key, value in schema.items() if key != "required"}
    return kept | {"properties": fields} | ({"required": required} if required else {})


def map_of(value: Schema, about: str = "", **limits: Any) -> Schema:
    return _schema("object", about, limits) | {"additionalProperties": value}


def string_map(about: str = "", **limits: Any) -> Schema:
    return map_of(string(), about, **limits)


def list_of(item: Schema, about: str = "", **limits: Any) -> Schema:
    """A list that is replaced as a whole."""
    return _schema("array", about, limits) | {"items": item}


def list_map(item: Schema, *keys: str, about: str = "", **limits: Any) -> Schema:
    """A list whose entries are told apart, and merged, by the values of `keys`."""
    kind = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": list(keys)}
    return list_of(item, about, **limits) | kind


def string(about: str = "", **limits: Any) -> Schema:
    return _schema("string", about, limits)


def enum(*values: str, about: str = "", **limits: Any) -> Schema:
    return string(about, **limits) | {"enum": list(values)}


def strings(about: str = "", **limits: Any) -> Schema:
    return list_of(string(), about, **limits)


def boolean(about: str = "", **limits: Any) -> Schema:
    return _schema("boolean", about, limits)


def integer(about: str = "", **limits: Any) -> Schema:
    return _schema("integer", about, limits)


def int32(about: str = "", **limits: Any) -> Schema:
    return integer(about, format="int32", **limits)


def int64(about: str = "", **limits: Any) -> Schema:
    return integer(about, format="int64", **limits)


def number(about: str = "", **limits: Any) -> Schema:
    return _schema("number", about, limits)


def time(about: str = "", **limits: Any) -> Schema:
    return string(about, format="date-time", **limits)


def base64(about: str = "") -> Schema:
    return string(about, format="byte")


def int_or_string(about: str = "", **limits: Any) -> Schema:
    either: Schema = {"anyOf": [{"type": "integer"}, {"type": "string"}]}
    return _schema("", about, limits) | either | {"x-kubernetes-int-or-string": True}


def quantity(about: str = "") -> Schema:
    return int_or_string(about, pattern=QUANTITY)


def resource_list(about: str = "") -> Schema:
    """Amounts by resource name."""
    return map_of(quantity(), about)


def anything(about: str = "") -> Schema:
    """An object of which nothing is known."""
    return _schema("object", about, {}) | {"x-kubernetes-preserve-unknown-fields": True}


def embedded_resource(about: str = "") -> Schema:
    """A whole Kubernetes object of any kind; the server checks its type and metadata."""
    return anything(about) | {"x-kubernetes-embedded-resource": True}


def rule(expression: str, message: str) -> Schema:
    """A CEL rule; `message` is what the server answers when it does not hold."""
    return {"rule": expression, "message": message}


def immutable(message: str = "Value is immutable") -> Schema:
    """A rule that refuses to change a value; adding and removing it stay allowed."""
    return rule("self == oldSelf", message)


def with_rules(schema: Schema, *rules: Schema) -> Schema:
    """A schema that comes from elsewhere, with rules of ours added."""
    return schema | {"x-kubernetes-validations": list(rules)}


def _schema(type_name: str, about: str, limits: Mapping[str, Any]) -> Schema:
    schema: Schema = {"type": type_name} if type_name else {}
    if about:
        schema["description"] = about
    return schema | {_WORDS[word]: value for word, value in limits.items()}
