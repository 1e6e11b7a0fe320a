"""The types of CEL, as the checker knows them and as `type(x)` shows them at run time."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fleetqueue.apiserver.cel.schema_types import ObjectShape


@dataclass(frozen=True, slots=True)
class Type:
    """A type by name; `parameters` are those of lists, maps, optionals and types of types."""

    name: str
    parameters: "tuple[Type, ...]" = ()
    shape: "ObjectShape | None" = field(default=None, compare=False)
    """Of objects: their fields, taken from a schema."""
    list_keys: tuple[str, ...] | None = field(default=None, compare=False)
    """Of lists: the keys of a map list, () for a set, None where order counts."""
    identity: int = 0
    """Keeps the types of different schemas apart."""

    def __str__(self) -> str:
        if not self.parameters or self.name == "type":
            return self.name if not self.parameters else f"type({self.parameters[0]})"
        return f"{self.name}({', '.join(map(str, self.parameters))})"

    @property
    def is_parameter(self) -> bool:
        return len(self.name) == 1

    @property
    def is_dynamic(self) -> bool:
        return self.name in ("dyn", "any", "!error!")


BOOL = Type("bool")
INT = Type("int")
UINT = Type("uint")
DOUBLE = Type("double")
STRING = Type("string")
BYTES = Type("bytes")
NULL = Type("null_type")
DYN = Type("dyn")
TIMESTAMP = Type("timestamp")
DURATION = Type("duration")
ERROR = Type("!error!")
"""Of a part that is refused already; it fits everywhere."""
LIST = Type("list", (DYN,))
MAP = Type("map", (DYN, DYN))
QUANTITY = Type("kubernetes.Quantity")
URL = Type("kubernetes.URL")
IP = Type("net.IP")
CIDR = Type("net.CIDR")
SEMVER = Type("kubernetes.Semver")
FORMAT = Type("kubernetes.NamedFormat")

NUMBERS = frozenset(("int", "uint", "double"))
SCALARS = frozenset(("bool", "int", "uint", "double", "string", "bytes", "timestamp", "duration"))


def list_of(item: Type, keys: tuple[str, ...] | None = None) -> Type:
    return Type("list", (item,), list_keys=keys)


def map_of(key: Type, value: Type) -> Type:
    return Type("map", (key, value))


def optional_of(inner: Type) -> Type:
    return Type("optional_type", (inner,))


def type_of(inner: Type) -> Type:
    return Type("type", (inner,))


NAMED: dict[str, Type] = {
    **{t.name: t for t in (BOOL, INT, UINT, DOUBLE, STRING, BYTES, NULL, DYN, LIST, MAP)},
    **{t.name: t for t in (QUANTITY, URL, IP, CIDR, SEMVER, FORMAT)},
    "google.protobuf.Timestamp": TIMESTAMP,
    "google.protobuf.Duration": DURATION,
    "type": type_of(DYN),
    "optional_type": optional_of(DYN),
}
"""What an expression may call a type by."""


def parse_type(text: str) -> Type:
    """From the notation of declarations: `list(A)`, `map(string, list(string))`."""
    text = text.strip()
    name, opening, rest = text.partition("(")
    if not opening:
        return _SIMPLE.get(name, Type(name))
    return Type(name, tuple(parse_type(part) for part in split_list(rest[:-1])))


def split_list(text: str) -> list[str]:
    """At commas that are not inside parentheses."""
    parts: list[str] = []
    depth, start = 0, 0
    for index, char in enumerate(text):
        depth += {"(": 1, ")": -1}.get(char, 0)
        if char == "," and depth == 0:
            parts.append(text[start:index])
            start = index + 1
    last = text[start:]
    return [*parts, last] if last.strip() else parts


_SIMPLE = {
    **{t.name: t for t in (BOOL, INT, UINT, DOUBLE, STRING, BYTES, NULL, DYN, TIMESTAMP, DURATION)},
    "Quantity": QUANTITY,
    "URL": URL,
    "IP": IP,
    "CIDR": CIDR,
    "Semver": SEMVER,
    "Format": FORMAT,
}
