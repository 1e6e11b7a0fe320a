"""What a schema says about merging: which values are leaves, which lists have keys.

A shape is built from a schema node once and kept; the rules are those by which kube-apiserver turns
OpenAPI into the types of structured-merge-diff.
"""

from collections.abc import Collection, Mapping
from typing import Any
from weakref import WeakKeyDictionary

from fleetqueue.api import kubernetes
from fleetqueue.apiserver.merge import field_sets
from fleetqueue.apiserver.schema.node import Node


class Shape:
    """How values at one place merge; where the type is open, as a map, a list or a scalar."""

    __slots__ = (
        "declared",
        "fields",
        "has_go_type",
        "is_atomic_list",
        "is_atomic_map",
        "is_deduced",
        "is_list",
        "is_map",
        "item",
        "key_defaults",
        "keys",
        "scalar",
        "scalar_types",
        "settled",
        "standing",
    )

    def __init__(self) -> None:
        self.is_map = False
        self.is_atomic_map = False
        self.fields: _Fields = _Fields({}, None)
        """Field name -> shape; a field that is not declared gets the shape of the map's values."""
        self.declared: Collection[str] = ()
        self.has_go_type = False
        """Part of a built-in kind, which upstream decodes into Go types; these know no null."""
        self.standing: dict[str, Any] = {}
        """Fields that are always there in Go: as an empty struct, a null list, or a zero."""
        self.is_deduced = False
        """Nothing is known of the map's fields, so ownership follows the values."""
        self.is_list = False
        self.is_atomic_list = True
        self.keys: tuple[str, ...] = ()
        self.key_defaults: dict[str, Any] = {}
        self.item: Shape | None = None
        self.scalar = ""
        """ "string", "numeric", "boolean", "untyped", or "" where no scalar may stand."""
        self.scalar_types: frozenset[type] = frozenset()
        """The types that a scalar may have here, as `scalar` says."""
        self.settled: set[bytes] = set()
        """Ownership that is known to fit this shape; see typed.reconciled."""

    def element(self, item: Any) -> str:
        """The path element of an item of this list; ValueError says why it has none."""
        if not self.keys:
            return _set_element(item)
        if len(self.keys) == 1 and isinstance(item, dict) and self.keys[0] in item:
            return field_sets.key_element(self.keys, item[self.keys[0]])
        if not isinstance(item, dict):
            what = "a null element" if item is None else "non-map elements"
            raise ValueError(f"associative list with keys may not have {what}")
        found = {key: item.get(key, self.key_defaults.get(key)) for key in self.keys}
        names = tuple(key for key in self.keys if key in item or found[key] is not None)
        if names:
            return field_sets.key_element(names, *(found[key] for key in names))
        listed = " ".join(f'"{key}"' for key in self.keys)
        raise ValueError(
            f"associative list with keys has an element that omits all key fields [{listed}]"
            " (and doesn't have default values for any key fields)"
        )


class _Fields(dict[str, "Shape"]):
    """The shapes of a map's fields, each built when it is first asked for."""

    def __init__(
        self,
        nodes: Mapping[str, Node],
        values: Shape | None,
        is_open: bool = False,
        is_go: bool = False,
        raw: Any = None,
    ) -> None:
        super().__init__()
        self._is_go = is_go
        self._nodes = nodes
        self._values = values
        self._is_open = is_open
        self._raw: Mapping[str, Any] = raw or {}

    def __missing__(self, name: str) -> Shape:
        if name not in self._nodes:
            return DEDUCED if self._values is None else self._values
        raw = self._raw.get(name)
        shape = _named(raw) or _build(self._nodes[name], self._is_open, self._is_go)
        self[name] = shape
        return shape

    @property
    def takes_any(self) -> bool:
        return self._values is not None


def of(node: Node) -> Shape:
    """The shape of a whole object; where its metadata is not described, that of all metadata."""
    shape = _roots.get(node)
    if shape is None:
        metadata = (node.raw.get("properties") or {}).get("metadata") or {}
        shape = _build(node, is_go=_is_struct(metadata))
        _describe_object(shape, node)
        _roots[node] = shape
    return shape


def _build(node: Node, is_open: bool = False, is_go: bool = False) -> Shape:
    shape = Shape()
    shape.has_go_type = is_go
    is_open = is_open or bool(node.raw.get("x-kubernetes-preserve-unknown-fields"))
    kind = node.type
    if node.is_int_or_string:
        shape.scalar = "untyped"
    elif kind in _SCALARS:
        has_format = kind == "string" and node.format not in ("", "byte")
        shape.scalar = "untyped" if has_format else _SCALARS[kind]
    elif kind == "array":
        _describe_list(shape, node, is_open)
    elif kind == "object":
        _describe_map(shape, node, is_open)
    else:
        shape.scalar = "untyped"
        _describe_list(shape, node, is_open)
        _describe_map(shape, node, is_open)
    shape.scalar_types = _TYPES[shape.scalar]
    if node.is_embedded:
        _describe_object(shape, node)
    return shape


def _describe_map(shape: Shape, node: Node, is_open: bool) -> None:
    properties = node.properties
    extra = node.raw.get("additionalProperties")
    values: Shape | None = None
    if node.values is not None:
        values = _named(extra) or _build(node.values, is_open, shape.has_go_type)
    elif extra is True or (extra is None and (is_open or not properties)):
        values = DEDUCED
    raw = node.raw.get("properties") or {}
    shape.is_map = True
    shape.is_atomic_map = node.map_type == "atomic"
    shape.declared = properties.keys()
    shape.fields = _Fields(properties, values, is_open, shape.has_go_type, raw)
    shape.is_deduced = values is DEDUCED and not properties
    if shape.has_go_type:
        always = _always_written(node)
        shape.standing = {name: None for name in always if _can_be_null(raw.get(name))}
        for name, field in raw.items():
            if _is_struct(field):
                shape.standing[name] = {} if properties[name].type == "object" else None
            elif field.get("default") in ("", 0, False) and "default" in field:
                shape.standing[name] = field["default"]


def _always_written(node: Node) -> Collection[str]:
    """The fields without `omitempty`; the schema alone knows only which are required."""
    declared = kubernetes.go_fields().get(node.definition)
    if declared is None:
        return node.required
    return [name for name, text in declared.items() if text[0] not in "?!"]


def _describe_list(shape: Shape, node: Node, is_open: bool) -> None:
    shape.is_list = True
    shape.keys, shape.is_atomic_list = _relation(node)
    items = node.items
    if items is None:
        shape.item = UNTYPED
        return
    shape.item = _named(node.raw.get("items")) or _build(items, is_open, shape.has_go_type)
    for key in shape.keys:
        field = items.properties.get(key)
        default = None if field is None else field.raw.get("default")
        if default is not None:
            shape.key_defaults[key] = default


def _relation(node: Node) -> tuple[tuple[str, ...], bool]:
    """(the keys of a list map in their order on the wire, whether the list is one leaf)"""
    declared = node.raw.get("x-kubernetes-list-type")
    if declared:
        return (tuple(sorted(node.list_keys)) if declared == "map" else ()), declared == "atomic"
    if "merge" in node.patch_strategies:
        return ((node.patch_merge_key,) if node.patch_merge_key else ()), False
    return (), True


def _describe_object(shape: Shape, node: Node) -> None:
    metadata = node.properties.get("metadata")
    if metadata is not None and "ownerReferences" in metadata.properties:
        return
    shape.declared = {*shape.declared, "apiVersion", "kind", "metadata"}
    for name in ("apiVersion", "kind", "metadata"):
        shape.fields[name] = _OBJECT.fields[name]


def _named(raw: Any) -> Shape | None:
    """Two built-in definitions do not merge as their schema says."""
    if not isinstance(raw, Mapping):
        return None
    parts: list[Any] = raw.get("allOf") or []
    reference = str(raw.get("$ref") or (parts[0].get("$ref") if len(parts) == 1 else "") or "")
    if reference.endswith("io.k8s.apimachinery.pkg.api.resource.Quantity"):
        return ANY_SCALAR
    return UNTYPED if reference.endswith("io.k8s.apimachinery.pkg.runtime.RawExtension") else None


def _is_struct(field: Any) -> bool:
    return _is_reference(field) and field.get("default") == {}


def _can_be_null(field: Any) -> bool:
    """A slice, a map or a pointer, which Go writes as null where it is required and not set."""
    return _is_reference(field) or (field or {}).get("type") in ("array", "object")


def _is_reference(field: Any) -> bool:
    return isinstance(field, Mapping) and ("$ref" in field or "allOf" in field)


def _set_element(item: Any) -> str:
    if isinstance(item, dict):
        raise ValueError("associative list without keys has an element that's a map type")
    if isinstance(item, list):
        raise ValueError("not supported: associative list with lists as elements")
    if item is None:
        raise ValueError("associative list without keys has an element that's an explicit null")
    return field_sets.value_element(item)


_TYPES: dict[str, frozenset[type]] = {
    "": frozenset(),
    "string": frozenset({str}),
    "numeric": frozenset({int, float}),
    "boolean": frozenset({bool}),
    "untyped": frozenset({str, int, float, bool}),
}
_SCALARS = {"string": "string", "integer": "numeric", "number": "numeric", "boolean": "boolean"}


def _anything(*, is_atomic: bool) -> Shape:
    shape = Shape()
    shape.scalar = "untyped"
    shape.scalar_types = _TYPES["untyped"]
    shape.is_map = shape.is_list = True
    shape.is_atomic_map = is_atomic
    shape.is_deduced = not is_atomic
    shape.fields = _Fields({}, shape)
    return shape


UNTYPED = _anything(is_atomic=True)
"""A value of any type that has one owner."""
UNTYPED.item = UNTYPED
DEDUCED = _anything(is_atomic=False)
"""A value of any type: maps are owned field by field, lists as a whole."""
DEDUCED.item = UNTYPED
ANY_SCALAR = Shape()
ANY_SCALAR.scalar = "untyped"
ANY_SCALAR.scalar_types = _TYPES["untyped"]

_STRING: dict[str, Any] = {"type": "string"}
_NAME: dict[str, Any] = {"type": "string", "default": ""}
_BOOLEAN: dict[str, Any] = {"type": "boolean"}
_INTEGER: dict[str, Any] = {"type": "integer"}
_TIME: dict[str, Any] = {"type": "string", "format": "date-time"}
_STRINGS: dict[str, Any] = {"type": "object", "additionalProperties": _STRING}
_OWNER: dict[str, Any] = {
    "type": "object",
    "x-kubernetes-map-type": "atomic",
    "properties": {
        **dict.fromkeys(("apiVersion", "kind", "name", "uid"), _NAME),
        **dict.fromkeys(("blockOwnerDeletion", "controller"), _BOOLEAN),
    },
}
_METADATA: dict[str, Any] = {
    "type": "object",
    "properties": {
        **dict.fromkeys(("generateName", "name", "namespace", "resourceVersion"), _STRING),
        **dict.fromkeys(("selfLink", "uid"), _STRING),
        **dict.fromkeys(("creationTimestamp", "deletionTimestamp"), _TIME),
        **dict.fromkeys(("deletionGracePeriodSeconds", "generation"), _INTEGER),
        **dict.fromkeys(("annotations", "labels"), _STRINGS),
        "finalizers": {"type": "array", "items": _STRING, "x-kubernetes-list-type": "set"},
        "managedFields": {"type": "array", "items": {"type": "object"}},
        "ownerReferences": {
            "type": "array",
            "items": _OWNER,
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["uid"],
        },
    },
}
_OBJECT_NODE = Node(
    {
        "type": "object",
        "properties": {"apiVersion": _STRING, "kind": _STRING, "metadata": _METADATA},
    }
)
_OBJECT = _build(_OBJECT_NODE)
_roots: "WeakKeyDictionary[Node, Shape]" = WeakKeyDictionary()
