"""Strict decoding: names the fields of a document that its type does not have."""

from collections.abc import Iterator
from typing import Any

import msgspec

from fleetqueue.api.structural import JsonSchema, object_schema


def unknown_fields(cls: type[msgspec.Struct], raw: Any) -> list[str]:
    """Paths of the unknown fields, in the order of the document."""
    return list(_walk(object_schema(cls), raw, ""))


def _walk(schema: JsonSchema, value: Any, path: str) -> Iterator[str]:
    if schema.get("x-kubernetes-preserve-unknown-fields"):
        return
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield from _walk(schema.get("items", {}), item, f"{path}[{index}]")
    if isinstance(value, dict):
        for name, child in value.items():
            yield from _field(schema, name, child, f"{path}.{name}" if path else name)


def _field(schema: JsonSchema, name: str, value: Any, path: str) -> Iterator[str]:
    known = schema.get("properties", {}).get(name) or schema.get("additionalProperties")
    if known is None:
        yield path
    else:
        yield from _walk(known, value, path)
