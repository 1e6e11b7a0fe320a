"""What a client is told about a PersistentVolume that works, but not for ever."""

from fleetqueue.apiserver.builtin.making import part
from fleetqueue.apiserver.builtin.pod_warnings import warn_of_term
from fleetqueue.apiserver.strategy import Object

_ANNOTATIONS = {
    "volume.beta.kubernetes.io/storage-class": (
        'deprecated since v1.8; use "storageClassName" attribute instead'
    ),
    "volume.beta.kubernetes.io/mount-options": (
        'deprecated since v1.31; use "mountOptions" attribute instead'
    ),
}
_SOURCES = {
    "cephfs": ("cephfs", "deprecated in v1.28, non-functional in v1.31+"),
    "photonPersistentDisk": (
        "photonPersistentDisk",
        "deprecated in v1.11, non-functional in v1.16+",
    ),
    "scaleIO": ("scaleIO", "deprecated in v1.16, non-functional in v1.22+"),
    "storageos": ("storageOS", "deprecated in v1.22, non-functional in v1.25+"),
    "glusterfs": ("glusterfs", "deprecated in v1.25, non-functional in v1.26+"),
    "rbd": ("rbd", "deprecated in v1.28, non-functional in v1.31+"),
}
"""Field -> (its name in the warning, what is wrong with it)."""


def warn_of_volume(obj: Object, old: Object | None) -> list[str]:
    spec, annotations = part(obj, "spec"), obj["metadata"].get("annotations") or {}
    found = [
        f"metadata.annotations[{key}]: {text}"
        for key, text in _ANNOTATIONS.items()
        if key in annotations
    ]
    if spec.get("persistentVolumeReclaimPolicy") == "Recycle":
        found.append(
            "spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. "
            "Instead, the recommended approach is to use dynamic provisioning."
        )
    path = "spec.nodeAffinity.required.nodeSelectorTerms"
    terms = part(spec, "nodeAffinity", "required").get("nodeSelectorTerms") or ()
    for index, term in enumerate(terms):
        found += warn_of_term(term, f"{path}[{index}]", checks_values=False)
    return found + [
        f"spec.{shown}: {text}"
        for name, (shown, text) in _SOURCES.items()
        if spec.get(name) is not None
    ]
