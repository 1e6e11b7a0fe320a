"""How large the values of a schema can be: what it says itself, else what fits into one request."""

from collections.abc import Mapping
from functools import cached_property

from fleetqueue.apiserver.cel.schema_types import escape
from fleetqueue.apiserver.schema.node import Node

REQUEST_BYTES_MAX = 3 * 1024 * 1024
_TEXT = REQUEST_BYTES_MAX - 2
"""A string that is all of a request, but for its quotes."""
_TIMES = {"duration": (32, 3), "date": (12, 12), "date-time": (32, 21)}
"""Format -> the most characters, the fewest bytes in JSON."""
_SCALARS = {"boolean": 4, "number": 1, "integer": 1}
_META = Node(
    {
        "type": "object",
        "properties": {"name": {"type": "string"}, "generateName": {"type": "string"}},
    }
)
_ANY_TEXT = Node({"type": "string"})


class Bound:
    """The most elements that a value may have, and the fewest bytes that it takes in JSON."""

    def __init__(
        self, most: int, bytes_min: int, key: "Bound | None" = None, item: "Bound | None" = None
    ) -> None:
        self.most = most
        self.bytes_min = bytes_min
        self.key = key
        self.item = item

    def field(self, name: str) -> "Bound | None":
        """By the name that expressions use; None where nothing is known of such a field."""
        return None

    @property
    def cardinality(self) -> int:
        """How many such values one request can hold."""
        return REQUEST_BYTES_MAX // (self.bytes_min + 1)


class _ObjectBound(Bound):
    """Looks at a field when it is asked for, or when it is required: schemas can be large."""

    def __init__(self, node: Node, is_root: bool) -> None:
        self._properties: Mapping[str, Node] = _with_meta(node) if is_root else node.properties
        self._known: dict[str, Bound | None] = {}
        required = {name: self._required(name) for name in node.required}
        sizes = [len(n.encode()) + bound.bytes_min + 4 for n, bound in required.items() if bound]
        super().__init__(0, 2 + sum(sizes))

    @cached_property
    def _names(self) -> dict[str, str]:
        return {escaped: name for name in self._properties if (escaped := escape(name)) is not None}

    def field(self, name: str) -> Bound | None:
        return self._property(self._names[name]) if name in self._names else None

    def _required(self, name: str) -> Bound | None:
        """None also for a field that the server itself would fill in."""
        node = self._properties.get(name)
        if node is None or node.raw.get("default") is not None:
            return None
        return self._property(name)

    def _property(self, name: str) -> Bound | None:
        if name not in self._known:
            self._known[name] = bound_of(self._properties[name])
        return self._known[name]


def bound_of(node: Node, is_root: bool | None = None) -> Bound | None:
    """None for what expressions cannot see."""
    raw = node.raw
    is_root = node.is_embedded if is_root is None else is_root
    if raw.get("x-kubernetes-int-or-string"):
        return Bound(_TEXT if raw.get("maxLength") is None else _characters(node), 1)
    match node.type:
        case "array":
            return _list_bound(node)
        case "object":
            return _map_bound(node) if node.values is not None else _ObjectBound(node, is_root)
        case "string":
            return _text_bound(node)
    return Bound(0, _SCALARS[node.type]) if node.type in _SCALARS else None


def _list_bound(node: Node) -> Bound | None:
    item = None if node.items is None else bound_of(node.items)
    if item is None:
        return None
    given = node.raw.get("maxItems")
    most = _TEXT // (item.bytes_min + 1) if given is None else max(given, 0)
    return Bound(most, 2, item=item)


def _map_bound(node: Node) -> Bound | None:
    value = None if node.values is None else bound_of(node.values)
    if value is None:
        return None
    given = node.raw.get("maxProperties")
    # A key of no characters takes its quotes, a colon and a comma; the guess allows two more.
    most = _TEXT // (value.bytes_min + 6) if given is None else max(given, 0)
    return Bound(most, 2, key=Bound(0, 2), item=value)


def _text_bound(node: Node) -> Bound:
    raw = node.raw
    if node.format in _TIMES:
        return Bound(*_TIMES[node.format])
    if raw.get("maxLength") is not None:
        return Bound(max(raw["maxLength"], 0) if node.format == "byte" else _characters(node), 2)
    if raw.get("enum") and node.format != "byte":
        return Bound(max(len(v.encode()) if isinstance(v, str) else 0 for v in raw["enum"]), 2)
    return Bound(_TEXT, 2)


def _characters(node: Node) -> int:
    """A character may take four bytes."""
    return int(max(node.raw["maxLength"], 0)) * 4


def _with_meta(node: Node) -> dict[str, Node]:
    """A whole resource has its type and name, whether its schema tells or not."""
    own = dict(node.properties.items())
    if _tells_meta(own):
        return own
    return {**own, "kind": _ANY_TEXT, "apiVersion": _ANY_TEXT, "metadata": _META}


def _tells_meta(own: dict[str, Node]) -> bool:
    meta = own.get("metadata")
    if meta is None or meta.type != "object":
        return False
    told = [own.get("kind"), own.get("apiVersion")]
    told += [meta.properties.get("name"), meta.properties.get("generateName")]
    return all(node is not None and node.type == "string" for node in told)
