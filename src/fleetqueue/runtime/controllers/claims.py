"""PersistentVolumeClaims, bound at once: to a volume that is free, or to a new local directory."""

from collections.abc import Iterable
from dataclasses import dataclass

from fleetqueue.api.meta import Key
from fleetqueue.kube.calls import PatchType
from fleetqueue.kube.finalizers import is_deleting
from fleetqueue.kube.frame import Follow, Operator, by_name
from fleetqueue.kube.plan import Create, Look, Note, Patch, Plan, Status, Step
from fleetqueue.kube.resources import Object, Resource, key_of
from fleetqueue.kube.sources import Source
from fleetqueue.runtime import pod_facts
from fleetqueue.runtime.controllers import volume_matching, volumes
from fleetqueue.runtime.controllers.volume_directories import FINALIZER
from fleetqueue.runtime.kinds import CLAIM, POD, VOLUME
from fleetqueue.runtime.ownership import without_finalizer

STORAGE_CLASS = Resource("storage.k8s.io", "v1", "storageclasses", "StorageClass", namespaced=False)
PROVISIONER = "fleetqueue.io/local-directory"
DEFAULT_CLASS = "storageclass.kubernetes.io/is-default-class"
BIND_COMPLETED = "pv.kubernetes.io/bind-completed"
BOUND_BY_CONTROLLER = "pv.kubernetes.io/bound-by-controller"
PROVISIONED_BY = "pv.kubernetes.io/provisioned-by"
PROTECTION = "kubernetes.io/pvc-protection"
_STORAGE_PROVISIONER = "volume.kubernetes.io/storage-provisioner"
_BETA_PROVISIONER = "volume.beta.kubernetes.io/storage-provisioner"
_LOST_VOLUME = "Bound claim has lost its PersistentVolume. Data on the volume is lost!"
_LOST_REFERENCE = "Bound claim has lost reference to PersistentVolume. Data on the volume is lost!"
_MISBOUND = "Two claims are bound to the same volume, this one is bound incorrectly"
_UNCLAIMABLE = "no persistent volumes available for this claim and no storage class is set"
_EXTERNAL = (
    "Waiting for a volume to be created either by the external provisioner '{}' or manually by "
    "the system administrator. If volume creation is delayed, please verify that the provisioner "
    "is running and correctly registered."
)
STANDARD: Object = {
    "apiVersion": STORAGE_CLASS.api_version,
    "kind": STORAGE_CLASS.kind,
    "metadata": {"name": "standard", "annotations": {DEFAULT_CLASS: "true"}},
    "provisioner": PROVISIONER,
    "reclaimPolicy": "Delete",
    "volumeBindingMode": "Immediate",
}
"""The default class of a fresh cluster."""


@dataclass(frozen=True, slots=True)
class Claims:
    """The decision, and where the directories are."""

    root: str
    has_directories: bool = False
    """Whether somebody (`VolumeDirectories`) removes them when their volume goes."""

    def decide(self, look: Look) -> Plan:
        claim = look.parent
        if is_deleting(claim):
            return _unprotect(look)
        if BIND_COMPLETED in (claim["metadata"].get("annotations") or {}):
            return _check(look)
        name = claim["spec"].get("volumeName")
        if name:
            return self._bind_by_name(look, name)
        found = volume_matching.best(look.source.all(VOLUME, ""), claim)
        if found is not None:
            return Plan(_bind(look, found))
        return self._provide(look)

    def _bind_by_name(self, look: Look, name: str) -> Plan:
        claim, found = look.parent, look.find(VOLUME, name)
        if found is None:
            return Plan([_pending(claim)])
        if volume_matching.is_bound_to(found, claim):
            return Plan(_bind(look, found))
        if found["spec"].get("claimRef"):
            message = f'volume "{name}" already bound to a different claim.'
            return Plan([Note("FailedBinding", message, "Warning"), _pending(claim)])
        problem = volume_matching.mismatch(found, claim)
        if problem is None:
            return Plan(_bind(look, found))
        message = f'Cannot bind to requested volume "{name}": {problem}'
        return Plan([Note("VolumeMismatch", message, "Warning"), _pending(claim)])

    def _provide(self, look: Look) -> Plan:
        """A new volume, where the claim's class is ours to serve."""
        claim = look.parent
        default = _default_class(look)
        is_silent = claim["spec"].get("storageClassName") is None
        if is_silent and not volume_matching.class_of(claim) and default is not None:
            return Plan([Patch(claim, {"spec": {"storageClassName": default}})])
        name = volume_matching.class_of(claim)
        if not name:
            return Plan([Note("FailedBinding", _UNCLAIMABLE), _pending(claim)])
        storage_class = look.find(STORAGE_CLASS, name)
        if storage_class is None:
            message = f'storageclass.storage.k8s.io "{name}" not found'
            return Plan([Note("ProvisioningFailed", message, "Warning"), _pending(claim)])
        if storage_class["provisioner"] != PROVISIONER:
            message = _EXTERNAL.format(storage_class["provisioner"])
            return Plan([Note("ExternalProvisioning", message), _pending(claim)])
        made = self.new_volume(claim, storage_class)
        message = f"Successfully provisioned volume {made['metadata']['name']}"
        return Plan([Create(made), Note("ProvisioningSucceeded", message), *_bind(look, made)])

    def new_volume(self, claim: Object, storage_class: Object) -> Object:
        metadata, spec = claim["metadata"], claim["spec"]
        path = f"{self.root}/{metadata['namespace']}/{metadata['name']}"
        asked = (spec.get("resources") or {}).get("requests") or {}
        ours: Object = {
            "name": f"pvc-{metadata['uid']}",
            "annotations": {PROVISIONED_BY: PROVISIONER},
        }
        if self.has_directories:
            ours["finalizers"] = [FINALIZER]
        return {
            "apiVersion": VOLUME.api_version,
            "kind": VOLUME.kind,
            "metadata": ours,
            "spec": {
                "accessModes": spec.get("accessModes") or [],
                "capacity": {"storage": asked.get("storage", "0")},
                "claimRef": _reference(claim),
                "hostPath": {"path": path, "type": "DirectoryOrCreate"},
                "persistentVolumeReclaimPolicy": storage_class.get("reclaimPolicy", "Delete"),
                "storageClassName": storage_class["metadata"]["name"],
                "volumeMode": spec.get("volumeMode", "Filesystem"),
            },
        }


def operators(root: str, *, has_directories: bool = False) -> tuple[Operator, ...]:
    """Those of claims and of volumes; directories are made below `root` when a pod needs them."""
    claims = Operator(
        "persistentvolume-controller",
        CLAIM,
        Claims(root.rstrip("/"), has_directories).decide,
        reads=(by_name(POD, _claims_of_pod),),
        follows=(
            Follow(VOLUME, _claims_of_volume),
            Follow(STORAGE_CLASS, lambda source, obj: _unbound(source)),
        ),
        manager="kube-controller-manager",
        decides_deletion=True,
    )
    return (claims, volumes.OPERATOR)


def _bind(look: Look, volume: Object) -> list[Step]:
    """The volume names the claim, the claim names the volume, and says so."""
    claim = look.parent
    steps: list[Step] = []
    metadata = volume["metadata"]
    reference = volume["spec"].get("claimRef") or {}
    if reference.get("uid") != claim["metadata"]["uid"]:
        change: Object = {"spec": {"claimRef": _reference(claim)}}
        if not reference:
            change["metadata"] = {"annotations": {BOUND_BY_CONTROLLER: "yes"}}
        steps.append(Patch(volume, change))
    annotations = {BIND_COMPLETED: "yes"}
    if claim["spec"].get("volumeName") != metadata["name"]:
        annotations[BOUND_BY_CONTROLLER] = "yes"
    if (metadata.get("annotations") or {}).get(PROVISIONED_BY) == PROVISIONER:
        annotations |= {_STORAGE_PROVISIONER: PROVISIONER, _BETA_PROVISIONER: PROVISIONER}
    change = {"metadata": {"annotations": annotations}, "spec": {"volumeName": metadata["name"]}}
    return [*steps, Patch(claim, change), Status(_bound(claim, volume))]


def _bound(claim: Object, volume: Object) -> Object:
    status = claim.get("status") or {}
    return {
        **status,
        "phase": "Bound",
        "accessModes": volume["spec"].get("accessModes") or [],
        "capacity": volume["spec"].get("capacity") or {},
    }


def _check(look: Look) -> Plan:
    """A claim that was bound stays so as long as its volume is there."""
    claim = look.parent
    name = claim["spec"].get("volumeName")
    volume = look.find(VOLUME, name) if name else None
    if not name:
        return _lost(claim, "ClaimLost", _LOST_REFERENCE)
    if volume is None:
        return _lost(claim, "ClaimLost", _LOST_VOLUME)
    if not volume["spec"].get("claimRef") or volume_matching.is_bound_to(volume, claim):
        return Plan(_bind(look, volume))
    return _lost(claim, "ClaimMisbound", _MISBOUND)


def _lost(claim: Object, reason: str, message: str) -> Plan:
    status = claim.get("status") or {}
    if status.get("phase") == "Lost":
        return Plan()
    kept = {key: status[key] for key in status if key not in ("accessModes", "capacity")}
    return Plan([Status({**kept, "phase": "Lost"}), Note(reason, message, "Warning")])


def _pending(claim: Object) -> Status:
    return Status({**(claim.get("status") or {}), "phase": "Pending"})


def _unprotect(look: Look) -> Plan:
    """A claim goes when no pod on a node uses it any more."""
    finalizers = look.parent["metadata"].get("finalizers") or []
    users = [
        pod for pod in look.all(POD) if pod_facts.node_name(pod) and look.name in claim_names(pod)
    ]
    if users or PROTECTION not in finalizers:
        return Plan()
    unprotected = without_finalizer(PROTECTION)
    return Plan([Patch(look.parent, unprotected, type=PatchType.STRATEGIC)])


def claim_names(pod: Object) -> list[str]:
    """The claims that a pod's volumes name, its own ephemeral ones too."""
    found = []
    for volume in pod["spec"].get("volumes") or ():
        if volume.get("persistentVolumeClaim"):
            found.append(str(volume["persistentVolumeClaim"]["claimName"]))
        if volume.get("ephemeral") and not pod_facts.is_terminal(pod):
            found.append(f"{pod['metadata']['name']}-{volume['name']}")
    return found


def _reference(claim: Object) -> Object:
    metadata = claim["metadata"]
    return {
        "apiVersion": CLAIM.api_version,
        "kind": CLAIM.kind,
        "namespace": metadata["namespace"],
        "name": metadata["name"],
        "uid": metadata["uid"],
    }


def _default_class(look: Look) -> str | None:
    """The newest of those that are marked."""
    marked = [
        each
        for each in look.source.all(STORAGE_CLASS, "")
        if (each["metadata"].get("annotations") or {}).get(DEFAULT_CLASS) == "true"
    ]
    ordered = sorted(marked, key=lambda each: str(each["metadata"]["name"]))
    newest = max(
        ordered, key=lambda each: str(each["metadata"].get("creationTimestamp")), default=None
    )
    return None if newest is None else str(newest["metadata"]["name"])


def _claims_of_pod(pod: Object) -> Iterable[Key]:
    return [Key(pod["metadata"]["namespace"], name) for name in claim_names(pod)]


def _claims_of_volume(source: Source, volume: Object) -> Iterable[Key]:
    reference = volume["spec"].get("claimRef") or {}
    if reference.get("name"):
        return [Key(reference.get("namespace") or "", reference["name"])]
    return _unbound(source)


def _unbound(source: Source) -> list[Key]:
    return [
        key_of(each)
        for each in source.all(CLAIM, "")
        if (each.get("status") or {}).get("phase") != "Bound"
    ]
