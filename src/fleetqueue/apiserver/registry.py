"""The kinds one server knows: built-in ones and those that CRDs define, behind one interface.

A resource is served in one or more versions; each version has a shape, which reads, defaults and
validates objects of that version. Objects are stored in the resource's storage version.
"""

from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from fleetqueue.api.field_errors import FieldError
from fleetqueue.apiserver.outlines import Definition
from fleetqueue.apiserver.reshaping import Reshaper
from fleetqueue.apiserver.schema.node import Node
from fleetqueue.apiserver.strategy import PLAIN, Strategy

Object = dict[str, Any]


class Shape(Protocol):
    """How objects of one version are read and checked."""

    @property
    def node(self) -> Node: ...

    @property
    def cleans_in_place(self) -> bool:
        """Whether `clean` changes what it is given, or only its top level."""

    def clean(self, obj: Object) -> tuple[Object, list[str]]:
        """A decoded body in the form that is stored, and what it said about unknown fields."""

    def default(self, obj: Object) -> None:
        """In place."""

    def normalise(self, obj: Object) -> Object:
        """As it is written out: without the empty values that a client never sees."""

    def settle(self, obj: Object) -> None:
        """In place: forget what an object loses by being stored."""

    def validate(
        self, obj: Object, old: Object | None, *, status_only: bool
    ) -> list[FieldError]: ...


@dataclass(frozen=True, slots=True)
class Scale:
    """Where a custom resource keeps its replica counts, as JSON paths (`.spec.replicas`)."""

    spec_replicas: str
    status_replicas: str
    selector: str = ""


@dataclass(frozen=True, slots=True)
class Column:
    """A printer column of a custom resource."""

    name: str
    type: str
    json_path: str
    format: str = ""
    description: str = ""
    priority: int = 0


@dataclass(slots=True)
class Version:
    """One version of a resource."""

    name: str
    kind: str
    shape: Shape
    served: bool = True
    subresources: Mapping[str, "Subresource"] = field(default_factory=dict)
    verbs: tuple[str, ...] = ()
    columns: tuple[Column, ...] = ()
    scale: Scale | None = None
    selectable: tuple[str, ...] = ()
    """JSON paths that field selectors may name."""
    warning: str = ""
    """Sent with every answer of a deprecated version."""
    prefix: bytes = b""
    """How the bytes of a stored object of this version begin, up to its metadata."""


@dataclass(frozen=True, slots=True)
class Subresource:
    """A subresource as discovery lists it; group and version where its parent has others."""

    name: str
    kind: str
    verbs: tuple[str, ...]
    group: str = ""
    version: str = ""


ConvertNow = Callable[[Object, str], Object]
"""(object, apiVersion) -> a new object in that version; the given one is untouched."""
ConvertLater = Callable[[list[Object], str], Awaitable[list[Object]]]
"""The same through a webhook, many at a time."""


@dataclass(slots=True, eq=False)
class Resource:
    """One kind of object, in all its versions."""

    group: str
    plural: str
    singular: str
    kind: str
    list_kind: str
    namespaced: bool
    versions: dict[str, Version]
    storage_version: str
    strategy: Strategy = PLAIN
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    convert: ConvertNow | None = None
    """None: versions differ in apiVersion only."""
    convert_later: ConvertLater | None = None
    is_custom: bool = False
    table: str = ""
    """The store's table; events of two API groups share one."""
    stored_as: str = ""
    """The apiVersion of stored objects."""
    uid: str = ""
    """Of the CRD that defines it."""
    is_going: bool = False
    """Its CRD is being deleted."""
    definition: Definition | None = None
    """The spec of that CRD."""
    reshaper: Reshaper | None = None
    """For objects that were stored under another schema; None: there are none."""

    def __post_init__(self) -> None:
        self.table = self.table or (f"{self.plural}.{self.group}" if self.group else self.plural)
        self.stored_as = self.stored_as or self.api_version(self.storage_version)

    def api_version(self, version: str) -> str:
        return f"{self.group}/{version}" if self.group else version

    @property
    def stored_group(self) -> str:
        """The group that messages about an object name; events of both groups are of the first."""
        return self.stored_as.rpartition("/")[0]

    @property
    def storage(self) -> Version:
        return self.versions[self.storage_version]

    @property
    def served(self) -> list[Version]:
        return [version for version in self.versions.values() if version.served]

    def has_status(self, version: Version) -> bool:
        return "status" in version.subresources

    def key(self, namespace: str, name: str) -> str:
        return f"{namespace}/{name}" if self.namespaced else name


class Registry:
    """Finds resources by path, by kind, and lists them for discovery."""

    def __init__(self) -> None:
        self._by_path: dict[tuple[str, str], dict[str, Resource]] = {}
        self._by_kind: dict[tuple[str, str], Resource] = {}
        self._by_table: dict[str, Resource] = {}
        self.generation = 0
        """Grows with every change, so that what is derived from the registry can be cached."""

    def add(self, resource: Resource) -> None:
        for version in resource.served:
            self._by_path.setdefault((resource.group, version.name), {})[resource.plural] = resource
            version.prefix = _prefix(resource, version)
        self._by_kind[resource.group, resource.kind] = resource
        self._by_table.setdefault(resource.table, resource)
        self.generation += 1

    def remove(self, group: str, plural: str) -> None:
        for (found, _), resources in self._by_path.items():
            if found == group:
                resources.pop(plural, None)
        # A resource that is served in no version is found by these alone.
        where = (group, plural)
        self._by_kind = {k: r for k, r in self._by_kind.items() if (r.group, r.plural) != where}
        self._by_table = {k: r for k, r in self._by_table.items() if (r.group, r.plural) != where}
        self._by_path = {path: found for path, found in self._by_path.items() if found}
        self.generation += 1

    def find(self, group: str, version: str, plural: str) -> Resource | None:
        return self._by_path.get((group, version), {}).get(plural)

    def has_version(self, group: str, version: str) -> bool:
        return (group, version) in self._by_path

    def has_group(self, group: str, is_custom: bool = True) -> bool:
        """Whether anything is served of a group; `is_custom`: custom resources count."""
        return any(
            found == group and (is_custom or any(not r.is_custom for r in resources.values()))
            for (found, _), resources in self._by_path.items()
        )

    def by_kind(self, group: str, kind: str) -> Resource | None:
        return self._by_kind.get((group, kind))

    def by_table(self, table: str) -> Resource | None:
        return self._by_table.get(table)

    def __iter__(self) -> Iterator[Resource]:
        seen: set[int] = set()
        for resources in self._by_path.values():
            for resource in resources.values():
                if id(resource) not in seen:
                    seen.add(id(resource))
                    yield resource


def _prefix(resource: Resource, version: Version) -> bytes:
    api_version = resource.api_version(version.name)
    if resource.is_custom:
        return f'{{"apiVersion":"{api_version}","kind":"{version.kind}",'.encode()
    return f'{{"kind":"{version.kind}","apiVersion":"{api_version}",'.encode()
