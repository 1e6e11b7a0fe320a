"""Which PersistentVolume suits a claim."""

from collections.abc import Iterable

from fleetqueue.api import selectors
from fleetqueue.api.quantity import Quantity
from fleetqueue.kube.finalizers import is_deleting
from fleetqueue.kube.resources import Object

BETA_CLASS = "volume.beta.kubernetes.io/storage-class"


def class_of(obj: Object) -> str:
    """The name of the class of a claim or volume; "" where it has none."""
    annotated = (obj["metadata"].get("annotations") or {}).get(BETA_CLASS)
    return str(annotated or obj["spec"].get("storageClassName") or "")


def is_bound_to(volume: Object, claim: Object) -> bool:
    """Whether the volume names the claim, by uid where it has one."""
    reference = volume["spec"].get("claimRef") or {}
    metadata = claim["metadata"]
    named = reference.get("namespace"), reference.get("name")
    if named != (metadata["namespace"], metadata["name"]):
        return False
    return reference.get("uid") in (None, "", metadata["uid"])


def best(volumes: Iterable[Object], claim: Object) -> Object | None:
    """One that was meant for the claim, or the smallest that is free and suits it."""
    suitable = []
    for volume in volumes:
        if is_deleting(volume):
            continue
        if is_bound_to(volume, claim):
            return volume
        if not volume["spec"].get("claimRef") and mismatch(volume, claim) is None:
            suitable.append(volume)
    return min(suitable, key=lambda one: (_capacity(one), one["metadata"]["name"]), default=None)


def mismatch(volume: Object, claim: Object) -> str | None:
    """Why the volume does not suit; None where it does."""
    asked = ((claim["spec"].get("resources") or {}).get("requests") or {}).get("storage", "0")
    if _capacity(volume) < Quantity.of(asked):
        return "requested PV is too small"
    if class_of(volume) != class_of(claim):
        return "storageClassName does not match"
    if _mode(volume) != _mode(claim):
        return "incompatible volumeMode"
    offered = set(volume["spec"].get("accessModes") or ())
    if not set(claim["spec"].get("accessModes") or ()) <= offered:
        return "incompatible accessMode"
    wanted = claim["spec"].get("selector")
    labels = volume["metadata"].get("labels") or {}
    if wanted is not None and not selectors.labels_from_object(wanted).matches(labels):
        return "selector does not match"
    return None


def _capacity(volume: Object) -> Quantity:
    return Quantity.of((volume["spec"].get("capacity") or {}).get("storage", "0"))


def _mode(obj: Object) -> str:
    return str(obj["spec"].get("volumeMode") or "Filesystem")
