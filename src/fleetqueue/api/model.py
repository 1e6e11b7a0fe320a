"""The base of every wire type, and the way between wire types and plain JSON.

A field without a default is required on the wire. A field whose zero must still be sent, because
the Go field has no `omitempty`, takes its default from `sent(default_factory=int)`.
"""

from collections.abc import Callable
from typing import Any, TypeVar, dataclass_transform

import msgspec

WIRE: dict[str, Any] = {"frozen": True, "kw_only": True, "rename": "camel", "omit_defaults": True}

T = TypeVar("T")


def sent(*, default_factory: Callable[[], T]) -> T:
    """A default that is written out even so; msgspec leaves out only constant defaults."""
    return msgspec.field(default_factory=lambda: default_factory())


class WireMeta(msgspec.StructMeta):
    """Gives every struct the wire options without a base class having to repeat them."""

    def __new__(
        mcls, name: str, bases: tuple[type, ...], namespace: dict[str, Any], **own: Any
    ) -> Any:
        return super().__new__(mcls, name, bases, namespace, **(WIRE | own))


@dataclass_transform(
    frozen_default=True, kw_only_default=True, field_specifiers=(msgspec.field, sent)
)
class Model(msgspec.Struct, metaclass=WireMeta, frozen=True):
    """A wire type: camelCase on the wire, snake_case and immutable in memory."""


M = TypeVar("M")


def read(cls: type[M], raw: Any) -> M:
    """Plain JSON as a wire type. Fields the type does not name are dropped."""
    return msgspec.convert(raw, cls)


def write(value: Any) -> Any:
    """A wire type as plain JSON, without the fields that are at their defaults."""
    return msgspec.to_builtins(value)
