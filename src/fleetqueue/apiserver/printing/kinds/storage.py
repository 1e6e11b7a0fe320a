"""Tables of volumes, claims, and the classes and drivers they come from."""

from fleetqueue.apiserver.printing import cells
from fleetqueue.apiserver.printing.cells import AGE, NAME, NONE, UNSET, at, dig, only
from fleetqueue.apiserver.printing.layout import Column, Layout, Object

MODES = {
    "ReadWriteOnce": "RWO",
    "ReadOnlyMany": "ROX",
    "ReadWriteMany": "RWX",
    "ReadWriteOncePod": "RWOP",
}
CLASS_ANNOTATION = "volume.beta.kubernetes.io/storage-class"
DEFAULT_ANNOTATIONS = (
    "storageclass.kubernetes.io/is-default-class",
    "storageclass.beta.kubernetes.io/is-default-class",
)


def _modes(modes: list[str] | None) -> str:
    return ",".join(short for mode, short in MODES.items() if mode in (modes or ()))


def _phase(obj: Object) -> str:
    if dig(obj, "metadata", "deletionTimestamp"):
        return "Terminating"
    return dig(obj, "status", "phase") or ""


def _class(obj: Object) -> str:
    old = dig(obj, "metadata", "annotations", CLASS_ANNOTATION)
    return (dig(obj, "spec", "storageClassName") or "") if old is None else old


def _claim(obj: Object) -> str:
    claim = dig(obj, "spec", "claimRef")
    return "" if claim is None else f"{claim.get('namespace') or ''}/{claim.get('name') or ''}"


def _claim_capacity(obj: Object) -> str:
    is_bound = dig(obj, "spec", "volumeName")
    return (dig(obj, "status", "capacity", "storage") or "0") if is_bound else ""


def _claim_modes(obj: Object) -> str:
    return _modes(dig(obj, "status", "accessModes")) if dig(obj, "spec", "volumeName") else ""


def _class_name(obj: Object) -> str:
    annotations = dig(obj, "metadata", "annotations") or {}
    is_default = any(annotations.get(name) == "true" for name in DEFAULT_ANNOTATIONS)
    name = dig(obj, "metadata", "name") or ""
    return f"{name} (default)" if is_default else name


def _audiences(obj: Object) -> str:
    requests = dig(obj, "spec", "tokenRequests")
    return UNSET if requests is None else ",".join(one.get("audience") or "" for one in requests)


def _lifecycles(obj: Object) -> str:
    return ",".join(dig(obj, "spec", "volumeLifecycleModes") or ()) or NONE


def _flag(name: str, *path: str, default: bool = False) -> Column:
    return Column(name, at(*path, default=default), "boolean")


ATTRIBUTES = Column("VolumeAttributesClass", at("spec", "volumeAttributesClassName", default=UNSET))
VOLUME_MODE = Column("VolumeMode", at("spec", "volumeMode", default=UNSET), priority=1)

LAYOUTS = {
    ("", "PersistentVolume"): Layout(
        (
            NAME,
            Column("Capacity", at("spec", "capacity", "storage", default="0")),
            Column("Access Modes", only(lambda obj: _modes(dig(obj, "spec", "accessModes")))),
            Column("Reclaim Policy", at("spec", "persistentVolumeReclaimPolicy")),
            Column("Status", only(_phase)),
            Column("Claim", only(_claim)),
            Column("StorageClass", only(_class)),
            ATTRIBUTES,
            Column("Reason", at("status", "reason")),
            AGE,
            VOLUME_MODE,
        )
    ),
    ("", "PersistentVolumeClaim"): Layout(
        (
            NAME,
            Column("Status", only(_phase)),
            Column("Volume", at("spec", "volumeName")),
            Column("Capacity", only(_claim_capacity)),
            Column("Access Modes", only(_claim_modes)),
            Column("StorageClass", only(_class)),
            ATTRIBUTES,
            AGE,
            VOLUME_MODE,
        )
    ),
    ("storage.k8s.io", "StorageClass"): Layout(
        (
            Column("Name", only(_class_name), format="name"),
            Column("Provisioner", at("provisioner")),
            Column("ReclaimPolicy", at("reclaimPolicy", default="Delete")),
            Column("VolumeBindingMode", at("volumeBindingMode", default="Immediate")),
            Column("AllowVolumeExpansion", at("allowVolumeExpansion", default=False)),
            AGE,
        )
    ),
    ("storage.k8s.io", "VolumeAttributesClass"): Layout(
        (NAME, Column("DriverName", at("driverName")), AGE)
    ),
    ("storage.k8s.io", "VolumeAttachment"): Layout(
        (
            NAME,
            Column("Attacher", at("spec", "attacher"), format="name"),
            Column("PV", at("spec", "source", "persistentVolumeName")),
            Column("Node", at("spec", "nodeName")),
            _flag("Attached", "status", "attached"),
            AGE,
        )
    ),
    ("storage.k8s.io", "CSINode"): Layout(
        (NAME, Column("Drivers", cells.count_at("spec", "drivers"), "integer"), AGE)
    ),
    ("storage.k8s.io", "CSIDriver"): Layout(
        (
            NAME,
            _flag("AttachRequired", "spec", "attachRequired", default=True),
            _flag("PodInfoOnMount", "spec", "podInfoOnMount"),
            _flag("StorageCapacity", "spec", "storageCapacity"),
            Column("TokenRequests", only(_audiences)),
            _flag("RequiresRepublish", "spec", "requiresRepublish"),
            Column("Modes", only(_lifecycles)),
            AGE,
        )
    ),
}
