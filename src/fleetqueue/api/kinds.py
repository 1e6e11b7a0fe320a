"""Kinds as data on their classes: class ↔ group, version, plural, scope, and what a CRD says of it.

To declare a kind, give the class of its objects a `Kind`; the class name is the kind's name:

    class LocalQueue(Resource, kind=Kind(
        "kueue.x-k8s.io", "v1beta2", "localqueues",
        short_names=("lq",), storage=True, status=True,
        columns=(Column("ClusterQueue", ".spec.clusterQueue"),),
    )):
        \"\"\"A queue that the users of one namespace submit to.\"\"\"

        spec: LocalQueueSpec | None = None
        status: LocalQueueStatus | None = None

`apiVersion`, `kind` and `metadata` come from `Resource`. The versions of one kind are classes of
the same group and plural; exactly one of them has `storage=True`, and that one speaks for the
names, scope and conversion of the whole CRD. `kinds()` finds every kind in the packages named by
PACKAGES: put a module there and it is known.
"""

import importlib
import pkgutil
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from types import ModuleType
from typing import Any, Literal, dataclass_transform

import msgspec

from fleetqueue.api.meta import Key, ObjectMeta
from fleetqueue.api.model import Model, WireMeta, sent

PACKAGES = ("fleetqueue.api.kueue", "fleetqueue.api.fleet")


@dataclass(frozen=True)
class Column:
    """A column of `kubectl get`; those of priority 1 show only in wide output."""

    name: str
    json_path: str
    type: Literal["string", "integer", "number", "boolean", "date"] = "string"
    description: str = ""
    format: str = ""
    priority: int = 0


AGE = Column("Age", ".metadata.creationTimestamp", "date")


@dataclass(frozen=True)
class Scale:
    """Where the `scale` subresource finds its numbers."""

    spec_replicas: str
    status_replicas: str
    selector: str = ""


@dataclass(frozen=True)
class ConversionWebhook:
    """The service that converts between the versions of a kind."""

    service: str
    namespace: str
    path: str = "/convert"


@dataclass(frozen=True)
class Kind:
    """Everything about a kind that is not its schema."""

    group: str
    version: str
    plural: str
    scope: Literal["Namespaced", "Cluster"] = "Namespaced"
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    singular: str = ""
    served: bool = True
    storage: bool = False
    status: bool = False
    scale: Scale | None = None
    columns: tuple[Column, ...] = ()
    selectable: tuple[str, ...] = ()
    deprecated: bool = False
    deprecation_warning: str = ""
    conversion: ConversionWebhook | None = None
    annotations: tuple[tuple[str, str], ...] = ()
    """Annotations of the CRD itself, such as a protected group's approval."""
    crd: bool = True
    """Whether a CRD serves it; an aggregated API or a file format has none."""
    name: str = ""
    """The kind's name; that of the class unless it says otherwise."""

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def is_namespaced(self) -> bool:
        return self.scope == "Namespaced"


class ResourceMeta(WireMeta):
    """Reads the `kind=` of a class, and makes its objects say who they are."""

    def __new__(
        mcls,
        name: str,
        bases: tuple[type, ...],
        namespace: dict[str, Any],
        kind: Kind | None = None,
        **own: Any,
    ) -> Any:
        if kind is None:
            return super().__new__(mcls, name, bases, namespace, **own)
        named = _named(kind, name)
        # The fields go to a base of their own: a class body's annotations are not always a dict.
        identity = super().__new__(mcls, f"{name}Identity", bases, _identity(named))
        cls = super().__new__(mcls, name, (identity,), namespace, **own)
        cls.__kind__ = named
        return cls


@dataclass_transform(
    frozen_default=True, kw_only_default=True, field_specifiers=(msgspec.field, sent)
)
class Resource(Model, metaclass=ResourceMeta, frozen=True):
    """An object that the API server stores; subclasses add spec and status."""

    api_version: str = ""
    kind: str = ""
    metadata: ObjectMeta = sent(default_factory=ObjectMeta)

    @property
    def key(self) -> Key:
        return Key(self.metadata.namespace, self.metadata.name)


def kind_of(cls: type[Resource]) -> Kind:
    """The kind that a class declares."""
    found: Kind | None = getattr(cls, "__kind__", None)
    if found is None:
        raise TypeError(f"{cls.__name__} declares no kind")
    return found


@cache
def kinds() -> tuple[type[Resource], ...]:
    """Every declared kind, one class per version, in order of group, plural and version."""
    found = {
        cls for package in PACKAGES for module in _modules(package) for cls in _declared(module)
    }
    return tuple(sorted(found, key=_order))


def find(group: str, version: str, name: str) -> type[Resource]:
    """The class of a kind, by the names that an object carries."""
    for cls in kinds():
        kind = kind_of(cls)
        if (kind.group, kind.version, kind.name) == (group, version, name):
            return cls
    raise KeyError(f"{group}/{version} {name}")


def _named(kind: Kind, name: str) -> Kind:
    named = kind.name or name
    return replace(kind, name=named, singular=kind.singular or named.lower())


def _identity(kind: Kind) -> dict[str, Any]:
    """The class body that fixes `apiVersion` and `kind`."""
    return {
        "__annotations__": {"api_version": str, "kind": str},
        "__module__": __name__,
        "api_version": sent(default_factory=lambda: kind.api_version),
        "kind": sent(default_factory=lambda: kind.name),
    }


def _order(cls: type[Resource]) -> tuple[str, str, str]:
    kind = kind_of(cls)
    return kind.group, kind.plural, kind.version


def _modules(package: str) -> Iterator[ModuleType]:
    root = importlib.import_module(package)
    yield root
    for info in pkgutil.walk_packages(root.__path__, f"{package}."):
        yield importlib.import_module(info.name)


def _declared(module: ModuleType) -> Iterator[type[Resource]]:
    """The kinds that this module defines, and not those that it imports."""
    for value in vars(module).values():
        if not isinstance(value, type) or not issubclass(value, Resource):
            continue
        if value.__module__ == module.__name__ and "__kind__" in vars(value):
            yield value
