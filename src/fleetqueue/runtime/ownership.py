"""Which objects are a parent's: those it controls and selects, and orphans that it takes in."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from fleetqueue.api import selectors
from fleetqueue.api.meta import Key
from fleetqueue.api.owners import controller_uid
from fleetqueue.kube.calls import PatchType
from fleetqueue.kube.finalizers import is_deleting
from fleetqueue.kube.plan import Look, Patch, Step, owner_reference
from fleetqueue.kube.resources import Object, Resource
from fleetqueue.kube.sources import Source


@dataclass(slots=True)
class Claimed:
    """What is the parent's now, and the steps that make it so."""

    objects: list[Object] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)


def claim(
    look: Look,
    kind: Resource,
    selector: Object | None,
    wanted: Callable[[Object], bool] = lambda obj: True,
    *,
    releases: bool = True,
    finalizer: str = "",
) -> Claimed:
    """Adopts orphans that the selector matches, lets go of what it matches no more; the finalizer
    comes and goes with that."""
    chosen = selectors.labels_from_object(selector)
    claimed = Claimed()
    may_change = not is_deleting(look.parent)
    for obj in look.owned(kind):
        if not wanted(obj):
            continue
        if chosen.matches(obj["metadata"].get("labels") or {}):
            claimed.objects.append(obj)
        elif releases and may_change:
            claimed.steps.append(_release(obj, look.parent, finalizer))
    for obj in look.orphans(kind, selector) if may_change else ():
        if wanted(obj) and not is_deleting(obj):
            claimed.objects.append(obj)
            claimed.steps.append(_adopt(obj, look.parent, finalizer))
    return claimed


def adopters(kind: Resource) -> Callable[[Source, Object], Iterable[Key]]:
    """Which parents of a kind might take in an orphan, by their `spec.selector`."""

    def parents(source: Source, obj: Object) -> list[Key]:
        if controller_uid(obj):
            return []
        return selecting(source, kind, obj)

    return parents


def selecting(source: Source, kind: Resource, obj: Object) -> list[Key]:
    """The parents in the object's namespace whose `spec.selector` matches it."""
    namespace = str(obj["metadata"].get("namespace") or "")
    labels = obj["metadata"].get("labels") or {}
    return [
        Key(namespace, parent["metadata"]["name"])
        for parent in source.all(kind, namespace)
        if selectors.labels_from_object(parent["spec"].get("selector")).matches(labels)
    ]


def controller_of(obj: Object) -> Object | None:
    """The reference to it; None where nothing controls the object."""
    for reference in obj["metadata"].get("ownerReferences") or ():
        if reference.get("controller"):
            return dict(reference)
    return None


def without_finalizer(name: str) -> Object:
    """A strategic patch that takes away one finalizer, whatever others come and go meanwhile."""
    return {"metadata": {"$deleteFromPrimitiveList/finalizers": [name]}}


def _adopt(obj: Object, parent: Object, finalizer: str) -> Patch:
    # The uid makes sure that no namesake is taken in.
    ours: Object = {"uid": obj["metadata"]["uid"], "ownerReferences": [owner_reference(parent)]}
    if finalizer:
        ours["finalizers"] = [finalizer]
    return Patch(obj, {"metadata": ours}, type=PatchType.STRATEGIC)


def _release(obj: Object, parent: Object, finalizer: str) -> Patch:
    reference = {"$patch": "delete", "uid": parent["metadata"]["uid"]}
    ours: Object = {"uid": obj["metadata"]["uid"], "ownerReferences": [reference]}
    if finalizer:
        ours["$deleteFromPrimitiveList/finalizers"] = [finalizer]
    return Patch(obj, {"metadata": ours}, type=PatchType.STRATEGIC)
