"""Webhooks as a kind declares them: how it is defaulted, and what is refused; pure functions.

A server in the same process calls them straight; a foreign one asks for them through webhooks.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, TypeAlias

from fleetqueue.api.field_errors import FieldError
from fleetqueue.kube.resources import Object, Resource
from fleetqueue.kube.sources import Source


@dataclass(frozen=True, slots=True)
class Asked:
    """One write: the object as it would be stored, the one it replaces, and what is around."""

    obj: Object
    """A defaulting function may change it in place."""
    old: Object | None
    """None when it is created."""
    now: datetime
    source: Source
    user: str = ""
    uid: str = ""
    warnings: list[str] = field(default_factory=list)
    may: Callable[[str, Resource, str], bool] = lambda verb, kind, namespace: False
    """Whether the user may do that verb to a kind in a namespace; no, where nobody can tell."""
    served: Callable[[str, str], Resource | None] = lambda api_version, kind: None
    """What the server serves as a kind of an apiVersion; nothing, where nobody can tell."""

    @property
    def is_new(self) -> bool:
        return self.old is None

    @property
    def spec(self) -> Any:
        return self.obj.get("spec") or {}


Default: TypeAlias = Callable[[Asked], None]
Validate: TypeAlias = Callable[[Asked], list[FieldError]]


@dataclass(frozen=True, slots=True)
class Webhook:
    """What is done with a write of one kind. Status writes are shown to few."""

    kind: Resource
    default: Default | None = None
    validate: Validate | None = None
    defaults_updates: bool = False
    """Whether changes are defaulted too, or creations only."""
    validates_status: bool = False
    """Whether writes of the status are validated too."""
    validates_scale: bool = False
    """Whether a number of replicas that is written as a Scale is validated too."""
    name: str = ""
    """The name a refusal carries: `admission webhook "<name>" denied the request: ...`."""
    refuses_as: Literal["Forbidden", "Invalid"] = "Forbidden"
    """How upstream's webhook words it: its errors alone, or that the object "is invalid"."""
    defaulted_when: Mapping[str, str] = field(default_factory=dict)
    """CEL by name: a foreign API server asks for defaults only where all of it holds."""
    validated_when: Mapping[str, str] = field(default_factory=dict)
    """The same for what is refused; what it keeps from us could not be refused."""


def scaled(source: Source, kind: Resource, scale: Object) -> tuple[Object, Object] | None:
    """What a Scale is about, as it would be and as it is; None where it is not there any more."""
    metadata = scale["metadata"]
    old = source.get(kind, metadata.get("namespace") or "", metadata["name"])
    if old is None:
        return None
    replicas = (scale.get("spec") or {}).get("replicas", 0)
    return {**old, "spec": {**old["spec"], "replicas": replicas}}, old
