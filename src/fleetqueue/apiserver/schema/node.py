"""One node of a resource's schema, the same for built-in kinds and for CRDs.

A node is built lazily from an OpenAPI schema, so that recursive definitions (JSONSchemaProps) and
the thousand definitions of the built-in kinds cost nothing until something walks them.
"""

from collections.abc import Mapping
from functools import cached_property
from typing import Any

REFERENCE = "#/components/schemas/"


class Node:
    """A schema node. `raw` is its JSON schema, with `$ref` and one-item allOf resolved.

    `definition` is the name of the last schema that was referred to, or "".
    """

    def __init__(
        self, raw: Mapping[str, Any], definitions: Mapping[str, Any] | None = None
    ) -> None:
        self._definitions = definitions or {}
        self.raw, self.definition = _resolve(raw, self._definitions)

    @cached_property
    def type(self) -> str:
        """ "object", "array", "string", "integer", "number", "boolean", or "" for anything."""
        return str(self.raw.get("type", ""))

    @cached_property
    def format(self) -> str:
        return str(self.raw.get("format", ""))

    @cached_property
    def properties(self) -> "Mapping[str, Node]":
        """The named fields; each child is built when it is first asked for."""
        return _Children(self.raw.get("properties") or {}, self._definitions)

    @cached_property
    def items(self) -> "Node | None":
        raw = self.raw.get("items")
        return Node(raw, self._definitions) if isinstance(raw, Mapping) else None

    @cached_property
    def values(self) -> "Node | None":
        """The schema of a map's values (additionalProperties), if this is a map."""
        raw = self.raw.get("additionalProperties")
        return Node(raw, self._definitions) if isinstance(raw, Mapping) else None

    @cached_property
    def is_open(self) -> bool:
        """Unknown fields survive here."""
        return bool(
            self.raw.get("x-kubernetes-preserve-unknown-fields")
            or self.raw.get("additionalProperties") is True
        )

    @cached_property
    def is_embedded(self) -> bool:
        return bool(self.raw.get("x-kubernetes-embedded-resource"))

    @cached_property
    def is_int_or_string(self) -> bool:
        return bool(
            self.raw.get("x-kubernetes-int-or-string") or self.raw.get("format") == "int-or-string"
        )

    @cached_property
    def is_nullable(self) -> bool:
        return bool(self.raw.get("nullable"))

    @cached_property
    def required(self) -> tuple[str, ...]:
        return tuple(self.raw.get("required") or ())

    @cached_property
    def list_type(self) -> str:
        """ "atomic", "set" or "map"."""
        return str(self.raw.get("x-kubernetes-list-type") or "atomic")

    @cached_property
    def list_keys(self) -> tuple[str, ...]:
        return tuple(self.raw.get("x-kubernetes-list-map-keys") or ())

    @cached_property
    def map_type(self) -> str:
        """ "granular" or "atomic"."""
        return str(self.raw.get("x-kubernetes-map-type") or "granular")

    @cached_property
    def patch_strategies(self) -> frozenset[str]:
        """Of strategic merge patch: "merge", "replace", "retainKeys"."""
        return frozenset(
            filter(None, str(self.raw.get("x-kubernetes-patch-strategy", "")).split(","))
        )

    @cached_property
    def patch_merge_key(self) -> str:
        return str(self.raw.get("x-kubernetes-patch-merge-key", ""))

    def child(self, name: str) -> "Node | None":
        """The schema of field `name`: a named property, or the map's value schema."""
        found = self.properties.get(name)
        return found if found is not None else self.values

    def sibling(self, name: str) -> "Node":
        """The definition of this name in the package of this node's definition."""
        package = self.definition.rpartition(".")[0]
        return Node({"$ref": f"{REFERENCE}{package}.{name}"}, self._definitions)

    def at(self, *names: str) -> "Node":
        """The node below these fields; a KeyError if there is none."""
        node: Node = self
        for name in names:
            below = node.items if name == "[]" and node.items else node.child(name)
            if below is None:
                raise KeyError(name)
            node = below
        return node


class _Children(dict[str, Node]):
    """The properties of a node: behaves as a full dict, and builds each child on first access."""

    def __init__(self, raw: Mapping[str, Any], definitions: Mapping[str, Any]) -> None:
        super().__init__()
        self._raw = raw
        self._definitions = definitions

    def __missing__(self, name: str) -> Node:
        child = Node(self._raw[name], self._definitions)
        self[name] = child
        return child

    def get(self, name: str, default: Any = None) -> Any:
        return self[name] if name in self._raw else default

    def __contains__(self, name: object) -> bool:
        return name in self._raw

    def __iter__(self) -> Any:
        return iter(self._raw)

    def __len__(self) -> int:
        return len(self._raw)

    def __bool__(self) -> bool:
        return bool(self._raw)

    def keys(self) -> Any:
        return self._raw.keys()

    def items(self) -> Any:
        return [(name, self[name]) for name in self._raw]

    def values(self) -> Any:
        return [self[name] for name in self._raw]


def _resolve(
    raw: Mapping[str, Any], definitions: Mapping[str, Any]
) -> tuple[Mapping[str, Any], str]:
    """Follow `$ref`; the fields beside a reference (default, description) win over the target's."""
    name = ""
    while "$ref" in raw or (len(raw.get("allOf") or ()) == 1 and "$ref" in raw["allOf"][0]):
        reference = raw.get("$ref") or raw["allOf"][0]["$ref"]
        beside = {k: v for k, v in raw.items() if k not in ("$ref", "allOf")}
        name = reference.rsplit("/", 1)[-1]
        raw = {**definitions[name], **beside}
    return raw, name


ANYTHING = Node({"x-kubernetes-preserve-unknown-fields": True})
"""Where no schema is known: anything goes, lists are atomic, maps granular."""
