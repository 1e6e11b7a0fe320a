"""Values at run time: what Python stands for what, and when two of them are equal.

int is int, double float, string str, bytes bytes, list list, map dict, null None; the rest are
classes of their own. Objects with a schema are plain dicts.
"""

from typing import Any

from fleetqueue.api.quantity import Quantity
from fleetqueue.apiserver.cel.errors import CelError
from fleetqueue.apiserver.cel.times import Duration, Timestamp
from fleetqueue.apiserver.cel.types import Type

INT_MIN, INT_MAX, UINT_MAX = -(2**63), 2**63 - 1, 2**64 - 1


class UInt(int):
    """An unsigned integer; arithmetic on it goes through `arithmetic`, which checks the range."""

    __slots__ = ()


class Optional:
    """A value that may be missing."""

    __slots__ = ("held", "is_present")

    def __init__(self, held: Any = None, is_present: bool = True) -> None:
        self.held = held
        self.is_present = is_present

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Optional) or self.is_present != other.is_present:
            return False
        return not self.is_present or equal(self.held, other.held)

    __hash__ = None  # type: ignore[assignment]


NONE = Optional(is_present=False)

_KINDS: dict[type, str] = {
    bool: "bool",
    int: "int",
    UInt: "uint",
    float: "double",
    str: "string",
    bytes: "bytes",
    type(None): "null_type",
    list: "list",
    dict: "map",
    Timestamp: "timestamp",
    Duration: "duration",
    Type: "type",
    Optional: "optional_type",
    Quantity: "kubernetes.Quantity",
}


def register(cls: type, name: str) -> None:
    """Libraries tell here which CEL type their classes stand for."""
    _KINDS[cls] = name


def kind_of(value: Any) -> str:
    """The name of a value's type, as overloads are chosen by it."""
    return _KINDS.get(value.__class__, "dyn")


def is_number(value: Any) -> bool:
    return value.__class__ in (int, float, UInt)


def equal(left: Any, right: Any) -> bool:
    """Numbers compare across types; otherwise different types are never equal."""
    if is_number(left) and is_number(right):
        return bool(left == right)
    if left.__class__ is not right.__class__:
        return False
    if isinstance(left, list):
        return len(left) == len(right) and all(map(equal, left, right))
    if isinstance(left, dict):
        return len(left) == len(right) and all(
            key in right and equal(value, right[key]) for key, value in left.items()
        )
    return bool(left == right)


def contains(items: Any, value: Any) -> bool:
    """`value in items`, for lists and maps."""
    if isinstance(items, dict):
        return find_key(items, value) is not None
    if isinstance(items, list):
        return any(equal(item, value) for item in items)
    raise no_overload()


def find_key(items: dict[Any, Any], key: Any) -> Any:
    """The key itself boxed in a tuple, since 1 and true are the same to a dict; or None."""
    if isinstance(key, list | dict) or key is None:
        return None
    if isinstance(key, float) and not key.is_integer():
        return None
    for stored in (key,) if key not in items else [k for k in items if k == key]:
        if stored in items and isinstance(stored, bool) == isinstance(key, bool):
            return (stored,)
    return None


def no_overload() -> CelError:
    return CelError("no such overload")


def index(container: Any, key: Any) -> Any:
    if isinstance(container, list):
        return _item(container, key)
    if isinstance(container, dict):
        found = find_key(container, key)
        if found is None:
            raise CelError(f"no such key: {show(key)}")
        return container[found[0]]
    if isinstance(container, Optional):
        return _optional(container, key)
    raise no_overload()


def _item(items: list[Any], key: Any) -> Any:
    if not is_number(key) or (isinstance(key, float) and not key.is_integer()):
        raise CelError(f"unsupported index type '{kind_of(key)}' in list")
    if not 0 <= key < len(items):
        raise CelError(f"index out of bounds: {int(key)}")
    return items[int(key)]


def _optional(box: Optional, key: Any) -> Optional:
    return optional_index(box.held, key) if box.is_present else NONE


def optional_index(container: Any, key: Any) -> Optional:
    """`container[?key]`, which is empty where plain indexing would fail."""
    if isinstance(container, Optional):
        return _optional(container, key)
    if isinstance(container, list):
        if is_number(key) and 0 <= key < len(container) and int(key) == key:
            return Optional(container[int(key)])
        return NONE
    if isinstance(container, dict):
        found = find_key(container, key)
        return NONE if found is None else Optional(container[found[0]])
    raise no_overload()


def show(value: Any) -> str:
    """A value inside an error message."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return "null" if value is None else str(value)
