"""Claims and volumes: a default class, protection while in use, and growth only where it works.
Ingresses get their default class in the same way."""

from typing import Any

from fleetqueue.api import quantity
from fleetqueue.apiserver.core import Core
from fleetqueue.apiserver.hooks import Hook, Operation
from fleetqueue.apiserver.hooks.refusals import refuse

Object = dict[str, Any]

CLASSES = "storageclasses.storage.k8s.io"
CLASS_ANNOTATION = "volume.beta.kubernetes.io/storage-class"
IS_DEFAULT = (
    "storageclass.kubernetes.io/is-default-class",
    "storageclass.beta.kubernetes.io/is-default-class",
)
INGRESS_CLASSES = "ingressclasses.networking.k8s.io"
INGRESS_ANNOTATION = "kubernetes.io/ingress.class"
IS_DEFAULT_INGRESS = ("ingressclass.kubernetes.io/is-default-class",)
PROTECTION = {
    ("", "persistentvolumeclaims"): "kubernetes.io/pvc-protection",
    ("", "persistentvolumes"): "kubernetes.io/pv-protection",
    ("storage.k8s.io", "volumeattributesclasses"): "kubernetes.io/vac-protection",
}
UNBOUND = "Only bound persistent volume claims can be expanded"
FIXED_SIZE = (
    "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc "
    "must support resize"
)


class DefaultStorageClass(Hook):
    """A claim without a class gets the default one."""

    resources = (("", "persistentvolumeclaims"),)

    def __init__(self, core: Core) -> None:
        self._core = core

    def mutate(self, operation: Operation) -> None:
        if operation.resource != "persistentvolumeclaims":
            return
        if not operation.concerns("", "persistentvolumeclaims", "CREATE"):
            return
        claim = operation.obj
        assert claim is not None
        if CLASS_ANNOTATION in (claim["metadata"].get("annotations") or {}):
            return
        if claim["spec"].get("storageClassName") is None:
            name = default_class(self._core, CLASSES, IS_DEFAULT)
            if name:
                claim["spec"]["storageClassName"] = name


class DefaultIngressClass(Hook):
    """An ingress without a class gets the default one."""

    resources = (("networking.k8s.io", "ingresses"),)

    def __init__(self, core: Core) -> None:
        self._core = core

    def mutate(self, operation: Operation) -> None:
        if operation.resource != "ingresses":
            return
        if not operation.concerns("networking.k8s.io", "ingresses", "CREATE"):
            return
        ingress = operation.obj
        assert ingress is not None
        if INGRESS_ANNOTATION in (ingress["metadata"].get("annotations") or {}):
            return
        spec = ingress.setdefault("spec", {})
        if spec.get("ingressClassName") is None:
            name = default_class(self._core, INGRESS_CLASSES, IS_DEFAULT_INGRESS)
            if name:
                spec["ingressClassName"] = name


class StorageProtection(Hook):
    """What may be in use gets a finalizer that holds it as long as it is."""

    resources = tuple(PROTECTION)

    def mutate(self, operation: Operation) -> None:
        if operation.verb != "CREATE" or operation.subresource:
            return
        finalizer = PROTECTION.get((operation.group, operation.resource))
        if finalizer is None:
            return
        assert operation.obj is not None
        metadata = operation.obj["metadata"]
        finalizers = metadata.get("finalizers") or []
        if finalizer not in finalizers:
            metadata["finalizers"] = [*finalizers, finalizer]


class ClaimResize(Hook):
    """A claim may ask for more only once it is bound, and only of a class that can grow."""

    resources = (("", "persistentvolumeclaims"),)

    def __init__(self, core: Core) -> None:
        self._core = core

    def validate(self, operation: Operation) -> None:
        if operation.resource != "persistentvolumeclaims":
            return
        if not operation.concerns("", "persistentvolumeclaims", "UPDATE"):
            return
        assert operation.obj is not None
        assert operation.old is not None
        if _size(operation.obj) <= _size(operation.old):
            return
        if (operation.old.get("status") or {}).get("phase") != "Bound":
            raise refuse(operation, UNBOUND)
        names = {_class_of(claim) for claim in (operation.obj, operation.old)}
        name = names.pop()
        found = self._core.get(CLASSES, name) if name and not names else None
        if found is None or not found.get("allowVolumeExpansion"):
            raise refuse(operation, FIXED_SIZE)


def default_class(core: Core, table: str, annotations: tuple[str, ...]) -> str:
    """The newest of the classes that are marked as default; empty: there is none."""
    marked = []
    for stored in core.store.table(table).live.values():
        if b"is-default-class" not in stored.data:
            continue
        metadata = core.store.decoded(stored)["metadata"]
        own = metadata.get("annotations") or {}
        if any(own.get(name) == "true" for name in annotations):
            marked.append(metadata)
    marked.sort(key=lambda metadata: str(metadata["name"]))
    newest = max(marked, key=lambda metadata: str(metadata["creationTimestamp"]), default=None)
    return "" if newest is None else str(newest["name"])


def _size(claim: Object) -> quantity.Quantity:
    requests = (claim["spec"].get("resources") or {}).get("requests") or {}
    return quantity.parse(requests.get("storage") or "0")


def _class_of(claim: Object) -> str:
    annotations = claim["metadata"].get("annotations") or {}
    return str(annotations.get(CLASS_ANNOTATION) or claim["spec"].get("storageClassName") or "")
