"""What a decision sees and what it says: a look at the objects, and a plan of steps, both data."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from fleetqueue.api import selectors
from fleetqueue.kube.calls import PatchType, Propagation
from fleetqueue.kube.resources import Object, Resource
from fleetqueue.kube.sources import Source


@dataclass(frozen=True, slots=True)
class Create:
    """A new object; one without a namespace is made in that of the parent. One with a namespace is
    made there or, where its kind has none, not at all.
    """

    obj: Object


@dataclass(frozen=True, slots=True)
class Patch:
    """A change of an object that exists."""

    obj: Object
    patch: Any
    subresource: str = ""
    type: PatchType = PatchType.MERGE


@dataclass(frozen=True, slots=True)
class Apply:
    """Server-side apply of the fields given, by force."""

    obj: Object
    manager: str
    subresource: str = ""


@dataclass(frozen=True, slots=True)
class Delete:
    """Removal of just this object: a namesake with another uid is left alone."""

    obj: Object
    propagation: Propagation = "Background"
    grace_seconds: int | None = None


@dataclass(frozen=True, slots=True)
class Status:
    """The whole status of the parent as it should be; not written where it is so already."""

    status: Object


@dataclass(frozen=True, slots=True)
class Note:
    """An event, about the parent unless it says otherwise."""

    reason: str
    message: str
    type: Literal["Normal", "Warning"] = "Normal"
    about: Object | None = None


@dataclass(frozen=True, slots=True)
class Order:
    """Something to be done outside of the cluster; the operator's `outside` knows how."""

    what: Any


Step = Create | Patch | Apply | Delete | Status | Note | Order


@dataclass(slots=True)
class Plan:
    """What to do, in this order; creations and deletions that follow each other go together."""

    steps: list[Step] = field(default_factory=list)
    after: float | None = None
    """Look again after so many seconds, whether anything changes or not."""

    def add(self, *steps: Step) -> None:
        self.steps += steps

    def look_again(self, seconds: float) -> None:
        self.after = seconds if self.after is None else min(self.after, seconds)


NOTHING = Plan()


@dataclass(frozen=True, slots=True)
class Look:
    """The parent as it is now and the objects around it; none of them may be changed."""

    parent: Object
    now: datetime
    source: Source
    observed: Mapping[str, Any] = field(default_factory=dict)
    """What the operator's `outside` said, where it has one."""

    @property
    def name(self) -> str:
        return str(self.parent["metadata"]["name"])

    @property
    def namespace(self) -> str:
        return str(self.parent["metadata"].get("namespace") or "")

    @property
    def uid(self) -> str:
        return str(self.parent["metadata"]["uid"])

    def owned(self, kind: Resource) -> list[Object]:
        """What the parent controls, by name."""
        return sorted(self.source.controlled(kind, self.uid, self.namespace), key=_name)

    def owned_by(self, owner: Object, kind: Resource) -> Sequence[Object]:
        """What another object in the parent's namespace controls."""
        return self.source.controlled(kind, str(owner["metadata"]["uid"]), self.namespace)

    def find(self, kind: Resource, name: str, namespace: str | None = None) -> Object | None:
        """An object by its name; without a namespace, in the parent's."""
        where = self.namespace if namespace is None else namespace
        return self.source.get(kind, where if kind.namespaced else "", name)

    def all(self, kind: Resource) -> list[Object]:
        """All of a kind in the parent's namespace, by name."""
        found = self.source.all(kind, self.namespace if kind.namespaced else "")
        return sorted(found, key=_name)

    def selected(self, kind: Resource, selector: Object | None) -> list[Object]:
        """Those in the parent's namespace whose labels a LabelSelector matches."""
        return _matching(self.all(kind), selector)

    def orphans(self, kind: Resource, selector: Object | None) -> list[Object]:
        """Those of them that nobody controls, which a parent may adopt; for kinds it owns."""
        return _matching(self.source.orphans(kind, self.namespace), selector)

    def left(self, kind: Resource) -> list[Object]:
        """What names the parent as its owner, also one of that name that is no more; for kinds
        owned by an operator that says what to do when a parent is gone.
        """
        return sorted(self.source.left(kind, self.parent), key=_name)


def owner_reference(parent: Object) -> Object:
    """What a child says of the parent that controls it."""
    return {
        "apiVersion": parent["apiVersion"],
        "kind": parent["kind"],
        "name": parent["metadata"]["name"],
        "uid": parent["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }


def child(kind: Resource, parent: Object, metadata: Object, **rest: Any) -> Object:
    """An object of a kind that the parent controls, in its namespace."""
    references = [*(metadata.get("ownerReferences") or []), owner_reference(parent)]
    whole: Object = {**metadata, "ownerReferences": references}
    if kind.namespaced and parent["metadata"].get("namespace"):
        whole["namespace"] = parent["metadata"]["namespace"]
    return {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": whole, **rest}


def title(obj: Object) -> str:
    """Kind and name of an object: what is fetched for a decision is found under it."""
    return f"{obj['apiVersion']} {obj['kind']} {obj['metadata']['name']}"


def _matching(objects: Iterable[Object], selector: Object | None) -> list[Object]:
    wanted = selectors.labels_from_object(selector)
    found = [obj for obj in objects if wanted.matches(obj["metadata"].get("labels") or {})]
    return sorted(found, key=_name)


def _name(obj: Object) -> str:
    return str(obj["metadata"]["name"])
