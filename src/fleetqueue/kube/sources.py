"""Where a decision finds the objects around it: a cluster's caches, a server's store, a list."""

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from fleetqueue.api.owners import controller_uid
from fleetqueue.kube.resources import Object, Resource, split_api_version


@dataclass(frozen=True, slots=True)
class Index:
    """A way to find objects of a kind: by values that a function tells of each."""

    kind: Resource
    name: str
    values: Callable[[Object], Iterable[Hashable]]


class Source(Protocol):
    """Where a look finds objects: a cluster's caches, or a test's list."""

    def get(self, kind: Resource, namespace: str, name: str) -> Object | None: ...

    def all(self, kind: Resource, namespace: str) -> Sequence[Object]:
        """Of a namespace, or of all of them where it is ""."""

    def controlled(self, kind: Resource, uid: str, namespace: str) -> Sequence[Object]:
        """What the owner with that uid controls; of a namespaced owner only what is in its own
        namespace, for anybody may claim an owner elsewhere.
        """

    def orphans(self, kind: Resource, namespace: str) -> Sequence[Object]: ...

    def left(self, kind: Resource, owner: Object) -> Sequence[Object]:
        """What says that an owner of that kind and name controls it, whatever the uid."""

    def found(self, index: Index, value: Hashable) -> Sequence[Object]:
        """What an index has under a value; for those that the operator declares."""


class Listed:
    """A source made of a list, for tests and previews."""

    def __init__(self, objects: Iterable[Object]) -> None:
        self._objects = list(objects)

    def get(self, kind: Resource, namespace: str, name: str) -> Object | None:
        return next((obj for obj in self.all(kind, namespace) if _name(obj) == name), None)

    def all(self, kind: Resource, namespace: str) -> list[Object]:
        return [
            obj
            for obj in self._objects
            if (obj["apiVersion"], obj["kind"]) == (kind.api_version, kind.kind)
            and namespace in ("", obj["metadata"].get("namespace") or "")
        ]

    def controlled(self, kind: Resource, uid: str, namespace: str) -> list[Object]:
        return [obj for obj in self.all(kind, namespace) if controller_uid(obj) == uid]

    def orphans(self, kind: Resource, namespace: str) -> list[Object]:
        return [obj for obj in self.all(kind, namespace) if not controller_uid(obj)]

    def left(self, kind: Resource, owner: Object) -> list[Object]:
        namespace = str(owner["metadata"].get("namespace") or "")
        wanted = owner_name(owner)
        return [obj for obj in self.all(kind, namespace) if owner_names(obj) == wanted]

    def found(self, index: Index, value: Hashable) -> list[Object]:
        return [
            obj
            for obj in self._objects
            if (obj["apiVersion"], obj["kind"]) == (index.kind.api_version, index.kind.kind)
            and value in index.values(obj)
        ]


def owner_names(obj: Object) -> tuple[str, str, str, str]:
    """Group and kind of the owner that controls the object, its namespace and name."""
    namespace = str(obj["metadata"].get("namespace") or "")
    for reference in obj["metadata"].get("ownerReferences") or ():
        if reference.get("controller"):
            group = split_api_version(str(reference.get("apiVersion") or ""))[0]
            return group, str(reference.get("kind")), namespace, str(reference.get("name"))
    return "", "", namespace, ""


def owner_name(owner: Object) -> tuple[str, str, str, str]:
    """An owner as what it controls names it; that lives in the same namespace."""
    group = split_api_version(owner["apiVersion"])[0]
    metadata = owner["metadata"]
    return group, owner["kind"], str(metadata.get("namespace") or ""), str(metadata["name"])


def _name(obj: Object) -> str:
    return str(obj["metadata"]["name"])
