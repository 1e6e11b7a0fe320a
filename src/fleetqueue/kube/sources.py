"""Where a decision finds the objects around it: a cluster's caches, a server's store, a list."""

from collections.abc import Iterable, Sequence
from typing import Protocol

from fleetqueue.kube.resources import Object, Resource


class Source(Protocol):
    """Where a look finds objects: a cluster's caches, or a test's list."""

    def get(self, kind: Resource, namespace: str, name: str) -> Object | None: ...

    def all(self, kind: Resource, namespace: str) -> Sequence[Object]: ...

    def controlled(self, kind: Resource, uid: str) -> Sequence[Object]: ...

    def orphans(self, kind: Resource, namespace: str) -> Sequence[Object]: ...


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
            and (obj["metadata"].get("namespace") or "") == namespace
        ]

    def controlled(self, kind: Resource, uid: str) -> list[Object]:
        return [
            obj
            for obj in self._objects
            if (obj["apiVersion"], obj["kind"]) == (kind.api_version, kind.kind)
            and controller_uid(obj) == uid
        ]

    def orphans(self, kind: Resource, namespace: str) -> list[Object]:
        return [obj for obj in self.all(kind, namespace) if not controller_uid(obj)]


def controller_uid(obj: Object) -> str:
    """The uid of the owner that controls the object; "" where nobody does."""
    for reference in obj["metadata"].get("ownerReferences") or ():
        if reference.get("controller"):
            return str(reference.get("uid") or "")
    return ""


def _name(obj: Object) -> str:
    return str(obj["metadata"]["name"])
