"""What a type declaration can say to its schema: one short vocabulary for `typing.Annotated`.

    name: Annotated[str, Schema(max_length=63, pattern=DNS_LABEL)]
    levels: Annotated[list[Level], Schema(max_items=16), Rule("size(self) > 0", "…"), Doc("…")]
    template: Annotated[dict[str, Any], Core("io.k8s.api.core.v1.PodTemplateSpec")]

Markers of an outer `Annotated` win over those of an inner one; rules add up, inner ones first.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, Literal, TypeVar

MISSING: Any = object()
"""Says that a marker leaves a keyword alone, where null would be a value."""


@dataclass(frozen=True, kw_only=True)
class Schema:
    """Keywords of the structural schema; what is left out is derived from the type."""

    default: Any = MISSING
    enum: tuple[Any, ...] | None = None
    pattern: str | None = None
    format: str | None = None
    minimum: int | float | None = None
    maximum: int | float | None = None
    min_length: int | None = None
    max_length: int | None = None
    min_items: int | None = None
    max_items: int | None = None
    min_properties: int | None = None
    max_properties: int | None = None
    nullable: bool | None = None
    list_type: Literal["atomic", "set", "map"] | None = None
    list_keys: tuple[str, ...] | None = None
    map_type: Literal["atomic", "granular"] | None = None
    int_or_string: bool | None = None
    preserve_unknown: bool | None = None
    embedded: bool | None = None
    required: bool | None = None
    """Whether the parent requires the field, where that is not whether it has a default here."""
    also: Mapping[str, Any] | None = None
    """Any other keyword, as it stands in JSON: `exclusiveMinimum`, `multipleOf`, `oneOf` …"""


@dataclass(frozen=True)
class Rule:
    """A CEL rule on the value; `x-kubernetes-validations`."""

    rule: str
    message: str = ""
    field_path: str = ""
    reason: str = ""
    message_expression: str = ""
    optional_old_self: bool | None = None


@dataclass(frozen=True)
class Doc:
    """The description of a field; that of a type is its docstring."""

    text: str


@dataclass(frozen=True)
class Core:
    """The value is this definition of the Kubernetes API, inlined: raw JSON in memory.

    `without` names top-level properties to leave out.
    """

    name: str
    without: tuple[str, ...] = ()


Marker = Schema | Rule | Doc | Core

C = TypeVar("C", bound=type)

_ON_TYPES = "__schema_markers__"


def schema(*markers: Marker) -> Callable[[C], C]:
    """Class decorator: markers of the type itself, wherever it is used."""

    def attach(cls: C) -> C:
        setattr(cls, _ON_TYPES, markers)
        return cls

    return attach


def markers_of(cls: type) -> tuple[Marker, ...]:
    """The markers that `@schema` put on this very class; they are not inherited."""
    found: tuple[Marker, ...] = cls.__dict__.get(_ON_TYPES, ())
    return found


def values_of(cls: type[Enum]) -> list[Any]:
    return [member.value for member in cls]
